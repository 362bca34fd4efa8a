"""Tags as plain texts: ours are found by name, and nothing else that stands there does harm."""

import pytest

from providers.tag_texts import named


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("mailward_campaign=spring-2026", {"mailward_campaign": "spring-2026"}),
        (["news", "mailward_env=test", "mailward_campaign=c1"], {"mailward_env": "test", "mailward_campaign": "c1"}),
        ("mailward_env=test; mailward_campaign=c1", {"mailward_env": "test", "mailward_campaign": "c1"}),
        ("mailward_recipient=a=b", {"mailward_recipient": "a=b"}),
        ("mailward_campaign", {"mailward_campaign": ""}),
        (["mailward_env=test", 5, None, ["mailward_env=x"], {}], {"mailward_env": "test"}),
        (None, {}),
        ({}, {}),
        (5, {}),
        ([], {}),
    ],
)
def test_tags_are_read_by_name(written: object, tags: dict[str, str]) -> None:
    found = named(written)

    assert {name: value for name, value in found.items() if str(name).startswith("mailward_")} == tags
