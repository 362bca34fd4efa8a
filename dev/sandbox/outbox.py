"""What was accepted: a count for every recipient, and the last mails in full."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dev.sandbox import validation

CAMPAIGN = "mailward_campaign"


@dataclass(frozen=True, slots=True)
class Kept:
    """An accepted mail. `tags` as webhooks echo them: an object, although they were sent as pairs."""

    id: str
    at: float
    sender: str
    to: tuple[str, ...]
    subject: str
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the browser shows of a mail besides."""

    kept: Kept
    html: str
    text: str
    headers: Mapping[str, str]


class Outbox:
    """Counts by campaign and bare address for ever; full texts of the last `capacity` mails."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[str, dict[str, int]] = {}
        self._shown: OrderedDict[str, Shown] = OrderedDict()
        self.mails = 0

    def add(self, mail: validation.Mail, mail_id: str, at: float) -> Kept:
        """Take over an accepted mail."""
        tags = {tag["name"]: tag["value"] for tag in mail.get("tags", ())}
        to = tuple(validation.recipients(mail))
        kept = Kept(mail_id, at, mail["from"], to, mail["subject"], tags)
        counts = self._counts.setdefault(tags.get(CAMPAIGN, ""), {})
        for entry in to:
            address = validation.bare(entry)
            counts[address] = counts.get(address, 0) + 1
            self.mails += 1
        self._shown[mail_id] = Shown(kept, mail.get("html") or "", mail.get("text") or "", mail.get("headers") or {})
        if len(self._shown) > self._capacity:
            self._shown.popitem(last=False)
        return kept

    def mail(self, mail_id: str) -> Shown | None:
        """One of the last mails in full."""
        return self._shown.get(mail_id)

    def latest(self, most: int) -> list[Shown]:
        """The last mails, newest first."""
        return [self._shown[mail_id] for mail_id, _ in zip(reversed(self._shown), range(most), strict=False)]

    def count(self, kept: Kept) -> int:
        """How many mails of its campaign the (first) recipient of a mail has."""
        return self._counts[kept.tags.get(CAMPAIGN, "")][validation.bare(kept.to[0])]

    def campaigns(self) -> list[str]:
        """The campaigns seen, "" for mails without a tag."""
        return list(self._counts)

    def summary(self, campaign: str | None) -> dict[str, int]:
        """Recipients, mails, fewest and most for one, mails beyond one each; None: all campaigns, each for itself."""
        tables = self._counts.values() if campaign is None else [self._counts.get(campaign, {})]
        recipients = sum(map(len, tables))
        mails = sum(sum(table.values()) for table in tables)
        return {
            "recipients": recipients,
            "mails": mails,
            "min": min((min(table.values()) for table in tables if table), default=0),
            "max": max((max(table.values()) for table in tables if table), default=0),
            "duplicates": mails - recipients,
        }

    def addresses(self, campaign: str | None) -> dict[str, int]:
        """Mails by bare address."""
        if campaign is not None:
            return dict(self._counts.get(campaign, {}))
        sums: dict[str, int] = {}
        for table in self._counts.values():
            for address, count in table.items():
                sums[address] = sums.get(address, 0) + count
        return sums


def webhook_data(kept: Kept) -> dict[str, Any]:
    """The `data` that every webhook about this mail holds."""
    return {
        "email_id": kept.id,
        "from": kept.sender,
        "to": list(kept.to),
        "subject": kept.subject,
        "tags": dict(kept.tags),
    }
