"""Alerts to people: the words, the two formats, and a channel that may be dead without disturbing anybody."""

import logging
from dataclasses import dataclass
from typing import Any

import requests

from core.alerts import Rule, Status, Tell
from core.telemetry import redact

log = logging.getLogger(__name__)

CONNECT_S, READ_S = 3.0, 5.0  # whoever watches has more to do than to wait for a chat


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to tell: what `tell` says about `rule` for `subject` in environment `env`."""

    rule: Rule
    tell: Tell
    subject: str
    value: float
    env: str

    @property
    def key(self) -> str:
        """The same for everything that is told of one alert, and for nothing else."""
        return ".".join(part for part in ("mailward", self.env, self.rule.name, self.subject) if part)

    @property
    def summary(self) -> str:
        """What is the matter, in one sentence."""
        if self.tell.status is Status.CLEARED:
            return f"{self.rule.name}{f' of {self.subject}' if self.subject else ''} is over"
        return self.rule.says.format(value=self.value, subject=self.subject)

    @property
    def command(self) -> str:
        """What to run to see more."""
        return self.rule.command.format(subject=self.subject)


def sentence(alert: Alert) -> str:
    """The alert for a chat: what, since when, impact, whether it can wait, what to run."""
    first = f"[{alert.env}] {alert.tell.status.upper()}: {alert.summary}"
    if alert.tell.status is Status.CLEARED:
        return first
    waits = "can wait until morning" if alert.rule.can_wait else "cannot wait until morning"
    since = f"{alert.tell.since:%Y-%m-%d %H:%M} UTC"
    return f"{first}\nSince {since}; {waits}.\nImpact: {alert.rule.impact}.\nRun: {alert.command}"


def payload(alert: Alert, form: str) -> dict[str, Any]:
    """The JSON body in the format `form`: slack (and what speaks like it), or json with a key to recognise repeats."""
    if form == "slack":
        return {"text": redact(sentence(alert))}
    return {
        "dedup_key": redact(alert.key),
        "status": alert.tell.status.value.replace(" ", "_"),
        "name": alert.rule.name,
        "subject": redact(alert.subject),
        "environment": alert.env,
        "summary": redact(alert.summary),
        "value": alert.value,
        "threshold": alert.rule.threshold,
        "since": alert.tell.since.isoformat(),
        "impact": alert.rule.impact,
        "can_wait_until_morning": alert.rule.can_wait,
        "command": redact(alert.command),
    }


class Channel:
    """Where alerts go: the log always, and a webhook if there is one."""

    def __init__(self, url: str, form: str) -> None:
        """`url` is that of an incoming webhook, empty for none; `form` is slack or json."""
        self._url, self._form = url, form

    def deliver(self, alert: Alert) -> bool:
        """Tell it; False if the webhook did not take it. Never raises for a channel that is dead."""
        level = logging.INFO if alert.tell.status is Status.CLEARED else logging.ERROR
        said = payload(alert, "json")
        log.log(level, "alert", extra={"alert": said.pop("name"), **said})  # a log record has a name of its own
        if not self._url:
            return True
        try:
            answer = requests.post(
                self._url,
                json=payload(alert, self._form),
                timeout=(CONNECT_S, READ_S),
                allow_redirects=False,
                stream=True,  # what it answers beyond its status is nobody's concern, however long it is
            )
            answer.close()
        except requests.RequestException as error:
            # The text of the error may hold the URL, which is a secret.
            log.warning("alert_not_delivered", extra={"error_type": type(error).__name__})
            return False
        if not 200 <= answer.status_code < 300:
            log.warning("alert_not_delivered", extra={"status": answer.status_code})
            return False
        return True
