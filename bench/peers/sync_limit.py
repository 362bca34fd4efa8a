"""`limit`: bare pika draining 200 messages at a time into one DEL and one multiple-ack.

No decisions, no attempts, no journal, and what fails is lost: not a design to use, but what the client library can do.
"""

import json
import os

import pika
import redis

BATCH = 200

store = redis.Redis.from_url(os.environ["REDIS_URL"])
channel = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"])).channel()
channel.basic_qos(prefetch_count=2 * BATCH)
keys, tag = [], 0
for method, _, body in channel.consume(os.environ["QUEUE"], inactivity_timeout=0.01):
    if method is not None:
        keys.append("recipient:" + json.loads(body)["data"]["to"][0])
        tag = method.delivery_tag
    if keys and (method is None or len(keys) >= BATCH):
        store.delete(*keys)
        channel.basic_ack(tag, multiple=True)
        keys = []
