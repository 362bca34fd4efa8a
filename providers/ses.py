"""Amazon SES: its events come through Amazon SNS, one to a post.

Sources: Amazon SES Developer Guide, "Monitoring using Amazon SNS notifications" and "Set up event publishing"; Amazon
SNS Developer Guide, "Verifying the signatures of Amazon SNS messages".
"""

import re
from collections.abc import Sequence

from config.settings import Settings
from providers.base import Normalised, Request
from providers.composed import Composed
from providers.credentials import Credentials
from providers.entry import Entry, Fetch
from providers.samples.ses import sample
from providers.ses_events import SesEvents
from providers.sns import Sns
from providers.sns_certificates import Certificates
from providers.sns_envelope import Signer
from providers.sns_topics import Pin, Topics
from providers.tables.ses import TABLE

# "s3-ap-southeast-2" must not pass for a region: sns.s3-ap-southeast-2.amazonaws.com is a bucket that is called sns.
_ARN = re.compile(r"arn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2}(?:-[a-z]{3,20}){1,3}-[0-9]{1,2}):[^:]+:[^:]+")
UNSIGNED = (
    "the key that signs is Amazon's alone; instead send a mail through SES to bounce@simulator.amazonses.com or "
    "complaint@simulator.amazonses.com"
)


def pin_of(arn: str) -> Pin:
    """The SNS host of the region of an AWS topic. Raises ValueError, in words for an operator, for any other ARN."""
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise ValueError(f"SES_TOPIC_ARNS holds {arn!r}, which is not the ARN of an SNS topic in a region of AWS")
    host = f"https://sns.{parts[2]}.amazonaws.com{'.cn' if parts[1] == 'aws-cn' else ''}/"
    return Pin(re.compile(rf"{re.escape(host)}SimpleNotificationService-[0-9a-fA-F]{{8,64}}\.pem"), host)


def composed(
    topic_arns: Sequence[str],
    fetch: Fetch,
    *,
    raw_credentials: Sequence[str] = (),
    suppressed_is_hard: bool = True,
    shared_complaint_removes: bool = False,
    keep_local_case: bool = False,
    signer: Signer | None = None,
) -> Composed:
    """SES through `topic_arns`, with certificates through `fetch`.

    `raw_credentials`, as in providers.credentials, let messages without an envelope in; `signer` is for tests. Raises
    ValueError, in words for an operator, where there is no topic or one that is not AWS's.
    """
    raw = Credentials(raw_credentials) if raw_credentials else None
    sns = Sns(Topics(topic_arns, pin_of), Certificates(fetch), raw=raw, signer=signer, unsigned=UNSIGNED)
    classifier = TABLE.ready({"ses_suppressed_is_hard": suppressed_is_hard})
    events = SesEvents(classifier, shared_complaint_removes, keep_local_case)

    def read(request: Request) -> Normalised:
        return sns.read(request, lambda notice: events.read(request, notice))

    return Composed("ses", sns, read, sample)


def make(settings: Settings, fetch: Fetch, signer: Signer | None = None) -> Composed | None:
    """SES as `settings` say, or None without its topics; `signer` is for tests."""
    if not settings.providers.ses_topic_arns:
        return None
    return composed(
        settings.providers.ses_topic_arns,
        fetch,
        raw_credentials=settings.providers.ses_raw_credentials,
        suppressed_is_hard=settings.providers.ses_suppressed_is_hard,
        shared_complaint_removes=settings.providers.ses_shared_complaint_removes,
        keep_local_case=settings.keep_local_case,
        signer=signer,
    )


ENTRY = Entry(
    title="Amazon SES",
    setting="SES_TOPIC_ARNS",
    proof="RSA signature of the SNS envelope, the topic being listed and the certificate's host pinned to its region",
    make=make,
    setup=(
        "Create a standard SNS topic in the region of SES; put its ARN into `SES_TOPIC_ARNS` and restart.",
        "In SES, send bounces, complaints, deliveries and delays to it (event destination of the configuration set).",
        "Subscribe `https://<your app>/webhooks/ses` to it (HTTPS, raw delivery off); mailward confirms it itself.",
        "Set the topic's `SignatureVersion` to 2, and attach a dead-letter queue: SNS gives up after an hour.",
        "Send one recipient per message: a complaint that lists several is parked (`SES_SHARED_COMPLAINT_REMOVES`).",
        "Raw delivery is refused unless `SES_RAW_CREDENTIALS` stand in the URL: `https://user:password@<your app>/…`.",
        "Check: a mail to `bounce@simulator.amazonses.com` shows in `mailward watch` as a hard bounce.",
    ),
    tables={"ses": TABLE},
)
