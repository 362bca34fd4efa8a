"""Content: what operators may send, what is refused and where, and that the same content is the same bytes."""

import dataclasses
import hashlib
import json
from typing import Any

import pytest
from marshmallow import ValidationError

from sender.content import Content

PLAIN = {"from": "Shop <news@example.com>", "subject": "Hello {{ name }}", "text": "Hello {{ name }}"}
FULL = PLAIN | {
    "html": "<p>Grüße</p>",
    "headers": {"X-Feature": "on", "X-A": "b"},
    "reply_to": ["help@example.com"],
    "tags": {"kind": "newsletter"},
    "unsubscribe_url": "https://example.com/u?t={token}",
}


def faults(**changed: Any) -> set[str]:
    with pytest.raises(ValidationError) as refused:
        Content.from_mapping({name: value for name, value in (PLAIN | changed).items() if value is not None})
    assert isinstance(refused.value.messages, dict)
    return set(refused.value.messages)


def accepted(**changed: Any) -> Content:
    return Content.from_mapping(PLAIN | changed)


def test_content_is_read_from_what_an_operator_writes() -> None:
    assert Content.from_mapping(FULL) == Content(
        sender="Shop <news@example.com>",
        subject="Hello {{ name }}",
        html="<p>Grüße</p>",
        text="Hello {{ name }}",
        headers=(("X-A", "b"), ("X-Feature", "on")),
        reply_to=("help@example.com",),
        tags=(("kind", "newsletter"),),
        unsubscribe_url="https://example.com/u?t={token}",
    )


def test_canonical_content_comes_back_by_both_ways() -> None:
    content = Content.from_mapping(FULL)

    assert Content.from_canonical(content.canonical()) == content
    assert Content.from_mapping(json.loads(content.canonical())) == content


def test_the_digest_does_not_depend_on_the_order_in_which_things_were_written() -> None:
    turned = {name: FULL[name] for name in reversed(FULL)} | {"headers": {"X-A": "b", "X-Feature": "on"}}

    assert Content.from_mapping(turned).digest() == Content.from_mapping(FULL).digest()


def test_the_bytes_never_change() -> None:
    assert accepted(tags={"b": "1", "a": "2"}).canonical() == (
        b'{"from":"Shop <news@example.com>","headers":{},"html":"","reply_to":[],"subject":"Hello {{ name }}",'
        b'"tags":{"a":"2","b":"1"},"text":"Hello {{ name }}","unsubscribe_url":""}'
    )


def test_the_digest_is_that_of_the_bytes() -> None:
    assert accepted().digest() == hashlib.sha256(accepted().canonical()).hexdigest()


@pytest.mark.parametrize("field", [one.name for one in dataclasses.fields(Content)])
def test_the_digest_depends_on_every_field(field: str) -> None:
    content = Content.from_mapping(FULL)
    other = dataclasses.replace(content, **{field: ((("x", "y"),) if field in ("headers", "tags") else "other")})

    assert other.digest() != content.digest()


@pytest.mark.parametrize("field", ["from", "subject"])
def test_sender_and_subject_are_needed(field: str) -> None:
    assert faults(**{field: None}) == {field}


def test_one_of_html_and_text_is_needed() -> None:
    assert faults(text=" \n") == {"html"}
    assert accepted(html="<p>x</p>", text="").html == "<p>x</p>"


def test_an_unknown_field_is_refused_by_name() -> None:
    assert faults(bcc="other@example.com") == {"bcc"}


@pytest.mark.parametrize(
    "sender",
    ["news@example.com", "Shop <news@example.com>", '"Shop, Inc." <news@example.com>', "Bücher <n@example.com>"],
)
def test_a_sender_is_one_address_with_or_without_a_name(sender: str) -> None:
    assert accepted(**{"from": sender}).sender == sender


@pytest.mark.parametrize(
    "sender",
    [
        "",
        "Shop",
        "a@example.com, b@example.com",
        "Shop\r\nBcc: x@example.com <a@example.com>",
        "S\x00 <a@example.com>",
        "\ud800 <a@example.com>",
        "x" * 310 + " <a@example.com>",
    ],
)
def test_anything_else_is_no_sender_and_no_reply_address(sender: str) -> None:
    assert faults(**{"from": sender}) == {"from"}
    assert faults(reply_to=[sender]) == {"reply_to"}


