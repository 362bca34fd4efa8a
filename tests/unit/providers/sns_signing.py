"""Keys, certificates and a host of certificates of our own, so that SNS messages can be signed and checked in tests."""

import functools
from collections.abc import Mapping
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from providers.base import ProofUnavailable
from providers.public_keys import PrivateKey
from providers.sns_envelope import Signer

BEGINS, ENDS = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 12, 31, tzinfo=UTC)


@functools.cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """The key called `name`, the same in the whole run."""
    return rsa.generate_private_key(65_537, 2048)


@functools.cache
def ecdsa_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pem(
    key: PrivateKey,
    *,
    name: str = "made up",
    issuer: tuple[str, PrivateKey] | None = None,
    begins: datetime = BEGINS,
    ends: datetime = ENDS,
) -> bytes:
    """The certificate of `key` for `name`, issued by `issuer` (name and key), or by itself."""
    issuer_name, issuer_key = issuer or (name, key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer_name))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begins)
        .not_valid_after(ends)
    )
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


class CertificateHost:
    """A fetch that answers with what it serves, and keeps the URLs it was asked for."""

    def __init__(self, served: Mapping[str, bytes]) -> None:
        self.served = dict(served)
        self.asked: list[str] = []

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        if url not in self.served:
            raise ProofUnavailable(f"{url} is not served")
        return self.served[url]


def signer(name: str, certificate_url: str) -> Signer:
    """Signs with the key called `name`, whose certificate is said to be at `certificate_url`."""
    return Signer(rsa_key(name), certificate_url)
