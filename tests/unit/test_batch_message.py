"""The message about a call on the wire: what is written is read, and what is not ours is refused."""

import json
from typing import Any

import pytest

from core import batch_message
from core.batch_message import BatchMessage, decode, encode
from core.errors import NewerVersion, Undecodable
from core.messages import FIRST_ATTEMPT
from core.topology import Topology

MESSAGE = BatchMessage("0a1b2c3d4e5f6071:42", "ab2cd3ef", 7)
BODY: dict[str, Any] = {"v": 1, "ledger": "0a1b2c3d4e5f6071:42", "campaign_id": "ab2cd3ef", "call_id": 7}


def test_a_message_is_written_with_its_version_and_ids_only() -> None:
    assert json.loads(encode(MESSAGE)) == BODY


@pytest.mark.parametrize(
    "message",
    [MESSAGE, BatchMessage("0a:0", "a", 1), BatchMessage("ff:999999999999999999", "Az09_-", 2**63 - 1)],
)
def test_what_is_written_is_read(message: BatchMessage) -> None:
    assert decode(encode(message)) == message


def test_members_that_a_later_mailward_adds_are_ignored() -> None:
    assert decode(json.dumps(BODY | {"priority": 5}).encode()) == MESSAGE


@pytest.mark.parametrize("version", [2, 10**30])
def test_a_newer_version_waits_for_a_process_that_can_read_it(version: int) -> None:
    with pytest.raises(NewerVersion):
        decode(json.dumps({"v": version, "anything": "else"}).encode())


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"nul"])
def test_what_is_no_json_is_undecodable(body: bytes) -> None:
    with pytest.raises(Undecodable, match="not_json"):
        decode(body)


@pytest.mark.parametrize("body", [b"[]", b'"batch"', b"7", b"null"])
def test_json_that_is_no_object_is_undecodable(body: bytes) -> None:
    with pytest.raises(Undecodable, match="not_an_object"):
        decode(body)


@pytest.mark.parametrize("member", list(BODY))
def test_every_member_is_needed(member: str) -> None:
    with pytest.raises(Undecodable, match="not_a_batch"):
        decode(json.dumps({name: value for name, value in BODY.items() if name != member}).encode())


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *[("v", value) for value in (0, -1, "1", True, None, 1.5)],
        *[("ledger", value) for value in ("", ":1", "0a", "0a:", "0a:x", "0a:-1", "0a:1\n", "a b:1", "é:1", 7, None)],
        *[("campaign_id", value) for value in ("", "a.b", "a b", "é", "a\u0000", "a\n", "a" * 65, 7, None)],
        *[("call_id", value) for value in (0, -1, "7", True, 1.5, 2**63, None)],
    ],
)
def test_a_member_that_is_not_of_its_kind_is_undecodable(member: str, value: object) -> None:
    with pytest.raises(Undecodable, match="not_a_batch"):
        decode(json.dumps(BODY | {member: value}).encode())


def test_a_message_goes_to_the_queue_of_batches_under_the_id_of_its_call() -> None:
    topology = Topology("test.")

    out = batch_message.outgoing(MESSAGE, topology)

    assert (out.exchange, out.routing_key) == (topology.work_exchange, "test.campaign-batches")
    assert out.message_id == batch_message.message_id("ab2cd3ef", 7) == "batch:ab2cd3ef.7"
    assert (decode(out.body), out.headers) == (MESSAGE, FIRST_ATTEMPT)
