"""What dev/setup.sh decides before it changes anything, and what it tells people when it cannot go on."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
URLS = {"AMQP_URL": "amqp://a", "REDIS_URL": "redis://b", "DATABASE_URL": "postgres://c"}


def shell(script: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `script` with the functions of setup.sh at hand, on a machine without any program but those of /usr/bin."""
    program = f"set -eu; . dev/setup_python.sh; . dev/setup_packages.sh; {script}"
    return subprocess.run(
        ["bash", "-c", program],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"} | (environ or {}),
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_missing_where_every_service_has_a_url() -> None:
    assert shell("usable_python() { true; }; missing_packages test", URLS).stdout == ""


def test_a_cloudamqp_url_counts_as_a_broker() -> None:
    environ = {name: url for name, url in URLS.items() if name != "AMQP_URL"} | {"CLOUDAMQP_URL": "amqp://a"}

    assert shell("usable_python() { true; }; missing_packages test", environ).stdout == ""


def test_only_python_is_looked_for_when_only_python_is_asked_for() -> None:
    assert shell("usable_python() { false; }; missing_packages python").stdout.split() == ["python3", "python3-venv"]


def test_what_cannot_be_installed_is_named_with_every_way_out() -> None:
    done = shell('fail_without_packages "you are not root" rabbitmq-server redis-server')

    assert done.returncode == 1
    assert "missing on this machine: rabbitmq-server redis-server" in done.stderr
    for way in (
        "apt-get install rabbitmq-server redis-server",
        "AMQP_URL",
        "REDIS_URL",
        "DATABASE_URL",
        "compose.yaml",
    ):
        assert way in done.stderr


def test_without_apt_nothing_is_attempted() -> None:
    done = shell('command() { [[ $2 != apt-get ]] && builtin command "$@"; }; install_packages rabbitmq-server')

    assert done.returncode == 1
    assert "there is no apt-get here" in done.stderr


def test_an_unknown_mode_is_answered_with_the_usage() -> None:
    done = subprocess.run(["bash", ROOT / "dev/setup.sh", "everything"], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "usage: dev/setup.sh [run|test|python]" in done.stderr
