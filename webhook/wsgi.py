"""The web process's composition root: gunicorn asks for `webhook.wsgi:app`, which is made at that moment."""

import os
from functools import cache

from flask import Blueprint, Flask
from sqlalchemy import Engine

from config import settings
from core import clock, database, recipients, topology
from core.alert_delivery import Channel
from core.alerting import Alerting
from core.flusher import Flusher
from core.publisher import Publisher
from core.recipients import RecipientStore
from core.telemetry import Counters
from core.topology import Topology
from providers import registry
from providers.entry import Fetch
from providers.fetching import https_get
from sender.campaign import Campaigns
from sender.clients import configured
from webhook import doors, health, openapi
from webhook.api import campaigns as campaigns_api
from webhook.api import recipients as recipients_api
from webhook.app import create_app
from webhook.clock_watch import ClockWatch
from webhook.endpoint import Endpoint


def __getattr__(name: str) -> Flask:
    """`app`, made when it is first asked for, so that importing this module reads and connects nothing."""
    if name == "app":
        return _app()
    raise AttributeError(name)


@cache
def _app() -> Flask:
    current = settings.load(os.environ)
    counters = Counters()
    _start_beside(counters, current)
    return application(current, counters)


def application(current: settings.Settings, counters: Counters, fetch: Fetch = https_get) -> Flask:
    """The application that `current` asks for; it counts in `counters`, and `fetch` gets it what proofs need (a
    certificate, say). Nothing connects before the first request."""
    names = Topology(topology.queue_prefix(current.env), current.retry_delays_s)
    publisher = Publisher(current.amqp_url, connection_name="mailward web")
    endpoint = Endpoint(
        providers=registry.configured(current, fetch),
        missing=registry.missing,
        publisher=publisher,
        topology=names,
        counters=counters,
        clock=clock.utc_now,
        fetch=fetch,
    )
    client = recipients.connect(current)
    engine = database.create(current.database_url, current.database_schema)
    stores = {"redis": health.redis_check(client), "database": health.database_check(engine)}
    ready = health.blueprint(health.broker_check(publisher.require_queue, names.events.name), stores)
    blueprints = [doors.route(endpoint), ready, openapi.blueprint()]
    if current.api_tokens:
        blueprints += _api(current, RecipientStore(client, current.recipient_key), engine)
    return create_app(blueprints, doors.shortcuts(endpoint))


def _api(current: settings.Settings, store: RecipientStore, engine: Engine) -> list[Blueprint]:
    campaigns = Campaigns.of(current, engine, store, patient=False)
    return [
        recipients_api.blueprint(store, engine, current.api_tokens, clock.utc_now, current.keep_local_case),
        campaigns_api.blueprint(campaigns, configured.client(current), current.api_tokens),
    ]


def _start_beside(counters: Counters, current: settings.Settings) -> None:
    """What runs beside the requests: counters go to SQL, and the clock process is watched. A busy SQLite must not hold
    the other greenlets up."""
    engine = database.create(current.database_url, current.database_schema, busy_timeout_s=0.5, connections=1)
    channel = Channel(current.alert_webhook_url, current.alert_webhook_format)
    watch = ClockWatch(engine, Alerting(engine, channel.deliver, current.env), clock.utc_now)
    for one in (Flusher(counters, engine, clock.utc_now), watch):
        one.start()
        os.register_at_fork(after_in_child=one.start)  # with `preload_app` the workers are forked after this
