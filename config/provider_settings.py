"""The settings of the email providers' webhooks. A provider without its secret is off; an empty one stops the boot."""

from dataclasses import dataclass, field

from config import parsers, proofs
from config.parsers import Reader

SECRET = {"secret": True}  # field metadata: shown as *** wherever settings are printed


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What each provider's webhook is verified with, and the switches of its classification (`…_is_hard`)."""

    ses_topic_arns: tuple[str, ...]
    ses_raw_credentials: tuple[str, ...] = field(metadata=SECRET)
    ses_suppressed_is_hard: bool
    ses_shared_complaint_removes: bool
    sendgrid_webhook_keys: tuple[str, ...]
    mailgun_signing_keys: tuple[str, ...] = field(metadata=SECRET)
    postmark_webhook_credentials: tuple[str, ...] = field(metadata=SECRET)
    sparkpost_webhook_credentials: tuple[str, ...] = field(metadata=SECRET)
    mailjet_webhook_credentials: tuple[str, ...] = field(metadata=SECRET)
    brevo_webhook_credentials: tuple[str, ...] = field(metadata=SECRET)
    mandrill_webhook_keys: tuple[str, ...] = field(metadata=SECRET)
    mandrill_webhook_urls: tuple[str, ...]
    mailersend_webhook_secrets: tuple[str, ...] = field(metadata=SECRET)
    mailtrap_webhook_secrets: tuple[str, ...] = field(metadata=SECRET)
    postal_public_keys: tuple[str, ...]
    postal_any_5xx_is_hard: bool
    unisender_go_api_keys: tuple[str, ...] = field(metadata=SECRET)
    scaleway_topic_arns: tuple[str, ...]
    scaleway_dropped_is_hard: bool
    cloudflare_queue_id: str
    cloudflare_api_token: str = field(metadata=SECRET)
    cloudflare_api_url: str
    test_private_key: str


def load(env: Reader) -> ProviderSettings:
    """Read the provider settings through `env`, which collects the faults."""
    secrets, keys = proofs.text_secrets, proofs.public_keys
    settings = ProviderSettings(
        ses_topic_arns=env.read_secrets("SES_TOPIC_ARNS", proofs.topic_arns),
        ses_raw_credentials=env.read_secrets("SES_RAW_CREDENTIALS", proofs.credentials),
        ses_suppressed_is_hard=env.read("SES_SUPPRESSED_IS_HARD", parsers.boolean, "true"),
        ses_shared_complaint_removes=env.read("SES_SHARED_COMPLAINT_REMOVES", parsers.boolean, "false"),
        sendgrid_webhook_keys=env.read_secrets("SENDGRID_WEBHOOK_KEYS", keys),
        mailgun_signing_keys=env.read_secrets("MAILGUN_SIGNING_KEYS", secrets),
        postmark_webhook_credentials=env.read_secrets("POSTMARK_WEBHOOK_CREDENTIALS", proofs.credentials),
        sparkpost_webhook_credentials=env.read_secrets("SPARKPOST_WEBHOOK_CREDENTIALS", proofs.credentials),
        mailjet_webhook_credentials=env.read_secrets("MAILJET_WEBHOOK_CREDENTIALS", proofs.credentials),
        brevo_webhook_credentials=env.read_secrets("BREVO_WEBHOOK_CREDENTIALS", proofs.credentials),
        mandrill_webhook_keys=env.read_secrets("MANDRILL_WEBHOOK_KEYS", secrets),
        mandrill_webhook_urls=env.read("MANDRILL_WEBHOOK_URLS", proofs.exact_urls, ""),
        mailersend_webhook_secrets=env.read_secrets("MAILERSEND_WEBHOOK_SECRETS", secrets),
        mailtrap_webhook_secrets=env.read_secrets("MAILTRAP_WEBHOOK_SECRETS", secrets),
        postal_public_keys=env.read_secrets("POSTAL_PUBLIC_KEYS", keys),
        postal_any_5xx_is_hard=env.read("POSTAL_ANY_5XX_IS_HARD", parsers.boolean, "false"),
        unisender_go_api_keys=env.read_secrets("UNISENDER_GO_API_KEYS", secrets),
        scaleway_topic_arns=env.read_secrets("SCALEWAY_TOPIC_ARNS", proofs.topic_arns),
        scaleway_dropped_is_hard=env.read("SCALEWAY_DROPPED_IS_HARD", parsers.boolean, "false"),
        cloudflare_queue_id=env.read("CLOUDFLARE_QUEUE_ID", parsers.key_or_empty, ""),
        cloudflare_api_token=env.read("CLOUDFLARE_API_TOKEN", parsers.key_or_empty, ""),
        cloudflare_api_url=env.read("CLOUDFLARE_API_URL", parsers.http_url, "https://api.cloudflare.com/client/v4"),
        test_private_key=env.read("TEST_PRIVATE_KEY", str.strip, ""),
    )
    if bool(settings.mandrill_webhook_keys) != bool(settings.mandrill_webhook_urls):
        env.fault("MANDRILL_WEBHOOK_KEYS and MANDRILL_WEBHOOK_URLS must be set together: the signature covers the URL")
    return settings
