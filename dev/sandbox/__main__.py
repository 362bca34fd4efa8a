"""`python -m dev.sandbox --port 8025`: serve until told to stop. Everything is in memory and ends with the process."""

import argparse
import json
import os
import signal
import sys
from typing import Any

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from dev.sandbox.faults import Settings, changed


def main() -> None:
    """Read the arguments and serve."""
    arguments = _parser().parse_args()
    try:
        settings = changed(Settings(), json.loads(arguments.settings))
    except ValueError as error:
        sys.exit(f"--settings: {error}")
    if arguments.webhook_url and not arguments.webhook_secret:
        sys.exit("--webhook-url needs a secret: --webhook-secret or SANDBOX_WEBHOOK_SECRET (whsec_…)")
    _Server(arguments, settings).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dev.sandbox", description="A stand-in for Resend that sends nothing."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8025)
    parser.add_argument("--api-key", action="append", help="accepted keys; re_sandbox unless given")
    parser.add_argument("--webhook-url", default="", help="where events are posted; none unless given")
    parser.add_argument("--webhook-secret", default=os.environ.get("SANDBOX_WEBHOOK_SECRET", ""), help="whsec_…")
    parser.add_argument("--webhook-posters", type=int, default=16, help="how many webhooks are posted at once")
    parser.add_argument("--outbox", type=int, default=500, help="how many mails are kept in full")
    parser.add_argument("--seed", type=int, help="makes faults by probability repeatable")
    parser.add_argument("--settings", default="{}", help="JSON, as /sandbox/settings takes it")
    return parser


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn is untyped
    def __init__(self, arguments: argparse.Namespace, settings: Settings) -> None:
        self._arguments = arguments
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        options = {
            "bind": f"{self._arguments.host}:{self._arguments.port}",
            "workers": 1,  # the state is in its memory
            "worker_class": "webhook.worker.Worker",
            "worker_connections": 1000,
            "keepalive": 75,
            "timeout": 0,  # a worker killed for being slow would forget who got which mail
            "graceful_timeout": 2,
            "loglevel": "warning",
            "child_exit": _end_with_worker,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        # Here, in the worker, gevent has patched the standard library.
        from dev.sandbox.app import create_app
        from dev.sandbox.service import Options

        given = self._arguments
        return create_app(
            Options(
                api_keys=tuple(given.api_key or ("re_sandbox",)),
                webhook_url=given.webhook_url,
                webhook_secret=given.webhook_secret,
                webhook_posters=given.webhook_posters,
                outbox_capacity=given.outbox,
                seed=given.seed,
                settings=self._settings,
            )
        )


def _end_with_worker(arbiter: Any, worker: Any) -> None:
    # Another worker would start with an empty memory and call every mail the first one.
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
