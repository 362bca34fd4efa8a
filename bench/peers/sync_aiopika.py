"""`aiopika`: the consumer of aio-pika's documentation, one DEL and one ack for each message, 200 of them at once."""

import asyncio
import json
import os

import aio_pika
import redis.asyncio as redis

REDIS_CONNECTIONS = 20  # more make it slower, and the default pool raises instead of waiting


async def main():
    pool = redis.BlockingConnectionPool.from_url(os.environ["REDIS_URL"], max_connections=REDIS_CONNECTIONS)
    store = redis.Redis(connection_pool=pool)
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=200)
    queue = await channel.get_queue(os.environ["QUEUE"])

    async def handle(message):
        async with message.process():
            event = json.loads(message.body)
            if event["type"] == "email.complained":
                await store.delete("recipient:" + event["data"]["to"][0])

    await queue.consume(handle)
    await asyncio.Future()


asyncio.run(main())
