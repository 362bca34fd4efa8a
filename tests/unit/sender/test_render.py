"""Rendering: a mail is a function of content and member; whoever cannot have one is named before any mail leaves."""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.addresses import digest
from core.ledger.tags import fits
from sender.content import Content
from sender.mail import Mail
from sender.render import BadTemplate, Member, Renderer, RenderError
from sender.unsubscribe import read

SECRET = "a-made-up-secret"
URL = "https://example.com/u?a=1&t={token}"


def renderer(subject: str = "Hello", html: str = "", text: str = "", **more: Any) -> Renderer:
    sender = "Shop <news@example.com>"
    return Renderer(Content(sender=sender, subject=subject, html=html, text=text, **more), "staging", "c1", SECRET)


def member(recipient_id: str = "r-1", verbatim: str = "", **variables: object) -> Member:
    return Member(recipient_id, "jane@example.com", verbatim, variables)


def mail(subject: str = "Hello", html: str = "", text: str = "", **variables: object) -> Mail:
    return renderer(subject, html, text or "text").render(member(**variables))


def html(source: str, **variables: object) -> str:
    return mail(html=source, **variables).html


def errors(one: Renderer, *members: Member) -> list[tuple[str, str, str, str]]:
    return [(error.recipient_id, error.part, error.variable, error.reason) for error in one.check(members)]


def test_a_mail_holds_all_that_the_content_and_the_member_say() -> None:
    content = Content(
        sender="Shop <news@example.com>",
        subject="Hi {{ name }}",
        html="<p>{{ name }}</p>",
        text="{{ name }}",
        headers=(("X-A", "b"),),
        reply_to=("help@example.com",),
        tags=(("kind", "news"),),
    )

    zoe = member("r:1", "Jane@Example.com", name="Zoë & <b>")
    rendered = Renderer(content, "staging", "c1", SECRET, [("test", "1")]).render(zoe)

    assert rendered == Mail(
        sender="Shop <news@example.com>",
        to="Jane@Example.com",
        subject="Hi Zoë & <b>",
        html="<p>Zoë &amp; &lt;b&gt;</p>",
        text="Zoë & <b>",
        reply_to=("help@example.com",),
        headers=(("X-A", "b"),),
        tags=(
            ("kind", "news"),
            ("test", "1"),
            ("mailward_env", "staging"),
            ("mailward_campaign", "c1"),
            ("mailward_recipient", "mw64-cjox"),
            ("mailward_to", digest("jane@example.com")),
        ),
    )


def test_the_same_member_gets_the_same_mail_from_every_renderer() -> None:
    source = "{% for k, v in data|items %}{{ k }}{{ v }}{% endfor %}{{ xs|unique|sort|join(',') }}{{ unsubscribe_url }}"
    jane = Member.stored("r-1", "jane@example.com", None, '{"data":{"b":1,"a":2.50},"xs":["z","y","z"]}')

    mails = [renderer(html=source, text=source, unsubscribe_url=URL).render(jane) for _ in range(2)]

    assert mails[0] == mails[1]
    assert mails[0].text.startswith("b1a2.5y,z")


def test_an_unsubscribe_url_makes_a_link_and_the_one_click_headers() -> None:
    rendered = renderer(html='<a href="{{ unsubscribe_url }}">', unsubscribe_url=URL).render(member())

    (name, value), post = rendered.headers
    found = re.fullmatch(r"<https://example\.com/u\?a=1&t=([A-Za-z0-9_-]+)>", value)
    assert name == "List-Unsubscribe"
    assert post == ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
    assert found
    assert read([SECRET], found[1]) == ("c1", "r-1")
    assert rendered.html == f'<a href="https://example.com/u?a=1&amp;t={found[1]}">'


def test_our_merge_fields_win_over_a_members_own() -> None:
    assert html("{{ address }}", address="other@example.com") == "jane@example.com"


def test_a_members_own_unsubscribe_url_is_never_used() -> None:
    with pytest.raises(BadTemplate, match="content sets none"):
        renderer(html="{{ unsubscribe_url }}")


