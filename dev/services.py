"""The services that a run needs: private ones for those that the environment names no URL for."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dev.postgresql import PostgreSQL
from dev.rabbitmq import RabbitMQ
from dev.redis_server import RedisServer
from dev.server import Server, ServerFailed, ServerMissing

__all__ = [
    "PostgreSQL",
    "RabbitMQ",
    "RedisServer",
    "Server",
    "ServerFailed",
    "ServerMissing",
    "environ",
    "running",
    "start_together",
]


def environ(servers: Iterable[Server]) -> dict[str, str]:
    """AMQP_URL, REDIS_URL, DATABASE_URL: the settings that lead a process to these servers."""
    return {server.variable: server.url for server in servers}


@contextmanager
def start_together(servers: Iterable[Server]) -> Iterator[None]:
    """Boot all servers at once, and stop them in reverse order at the end; raises ServerFailed."""
    with ExitStack() as stack:
        started = list(servers)
        for server in started:
            stack.callback(server.stop)
            server.launch()
        for server in started:
            server.wait_until_ready()
        yield


@contextmanager
def running(directory: Path, given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The URLs of RabbitMQ, Redis and the SQL database for as long as the block runs.

    `given` (the environment) decides: a URL that it has is passed on untouched; else a private server runs with its
    data under `directory`, and SQL is a SQLite file there. Data of an earlier run is kept. Raises ServerFailed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    urls = {"DATABASE_URL": f"sqlite:///{directory.absolute() / 'mailward.sqlite3'}"}
    urls |= {name: given[name] for name in ("AMQP_URL", "REDIS_URL", "DATABASE_URL") if given.get(name)}
    if "AMQP_URL" not in urls and given.get("CLOUDAMQP_URL"):
        urls["AMQP_URL"] = given["CLOUDAMQP_URL"]
    candidates: list[Server] = [RabbitMQ(directory / "rabbitmq"), RedisServer(directory / "redis", durable=True)]
    private = [server for server in candidates if server.variable not in urls]
    with start_together(private):
        yield urls | environ(private)
