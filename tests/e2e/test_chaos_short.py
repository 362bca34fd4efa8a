"""The short run of `make chaos`: a seeded series of kills, restarts and mistreated calls; everybody gets one mail."""

import json
import os
import subprocess
import sys

import pytest

from tests.system import ROOT

SIZE = {
    "CHAOS_SEED": "7",
    "CHAOS_CAMPAIGNS": "2",
    "CHAOS_RECIPIENTS": "1500",
    "CHAOS_KILLS": "8",
    "CHAOS_RESTARTS": "2",
}


@pytest.mark.usefixtures("rabbitmq", "redis_server")  # not used, but skipped where the machine has none
def test_whatever_is_killed_everybody_gets_one_mail() -> None:
    command = [sys.executable, "-m", "bench.chaos", "sqlite"]
    environ = {"PATH": os.environ["PATH"], "CHAOS_HURRY": "1", **SIZE}

    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=170)

    assert done.returncode == 0, done.stdout + done.stderr
    line = json.loads(done.stdout.splitlines()[-1])
    assert line.pop("seconds") > 0
    assert line == {
        "sends": 3000, "duplicates": 0, "lost": 0, "unknown": 0, "skipped": 0, "kills": 8, "restarts": 2
    }  # fmt: skip
