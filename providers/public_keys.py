"""Public-key signatures over bytes: RSA (PKCS #1 v1.5) and ECDSA, with keys as the providers print them.

The private half is the provider's, so only a key pair of our own, made for tests, can sign.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from config.proofs import without_pem_lines
from providers.signatures import decode_base64, which

PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def read_key(text: str) -> PublicKey:
    """The public key that `text` is: base64 of a DER SubjectPublicKeyInfo, with or without PEM lines around it.

    Raises ValueError, in words for an operator.
    """
    der = decode_base64(without_pem_lines(text))
    try:
        key = serialization.load_der_public_key(der or b"")
    except (ValueError, TypeError):
        raise ValueError("holds a key that is not the base64 of a public key") from None
    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
        raise ValueError("holds a key that is neither RSA nor ECDSA")
    return key


def written(key: PublicKey) -> str:
    """`key` as providers show it: what `read_key` reads."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


def read_private_key(path: str) -> PrivateKey:
    """The RSA or ECDSA private key in the PEM file at `path`, which has no password. Raises ValueError, in words for an
    operator."""
    if not path:
        raise ValueError(
            "the provider alone holds the key that signs its posts; for test posts make a pair, put its public half "
            "among the provider's keys and the path of the private one into TEST_PRIVATE_KEY"
        )
    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), password=None)
    except OSError as error:
        raise ValueError(f"TEST_PRIVATE_KEY names a file that cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("TEST_PRIVATE_KEY names a file that is not a private key as PEM without password") from None
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise ValueError("TEST_PRIVATE_KEY names a key that is neither RSA nor ECDSA")
    return key


def is_signed(key: PublicKey, content: bytes, signature: bytes, algorithm: hashes.HashAlgorithm) -> bool:
    """Whether `signature` (DER for ECDSA) is that of `content` under `key`. Never raises, whatever the bytes."""
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, content, padding.PKCS1v15(), algorithm)
        else:
            key.verify(signature, content, ec.ECDSA(algorithm))
    except (InvalidSignature, ValueError):
        return False
    return True


def matching(
    keys: Sequence[PublicKey], content: bytes, signature: bytes, algorithm: hashes.HashAlgorithm
) -> str | None:
    """Which of `keys` the signature belongs to ("1 of 2"), or None."""
    return which(keys, lambda key: is_signed(key, content, signature, algorithm))


def signed(key: PrivateKey, content: bytes, algorithm: hashes.HashAlgorithm) -> bytes:
    """The signature of `content` that `is_signed` accepts under the public half of `key`."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(content, padding.PKCS1v15(), algorithm)
    return key.sign(content, ec.ECDSA(algorithm))


def signed_for(
    keys: Sequence[PublicKey], private_key: PrivateKey, content: bytes, algorithm: hashes.HashAlgorithm
) -> str:
    """The base64 of a signature that one of `keys` verifies. Raises ValueError, in words for an operator, where
    `private_key` belongs to none of them."""
    signature = signed(private_key, content, algorithm)
    if matching(keys, content, signature, algorithm) is None:
        raise ValueError("the private key for test posts belongs to none of the provider's public keys")
    return base64.b64encode(signature).decode()
