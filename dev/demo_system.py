"""The demo's own environment and processes: names that nobody else uses, and a look at it all."""

import os
import secrets
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path

import pika
import redis
import requests
from sqlalchemy import delete

from config.settings import Settings, load
from core import counts, database, parked, topology
from core.recipients import RecipientStore, connect
from core.tables import metadata
from core.topology import Topology, queue_prefix
from dev.ports import free_port

BIN = Path(sys.executable).parent
SCHEMA = "mailward_demo"
START_TIMEOUT_S = 60.0


class DemoFailed(Exception):
    """The demo did not do what it promises; the text says what was seen."""


def refuse_production() -> None:
    """Raise DemoFailed where MAILWARD_ENV says production."""
    if os.environ.get("MAILWARD_ENV") == "production":
        raise DemoFailed(
            "MAILWARD_ENV=production: the demo empties queues and tables of its own and refuses to run here"
        )


def environment(urls: Mapping[str, str]) -> dict[str, str]:
    """The environment of the demo's processes: given services, but names, keys, schema and secrets of its own."""
    secret = {
        name: f"whsec_{b64encode(secrets.token_bytes(24)).decode()}"
        for name in ("RESEND_WEBHOOK_SECRETS", "CLOUDFLARE_WEBHOOK_SECRETS")
    }
    return {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "MAILWARD_ENV": "demo",
        "RECIPIENT_KEY": "mailward-demo:recipient:{address}",
        "DATABASE_SCHEMA": "" if urls["DATABASE_URL"].startswith("sqlite") else SCHEMA,
        "RETRY_DELAYS": "1,2",
        "PORT": os.environ.get("PORT") or str(free_port()),
        "API_TOKENS": secrets.token_urlsafe(24),
        "WEB_CONCURRENCY": os.environ.get("WEB_CONCURRENCY", "2"),
        **secret,
        **urls,
    }


def sending(url: str, api_key: str) -> dict[str, str]:
    """The settings that send the demo's campaigns to the sandbox."""
    return {"RESEND_API_URL": url, "RESEND_API_KEY": api_key, "SEND_RATE": "0"}


class DemoSystem:
    """The running demo, as an operator sees it: by HTTP, by the command line, and by a look into the stores."""

    def __init__(self, environ: dict[str, str], log: Path) -> None:
        self.environ = environ
        self.log = log
        self.settings: Settings = load(environ)
        self.topology = Topology(queue_prefix(self.settings.env), self.settings.retry_delays_s)
        self.url = f"http://127.0.0.1:{environ['PORT']}"
        self.client: redis.Redis = connect(self.settings)
        self.store = RecipientStore(self.client, self.settings.recipient_key)
        self.engine = database.create(self.settings.database_url, self.settings.database_schema)
        self._processes: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Migrate, empty what an earlier demo left, and start the Procfile's processes."""
        self.mailward("migrate")
        self._empty()
        out = self.log.open("wb")
        command = [str(BIN / "honcho"), "start", "-e", os.devnull, "web", "events", "sends", "clock"]
        self._processes = subprocess.Popen(command, env=self.environ, stdout=out, stderr=out, start_new_session=True)
        self.wait(self._ready, "the web process and the consumer to be ready", START_TIMEOUT_S)

    def stop(self) -> None:
        """Stop the processes as a platform would."""
        if self._processes is not None and self._processes.poll() is None:
            self._processes.terminate()
            self._processes.wait(30)

    def wait(self, holds: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
        """Wait until `holds`; raises DemoFailed with the end of the processes' log otherwise."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline or (self._processes is not None and self._processes.poll() is not None):
                raise DemoFailed(
                    f"waited {timeout_s:.0f} s in vain for {what}; the end of {self.log}:\n{self._log_end()}"
                )
            time.sleep(0.1)

    def mailward(self, *arguments: str) -> str:
        """Run a command of the command line; returns what it printed."""
        done = subprocess.run([str(BIN / "mailward"), *arguments], env=self.environ, capture_output=True, text=True)
        if done.returncode != 0:
            raise DemoFailed(f"mailward {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def outcomes(self) -> dict[str, int]:
        """How many events the consumer has brought to which outcome."""
        with database.reading(self.engine) as connection:
            found = counts.totals(connection)
        sums: dict[str, int] = {}
        for (name, _, label), n in found.items():
            if name == "outcome":
                sums[label] = sums.get(label, 0) + n
        return sums

    def depth(self, queue: str) -> int:
        """Messages ready in a queue."""
        with pika.BlockingConnection(pika.URLParameters(self.settings.amqp_url)) as connection:
            return int(connection.channel().queue_declare(queue, passive=True).method.message_count)

    def parked_items(self) -> int:
        """Items that wait in the parked lane, counted without consuming anything."""
        items = 0
        with pika.BlockingConnection(pika.URLParameters(self.settings.amqp_url)) as connection:
            channel = connection.channel()
            while (found := channel.basic_get(self.topology.events.parked))[0] is not None:
                items += len(parked.decode(found[2] or b"").items)
        return items  # closing the connection has returned them all

    def wait_for_end(self) -> None:
        """Wait until the processes end, which they do not by themselves."""
        assert self._processes is not None
        self._processes.wait()
        raise DemoFailed(f"the processes ended; see {self.log}")

    def _ready(self) -> bool:
        try:
            ready = requests.get(f"{self.url}/readyz", timeout=3).status_code == 200
        except requests.RequestException:
            return False
        return ready and self._consumers() > 0

    def _consumers(self) -> int:
        with pika.BlockingConnection(pika.URLParameters(self.settings.amqp_url)) as connection:
            return int(
                connection.channel().queue_declare(self.topology.events.name, passive=True).method.consumer_count
            )

    def _empty(self) -> None:
        with pika.BlockingConnection(pika.URLParameters(self.settings.amqp_url)) as connection:
            channel = connection.channel()
            for queue in topology.queue_names(self.topology):
                channel.queue_purge(queue)
        for key in self.client.scan_iter(self.store.key("*"), count=1000):
            self.client.delete(key)
        with self.engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(delete(table))

    def _log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:]) if self.log.exists() else ""
