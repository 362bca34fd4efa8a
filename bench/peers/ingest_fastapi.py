"""FastAPI and aio-pika: one robust connection for each uvicorn worker; AMQP_URL and BENCH_* come from bench.ingest."""

import os
from contextlib import asynccontextmanager

import aio_pika
from fastapi import FastAPI, Request, Response
from svix.webhooks import Webhook

QUEUE = os.environ["BENCH_QUEUE"]
webhook = Webhook(os.environ["BENCH_SECRET"])


@asynccontextmanager
async def lifespan(app):
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    app.state.channel = await connection.channel(publisher_confirms=True)
    await app.state.channel.declare_queue(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
    yield
    await connection.close()


app = FastAPI(lifespan=lifespan)


@app.post("/webhooks/resend")
async def receive(request: Request):
    body = await request.body()
    webhook.verify(body, dict(request.headers))
    message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
    await app.state.channel.default_exchange.publish(message, QUEUE)
    return Response(status_code=202)
