"""Start, pause, resume, cancel, resolve: every change of a campaign is one transaction that holds its lock."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, text, update

from core.ledger import identity, planning, skipping
from core.ledger.attempts import apply
from core.ledger.campaigns import InFlight, Refused, find, in_flight, note
from core.ledger.rows import database_now, in_states, lock_call, lock_campaign, move_counters
from core.ledger.states import OPEN, Call, Happening
from core.ledger.tables import campaign, send_call

_UNSKIP = text("""UPDATE delivery_ledger SET status = 'pending', reason = NULL, updated_at = :now
WHERE campaign_id = :campaign AND status = 'skipped' AND reason = 'absent'""")

# What an operator may decide about a call that may have been accepted.
CHOICES = {"assume-sent": Happening.ASSUMED_SENT, "resend": Happening.RESENT}


def start(
    connection: Connection,
    campaign_id: str,
    actor: str,
    expected_total: int | None = None,
    drawn: planning.Plan | None = None,
) -> int:
    """Draft → running: the audience is final, plans its calls; returns their number. A second start does nothing.

    A plan `drawn` before saves the time under the lock.
    """
    row = _locked(connection, campaign_id)
    if row.state == "running":
        return 0
    if row.state != "draft":
        raise Refused("not_startable", f"campaign {campaign_id} is {row.state}")
    if expected_total is not None and row.total != expected_total:
        raise Refused("other_total", f"campaign {campaign_id} has {row.total} recipients, not {expected_total}")
    if row.total == 0:
        raise Refused("nobody", f"campaign {campaign_id} has no recipients")
    now = database_now(connection)
    identity.own(connection)  # so that the first message can say whose it is
    _set(connection, campaign_id, state="running", started_at=now)
    note(connection, actor, "start", campaign_id)
    return planning.plan_all(connection, campaign_id, now, drawn=drawn)


def pause(connection: Connection, campaign_id: str, actor: str, reason: str) -> list[InFlight]:
    """Running → paused. Returns the calls in flight at this commit: no other will reach the provider until `resume`."""
    row = _locked(connection, campaign_id)
    if row.state not in ("running", "paused"):
        raise Refused("not_running", f"campaign {campaign_id} is {row.state}")
    if row.state == "running":
        _set(connection, campaign_id, state="paused", pause_reason=reason)
        note(connection, actor, "pause", campaign_id, reason)
    return in_flight(connection, campaign_id)


def pause_running(connection: Connection, campaign_id: str, actor: str, reason: str) -> None:
    """Pause a campaign if it runs; a worker's way, who may come too late."""
    if _locked(connection, campaign_id).state == "running":
        pause(connection, campaign_id, actor, reason)


def pause_all(connection: Connection, actor: str, reason: str) -> list[str]:
    """Pause every running campaign; returns their ids."""
    ids = list(
        connection.execute(select(campaign.c.id).where(campaign.c.state == "running").order_by(campaign.c.id)).scalars()
    )
    for campaign_id in ids:
        pause(connection, campaign_id, actor, reason)
    return ids


def resume(connection: Connection, campaign_id: str, actor: str, *, accept_missing: bool = False) -> None:
    """Paused → running; what waits is due at once. With `accept_missing`, missing records no longer pause it."""
    row = _locked(connection, campaign_id)
    if row.state == "running":
        return
    if row.state != "paused":
        raise Refused("not_paused", f"campaign {campaign_id} is {row.state}")
    now = database_now(connection)
    values: dict[str, Any] = {"accept_missing": True} if accept_missing else {}
    _set(connection, campaign_id, state="running", pause_reason="", progress_at=now, **values)
    waiting = (send_call.c.campaign_id == campaign_id) & in_states(OPEN) & in_states([Call.PLANNED])
    connection.execute(update(send_call).where(waiting).values(due_at=now, publishes=0))
    note(connection, actor, "resume", campaign_id, "accept missing" if accept_missing else "")


def replan_absent(connection: Connection, campaign_id: str, actor: str) -> int:
    """Make those who were skipped for want of a record pending again (Redis was emptied); returns how many."""
    _locked(connection, campaign_id)
    now = database_now(connection)
    back = int(connection.execute(_UNSKIP, {"campaign": campaign_id, "now": now}).rowcount)
    move_counters(connection, campaign_id, now, skipped=-back, pending=back)
    note(connection, actor, "replan-absent", campaign_id, str(back))
    return back


def cancel(connection: Connection, campaign_id: str, actor: str) -> list[InFlight]:
    """Nobody else is mailed: pending members are skipped (of very many, the sweeper skips the rest), calls in flight
    settle, calls that may have been accepted become unknown. Returns the calls in flight at this commit."""
    row = _locked(connection, campaign_id)
    if row.state in ("completed", "completed_with_issues"):
        raise Refused("already_over", f"campaign {campaign_id} is {row.state}")
    now = database_now(connection)
    _set(connection, campaign_id, state="cancelled", finished_at=now)
    note(connection, actor, "cancel", campaign_id)
    skipping.skip(connection, campaign_id)
    cancelled = find(connection, campaign_id)
    # Nothing is sealed in a planned call: thousands of them are cancelled as one.
    planned = (send_call.c.campaign_id == campaign_id) & in_states(OPEN) & in_states([Call.PLANNED])
    connection.execute(update(send_call).where(planned).values(state=Call.CANCELLED.value, updated_at=now))
    for call_id in _calls(connection, campaign_id, (Call.LEASED, Call.RETRY_WAIT)):
        call = lock_call(connection, call_id)
        if call is not None:
            apply(connection, cancelled.state, call, Happening.CANCELLED, now)
    return in_flight(connection, campaign_id)


def resolve(connection: Connection, call_id: int, actor: str, choice: Happening) -> int:
    """An operator decides about a call that may have been accepted: `assumed_sent`, or `resent`, which risks a second
    mail. Only unknown calls, and waiting ones of paused or cancelled campaigns. Returns how many deliveries changed."""
    found = connection.execute(select(send_call.c.campaign_id).where(send_call.c.id == call_id)).scalar()
    if found is None:
        raise Refused("no_such_call", f"there is no call {call_id}")
    row, call = _locked(connection, found), lock_call(connection, call_id)
    if call is None or (call.state == Call.RETRY_WAIT and row.state == "running"):
        raise Refused("still_trying", f"call {call_id} is still being repeated; pause the campaign first")
    now = database_now(connection)
    move = apply(connection, row.state, call, choice, now)
    if move is None:
        raise Refused("not_undecided", f"call {call_id} is {call.state}")
    note(connection, actor, choice.value, f"{found} call {call_id}", f"{move.changed} deliveries")
    return move.changed


def _locked(connection: Connection, campaign_id: str) -> Row[Any]:
    row = lock_campaign(connection, campaign_id)
    if row is None:
        raise Refused("no_such_campaign", f"there is no campaign {campaign_id}")
    return row


def _set(connection: Connection, campaign_id: str, **values: Any) -> None:
    connection.execute(update(campaign).where(campaign.c.id == campaign_id).values(**values))


def _calls(connection: Connection, campaign_id: str, states: Sequence[Call]) -> list[int]:
    wanted = in_states(OPEN) & in_states(states)
    query = select(send_call.c.id).where(send_call.c.campaign_id == campaign_id, wanted).order_by(send_call.c.id)
    return list(connection.execute(query).scalars())
