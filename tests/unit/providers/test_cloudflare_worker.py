"""The ready Worker of docs/, run under node: what it posts we accept, and it acknowledges only what we have taken."""

import base64
import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.events import Kind
from providers.base import Request
from providers.cloudflare import Cloudflare
from tests.unit.providers.payloads import recorded
from tests.unit.providers.security_cases import NEXT_SECRET, SECRET

WORKER = Path(__file__).parents[3] / "docs" / "cloudflare-worker.js"
NODE = shutil.which("node")

# Runs the Worker on the messages of its first argument; the post is caught instead of sent, the answer is made up.
HARNESS = """
import worker from "./worker.mjs";
const { messages, answer, secret } = JSON.parse(process.argv[2]);
const posts = [], told = [];
console.error = () => {};
globalThis.fetch = async (url, { method, headers, body }) => {
  posts.push({ url, method, headers, body: Buffer.from(body).toString("base64") });
  if (answer.error) throw new Error(answer.error);
  return new Response("", { status: answer.status, headers: answer.headers ?? {} });
};
const batch = messages.map(({ body, bytes, ...rest }, n) => ({
  ...rest,
  body: bytes === undefined ? body : new TextEncoder().encode(bytes).buffer,
  ack: () => told.push({ n, ack: true }),
  retry: (options) => told.push({ n, ...options }),
}));
const url = "https://mailward.example.com/webhooks/cloudflare";
await worker.queue({ messages: batch }, { MAILWARD_URL: url, MAILWARD_SECRET: secret });
console.log(JSON.stringify({ posts, told }));
"""

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """The Worker as a function: messages and the answer it gets → what it posted and what it told the queue."""
    (tmp_path / "worker.mjs").write_bytes(WORKER.read_bytes())
    (tmp_path / "harness.mjs").write_text(HARNESS)

    def with_messages(*messages: dict[str, Any], secret: str = SECRET, **answer: Any) -> dict[str, Any]:
        given = json.dumps({"messages": messages, "answer": answer or {"status": 200}, "secret": secret})
        command = [str(NODE), "harness.mjs", given]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        return dict(json.loads(done.stdout))

    return with_messages


def message(body: Any, attempts: int = 1) -> dict[str, Any]:
    return {"id": "queue-message-1", "attempts": attempts, "body": body}


def received(post: dict[str, Any]) -> Request:
    return Request(post["headers"], base64.b64decode(post["body"]), datetime.now(UTC))


EVENT = json.loads(recorded("cloudflare", "bounced_hard"))


@pytest.mark.parametrize(
    "content",
    [message(EVENT), message(json.dumps(EVENT)), {"id": "q", "attempts": 1, "bytes": json.dumps(EVENT)}],
    ids=["json", "text", "bytes"],
)
def test_what_the_worker_posts_is_accepted_and_understood(run: Any, content: dict[str, Any]) -> None:
    said = run(content)
    request = received(said["posts"][0])
    provider = Cloudflare((SECRET,))

    assert provider.verify(request) == "1 of 1"
    assert request.headers["webhook-id"] == EVENT["payload"]["eventId"]
    assert [event.kind for event in provider.normalise(request).events] == [Kind.HARD_BOUNCE]
    assert said["told"] == [{"n": 0, "ack": True}]


def test_letters_beyond_ascii_survive_the_signature(run: Any) -> None:
    event = {**EVENT, "payload": {**EVENT["payload"], "recipient": "josé@example.com"}}
    request = received(run(message(event))["posts"][0])
    provider = Cloudflare((NEXT_SECRET, SECRET))

    assert provider.verify(request) == "2 of 2"
    assert provider.normalise(request).events[0].recipient == "josé@example.com"


@pytest.mark.parametrize("event_id", ["a.b,c d", "né", None, ""])
def test_an_odd_event_id_still_makes_a_signature_that_is_accepted(run: Any, event_id: str | None) -> None:
    event = {**EVENT, "payload": {**EVENT["payload"], "eventId": event_id}}

    assert Cloudflare((SECRET,)).verify(received(run(message(event))["posts"][0])) == "1 of 1"


def test_text_that_is_no_json_is_forwarded_and_parked(run: Any) -> None:
    request = received(run(message("not json"))["posts"][0])
    provider = Cloudflare((SECRET,))

    assert provider.verify(request) == "1 of 1"
    assert len(provider.normalise(request).parked) == 1


@pytest.mark.parametrize("status", [401, 404, 413, 429, 500, 503, 202])
def test_an_event_that_mailward_did_not_take_is_tried_again(run: Any, status: int) -> None:
    assert run(message(EVENT), status=status)["told"] == [{"n": 0, "delaySeconds": 10}]


def test_a_network_failure_is_tried_again_later_and_later(run: Any) -> None:
    told = run(*(message(EVENT, attempts) for attempts in (1, 2, 5, 99)), error="refused")["told"]

    assert sorted(one["delaySeconds"] for one in told) == [10, 20, 160, 43200]


def test_the_wait_that_mailward_asks_for_is_kept(run: Any) -> None:
    assert run(message(EVENT), status=503, headers={"retry-after": "75"})["told"] == [{"n": 0, "delaySeconds": 75}]
