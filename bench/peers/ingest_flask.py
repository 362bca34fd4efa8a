"""Flask and pika as a user would write them: a connection per thread, a connection per request, and no publish at all.

Run by gunicorn with threads; AMQP_URL, BENCH_QUEUE and BENCH_SECRET come from bench.ingest.
"""

import os
import threading

import pika
from flask import Flask, request
from svix.webhooks import Webhook

QUEUE = os.environ["BENCH_QUEUE"]
PERSISTENT = pika.BasicProperties(delivery_mode=2)

app = Flask(__name__)
webhook = Webhook(os.environ["BENCH_SECRET"])
local = threading.local()


def open_channel():
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
    channel = connection.channel()
    channel.queue_declare(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
    channel.confirm_delivery()
    return connection, channel


@app.post("/verify")
def verify():
    webhook.verify(request.get_data(), request.headers)
    return "", 202


@app.post("/per-thread")
def per_thread():
    webhook.verify(request.get_data(), request.headers)
    if not hasattr(local, "channel"):
        local.connection, local.channel = open_channel()
    local.channel.basic_publish("", QUEUE, request.get_data(), PERSISTENT)
    return "", 202


@app.post("/per-request")
def per_request():
    webhook.verify(request.get_data(), request.headers)
    connection, channel = open_channel()
    channel.basic_publish("", QUEUE, request.get_data(), PERSISTENT)
    connection.close()
    return "", 202
