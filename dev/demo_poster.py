"""Posts the demo's stream over HTTP, as the providers would."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import requests

from core.clock import utc_now
from dev.demo_stream import Group, Post
from providers.base import Provider
from providers.resend import Resend

POSTERS = 8
TIMEOUT_S = 30
FORGER = Resend(("whsec_bm90IHRoZSBzZWNyZXQgb2YgdGhlIGRlbW8=",))


@dataclass(frozen=True, slots=True)
class Posted:
    """The answer to one post: its status, and how many events mailward took as queued and as parked."""

    status: int
    queued: int = 0
    parked: int = 0


class Poster:
    """Signs and posts; busy answers are tried again, as providers do."""

    def __init__(self, url: str, providers: Mapping[str, Provider]) -> None:
        self._url = url
        self.providers = providers
        self._session = requests.Session()

    def post(self, group: Group) -> list[Posted]:
        """Post everything of a group, several at once; the answers in order."""
        with ThreadPoolExecutor(POSTERS) as pool:
            return list(pool.map(self._post, group.posts))

    def _post(self, post: Post) -> Posted:
        signer = FORGER if post.forged else self.providers[post.provider]
        signed = signer.sign(post.body, post.message_id, utc_now())
        url = f"{self._url}/webhooks/{post.provider}"
        answer = self._session.post(url, data=signed.body, headers=signed.headers, timeout=TIMEOUT_S)
        taken = answer.json() if answer.status_code == 200 else {}
        return Posted(answer.status_code, taken.get("queued", 0), taken.get("parked", 0))