@pytest.mark.parametrize(
    ("source", "variables", "expected"),
    [
        ("{{ name }}", {"name": "<&>"}, "&lt;&amp;&gt;"),
        ("{{ name|safe }}", {"name": "<b>"}, "<b>"),
        ("{{ name|default('there') }}", {}, "there"),
        ("{{ name|default('there') }}", {"name": None}, "there"),
        ("{{ name|default('there') }}", {"name": " "}, "there"),
        ("{{ name|default('there') }}", {"name": "Jane"}, "Jane"),
        ("{{ n|default('none') }}", {"n": 0}, "0"),
        ("{{ n|default('none', true) }}", {"n": 0}, "none"),
        ("{{ user.home.city|default('?') }}", {}, "?"),
        ("{{ user.home.city|default('?') }}", {"user": {"home": {"city": "Bern"}}}, "Bern"),
        ("{{ user['city'] }}{{ xs[0] }}{{ n[:1] }}", {"user": {"city": "Bern"}, "xs": [1], "n": "Jane"}, "Bern1J"),
        ("{{ name|upper }}{{ name|title }}{{ name|truncate(3, true, '', 0) }}", {"name": "jane"}, "JANEJanejan"),
        ("{% if vip %}a{% elif n > 2 and n is number %}b{% else %}c{% endif %}", {"vip": False, "n": 3}, "b"),
        ("{{ 'a' if name is defined else 'b' }}", {}, "b"),
        ("{% for x in xs %}{{ loop.index }}{{ x.n }}{% if not loop.last %}, {% endif %}{% endfor %}",
         {"xs": [{"n": "a"}, {"n": "b"}]}, "1a, 2b"),
        ("{% for x in xs %}x{% else %}none{% endfor %}", {"xs": []}, "none"),
        ("{{ xs|join(', ') }}", {"xs": ["a", "<"]}, "a, &lt;"),
        ("{{ xs|join('<br>'|safe) }}", {"xs": ["a", "<"]}, "a<br>&lt;"),
        ("{{ xs|join('-', attribute='n') }}", {"xs": [{"n": 1}, {"n": 2}]}, "1-2"),
        ("{{ n + 1 }} {{ n - 1 }} {{ n / 2 }} {{ -n }} {{ n ~ 'x' }}", {"n": 4}, "5 3 2.0 -4 4x"),
        ("{{ n }}{{ f }}{{ b }}", {"n": 1, "f": 1.5, "b": True}, "11.5True"),
        ("{# note #}{% raw %}{{ x }}{% endraw %}\n", {}, "{{ x }}\n"),
        ("x" * 300_000 + "{{ name }}", {"name": "y"}, "x" * 300_000 + "y"),
    ],
)  # fmt: skip
def test_merge_fields_are_what_jinja_makes_of_them(source: str, variables: dict[str, object], expected: str) -> None:
    assert html(source, **variables) == expected


@pytest.mark.parametrize("part", ["subject", "text"])
def test_only_html_is_escaped(part: str) -> None:
    assert getattr(mail(**{part: "{{ name }}"}, name="<&>"), part) == "<&>"


@pytest.mark.parametrize(
    "name", ["a\r\nBcc: x@example.com", "a\n\n\tBcc: x@example.com", "a\x00\x85\u2028Bcc: x@example.com"]
)
def test_a_subject_is_one_line_whatever_is_merged_into_it(name: str) -> None:
    assert mail("  Hi {{ name }} ", name=name).subject == "Hi a Bcc: x@example.com"


