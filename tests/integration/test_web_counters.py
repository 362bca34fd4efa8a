"""What the web process counts reaches SQL from beside the requests, so that `watch`, `status` and alerts can tell."""

from pathlib import Path

import pytest
import requests

from tests.integration.web_process import WebProcess
from tests.system import System, wait_until


@pytest.mark.parametrize("options", [(), ("--preload",)], ids=["lazy", "preloaded"])
def test_accepted_and_refused_posts_are_counted_in_sql(
    system: System, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert system.engine  # migrated
    with system.channel():
        web = WebProcess(system.environ, tmp_path, *options)
    try:
        assert web.post(1).status_code == 200
        assert requests.post(f"{web.url}/webhooks/resend", data=b"{}", timeout=10).status_code == 401

        def counted() -> dict[str, int]:
            return {row.name: int(row.n) for row in system.rows("SELECT name, sum(n) AS n FROM counts GROUP BY name")}

        wait_until(lambda: counted().keys() >= {"accepted", "refused"}, "both counted")
        assert (counted()["accepted"], counted()["refused"]) == (1, 1)
    finally:
        web.terminate()
