"""Key pairs on the curve P-256 for tests, by name: made once per run, as nobody may find a private key in a file."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec

from providers.public_keys import PrivateKey, written


@cache
def private_key(name: str) -> ec.EllipticCurvePrivateKey:
    """The private key called `name`, the same one every time."""
    return ec.generate_private_key(ec.SECP256R1())


def public_text(key: str | PrivateKey) -> str:
    """The public half of `key`, or of the pair of that name, as a provider shows it: base64 of its DER."""
    return written((private_key(key) if isinstance(key, str) else key).public_key())
