"""SIGTERM and SIGINT: stop taking work, finish what is in hand, and be gone before the platform kills us."""

import os
import signal
import threading

DRAIN_S = 18.0  # for what is in hand once a stop was asked for
DEADLINE_S = (
    22.0  # Heroku kills after 30 s, our contract is 25; past this we leave without acks (redelivery is harmless)
)
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """Set once a stop was asked for. A thread waits for the signals, so that no handler interrupts pika or SQL."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def listen(self) -> None:
        """Start waiting for the signals; call in the main thread before any other thread starts."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        threading.Thread(target=self._wait, name="signals", daemon=True).start()

    def ask(self) -> None:
        """Ask for a stop, as a signal does."""
        self._asked.set()

    @property
    def asked(self) -> bool:
        """True once a stop was asked for."""
        return self._asked.is_set()

    def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until a stop is asked for."""
        self._asked.wait(seconds)

    def _wait(self) -> None:
        signal.sigwait(_SIGNALS)
        self._asked.set()
        threading.Event().wait(DEADLINE_S)
        os._exit(0)
