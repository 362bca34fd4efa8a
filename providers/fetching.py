"""The one way in which a provider module reaches out: GET an address that was checked before.

No redirects, whatever the answer says; no proxies and no credentials from the environment; bounded in time and size.
"""

import requests
import urllib3

from providers.base import ProofUnavailable

CONNECT_S, READ_S = 1.5, 1.5  # the shortest deadline of a provider that makes us fetch is 5 s
MOST_BYTES = 64 * 1024  # a certificate has 2 KB


def https_get(url: str) -> bytes:
    """See providers.entry.Fetch. The caller has pinned the host: nothing here decides where to go."""
    with requests.Session() as session:
        session.trust_env = False
        return get(session, url)


def get(session: requests.Session, url: str) -> bytes:
    """GET `url` over `session`. Raises ProofUnavailable unless the answer is a 200 of bounded size."""
    try:
        with session.get(url, timeout=(CONNECT_S, READ_S), allow_redirects=False, stream=True) as answer:
            if answer.status_code != requests.codes.ok:
                raise ProofUnavailable(f"{url.partition('?')[0]} answered {answer.status_code}")
            content = answer.raw.read(MOST_BYTES + 1, decode_content=True)
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise ProofUnavailable(f"{url.partition('?')[0]} does not answer: {type(error).__name__}") from None
    if len(content) > MOST_BYTES:
        raise ProofUnavailable(f"{url.partition('?')[0]} answered more than {MOST_BYTES} bytes")
    return bytes(content)
