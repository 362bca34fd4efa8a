"""The address normal form: what counts as one address, how it is spelled, and that nothing else is ever raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.addresses import Address, NotAnAddress, digest, normalise, short_digest
from core.ledger.tags import tag_of

READABLE = {
    "reader@example.com": "reader@example.com",
    "Reader@Example.COM": "reader@example.com",
    " reader@example.com \r\n": "reader@example.com",
    "\treader@example.com": "reader@example.com",
    "<reader@example.com>": "reader@example.com",
    "< reader@example.com >": "reader@example.com",
    "Jane Doe <Jane.Doe@example.com>": "jane.doe@example.com",
    "Jane Doe<jane.doe@example.com>": "jane.doe@example.com",
    '"Doe, Jane" <Jane.Doe@example.com>': "jane.doe@example.com",
    '"Jane \\"JD\\" Doe; Ltd" <jane@example.com>': "jane@example.com",
    '"Jane <3" <jane@example.com>': "jane@example.com",
    "Jane ❤️ <jane@example.com>": "jane@example.com",
    '"jane@example.com" <jane@example.com>': "jane@example.com",
    "Jane@example.com <jane@Example.com>": "jane@example.com",
    "jane+news@example.com": "jane+news@example.com",
    "a..b.@example.com": "a..b.@example.com",
    "o'neill@example.com": "o'neill@example.com",
    "jane@example.com.": "jane@example.com",
    "jane@localhost": "jane@localhost",
    "jane@under_score.example.com": "jane@under_score.example.com",
    "jane@r3---sn.example.com": "jane@r3---sn.example.com",
    "jane@bücher.example": "jane@xn--bcher-kva.example",
    "jane@BÜCHER.example": "jane@xn--bcher-kva.example",
    "jane@bu\u0308cher.example": "jane@xn--bcher-kva.example",
    "jane@XN--BCHER-KVA.example": "jane@xn--bcher-kva.example",
    "jane@faß.example": "jane@xn--fa-hia.example",
    "jane@例え。example": "jane@xn--r8jz45g.example",
    "jane@ｅｘａｍｐｌｅ.com": "jane@example.com",
    "JOSÉ@example.com": "josé@example.com",
    "jose\u0301@example.com": "josé@example.com",
    "İ@example.com": "i\u0307@example.com",
    "\u212aelvin@example.com": "kelvin@example.com",
    '"jane"@example.com': "jane@example.com",
    '"a..b"@example.com': "a..b@example.com",
    '"Jane,Doe"@example.com': '"jane,doe"@example.com',
    '"jane@work"@example.com': '"jane@work"@example.com',
    'Jane <"a>b"@example.com>': '"a>b"@example.com',
    '"a\\"b"@example.com': '"a\\"b"@example.com',
}

REFUSED = {
    "": "nothing",
    " ": "blanks only",
    "reader": "no domain",
    "@example.com": "no local part",
    "reader@": "no domain after the @",
    "reader@.": "a dot is no domain",
    "reader@example..com": "an empty label",
    "reader@example.com..": "two trailing dots",
    "reader@-example.com": "a label that begins with a hyphen",
    "a@example.com, b@example.org": "two addresses, comma",
    "a@example.com,b@example.org": "two addresses, comma without blank",
    "a@example.com; b@example.org": "two addresses, semicolon",
    "a@example.com b@example.org": "two addresses, blank",
    "a@b@example.com": "two @",
    "A <a@example.com>, B <b@example.org>": "two addresses with names",
    "A <a@example.com> <b@example.org>": "two bracketed addresses",
    "<a@example.com> b@example.org": "something after the brackets",
    "Doe, Jane <jane@example.com>": "an unquoted comma could separate two",
    "a@example.com <b@example.org>": "the name is another address",
    '"a@example.com" <b@example.org>': "the quoted name is another address",
    "Friends: a@example.com;": "a group",
    "jane(home)@example.com": "a comment",
    "jane@example.com (Jane)": "a comment behind",
    "Jane (home) <jane@example.com>": "a comment in the name",
    "ja ne@example.com": "a blank inside",
    "jane@exam ple.com": "a blank in the domain",
    "ja\u00a0ne@example.com": "a no-break space inside",
    "\u00a0jane@example.com": "a no-break space is not trimmed",
    "jane@example.com\x00": "NUL",
    "jane\n@example.com": "a newline inside",
    "Jane\nDoe <jane@example.com>": "a newline in the name",
    "ja\u200bne@example.com": "zero-width space",
    "jane@exa\u00admple.com": "soft hyphen, which IDNA would drop",
    "jane@example.com\u2028": "line separator",
    "ja\u202ene@example.com": "bidirectional override",
    "\ufeffjane@example.com": "byte-order mark",
    "ja\ufe0fne@example.com": "variation selector",
    "ja\u3164ne@example.com": "Hangul filler",
    "ja\ud800ne@example.com": "lone surrogate",
    "Jane\u200b <jane@example.com>": "zero-width space in the name",
    "jane@[192.0.2.1]": "domain literal",
    "jane@xn--": "an empty A-label",
    "jane@☃\u0301.example": "no IDNA label",
    "jane@exa＠mple.com": "full-width @ in the domain",
    "<jane@example.com": "bracket left open",
    'Jane "JD <jane@example.com>': "quote left open",
    '""@example.com': "an empty quoted local part",
    f"jane@{'a' * 64}.com": "label over 63",
    f"{'a' * 310}@example.com": "over 320 characters",
    f"jane@{'ü' * 60}.com": "label over 63 once encoded",
    f"{'x' * 5000} <jane@example.com>": "an endless name",
}

odd_characters = list('ab@.<>",;()[] \\\n\tİ\u212aΣ\u0338\u0307ü。＠-_')
any_text = st.text(alphabet=st.one_of(st.sampled_from(odd_characters), st.characters()))


@pytest.mark.parametrize(("written", "normal"), READABLE.items())
def test_each_spelling_has_one_normal_form(written: str, normal: str) -> None:
    assert normalise(written).normal == normal


@pytest.mark.parametrize("written", REFUSED, ids=REFUSED.values())
def test_what_is_not_exactly_one_address_is_refused(written: str) -> None:
    with pytest.raises(NotAnAddress):
        normalise(written)


@pytest.mark.parametrize("value", [None, 5, b"jane@example.com", ["jane@example.com"], {}])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(NotAnAddress):
        normalise(value)  # type: ignore[arg-type]


def test_the_reason_never_holds_the_text() -> None:
    with pytest.raises(NotAnAddress) as refusal:
        normalise("secret.name@example.com, other.name@example.com")

    assert "name" not in str(refusal.value)


def test_the_verbatim_form_is_the_bare_address_as_written() -> None:
    assert normalise(' "Doe, Jane" <Jane.Doe@Example.COM.> ') == Address(
        "jane.doe@example.com", "Jane.Doe@Example.COM."
    )


@pytest.mark.parametrize("written", ["Jane.Doe@Example.COM", '"Doe, Jane" <Jane.Doe@EXAMPLE.com>'])
def test_the_local_part_keeps_its_case_if_told_so(written: str) -> None:
    assert normalise(written, keep_local_case=True).normal == "Jane.Doe@example.com"


def test_a_long_plain_address_is_read_as_a_short_one_is() -> None:
    long = f"Jane@{'Example.' * 20}com"

    assert normalise(long).normal == long.lower()


@given(any_text, st.booleans())
def test_any_text_is_an_address_whose_normal_form_is_stable_or_not_an_address(text: str, keep: bool) -> None:
    try:
        address = normalise(text, keep_local_case=keep)
    except NotAnAddress:
        return

    assert normalise(address.normal, keep_local_case=keep).normal == address.normal
    assert normalise(address.verbatim, keep_local_case=keep) == address


@given(st.emails(), st.sampled_from(["{}", " {}\n", "<{}>", "Jane <{}>", '"Doe, Jane" <{}>']))
def test_every_ordinary_address_is_readable_in_every_form(email: str, form: str) -> None:
    assert normalise(form.format(email)).normal == email.lower()


def test_a_digest_is_fit_for_a_mail_tag_and_never_changes() -> None:
    assert digest("jane.doe@example.com") == "86e0b9e56c17cc4d12387e1949b85053"


def test_an_id_made_of_an_address_is_fit_for_a_mail_tag_as_it_is_and_never_changes() -> None:
    made = short_digest("jane.doe@example.com")

    assert made == "huC55WwXzE0SOH4Z"
    assert tag_of(made) == made
