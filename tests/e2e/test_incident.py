"""The incident that this product exists for, in small: a queue redelivers what the provider had accepted already."""

import json
import os
import subprocess
import sys

import pytest

from tests.system import ROOT

RECIPIENTS = 900  # enough for a stall in each of the three runs


@pytest.mark.usefixtures("rabbitmq", "redis_server")  # not used, but skipped where the machine has none
def test_redelivered_batches_mail_nobody_twice_but_would_without_ledger_and_keys() -> None:
    command = [sys.executable, "-m", "bench.incident"]
    environ = {"PATH": os.environ["PATH"], "INCIDENT_RECIPIENTS": str(RECIPIENTS)}

    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=170)

    assert done.returncode == 0, done.stdout + done.stderr
    line = json.loads(done.stdout.splitlines()[-1])
    assert (line["recipients"], line["mails_min"], line["mails_max"], line["duplicates"]) == (RECIPIENTS, 1, 1, 0)
    assert line["redelivered_batches"] > 0
    assert line["without_ledger_duplicates"] > 0
