"""Send one batch: take a token, look, seal, tell Redis, check again, call, settle. No transaction spans the call.

Every outcome that the ledger records is a success of the message; an exception means that nothing could be recorded.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Row, select, text
from sqlalchemy.exc import SQLAlchemyError

from core import batch_message, counts, database
from core.batch_message import BatchMessage
from core.clock import utc_now
from core.ledger import attempts, campaigns, identity, lifecycle, members, sealing
from core.ledger.attempts import Claim, Move, Result
from core.ledger.identity import Identity, LedgerKey, Trust
from core.ledger.rows import CALL, SECOND, change_call, database_now
from core.ledger.sealing import Sealed
from core.ledger.states import OPEN, Call, Happening
from core.ledger.tables import campaign, send_call
from core.telemetry import Series
from sender import breaker
from sender.clients.base import Answer, Client
from sender.look import Look, Looker, RecordsMissing
from sender.rate import SharedRate
from sender.slots import Slots

log = logging.getLogger(__name__)

LEASE_S = 120  # a call takes at most 20 s; the rest is for waiting transactions
WINDOW_MARGIN_S = 2 * 3600  # a repeat must reach the provider well before it forgets the key
TOKEN_WAIT_S = 5.0  # longer waits are left to the sweeper: the broker wants its heartbeats
SETTLE_TRIES_S = (0.2, 0.5, 1.0, 2.0)  # an answer in hand is worth waiting for a busy ledger
ACTOR = "worker"


@dataclass(frozen=True, slots=True)
class Tools:
    """What a worker works with."""

    engine: Engine
    looker: Looker
    client: Client
    rate: SharedRate
    slots: Slots
    ledger_key: LedgerKey
    env: str
    owner: str
    sleep: Callable[[float], None]


class SendWork:
    """The work of the `campaign-batches` queue."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        window_s = max(tools.client.capabilities.key_window_s - WINDOW_MARGIN_S, 0)
        self._claim = Claim(tools.owner, tools.client.account, LEASE_S * SECOND, window_s * SECOND)

    def decode(self, body: bytes) -> BatchMessage:
        """The batch of a message body; raises Undecodable or NewerVersion."""
        return batch_message.decode(body)

    def subject(self, item: BatchMessage) -> tuple[str, str]:
        """The campaign, for the dead-letter log; a batch concerns no single recipient."""
        return item.campaign_id, ""

    def probe(self) -> None:
        """Raise unless SQL and Redis answer."""
        self._tools.ledger_key.read()
        with self._tools.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def apply(self, items: Sequence[BatchMessage]) -> dict[str, int]:
        """Move each call as far as it will go now; returns how many messages came to what."""
        results: dict[str, int] = {}
        for item in items:
            result = self._move(item)
            log.info("batch", extra={"campaign_id": item.campaign_id, "call_id": item.call_id, "result": result})
            results[result] = results.get(result, 0) + 1
        return results

    def _move(self, item: BatchMessage) -> str:
        seen = (self._tools.ledger_key.read(), item.ledger)  # before SQL, whose counter only grows
        with database.reading(self._tools.engine) as connection:
            ours = identity.known(connection)
            one = connection.execute(select(campaign).where(campaign.c.id == item.campaign_id)).first()
            call = connection.execute(select(*CALL).where(send_call.c.id == item.call_id)).first()
        distrust = self._distrust(ours, *seen)
        if distrust is Trust.FOREIGN and identity.compare(ours, seen[0]) is Trust.OURS and seen[0]:
            return "of_another_ledger"  # left in the queue by one that ours has replaced (`mailward ledger adopt`)
        if distrust is not Trust.OURS:
            return self._pause_all(distrust)
        if one is None or call is None or call.campaign_id != one.id:
            return "no_such_call"
        if call.state == Call.PLANNED and one.state != "running":
            return "not_running"
        if call.state not in OPEN:
            return "settled_already"
        sealed = self._seal(one, call) if call.state == Call.PLANNED else self._reclaim(one, call)
        return sealed if isinstance(sealed, str) else self._attempt(one.id, sealed)

    def _distrust(self, ours: Identity, in_redis: str, in_message: str) -> Trust:
        if identity.compare(ours, in_redis) is Trust.EMPTIED:
            in_redis = self._tools.ledger_key.read()  # the first worker wrote it before it sealed: look again
        if not in_redis and ours.seals == 0:
            self._tools.ledger_key.write(ours)
        trust = identity.compare(ours, in_redis)
        return identity.compare(ours, in_message) if trust is Trust.OURS else trust

    def _seal(self, one: Row[Any], call: Row[Any]) -> Sealed | str:
        """Freeze a planned call; a word instead where there is nothing to send now."""
        waited = self._token(call.id)
        if waited:
            return waited
        tools = self._tools
        try:
            with database.reading(tools.engine) as connection:
                look = tools.looker.look(connection, one, call)
        except RecordsMissing:
            return self._pause(one.id, "records_missing: many recipients have neither a record nor a removal")
        request = sealing.Request(
            look.fragments, look.skips, tools.client.body, tools.env, self._claim.account, tools.owner, LEASE_S * SECOND
        )
        with tools.engine.begin() as connection:
            sealed = sealing.seal(connection, one.id, call.id, request)
            counts.add(connection, self._seal_counts(look, sealed), utc_now())
        return sealed or "nothing_to_send"

    def _reclaim(self, one: Row[Any], call: Row[Any]) -> Sealed | str:
        """Take a sealed call again; a word instead where it is not to be had."""
        if one.state == "running":
            waited = self._token(call.id)
            if waited:
                return waited
        with self._tools.engine.begin() as connection:
            taken = attempts.reclaim(connection, one.id, call.id, self._claim)
        if isinstance(taken, Move):
            shown = {"campaign_id": one.id, "call_id": call.id, "state": taken.after.value}
            log.error("call_cannot_be_repeated", extra=shown)
            return f"not_repeated_{taken.after}"
        return taken or "not_due"

    def _attempt(self, campaign_id: str, sealed: Sealed) -> str:
        tools = self._tools
        if not tools.ledger_key.write(sealed.identity):
            return self._pause_all(Trust.FOREIGN)
        with tools.slots.one() as taken:
            if not taken:
                return "stopped_before_the_call"  # it is taken up again when the lease has run out
            begun = self._begin(campaign_id, sealed)
            if begun is None or begun.after is not Call.CALLING:
                return "lease_lost" if begun is None else f"not_begun_{begun.after}"
            answer = tools.client.call(sealed.body, sealed.key)
        move = self._settle(campaign_id, sealed, answer)
        away = answer.happening is Happening.NOT_SENT and answer.status == 0
        tools.rate.learn(answer.rate, limited=away or answer.status == 429)
        if answer.pause:
            self._pause(campaign_id, answer.pause)
        return answer.happening.value if move is None else move.after.value

    def _begin(self, campaign_id: str, sealed: Sealed) -> Move | None:
        tools = self._tools
        with database.reading(tools.engine) as connection:
            addresses = members.addresses(connection, campaign_id, sealed.members)
        records = tools.looker.records(addresses)
        with tools.engine.begin() as connection:
            return attempts.begin(connection, sealed, campaign_id, records, LEASE_S * SECOND)

    def _settle(self, campaign_id: str, sealed: Sealed, answer: Answer) -> Move | None:
        result = Result(
            answer.happening, answer.ids, answer.culprits, answer.status,
            ": ".join(filter(None, (answer.error, answer.text))), answer.rate.retry_after_s or 0.0, answer.pause,
        )  # fmt: skip
        for pause_s in (*SETTLE_TRIES_S, None):
            try:
                with self._tools.engine.begin() as connection:
                    move = attempts.settle(connection, campaign_id, sealed.call_id, sealed.epoch, result)
                    counts.add(connection, self._counts(move, answer, len(sealed.members)), utc_now())
                    self._heed_refusals(connection, campaign_id, len(sealed.members), answer, move)
                    return move
            except SQLAlchemyError:
                if pause_s is None:
                    raise
                self._tools.sleep(pause_s)
        raise AssertionError("unreachable")

    def _heed_refusals(
        self, connection: Connection, campaign_id: str, members: int, answer: Answer, move: Move | None
    ) -> None:
        """Pause the campaign, whose lock is held, if so many were refused that the cause is hardly theirs."""
        if move is None or move.after is not Call.REJECTED:
            return
        row = campaigns.find(connection, campaign_id)
        reason = breaker.reason(members, len(answer.culprits), row.failed, row.sent)
        if reason:
            _pause_in(connection, campaign_id, reason)

    def _seal_counts(self, look: Look, sealed: Sealed | None) -> dict[tuple[str, str, str], int]:
        name = self._tools.client.name
        tally = Counter((Series.SKIPS.value, name, reason) for reason in look.skips.values())
        if sealed is not None:
            tally[(Series.RESERVATIONS.value, name, "")] = len(sealed.members)
            blocked = len(look.fragments) - len(sealed.members)
            tally[(Series.SKIPS.value, name, "removed")] += blocked
        return {series: n for series, n in tally.items() if n}

    def _counts(self, move: Move | None, answer: Answer, size: int) -> dict[tuple[str, str, str], int]:
        name = self._tools.client.name
        tally = {(Series.CALLS.value, name, answer.happening.value): 1}
        if move is not None and move.after is Call.ACCEPTED:
            tally[(Series.SENDS.value, name, "")] = move.changed
        if move is not None and move.after is Call.UNKNOWN:
            tally[(Series.UNKNOWN.value, name, answer.error[:60])] = size
        if move is not None and move.duplicate:
            tally[(Series.DUPLICATE_DETECTED.value, name, "late_accept")] = 1
        return tally

    def _token(self, call_id: int) -> str:
        """Take a token of the account's rate; a word if that would take longer than the broker or a stop may be kept
        waiting."""
        deadline = time.monotonic() + TOKEN_WAIT_S
        while (wait_s := self._tools.rate.take()) > 0:
            if self._tools.slots.stopped() or time.monotonic() + wait_s > deadline:
                with self._tools.engine.begin() as connection:
                    now = database_now(connection)
                    change_call(connection, call_id, now, due_at=now + int(wait_s * SECOND), publishes=0)
                return "waits_for_rate"
            self._tools.sleep(wait_s)
        return ""

    def _pause(self, campaign_id: str, reason: str) -> str:
        with self._tools.engine.begin() as connection:
            _pause_in(connection, campaign_id, reason)
        return "paused"

    def _pause_all(self, trust: Trust) -> str:
        with self._tools.engine.begin() as connection:
            paused = lifecycle.pause_all(connection, ACTOR, f"ledger_{trust}: {identity.MEANING[trust]}")
        log.error("ledger_distrusted", extra={"trust": trust.value, "paused": paused})
        return f"ledger_{trust}"


def _pause_in(connection: Connection, campaign_id: str, reason: str) -> None:
    lifecycle.pause_running(connection, campaign_id, ACTOR, reason)
    log.error("campaign_paused", extra={"campaign_id": campaign_id, "reason": reason})
