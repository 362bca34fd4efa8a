"""Forms as application/x-www-form-urlencoded, of which hostile ones are read too before their proof is known.

Pure. Source: WHATWG URL Standard, section 5.1; stricter, as no provider posts what its leniency is for: every field has
a `=`, and every `%` begins an escape.
"""

import re
from binascii import a2b_qp

_STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def pairs(body: bytes, most: int) -> list[tuple[bytes, bytes]]:
    """The fields of a form in their order, name and value decoded once. Raises ValueError where `body` is no form or
    has more than `most` fields."""
    fields = [field.split(b"=", 1) for field in body.split(b"&", most)]
    if len(fields) > most or any(len(field) != 2 for field in fields):
        raise ValueError("no form, or one of too many fields")
    return [(_decoded(name), _decoded(value)) for name, value in fields]


def _decoded(text: bytes) -> bytes:
    if _STRAY_PERCENT.search(text):
        raise ValueError("a percent sign that begins no escape")
    # In C there is only a decoder of quoted-printable, which is the same but for its escape sign; urllib's takes ten
    # times as long, a second for a form of some megabytes that anybody can post.
    return a2b_qp(text.replace(b"+", b" ").replace(b"=", b"%3D").replace(b"%", b"="))
