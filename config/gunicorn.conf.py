"""Gunicorn for the web process: read by the master before it forks, so wrong settings stop the boot here, said once."""

import os
import sys
from typing import Any

from gunicorn import glogging  # type: ignore[import-untyped]

from config import settings
from core import telemetry
from providers import registry
from webhook import log_lines

try:
    _settings = settings.load(os.environ)
    registry.configured(_settings)
except settings.SettingsError as error:
    sys.exit("mailward cannot start:\n" + "\n".join(f"  {fault}" for fault in error.faults))

bind = f"0.0.0.0:{_settings.port}"
workers = _settings.web_concurrency
# A webhook request mostly waits for a confirm. Under gevent all requests of a worker share one connection and one
# thread; with real threads the hand-over to the publisher costs more than it saves.
worker_class = "webhook.worker.Worker"
worker_connections = 200  # each may hold a body of 2 MiB
keepalive = 95  # seconds; longer than the 90 of Heroku's router, which must be the one to close idle connections
timeout = 25  # seconds without a sign of life from a worker; no request takes longer than about 5
graceful_timeout = 20  # seconds; Heroku kills 30 s after SIGTERM
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108 - a heartbeat file that must not wait for a disk
control_socket_disable = True  # else a door for gunicorn's own tool in $HOME, the same for all deployments of a user
forwarded_allow_ips = "*"  # believed for the URL's scheme alone, which nothing here decides by
accesslog = None  # the endpoint writes one line for each request itself


class _Logger(glogging.Logger):  # type: ignore[misc]  # gunicorn is untyped
    """Gunicorn's own lines among ours; its `logconfig_dict` would format an access line for every request in vain."""

    def setup(self, cfg: Any) -> None:
        telemetry.configure("web", _settings.log_level)
        log_lines.install()
        self.error_log.propagate = True

    def access(self, *_: Any) -> None:
        """See accesslog."""


logger_class = _Logger
