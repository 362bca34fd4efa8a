"""Recipients as NDJSON, the format of exports: one object a line.

`address`; `record`, any JSON (stored exactly as it is written; a string is stored as the text in it), or
`record_base64`, `{}` without either; `eligible_since`, which says when consent was given. `verbatim: true` keeps the
spelling of the address; exports carry it for keys that are not in normal form.
"""

import base64
import binascii
import json
from datetime import datetime
from typing import Any

from core import records
from core.addresses import NotAnAddress, normalise
from core.recipient_files import BadLine, Read, Recipient, Source, lines, recipient

_MEMBERS = frozenset({"address", "record", "record_base64", "eligible_since", "verbatim"})


def read(source: Source, now: datetime, *, keep_local_case: bool = False) -> Read:
    """Every line of an NDJSON stream as a Recipient or a BadLine; blank lines are passed over."""
    for number, line in lines(source):
        if isinstance(line, BadLine):
            yield line
        elif line.strip():
            try:
                yield _from_json(number, line, now, keep_local_case)
            except ValueError as error:
                yield BadLine(number, str(error))


def export_line(address: str, record: bytes, *, keep_local_case: bool = False) -> str:
    """The NDJSON line (without its end) from which `read` gives back the same address and bytes."""
    try:
        verbatim = normalise(address, keep_local_case=keep_local_case).normal != address
    except NotAnAddress:
        verbatim = True
    spelling = ',"verbatim":true' if verbatim else ""
    return f'{{"address":{json.dumps(address)}{spelling},{records.as_line_member(record)}}}'


def _from_json(number: int, line: str, now: datetime, keep_local_case: bool) -> Recipient:
    try:
        data = records.parse(line)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(data, dict) or not isinstance(data.get("address"), str):
        raise ValueError("not an object with an address")
    unknown = sorted(set(data) - _MEMBERS)
    if unknown:
        raise ValueError(f"beside address there may be {', '.join(sorted(_MEMBERS - {'address'}))} only")
    return recipient(number, _address(data, keep_local_case), _record(line, data), data.get("eligible_since"), now)


def _address(data: dict[str, Any], keep_local_case: bool) -> str:
    address: str = data["address"]
    if data.get("verbatim") is not True:
        return normalise(address, keep_local_case=keep_local_case).normal
    try:
        address.encode()
    except UnicodeEncodeError:
        raise ValueError("address holds half of a character (a lone surrogate)") from None
    return address


def _record(line: str, data: dict[str, Any]) -> bytes:
    if "record" in data and "record_base64" in data:
        raise ValueError("record and record_base64 exclude each other")
    if "record_base64" in data:
        try:
            return base64.b64decode(data["record_base64"], validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise ValueError("record_base64 is not base64") from None
    if "record" not in data:
        return records.EMPTY
    try:
        if isinstance(data["record"], str):
            return data["record"].encode()
        *_, (start, end) = ((start, end) for name, start, end in records.members(line) if name == "record")
        return line[start:end].encode()
    except UnicodeEncodeError:
        raise ValueError("record holds half of a character (a lone surrogate)") from None
