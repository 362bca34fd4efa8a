"""`celery`: one task for each event, acked late.

Run as a program, it writes the task message for each number on standard input, made by Celery as `delay` makes it:
`delay` itself waits for each message and would need minutes for what the benchmark queues in seconds.
"""

import json
import os
import sys
import uuid

import redis
from celery import Celery
from kombu import Queue
from sync_payload import complaint

QUEUE = os.environ["QUEUE"]

app = Celery("sync_celery", broker=os.environ["AMQP_URL"])
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    task_default_queue=QUEUE,
    task_queues=[Queue(QUEUE, durable=True, queue_arguments={"x-queue-type": "quorum"})],
    worker_prefetch_multiplier=200,
    worker_enable_remote_control=False,
)
store = redis.Redis.from_url(os.environ["REDIS_URL"])


@app.task
def handle(event):
    if event["type"] == "email.complained":
        store.delete("recipient:" + event["data"]["to"][0])


def as_json(number):
    task_id = str(uuid.uuid4())
    message = app.amqp.as_task_v2(task_id, handle.name, [complaint(number)], ignore_result=True)
    return json.dumps({"headers": message.headers, "properties": message.properties, "body": message.body})


if __name__ == "__main__":
    for line in sys.stdin:
        print(as_json(int(line)))
