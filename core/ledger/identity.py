"""Which ledger this is, and how far it has come: a copy or an old backup must be recognised before it sends anything.

The identity and its seal counter stand in SQL, are written to Redis before each call, and travel in messages. Whoever
finds another id, or a counter ahead of its own, is looking at the wrong ledger.
"""

import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import redis
from sqlalchemy import Connection, insert, select, update

from core.ledger.tables import ledger_identity
from core.pipeline import Answer
from core.statements import Asked, both, together

# Raises the stored counter, never lowers it, and never replaces another ledger's.
_WRITE = """
local held = redis.call('GET', KEYS[1])
if held then
  local id, seals = string.match(held, '^(.*):(%d+)$')
  if id ~= ARGV[1] then return 0 end
  if tonumber(seals) >= tonumber(ARGV[2]) then return 1 end
end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2])
return 1
"""

COUNT_SEAL: Asked = both("UPDATE ledger_identity SET seals = seals + 1 RETURNING ledger_id, seals"), {}


@dataclass(frozen=True, slots=True)
class Identity:
    """A ledger's id and how many calls it has ever sealed."""

    ledger_id: str
    seals: int

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.seals}"


class Trust(StrEnum):
    """What a look at Redis or at a message says about our ledger."""

    OURS = "ours"
    EMPTIED = "emptied"  # Redis has lost the ledger key, hence probably the recipient records too
    FOREIGN = "foreign"  # another ledger has been sending in this environment
    BEHIND = "behind"  # this ledger has been further: it is a copy or a restored backup


def own(connection: Connection) -> Identity:
    """This ledger's identity; made on first use, in the caller's transaction."""
    row = connection.execute(select(ledger_identity)).first()
    if row is None:
        new = Identity(secrets.token_hex(8), 0)
        connection.execute(insert(ledger_identity).values(one=1, ledger_id=new.ledger_id, seals=0))
        return new
    return Identity(row.ledger_id, row.seals)


def known(connection: Connection) -> Identity:
    """This ledger's identity without making one: id "" and no seals where it has never been used."""
    row = connection.execute(select(ledger_identity)).first()
    return Identity("", 0) if row is None else Identity(row.ledger_id, row.seals)


def counted(connection: Connection, answer: Answer) -> Identity:
    """The identity after one more sealed call, given what COUNT_SEAL came to; the first seal makes the identity."""
    if not answer.rows:
        own(connection)
        (answer,) = together(connection, COUNT_SEAL)
    return Identity(answer.rows[0].ledger_id, answer.rows[0].seals)


def adopt(connection: Connection, seen: str) -> Identity:
    """This ledger's identity once an operator has said that it is the right one; returns it.

    Where `seen` is this ledger at a later time, its counter is raised to that: messages from then are not later still.
    """
    ours = own(connection)
    if compare(ours, seen) is not Trust.BEHIND:
        return ours
    seals = int(seen.rpartition(":")[2])
    connection.execute(update(ledger_identity).values(seals=seals))
    return Identity(ours.ledger_id, seals)


def compare(ours: Identity, seen: str) -> Trust:
    """What a seen identity ("id:seals", empty where there is none) says about `ours`."""
    ledger_id, _, seals = seen.rpartition(":")
    if not ledger_id:
        return Trust.OURS if ours.seals == 0 else Trust.EMPTIED
    if ledger_id != ours.ledger_id:
        return Trust.FOREIGN
    return Trust.BEHIND if int(seals) > ours.seals else Trust.OURS


MEANING = {
    Trust.EMPTIED: "Redis has lost the ledger key, and probably records with it",
    Trust.FOREIGN: "another ledger has been sending in this environment",
    Trust.BEHIND: "this ledger has been further before: it is a copy or a restored backup",
}


class LedgerKey:
    """The identity's copy in Redis, under a key of this environment's own."""

    def __init__(self, client: redis.Redis, env: str) -> None:
        self._client = client
        self._key = f"mailward:{env}:ledger"
        self._write = client.register_script(_WRITE)

    def read(self) -> str:
        """What stands there; empty where nothing does."""
        found = cast(bytes | None, self._client.get(self._key))
        return (found or b"").decode("utf-8", "replace")

    def write(self, identity: Identity) -> bool:
        """Write `identity` unless the key is further already; False if it belongs to another ledger."""
        return bool(self._write(keys=[self._key], args=[identity.ledger_id, identity.seals]))

    def adopt(self, identity: Identity) -> None:
        """Replace whatever stands there: an operator has decided that this ledger is the right one."""
        self._client.set(self._key, str(identity))
