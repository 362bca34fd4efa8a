"""`python -m consumer events`: run one of the workers of consumer.workers until SIGTERM."""

import gc
import os
import sys

from config.settings import SettingsError, load
from consumer.stopping import Stopping
from consumer.workers import WORKERS
from core import telemetry


def main(arguments: list[str]) -> int:
    """Run the worker named by the one argument; returns the exit status."""
    if len(arguments) != 1 or arguments[0] not in WORKERS:
        print(f"usage: python -m consumer {'|'.join(WORKERS)}", file=sys.stderr)  # noqa: T201 - said to a person
        return 2
    try:
        settings = load(os.environ)
    except SettingsError as error:
        for fault in error.faults:
            print(f"mailward: {fault}", file=sys.stderr)  # noqa: T201 - said to a person, before logging is set up
        return 1
    telemetry.configure(arguments[0], settings.log_level)
    stopping = Stopping()
    stopping.listen()
    # What is loaded by now lives as long as we do; walking it with every batch was a tenth of the consumer's time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    WORKERS[arguments[0]](settings, stopping)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
