"""The running sandbox: what it was started with, what it remembers, and what a reset forgets."""

import time
from dataclasses import dataclass, field

from dev.sandbox.endpoint import Endpoint, State
from dev.sandbox.faults import Dice, Settings
from dev.sandbox.outbox import Outbox
from dev.sandbox.webhooks import Courier


@dataclass(frozen=True, slots=True)
class Options:
    """What is fixed while the sandbox runs. An empty `webhook_url` posts no webhooks."""

    api_keys: tuple[str, ...] = ("re_sandbox",)
    webhook_url: str = ""
    webhook_secret: str = ""
    webhook_posters: int = 16
    outbox_capacity: int = 500
    seed: int | None = None
    settings: Settings = field(default_factory=Settings)


class Sandbox:
    """The running sandbox; `state` is replaced as a whole by a reset."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.started_at = time.time()
        self.courier = Courier(options.webhook_url, options.webhook_secret, options.webhook_posters)
        self.endpoint = Endpoint(options.api_keys, self.courier.tell)
        self.state = self._fresh()

    def reset(self) -> None:
        """Forget everything; settings and clock are those of the start."""
        self.state = self._fresh()
        self.courier.reset()
        self.courier.pause(self.state.settings.webhooks_paused)

    def _fresh(self) -> State:
        return State(self._options.settings, Outbox(self._options.outbox_capacity), Dice(self._options.seed))