def test_a_family_in_a_subject_stays_together() -> None:
    assert mail("{{ name }}", name="👨‍👩‍👧").subject == "👨‍👩‍👧"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("{{ name", 1), ("a\n{% if x %}", 2), ("{{ x|nonsense }}", 1), ("{{ x is nonsense }}", 1), ("{% no %}", 1),
        ("a\n\n{{ f() }}", 3), ("{{ name.upper() }}", 1), ("{{ range(9) }}", 1), ("{{ lipsum() }}", 1),
        ("{% set x = 1 %}", 1), ("{% macro m() %}{% endmacro %}", 1), ("{% block b %}{% endblock %}", 1),
        ("{% include 'x' %}", 1), ("{% import 'x' as y %}", 1), ("{% from 'x' import y %}", 1),
        ("{% extends 'x' %}", 1),
        ("{% filter upper %}x{% endfilter %}", 1), ("{% with a = 1 %}{% endwith %}", 1),
        ("{% autoescape false %}{% endautoescape %}", 1), ("{% for x in y recursive %}{% endfor %}", 1),
        ("{{ 'a' * 9 }}", 1), ("{{ 9 ** 9 }}", 1), ("{{ '%99d' % 1 }}", 1), ("{{ 9 // 1 }}", 1), ("{{ {'a': 1} }}", 1),
        ("{{ xs|random }}", 1), ("{{ x|center(99) }}", 1), ("{{ x|attr('y') }}", 1), ("{{ '%9d'|format(1) }}", 1),
        ("{{ x|replace('a', 'b') }}", 1), ("{{ xs|map('upper') }}", 1), ("{{ x|pprint }}", 1), ("{{ x|steps }}", 1),
        ("{{ x|default(*xs) }}", 1), ("{{ " + "(" * 5000 + ")" * 5000 + " }}", 1), ("{{ " + "9" * 5000 + " }}", 1),
        ("{% for x in y %}" * 30 + "{% endfor %}" * 30, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("part", ["subject", "html", "text"])
def test_a_template_that_does_more_than_merging_is_refused_with_its_line(part: str, source: str, line: int) -> None:
    with pytest.raises(BadTemplate) as refused:
        renderer(**{part: source})

    assert (refused.value.part, refused.value.line) == (part, line)


@pytest.mark.parametrize(
    "source",
    [
        "{{ x.__class__ }}",
        "{{ x['__class__'] }}",
        "{{ x.upper }}",
        "{{ xs.append }}",
        "{{ d.items }}",
        "{{ d.keys }}",
        "{{ x.__class__.__mro__ }}",
        "{% for y in xs %}{{ loop.cycle }}{% endfor %}",
        "{{ self }}",
        "{{ self.x }}",
        "{% for y in xs %}{{ loop.__class__ }}{{ loop._iterator }}{% endfor %}",
        "{{ xs|sort(attribute='__class__') }}",
        "{{ xs|join(attribute='__class__') }}",
        "{{ xs|sum('__class__') }}",
        "{{ xs|unique(attribute='real')|join }}",
    ],
)
def test_nothing_of_python_can_be_reached(source: str) -> None:
    with pytest.raises(RenderError):
        html(source, x="text", xs=[1], d={"a": 1})


@pytest.mark.parametrize(
    ("source", "variable", "reason"),
    [
        ("{{ name }}", "name", "missing"),
        ("{{ nothing }}", "nothing", "missing"),
        ("{{ name|upper }}", "name", "missing"),
        ("{% if name %}x{% endif %}", "name", "missing"),
        ("{% for x in name %}x{% endfor %}", "name", "missing"),
        ("{{ name == 'x' }}", "name", "missing"),
        ("{{ user.home.city }}", "home.city", "missing"),
        ("{{ other.home.city }}", "other.home.city", "missing"),
        ("{% for x in rows %}{{ x.n }}{% endfor %}", "n", "missing"),
        ("{{ rows|join(',', attribute='n') }}", "n", "missing"),
        ("a\n{{ xs }}", "xs", "line 2: a list or an object cannot be printed"),
        ("{{ user }}", "user", "line 1: a list or an object cannot be printed"),
        ("{{ rows|join }}", "rows", "line 1: a list or an object cannot be printed"),
        ("{{ user.gone }}", "user", "line 1: null cannot be printed"),
        ("{{ xs|first / 0 }}", "xs", "line 1: division by zero"),
        ("{{ xs|sort|join }}", "xs", "line 1: '<' not supported between instances of 'str' and 'int'"),
        ("{{ xs|join(big) }}", "big, xs", "line 1: joins too much"),
        ("{{ empty|first }}", "empty", "line 1: UndefinedError"),
        ("{{ big|truncate(1) }}", "big", "line 1: AssertionError"),
        ("{{ half }}", "half", "half of a character (a lone surrogate)"),
    ],
)
def test_a_mail_that_cannot_be_made_names_recipient_part_and_field_but_no_value(
    source: str, variable: str, reason: str
) -> None:
    fields: dict[str, Any] = {
        "nothing": None,
        "user": {"gone": None},
        "rows": [{}],
        "xs": [1, "secret"],
        "empty": [],
        "big": "y" * 1_000_000,
        "half": "\ud800",
    }

    with pytest.raises(RenderError) as failed:
        html(source, **fields)

    error = failed.value
    assert (error.recipient_id, error.part, error.variable, error.reason) == ("r-1", "html", variable, reason)
    assert str(error) == f"recipient r-1: html: {variable}: {reason}"


def test_a_failure_that_might_quote_a_value_gives_its_kind_only() -> None:
    with pytest.raises(RenderError) as failed:
        html("{{ xs|sum }}{{ name|int + name }}", xs=[1], name="secret")

    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("source", "variables"),
    [
        ("{% for a in xs %}{% for b in xs %}{% endfor %}{% endfor %}", {"xs": list(range(1000))}),
        ("{% for a in xs %}{% endfor %}", {"xs": list(range(20_000))}),
        ("{% for a in xs if false %}{% endfor %}", {"xs": list(range(20_000))}),
        ("{{ big }}" * 20, {"big": "x" * 60_000}),
        ("{{ big }}" * 4, {"big": "<" * 70_000}),
    ],
)
def test_the_work_and_the_size_of_a_mail_are_bounded(source: str, variables: dict[str, object]) -> None:
    with pytest.raises(RenderError, match=r"loops more than 10000 times|more than 1048576 characters"):
        html(source, **variables)


