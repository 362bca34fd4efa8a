"""What commands work with: the settings, and each service made when it is first asked for."""

import getpass
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from sqlalchemy import Engine

from config.settings import Settings
from core import database, recipients
from core.clock import utc_now
from core.ledger.identity import LedgerKey
from core.publisher import Publisher
from core.recipients import RecipientStore
from core.topology import Topology, queue_prefix
from providers import registry
from providers.base import Provider
from providers.reading import reader
from sender.campaign import Campaigns


@dataclass(frozen=True)
class Context:
    """The object behind every command (`ctx.obj`); nothing connects before it is used."""

    settings: Settings
    clock: Callable[[], datetime] = utc_now

    @cached_property
    def topology(self) -> Topology:
        """Names of this environment's exchanges and queues."""
        return Topology(queue_prefix(self.settings.env), self.settings.retry_delays_s)

    @cached_property
    def engine(self) -> Engine:
        """The SQL database: journal, dead-letter log, counts."""
        return database.create(self.settings.database_url, self.settings.database_schema)

    @cached_property
    def store(self) -> RecipientStore:
        """The recipient records in Redis."""
        return RecipientStore(recipients.connect(self.settings), self.settings.recipient_key)

    @cached_property
    def campaigns(self) -> Campaigns:
        """Creates, fills and starts campaigns."""
        return Campaigns.of(self.settings, self.engine, self.store, patient=True)

    @cached_property
    def ledger_key(self) -> LedgerKey:
        """The ledger's identity in Redis."""
        return LedgerKey(recipients.connect(self.settings), self.settings.env)

    @property
    def actor(self) -> str:
        """Who is at the terminal, for the audit."""
        return f"cli:{getpass.getuser()}"

    @cached_property
    def publisher(self) -> Publisher:
        """The confirmed way to the broker."""
        return Publisher(self.settings.amqp_url, connection_name="mailward command line")

    @cached_property
    def providers(self) -> dict[str, Provider]:
        """The configured providers by name."""
        return registry.configured(self.settings)

    @cached_property
    def readers(self) -> dict[str, Provider]:
        """The providers whose bodies can be read again: the configured ones, and one whose queue is pulled."""
        pulled = {"cloudflare"} if self.settings.providers.cloudflare_api_token else set()
        return {name: reader(name, self.settings) for name in pulled} | self.providers

    def close(self) -> None:
        """Let go of what was made."""
        if "publisher" in self.__dict__:
            self.publisher.close()
        if "engine" in self.__dict__:
            self.engine.dispose()