def test_one_reply_address_need_not_be_a_list() -> None:
    assert accepted(reply_to="help@example.com").reply_to == ("help@example.com",)


@pytest.mark.parametrize("subject", ["", "  ", "one\ntwo", "a\rb", "a\x00b", "a\u2028b", "x" * 999, "\ud800"])
def test_a_subject_is_one_line_that_says_something(subject: str) -> None:
    assert faults(subject=subject) == {"subject"}


@pytest.mark.parametrize("field", ["html", "text"])
@pytest.mark.parametrize("body", ["ü" * (256 * 1024) + "x", "a\0b", "\ud800", 7])
def test_a_body_is_text_of_at_most_512_kib(field: str, body: object) -> None:
    assert faults(**{field: body}) == {field}


def test_a_body_may_have_512_kib() -> None:
    assert len(accepted(html="x" * 512 * 1024).html) == 512 * 1024


@pytest.mark.parametrize(
    "name",
    [
        "From",
        "To",
        "Cc",
        "BCC",
        "Subject",
        "reply-to",
        "Date",
        "Message-ID",
        "Content-Type",
        "content-transfer-encoding",
        "MIME-Version",
        "Resent-To",
        "Resend-Idempotency-Key",
        "Sender",
        "Return-Path",
    ],
)
def test_a_header_that_the_mail_has_anyway_is_refused(name: str) -> None:
    assert faults(headers={name: "x"}) == {"headers"}


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "b\r\nBcc: x@example.com"},
        {"X-A": "b\nc"},
        {"X-A": "ü"},
        {"X-A": ""},
        {"X-A": " b"},
        {"X-A": "b" * 999},
        {"X A": "b"},
        {"X-A:": "b"},
        {"X-A\r\nBcc": "b"},
        {"": "b"},
        {"X" * 77: "b"},
        {"X-A": "1", "x-a": "2"},
        {f"X-{n}": "b" for n in range(51)},
        {"X-A": 7},
        ["X-A"],
    ],
)
def test_a_header_is_one_line_of_printable_ascii_under_one_name(headers: object) -> None:
    assert faults(headers=headers) == {"headers"}


@pytest.mark.parametrize(
    "tags",
    [
        {"mailward_env": "x"},
        {"Mailward_x": "x"},
        {"a b": "x"},
        {"a": "x@example.com"},
        {"a": ""},
        {"": "x"},
        {"a": "x" * 257},
        {"x" * 257: "a"},
        {"a": 7},
        {f"t{n}": "x" for n in range(72)},
    ],
)
def test_a_tag_is_of_the_alphabet_of_providers_and_not_ours(tags: object) -> None:
    assert faults(tags=tags) == {"tags"}


@pytest.mark.parametrize(
    "url",
    ["https://example.com/u/{token}", "https://example.com:8443/u?c=1&t={token}", "https://example.com/{token}#top"],
)
def test_an_unsubscribe_url_holds_the_token_once(url: str) -> None:
    assert accepted(unsubscribe_url=url).unsubscribe_url == url


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/u",
        "https://example.com/{token}/{token}",
        "https://example.com/{token}?{x}",
        "http://example.com/{token}",
        "mailto:x@example.com?subject={token}",
        "//example.com/{token}",
        "/{token}",
        "https:///{token}",
        "https://{token}.example.com/",
        "https://example.com/#{token}",
        "https://u@example.com/{token}",
        "https://example.com/{token}>, <x",
        "https://example.com/{token}\r\nBcc: x",
        "https://example.com/ {token}",
        "https://example.com:x/{token}",
        "https://[/{token}",
        "https://example.com/ü{token}",
        "https://example.com/{token}" + "x" * 1000,
    ],
)
def test_anything_else_is_no_unsubscribe_url(url: str) -> None:
    assert faults(unsubscribe_url=url) == {"unsubscribe_url"}


def test_list_unsubscribe_is_either_ours_or_the_operators() -> None:
    own = {"List-Unsubscribe": "<mailto:leave@example.com>"}

    assert accepted(headers=own).headers == (("List-Unsubscribe", "<mailto:leave@example.com>"),)
    assert faults(headers=own, unsubscribe_url="https://example.com/{token}") == {"headers"}