def test_each_mail_has_the_whole_bound_to_itself() -> None:
    one = renderer(html="{% for x in xs %}{{ x }}{% endfor %}", text="{% for x in xs %}{{ x }}{% endfor %}")

    for _ in range(3):
        assert len(one.render(member(xs=[1] * 9000)).text) == 9000


@pytest.mark.parametrize("subject", ["{{ name }}", "{% if name %}{% endif %}"])
def test_a_mail_without_a_subject_is_an_error(subject: str) -> None:
    assert errors(renderer(subject, text="x"), member(name=" \n")) == [("r-1", "subject", "name", "comes out empty")]


def test_a_subject_that_no_line_of_a_mail_can_hold_is_an_error() -> None:
    [(_, part, variable, reason)] = errors(renderer("Hi {{ name }}", text="x"), member(name="x" * 996))

    assert (part, variable, reason) == ("subject", "name", "line 1: more than 998 characters")


def test_a_mail_that_says_nothing_is_an_error() -> None:
    one = renderer(html="{% if vip %}x{% endif %}\n")

    assert errors(one, member(vip=True), member("r-2", vip=False)) == [("r-2", "html", "vip", "comes out empty")]


def test_the_check_names_every_part_that_is_wrong_for_every_member() -> None:
    one = renderer("{{ a }}", "<p>{{ b }}</p>", "{{ c }}")

    found = errors(one, member(a="x", b="x", c="x"), member("r-2", a="x"), member("r-3", a="x", b="x", c=["x"]))

    assert found == [
        ("r-2", "html", "b", "missing"),
        ("r-2", "text", "c", "missing"),
        ("r-3", "text", "c", "line 1: a list or an object cannot be printed"),
    ]


def test_the_check_streams() -> None:
    seen = []

    def members() -> Any:
        for n in range(10):
            seen.append(n)
            yield member(f"r-{n}")

    found = renderer(text="{{ name }}").check(members())

    assert next(found).recipient_id == "r-0"
    assert seen == [0]


