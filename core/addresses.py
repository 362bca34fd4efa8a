"""The normal form of an email address: the one function that import, send and removal share.

Owns what counts as one address and how it is spelled. Knows nothing of where addresses come from or go to.
An address that cannot be read with certainty is refused: a removal must never guess whom it concerns.
"""

import base64
import hashlib
import re
import unicodedata
from dataclasses import dataclass

import idna

LONGEST = 320  # characters of an address: 64 of local part, @, 255 of domain (RFC 3696, erratum 1690)
LONGEST_TEXT = 2000  # a display name beside it may be long, but nobody is called more than this
BLANKS = " \t\r\n"

# The common case, decided by one match: plain ASCII, no display name, no quotes, no hyphens side by side (xn--). Texts
# of at most SHORT characters cannot hold a label of more than 63, so the pattern need not count.
_PLAIN = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]++@[A-Za-z0-9_]++(?:[.-][A-Za-z0-9_]++)*+")
SHORT = 64

_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_QUOTED_TEXT = re.compile(_QUOTED)
_NAMED = re.compile(rf'((?:{_QUOTED}|[^"<>])*+)<((?:{_QUOTED}|[^"<>])*+)>')
_ADDRESS_LIKE = re.compile(r"[^\s@]@[^\s@]")
_LOCAL = re.compile(r'[^\s"(),:;<>@\[\\\]]+')
_QUOTED_LOCAL = re.compile(r'"((?:[^"\\\s]|\\\S)+)"')
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")

# Control, format (zero-width among them), lone surrogates, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Invisible too, though Unicode calls them letters or marks; in a display name (emoji) they do no harm.
_BLANK_LETTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class NotAnAddress(ValueError):
    """The text is not exactly one address; the message is a short reason that never holds the text itself."""


@dataclass(frozen=True, slots=True)
class Address:
    """One address: its `normal` form, by which it is stored and compared, and the bare address as it was written."""

    normal: str
    verbatim: str


def normalise(text: str, *, keep_local_case: bool = False) -> Address:
    """The one address in `text`, which may carry a display name.

    The domain becomes lower-case IDNA A-labels (UTS 46) without a trailing dot; the local part becomes lower-case and
    NFC, or only NFC with `keep_local_case`. The normal form is its own normal form. Raises NotAnAddress, and nothing
    else, where `text` is not exactly one address.
    """
    if not isinstance(text, str):
        raise NotAnAddress("not a text")
    bare = text.strip(BLANKS)
    if len(bare) > SHORT or not _PLAIN.fullmatch(bare):
        return _careful(bare, keep_local_case)
    if keep_local_case:
        local, _, domain = bare.partition("@")
        return Address(f"{local}@{domain.lower()}", bare)
    return Address(bare.lower(), bare)


def digest(normal: str) -> str:
    """32 hex digits that stand for an address in normal form where addresses may not stand, such as mail tags."""
    return hashlib.sha256(normal.encode()).hexdigest()[:32]


def short_digest(normal: str) -> str:
    """16 characters that stand for an address in normal form among those of one campaign: 96 bits, so that even among a
    hundred million of them the chance that two are alike is one in ten million million."""
    return base64.urlsafe_b64encode(hashlib.sha256(normal.encode()).digest()[:12]).decode()


def _careful(text: str, keep_local_case: bool) -> Address:
    if len(text) > LONGEST_TEXT:
        raise NotAnAddress("too long")
    if any(unicodedata.category(character) in _UNSEEN for character in text):
        raise NotAnAddress("control or zero-width character")
    bare = _without_display_name(text)
    if _BLANK_LETTERS.search(bare):
        raise NotAnAddress("control or zero-width character")
    local, domain = _split(bare)
    normal = f"{_normal_local(local, keep_local_case)}@{_normal_domain(domain)}"
    if max(len(bare), len(normal)) > LONGEST:
        raise NotAnAddress("too long")
    return Address(normal, bare)


def _without_display_name(text: str) -> str:
    named = _NAMED.fullmatch(text)
    if not named:
        return text
    display, bare = named[1].strip(BLANKS), named[2].strip(BLANKS)
    unquoted = _QUOTED_TEXT.sub("", display)
    if "," in unquoted or ";" in unquoted:
        raise NotAnAddress("several addresses")
    if "(" in unquoted or ")" in unquoted:
        raise NotAnAddress("comment in parentheses")
    # Programs without a name to show repeat the address itself; a different one makes the field ambiguous.
    repeats = display.strip("\"'").lower() == bare.lower()
    if not repeats and ("@" in unquoted or _ADDRESS_LIKE.search(display)):
        raise NotAnAddress("display name is another address")
    return bare


def _split(bare: str) -> tuple[str, str]:
    outside_quotes = _QUOTED_TEXT.sub('""', bare)
    if "," in outside_quotes or ";" in outside_quotes or outside_quotes.count("@") > 1 or "<" in outside_quotes:
        raise NotAnAddress("several addresses")
    if "(" in outside_quotes or ")" in outside_quotes:
        raise NotAnAddress("comment in parentheses")
    local, at, domain = bare.rpartition("@")
    if not at:
        raise NotAnAddress("no @")
    return local, domain


def _normal_local(local: str, keep_case: bool) -> str:
    normal = unicodedata.normalize("NFC", local if keep_case else local.lower())
    quoted = _QUOTED_LOCAL.fullmatch(normal)
    if quoted and _LOCAL.fullmatch(quoted[1]):
        return quoted[1]  # the same mailbox as without quotes (RFC 5321, 4.1.2)
    if quoted or _LOCAL.fullmatch(normal):
        return normal
    raise NotAnAddress("white space or a character that an address cannot hold" if local else "nothing before the @")


def _normal_domain(domain: str) -> str:
    if domain.startswith("["):
        raise NotAnAddress("domain literal")
    if not domain or len(domain) > 255:
        raise NotAnAddress("domain too long" if domain else "nothing after the @")
    try:
        mapped = domain.lower() if domain.isascii() else idna.uts46_remap(domain, std3_rules=False)
        return ".".join(_normal_label(label) for label in mapped.removesuffix(".").split("."))
    except UnicodeError:
        raise NotAnAddress("not a domain name") from None


def _normal_label(label: str) -> str:
    if not label.isascii():
        return idna.alabel(label).decode()
    if not _LABEL.fullmatch(label):
        raise NotAnAddress("not a domain name")
    return label
