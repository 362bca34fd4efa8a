"""`/sandbox/…`: settings, counts, the log of arrivals, the clock and the webhooks, as JSON for tests and benches."""

import time
from typing import Any

from flask import Blueprint, Response, jsonify, request

from dev.sandbox import faults
from dev.sandbox.service import Sandbox

DRAIN_POLL_S = 0.02
LONGEST_DRAIN_S = 300.0


def blueprint(sandbox: Sandbox) -> Blueprint:
    """The routes, which need no token: the sandbox listens on loopback."""
    admin = Blueprint("admin", __name__, url_prefix="/sandbox")
    _settings(admin, sandbox)
    _counts(admin, sandbox)
    _webhooks(admin, sandbox)
    return admin


def _settings(admin: Blueprint, sandbox: Sandbox) -> None:
    @admin.get("/settings")
    def settings() -> Response:
        return jsonify(faults.shown(sandbox.state.settings))

    @admin.route("/settings", methods=["POST", "PUT", "PATCH"])
    def change() -> Response | tuple[Response, int]:
        changes = request.get_json()
        try:
            if not isinstance(changes, dict):
                raise ValueError("settings are an object")
            sandbox.state.settings = faults.changed(sandbox.state.settings, changes)
        except ValueError as error:
            return jsonify(error=str(error)), 400
        sandbox.courier.pause(sandbox.state.settings.webhooks_paused)
        return settings()

    @admin.post("/reset")
    def reset() -> Response:
        sandbox.reset()
        return jsonify(reset=True)

    @admin.post("/advance")
    def advance() -> Response | tuple[Response, int]:
        seconds = (request.get_json() or {}).get("seconds")
        if not isinstance(seconds, int | float) or seconds < 0:
            return jsonify(error='give {"seconds": N}: the clock only goes forward'), 400
        sandbox.state.ahead_s += seconds
        return jsonify(ahead_s=sandbox.state.ahead_s)


def _counts(admin: Blueprint, sandbox: Sandbox) -> None:
    @admin.get("/stats")
    def stats() -> Response:
        state = sandbox.state
        return jsonify(
            started_at=sandbox.started_at,
            calls=state.arrivals.results(),
            mails=state.outbox.mails,
            replays=state.replays,
            keys=len(state.keys),
            faults=state.dice.struck,
            ahead_s=state.ahead_s,
            webhooks=sandbox.courier.pending(),
        )

    @admin.get("/recipients")
    def recipients() -> Response:
        """Counts; with `addresses=1` for each address, with `campaign=` of one campaign."""
        campaign = request.args.get("campaign")
        counts: dict[str, Any] = dict(sandbox.state.outbox.summary(campaign))
        if request.args.get("addresses"):
            counts["addresses"] = sandbox.state.outbox.addresses(campaign)
        return jsonify(counts)

    @admin.get("/arrivals")
    def arrivals() -> Response:
        """NDJSON, oldest first; `since` in seconds since 1970, `key` for one idempotency key."""
        since = request.args.get("since", 0.0, float)
        lines = sandbox.state.arrivals.lines(since, request.args.get("key", ""))
        return Response(lines, mimetype="application/x-ndjson")


def _webhooks(admin: Blueprint, sandbox: Sandbox) -> None:
    @admin.get("/webhooks/pending")
    def pending() -> Response:
        """How many wait; with `wait=` seconds, answers when none does or the time is up."""
        until = time.monotonic() + min(request.args.get("wait", 0.0, float), LONGEST_DRAIN_S)
        while sandbox.courier.pending()["pending"] and time.monotonic() < until:
            time.sleep(DRAIN_POLL_S)
        return jsonify(sandbox.courier.pending())

    @admin.post("/webhooks/redeliver")
    def redeliver() -> Response:
        return jsonify(redelivered=sandbox.courier.redeliver())
