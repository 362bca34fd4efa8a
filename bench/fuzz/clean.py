"""Whether an event is fit for SQL, AMQP and a log line, whatever the body said that it comes from."""

import re
from dataclasses import asdict

from core.events import DETAIL_LIMIT, Event

UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST = 320  # characters: no address is longer, and nothing else that is indexed
LONGEST_ID = 255  # bytes of an AMQP message id


def unclean(event: Event) -> list[str]:
    """The names of the fields of `event` that hold a control character or half a surrogate pair, are too long, or are a
    time that is later than that at which the body came."""
    texts = {name: value for name, value in asdict(event).items() if isinstance(value, str)}
    found = [
        name
        for name, text in texts.items()
        if UNFIT.search(text) or len(text) > (DETAIL_LIMIT if name == "detail" else LONGEST)
    ]
    if len(event.event_id.encode(errors="replace")) > LONGEST_ID:
        found.append("event_id")
    return [*found, "occurred_at"] if event.occurred_at > event.received_at else found
