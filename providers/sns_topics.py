"""The topics whose messages are believed, and what each of them pins: nothing that a message says leads elsewhere.

Pure. The list stands for a secret: who could publish to one of its topics could just as well sign.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

_TOKEN = re.compile(r"[!-~]{1,2048}")


@dataclass(frozen=True, slots=True)
class Pin:
    """The only places where the vendor of a topic keeps what its messages need.

    `certificates` matches the whole URL of a signing certificate. `api` is the URL that takes a confirmation, without
    its query. `issuers` is the URL of the certificates one of which must have issued the signing one; empty: any is
    good at that host.
    """

    certificates: re.Pattern[str]
    api: str
    issuers: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A listed topic; `place` is the one in the list ("1 of 2")."""

    arn: str
    pin: Pin
    place: str


class Topics:
    """The listed topics."""

    def __init__(self, arns: Sequence[str], pin_of: Callable[[str], Pin]) -> None:
        """Raises ValueError, in words for an operator, where there is none, or `pin_of` does so for one of them."""
        if not arns or not all(arns):
            raise ValueError("the listed topics stand for a secret: there must be one, and none may be empty")
        numbered = enumerate(arns, start=1)
        self._listed = {arn: Topic(arn, pin_of(arn), f"{number} of {len(arns)}") for number, arn in numbered}
        self.first = arns[0]

    def find(self, arn: object) -> Topic | None:
        """The listed topic that `arn`, as a message writes it, is; None where it is none, nor even a text."""
        return self._listed.get(arn) if isinstance(arn, str) else None

    def confirm_url(self, arn: object, token: object) -> str:
        """The URL that confirms the subscription to a listed topic, made of a verified message's ARN and token; an
        empty text where they cannot be that."""
        topic = self.find(arn)
        if topic is None or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            return ""
        query = urlencode({"Action": "ConfirmSubscription", "TopicArn": topic.arn, "Token": token})
        return f"{topic.pin.api}?{query}"
