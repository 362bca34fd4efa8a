"""Every fault of a service is one line that names the service and the next step, and shows no password."""

import sqlite3
import ssl

import pika.exceptions
import psycopg
import pytest
import redis.exceptions
import sqlalchemy.exc

from config.settings import load
from core.errors import Outage
from ops.faults import explain

SETTINGS = load(
    {
        "AMQP_URL": "amqp://user:word@broker.example.com",
        "REDIS_URL": "rediss://:word@redis.example.com",
        "DATABASE_URL": "postgres://user:word@sql.example.com/d",
    }
)


def sql(original: Exception) -> sqlalchemy.exc.OperationalError:
    return sqlalchemy.exc.OperationalError("SELECT 1", {}, original)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (redis.exceptions.ConnectionError("Error 111 connecting. Connection refused."), ("REDIS_URL", "refused")),
        (redis.exceptions.TimeoutError("Timeout reading"), ("REDIS_URL", "Timeout")),
        (redis.exceptions.ConnectionError(str(ssl.SSLError("CERTIFICATE_VERIFY_FAILED"))), ("REDIS_TLS_VERIFY=false",)),
        (redis.exceptions.AuthenticationError("invalid password"), ("refuses the password", "REDIS_URL")),
        (redis.exceptions.ReadOnlyError("replica"), ("redis.example.com", "replica")),
        (sql(psycopg.OperationalError("connection\n\tfailed")), ("DATABASE_URL", "connection failed")),
        (sql(psycopg.errors.UndefinedTable('relation "journal" does not exist')), ("mailward migrate",)),
        (sql(sqlite3.OperationalError("no such table: journal")), ("mailward migrate",)),
        (pika.exceptions.AMQPConnectionError(ConnectionRefusedError(111, "refused")), ("AMQP_URL", "refused")),
        (pika.exceptions.ProbableAuthenticationError("no"), ("AMQP_URL",)),
        (pika.exceptions.ChannelClosedByBroker(404, "NOT_FOUND - no queue"), ("mailward migrate", "404")),
        (Outage("broker_unreachable", "nobody there"), ("AMQP_URL", "nobody there")),
    ],
)
def test_a_fault_is_one_line_with_the_service_and_the_next_step(error: Exception, says: tuple[str, ...]) -> None:
    line = explain(error, SETTINGS)

    assert [word for word in says if word not in line] == []
    assert "\n" not in line
    assert "word@" not in line
