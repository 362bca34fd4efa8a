"""What each webhook of Postmark means. The text of `Type` decides: its number is wrong even in Postmark's own sample.

Sources: postmarkapp.com/developer (bounce, spam complaint and subscription change webhooks, bounce types),
ActiveCampaign/postmark.js (models/bounces), Postmark's support articles 815 and 1065.
"""

from core.events import Kind
from providers.conditions import Condition
from providers.rules import Rule, Table

BOUNCE: dict[str, Condition] = {"RecordType": "Bounce"}
SUPPRESSED: dict[str, Condition] = {"RecordType": "SubscriptionChange", "SuppressSending": True}

RULES = (
    Rule("postmark.spam_complaint", Kind.COMPLAINT, {"RecordType": "SpamComplaint"}),
    Rule(
        "postmark.bounce_spam_complaint",
        Kind.COMPLAINT,
        BOUNCE | {"Type": "SpamComplaint"},
        note="how bounce webhooks told complaints before complaints had a record type of their own",
    ),
    Rule("postmark.hard_bounce", Kind.HARD_BOUNCE, BOUNCE | {"Type": ("HardBounce", "BadEmailAddress")}),
    Rule(
        "postmark.soft_bounce",
        Kind.SOFT_BOUNCE,
        BOUNCE | {"Type": ("SoftBounce", "DnsError", "OpenRelayTest", "Unknown", "VirusNotification")},
    ),
    Rule("postmark.transient", Kind.DEFERRED, BOUNCE | {"Type": "Transient"}),
    Rule(
        "postmark.spam_notification",
        Kind.SOFT_BOUNCE,
        BOUNCE | {"Type": "SpamNotification"},
        note="a filter refused the content; nobody complained, and Postmark goes on sending to the address",
    ),
    Rule("postmark.bounce_unsubscribe", Kind.UNSUBSCRIBED, BOUNCE | {"Type": "Unsubscribe"}),
    Rule(
        "postmark.not_attempted",
        Kind.REJECTED,
        BOUNCE
        | {
            "Type": (
                "ManuallyDeactivated",
                "Unconfirmed",
                "Blocked",
                "DMARCPolicy",
                "SMTPApiError",
                "TemplateRenderingFailed",
            )
        },
        note="a list, a policy or our own mistake: it says nothing new about the mailbox",
    ),
    Rule(
        "postmark.answered",
        Kind.OTHER,
        BOUNCE | {"Type": ("AutoResponder", "AddressChange", "ChallengeVerification", "Subscribe", "InboundError")},
        note="somebody or something answered the mail, so it arrived",
    ),
    Rule("postmark.bounce_of_another_type", Kind.SOFT_BOUNCE, BOUNCE, note="a type nobody has documented, or none"),
    Rule(
        "postmark.suppressed_hard_bounce",
        Kind.HARD_BOUNCE,
        SUPPRESSED | {"SuppressionReason": "HardBounce"},
        note="tells a bounce again, and is the only word of it on streams without the bounce webhook",
    ),
    Rule("postmark.suppressed_spam_complaint", Kind.COMPLAINT, SUPPRESSED | {"SuppressionReason": "SpamComplaint"}),
    Rule(
        "postmark.suppressed_by_sender",
        Kind.REJECTED,
        SUPPRESSED | {"SuppressionReason": "ManualSuppression", "Origin": ("Customer", "Admin")},
        note="put on the list by hand, by the account's owner or by Postmark",
    ),
    Rule(
        "postmark.suppressed_by_recipient",
        Kind.UNSUBSCRIBED,
        SUPPRESSED,
        note="a reason that is unknown or null counts as the recipient's wish",
    ),
    Rule("postmark.delivered", Kind.DELIVERED, {"RecordType": "Delivery"}),
    Rule(
        "postmark.other",
        Kind.OTHER,
        note="Open, Click, Inbound, SMTP API Error, an address let off the suppression list, and what is to come",
    ),
)

TABLE = Table(RULES, discriminator="RecordType")