def test_the_variables_of_a_content_are_known_without_rendering() -> None:
    one = renderer("{{ a }}", "{% for x in xs %}{{ x.y }}{{ b|default(c) }}{% endfor %}", "{{ address }}")

    assert one.variables == {"a", "xs", "b", "c"}


@pytest.mark.parametrize(("env", "campaign_id"), [("", "c1"), ("a b", "c1"), ("staging", ""), ("staging", "c/1")])
def test_what_cannot_be_a_tag_is_refused_at_once(env: str, campaign_id: str) -> None:
    with pytest.raises(ValueError, match="must be of A-Z"):
        Renderer(Content("a@example.com", "x", text="x"), env, campaign_id, SECRET)


def test_links_cannot_be_signed_without_a_secret() -> None:
    with pytest.raises(ValueError, match="needs a secret"):
        Renderer(Content("a@example.com", "x", text="x", unsubscribe_url=URL), "staging", "c1", "")


NAMES = st.sampled_from(["a", "b", "c"])
FILTERS = st.sampled_from(
    ["upper", "title", "capitalize", "lower", "trim", "string", "safe", "e", "default('x')", "d(5)"]
)
VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.just([]) | st.just({})
    | st.text(st.characters()) | st.sampled_from(["ŉ" * 70, "<\"'&>" * 900, "ﬃ'" * 2000, " ", "\ud800"])
)  # fmt: skip
EXPRESSIONS = st.recursive(
    NAMES | st.sampled_from(["'x'", "5", "address", "a.b", "none"]),
    lambda inner: st.one_of(
        st.builds("({}|{})".format, inner, FILTERS),
        st.builds("({} {} {})".format, inner, st.sampled_from(["~", "==", "!=", "and", "or", "+", "<", "in"]), inner),
        st.builds("({} if {} is defined else {})".format, inner, NAMES, inner),
        st.builds("({} if {})".format, inner, inner),
    ),
    max_leaves=5,
)
PIECES = st.one_of(
    st.just("text"),
    st.builds("{{{{ {} }}}}".format, EXPRESSIONS),
    st.builds("{{% if {} %}}{{{{ {} }}}}{{% endif %}}".format, EXPRESSIONS, EXPRESSIONS),
)
TEMPLATES = st.lists(PIECES, max_size=4).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEMPLATES, TEMPLATES, TEMPLATES, st.dictionaries(NAMES, VALUES))
def test_the_check_finds_exactly_those_whose_mail_cannot_be_made(
    subject: str, html: str, text: str, variables: dict[str, object]
) -> None:
    one = renderer(subject, html, text)
    jane = member(**variables)
    try:
        one.render(jane)
        fine = True
    except RenderError:
        fine = False

    assert (list(one.check([jane])) == []) is fine
    assert fine or not one.is_surely_fine(jane)


def test_the_check_of_a_simple_template_renders_nobody_who_is_fine() -> None:
    one = renderer("Hi {{ name }}", "<p>{% if vip %}{{ city|default('x')|upper }}{% endif %}</p>", "Hi")

    assert one.is_surely_fine(member(name="Jane", vip=True, city="Bern"))
    assert one.is_surely_fine(member(name="Jane", vip=""))
    assert not one.is_surely_fine(member(name="Jane"))
    assert not one.is_surely_fine(member(name="x" * 2000, vip=True))
    assert not one.is_surely_fine(member(name=["x"], vip=True))


@settings(deadline=None)  # compiles templates
@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text())), st.text(min_size=1))
def test_whatever_a_member_holds_makes_a_mail_or_an_error(variables: dict[str, object], recipient_id: str) -> None:
    assume(recipient_id.isprintable())
    stored = Member.stored(recipient_id, "jane@example.com", None, json.dumps(variables))

    rendered = renderer("Hello {{ name|default('you') }}", text="x", unsubscribe_url=URL).render(stored)

    assert all(fits(name) and fits(value) for name, value in rendered.tags)
    assert all(text.isprintable() and text.isascii() for header in rendered.headers for text in header)
