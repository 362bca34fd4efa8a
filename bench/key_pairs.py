"""Key pairs of our own, as providers alone have the private keys that sign their posts: made once for each run."""

from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from providers.public_keys import PrivateKey, written


@cache
def p256() -> ec.EllipticCurvePrivateKey:
    """The ECDSA key of this run, on the curve that SendGrid signs on."""
    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_2048() -> rsa.RSAPrivateKey:
    """The RSA key of this run, of the size that SNS signs with."""
    return rsa.generate_private_key(65_537, 2048)


def public_text(key: PrivateKey) -> str:
    """The public half of `key` as providers show it: base64 of its DER."""
    return written(key.public_key())


def certificate(key: PrivateKey) -> bytes:
    """A certificate of `key`, issued by itself and in date today, as PEM."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "made up")])
    now, day = datetime.now(UTC), timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
