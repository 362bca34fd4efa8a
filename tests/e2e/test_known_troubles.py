"""Troubles that other people's bounce handlers ran into, with real processes: what must hold in ours."""

import json
import signal
import time
from functools import partial

from dev.services import RabbitMQ
from tests.e2e.deployment import Deployment
from tests.e2e.posts import Answer, Door, cloudflare, resend, resend_bounce, signed
from tests.system import wait_until

READER = "reader@example.com"


def complain(door: Door, address: str, message_id: str) -> Answer:
    """Post a genuine complaint of Resend."""
    body = json.dumps(resend("complained", [address])).encode()
    return door.post("resend", body, signed("resend", body, message_id))


# --- signatures, payloads, repeats ---


def test_the_bytes_as_they_were_written_are_what_is_verified(deployment: Deployment) -> None:
    deployment.release()
    door = deployment.start_web()
    body = (
        rb'{"type": "email.complained",  "data":{"to":["jos\u00e9@example.com"],"email_id":"e1"},'
        rb' "created_at":"2026-01-02T03:04:05.000Z"}' + b"\r\n"
    )
    headers = signed("resend", body, "msg_1")

    assert door.post("resend", body, headers).said["queued"] == 1
    for other in (body.strip(), json.dumps(json.loads(body)).encode(), body.replace(b"e1", b"e2")):
        assert door.post("resend", other, headers).status == 401
    assert deployment.waiting() == 1


def test_a_retry_and_a_manual_resend_of_one_complaint_have_one_effect(deployment: Deployment) -> None:
    deployment.release()
    deployment.system.put([READER], b"{}")
    door = deployment.start_web()
    deployment.start_consumer()

    for message_id in ("msg_1", "msg_1", "msg_resent"):
        assert complain(door, READER, message_id).accepted == 1
    wait_until(lambda: sum(deployment.system.outcomes().values()) == 3, "all are handled")

    assert deployment.system.outcomes() == {"removed": 1, "duplicate": 1, "absent": 1}


def test_an_event_about_somebody_elses_mail_is_accepted_and_changes_nothing(deployment: Deployment) -> None:
    """Resend's webhooks are account-wide: events of other applications arrive too."""
    deployment.release()
    deployment.system.put([READER], b"{}")
    door = deployment.start_web()
    deployment.start_consumer()
    body = json.dumps(resend_bounce(["somebody.else@example.net"], email_id="not-ours")).encode()

    assert door.post("resend", body, signed("resend", body, "msg_1")).status == 200
    wait_until(lambda: deployment.system.outcomes() == {"absent": 1}, "handled")

    assert deployment.system.record(READER) == b"{}"
    assert deployment.dead() == 0


def test_two_people_under_one_event_id_are_both_removed(deployment: Deployment) -> None:
    """A Worker that copies one id into several events must not make mailward forget a complaint."""
    people = [f"reader{number}@example.com" for number in range(20)]
    deployment.release()
    deployment.system.put(people)
    door = deployment.start_web()
    for person in people:
        body = json.dumps(cloudflare("complained", person, eventId="always-the-same")).encode()
        assert door.post("cloudflare", body, signed("cloudflare", body, "msg_1")).accepted == 1

    deployment.start_consumer()
    wait_until(lambda: sum(deployment.system.outcomes().values()) == len(people), "all are handled")

    assert deployment.system.outcomes() == {"removed": len(people)}
    assert {deployment.system.record(person) for person in people} == {None}


# --- the broker, seen from the web process ---


def test_an_event_posted_after_the_broker_hung_up_on_an_idle_web_process_arrives_exactly_once(
    deployment: Deployment, own_rabbitmq: RabbitMQ
) -> None:
    deployment.environ["AMQP_URL"] = own_rabbitmq.url
    deployment.release()
    door = deployment.start_web(WEB_CONCURRENCY="1")
    assert complain(door, READER, "msg_1").status == 200

    own_rabbitmq.ctl("close_all_connections", "an operator's whim")
    assert complain(door, READER, "msg_2").status == 200

    assert queued_ids(deployment) == ["resend:msg_1", "resend:msg_2"]


def queued_ids(deployment: Deployment) -> list[str]:
    """The message ids on the work queue; takes them."""
    ids = []
    with deployment.system.channel() as channel:
        while (found := channel.basic_get(deployment.system.topology.events.name, auto_ack=True))[0] is not None:
            ids.append(found[1].message_id)
    return ids


# --- the broker, seen from the consumer ---


def test_attempts_are_counted_over_consumers_that_are_killed_in_between(deployment: Deployment) -> None:
    system = deployment.system
    deployment.release()
    system.redis.hset(system.key(READER), "a", "hash, not a record")
    door = deployment.start_web()
    assert complain(door, READER, "msg_1").accepted == 1

    queue, attempts = system.topology.events, []
    for life, goes_to in (("first", queue.retry(1)), ("second", queue.retry(2)), ("third", queue.dead_letters)):
        consumer = deployment.start_consumer(life)
        wait_until(partial(lies_in, deployment, goes_to), f"the failure of the {life} is in {goes_to}")
        attempts += failures(deployment, life)
        consumer.kill()
        consumer.wait()

    # One that dies between the broker's confirm and its ack leaves the message to the next, which fails it once more.
    assert list(dict.fromkeys(attempts)) == [1, 2, 3]


def lies_in(deployment: Deployment, queue: str) -> bool:
    return deployment.system.depth(queue) == 1


def failures(deployment: Deployment, name: str) -> list[int]:
    """The attempts that failed in the life of one consumer."""
    lines = (line for line in deployment.log_lines(name) if line["event"] in {"attempt_failed", "dead_letter"})
    return [line["attempt"] for line in lines]


def test_sigterm_ends_an_idle_consumer_at_once(deployment: Deployment) -> None:
    deployment.release()
    consumer = deployment.start_consumer()

    asked = time.monotonic()
    assert deployment.system.stop(consumer) == 0
    assert time.monotonic() - asked < 3


def test_sigterm_ends_a_consumer_that_waits_for_a_dead_broker_and_a_second_one_does_no_harm(
    deployment: Deployment,
) -> None:
    deployment.release()
    consumer = deployment.system.start(AMQP_URL=f"amqp://guest:guest@127.0.0.1:{deployment.port}/%2F")
    wait_until(lambda: deployment.said("events", "reconnecting") >= 2, "it tries again")

    asked = time.monotonic()
    consumer.send_signal(signal.SIGTERM)
    consumer.send_signal(signal.SIGTERM)
    assert consumer.wait(10) == 0
    assert time.monotonic() - asked < 3
