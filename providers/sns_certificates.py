"""The certificates that SNS names in its messages: fetched once, kept while they are in date.

The URL has been pinned before it gets here, and the host behind it is the authority: TLS proves that host, and only its
owner can put a certificate there. A vendor that says not to trust the host alone also names the certificates one of
which must have issued the signing one. What fails is not kept, and, as it may be a fault of ours (a clock, a network),
it is no refusal: SNS drops a refused message for good.
"""

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa

from providers.base import ProofRefused, ProofUnavailable
from providers.entry import Fetch
from providers.signatures import Refusal

MOST_KEPT = 16  # a topic's region has one certificate, for a while two


@dataclass(frozen=True, slots=True)
class _Kept:
    key: rsa.RSAPublicKey
    begins: datetime
    ends: datetime

    def in_date(self, now: datetime) -> bool:
        return self.begins <= now <= self.ends


class Certificates:
    """The signing certificates at pinned URLs, through `fetch`."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._kept: dict[str, _Kept] = {}

    def key(self, url: str, issuers_url: str, now: datetime) -> rsa.RSAPublicKey:
        """The public key of the certificate at `url`, which is in date at `now` and, unless `issuers_url` is empty,
        issued by one of the certificates there.

        Raises ProofUnavailable where it cannot be had, ProofRefused where somebody else issued it.
        """
        kept = self._kept.get(url)
        if kept is None or not kept.in_date(now):
            kept = self._checked(url, issuers_url, now)
            self._keep(url, kept)
        return kept.key

    def _checked(self, url: str, issuers_url: str, now: datetime) -> _Kept:
        certificate = self._certificates(url)[0]
        key = certificate.public_key()
        if not isinstance(key, rsa.RSAPublicKey):  # SNS signs with RSA only
            raise ProofUnavailable(f"{url} holds a certificate whose key is not RSA")
        kept = _Kept(key, certificate.not_valid_before_utc, certificate.not_valid_after_utc)
        if not kept.in_date(now):
            raise ProofUnavailable(f"{url} holds a certificate that is out of date, or the clock here is wrong")
        # Fetched anew for each new certificate: the issuers are renewed too, and a stale list would refuse for good.
        if issuers_url and not any(_issued(certificate, one, now) for one in self._certificates(issuers_url)):
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        return kept

    def _certificates(self, url: str) -> list[x509.Certificate]:
        try:
            return x509.load_pem_x509_certificates(self._fetch(url))
        except ValueError:
            raise ProofUnavailable(f"{url} holds no certificate") from None

    def _keep(self, url: str, kept: _Kept) -> None:
        self._kept.pop(url, None)
        while len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[url] = kept


def _issued(certificate: x509.Certificate, issuer: x509.Certificate, now: datetime) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return issuer.not_valid_before_utc <= now <= issuer.not_valid_after_utc
