"""The private RabbitMQ and PostgreSQL on what they can do that the tests of outages rely on."""

import time

import pika
import psycopg
import pytest
import sqlalchemy
from pika.adapters.blocking_connection import BlockingChannel

from core.topology import Topology
from dev.rabbitmq import QUORUM_QUEUE_SETTLES_S
from dev.services import PostgreSQL, RabbitMQ


def test_a_persistent_message_survives_a_killed_broker(own_rabbitmq: RabbitMQ) -> None:
    with pika.BlockingConnection(pika.URLParameters(own_rabbitmq.url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("survivor", durable=True, arguments={"x-queue-type": "quorum"})
        channel.basic_publish("", "survivor", b"body", pika.BasicProperties(delivery_mode=2), mandatory=True)

    time.sleep(QUORUM_QUEUE_SETTLES_S)
    own_rabbitmq.kill()
    own_rabbitmq.start()

    with pika.BlockingConnection(pika.URLParameters(own_rabbitmq.url)) as connection:
        assert connection.channel().basic_get("survivor", auto_ack=True)[2] == b"body"


def test_the_broker_listens_on_loopback_only_and_runs_no_plugins(rabbitmq: RabbitMQ) -> None:
    status = rabbitmq.ctl("status")

    assert f"Interface: 127.0.0.1, port: {rabbitmq.port}" in status
    assert "Interface: [::]" not in status
    assert "rabbitmq_management" not in status


def test_a_frozen_database_times_out_and_serves_again_when_thawed(own_postgresql: PostgreSQL) -> None:
    plain_url = own_postgresql.url.replace("+psycopg", "")
    own_postgresql.freeze()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(plain_url, connect_timeout=2)

    own_postgresql.thaw()

    with psycopg.connect(plain_url, connect_timeout=2) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_stopped_database_returns_on_the_same_url(own_postgresql: PostgreSQL) -> None:
    own_postgresql.execute("CREATE DATABASE kept")
    url = own_postgresql.database_url("kept").replace("+psycopg", "")

    own_postgresql.restart()

    psycopg.connect(url).close()


def test_each_test_has_an_empty_database_of_its_own(database_url: str) -> None:
    engine = sqlalchemy.create_engine(database_url)

    assert sqlalchemy.inspect(engine).get_table_names() == []
    engine.dispose()


def test_each_test_has_queues_of_its_own(channel: BlockingChannel, topology: Topology, environment_name: str) -> None:
    channel.basic_publish(topology.work_exchange, topology.events.name, b"body", mandatory=True)

    assert topology.events.name == f"{environment_name}.email-events"
    assert channel.basic_get(topology.events.name, auto_ack=True)[2] == b"body"
