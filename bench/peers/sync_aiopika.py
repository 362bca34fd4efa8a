"""`aiopika`: the consumer of aio-pika's documentation, one DEL and one ack for each message, 100 of them at once."""

import asyncio
import json
import os

import aio_pika
import redis.asyncio as redis

AT_ONCE = 100  # as many as redis-py's pool has connections; it raises for more, and with fewer this peer is slower


async def main():
    store = redis.Redis.from_url(os.environ["REDIS_URL"])
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=AT_ONCE)
    queue = await channel.get_queue(os.environ["QUEUE"])

    async def handle(message):
        async with message.process():
            event = json.loads(message.body)
            if event["type"] == "email.complained":
                await store.delete("recipient:" + event["data"]["to"][0])

    await queue.consume(handle)
    await asyncio.Future()


asyncio.run(main())
