"""Any provider can read a body for people, configured or not."""

import pytest

from config.settings import load
from providers import registry
from providers.reading import AWS_TOPIC, SECRET, reader, with_stand_ins
from tests.unit.providers.payloads import posted, recorded


@pytest.mark.parametrize("name", registry.known_names())
def test_every_provider_can_read_without_any_setting(name: str) -> None:
    assert reader(name, load({})).name == name


@pytest.mark.parametrize("name", registry.known_names())
def test_a_reader_never_raises_and_parks_what_is_no_body(name: str) -> None:
    said = reader(name, load({})).normalise(posted(b'{"\xff'))

    assert [item.index for item in said.parked] == [-1]


def test_the_settings_count_where_there_is_no_secret() -> None:
    made = reader("resend", load({"ADDRESS_KEEP_LOCAL_CASE": "true"}))

    assert made.normalise(posted(recorded("resend", "bounced_display_name"))).events[0].recipient == (
        "Jane.Doe@example.com"
    )


def test_a_name_that_is_no_provider_raises() -> None:
    with pytest.raises(KeyError):
        reader("nobody", load({}))


def test_secrets_that_are_set_are_not_used() -> None:
    settings = load(
        {"RESEND_WEBHOOK_SECRETS": "whsec_bWFkZS11cC1zZWNyZXQtZm9yLXRlc3Rz", "MAILGUN_SIGNING_KEYS": "made-up-key"}
    )

    assert with_stand_ins(settings, "RESEND_WEBHOOK_SECRETS").resend_webhook_secrets == (SECRET,)
    assert with_stand_ins(settings, "MAILGUN_SIGNING_KEYS").providers.mailgun_signing_keys == (SECRET,)


def test_topics_that_are_set_stay_because_a_subscription_is_confirmed_for_them_alone() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:bounces"

    assert with_stand_ins(load({"SES_TOPIC_ARNS": topic}), "SES_TOPIC_ARNS").providers.ses_topic_arns == (topic,)
    assert with_stand_ins(load({}), "SES_TOPIC_ARNS").providers.ses_topic_arns == (AWS_TOPIC,)
