"""What each event of Amazon SES means, whether it comes as a notification of an identity or from event publishing.

`$type` is its eventType or else its notificationType, `$recipient` the entry of its list of recipients that is judged.
Sources: Amazon SES Developer Guide, "Amazon SNS notification contents" and "Contents of event data". The tenant's
suppression list, EmailValidationSuppressed and UnsubscribedRecipient are not in them: seen in other people's code only.
"""

from core.events import Kind
from providers.conditions import Condition
from providers.rules import Rule, Table

COMPLAINT: dict[str, Condition] = {"$type": "Complaint"}
BOUNCE: dict[str, Condition] = {"$type": "Bounce"}
PERMANENT: dict[str, Condition] = BOUNCE | {"bounce.bounceType": "Permanent"}
SUB_TYPE = "bounce.bounceSubType"

RULES = (
    Rule(
        "ses.complaint_on_suppression_list",
        Kind.REJECTED,
        COMPLAINT | {"complaint.complaintSubType": ("OnAccountSuppressionList", "OnTenantSuppressionList")},
        note="SES did not send, because of an older complaint: no new one",
    ),
    Rule(
        "ses.not_spam",
        Kind.OTHER,
        COMPLAINT | {"complaint.complaintFeedbackType": "not-spam"},
        note="the reader says that it is not spam",
    ),
    Rule(
        "ses.complaint",
        Kind.COMPLAINT,
        COMPLAINT,
        note="abuse, fraud, virus, other, auth-failure or no type; an entry of a longer list may be anybody's",
    ),
    Rule(
        "ses.bounce_not_of_this_recipient",
        Kind.SOFT_BOUNCE,
        BOUNCE | {"$recipient.action": ("delayed", "relayed", "expanded", "delivered")},
        note="a Permanent bounce may list a recipient whose delivery did not fail: AWS's own example has one",
    ),
    Rule("ses.permanent_no_mailbox", Kind.HARD_BOUNCE, PERMANENT | {SUB_TYPE: ("General", "NoEmail")}),
    Rule(
        "ses.permanent_suppressed",
        Kind.HARD_BOUNCE,
        PERMANENT | {SUB_TYPE: "Suppressed"},
        policy="ses_suppressed_is_hard",
        otherwise=Kind.REJECTED,
        note="on the list of all of SES because of recent hard bounces; SES itself counts it as one",
    ),
    Rule(
        "ses.permanent_on_suppression_list",
        Kind.REJECTED,
        PERMANENT | {SUB_TYPE: ("OnAccountSuppressionList", "OnTenantSuppressionList", "EmailValidationSuppressed")},
        note="nothing was attempted, and the list entry may stem from a complaint or a manual add",
    ),
    Rule("ses.permanent_unsubscribed", Kind.UNSUBSCRIBED, PERMANENT | {SUB_TYPE: "UnsubscribedRecipient"}),
    Rule(
        "ses.permanent_unknown_sub_type",
        Kind.SOFT_BOUNCE,
        PERMANENT,
        note="a sub-type nobody has documented: so far new ones were reasons of suppression, so the record is kept",
    ),
    Rule(
        "ses.bounce_not_permanent",
        Kind.SOFT_BOUNCE,
        BOUNCE,
        note="Transient, automatic replies among them, and Undetermined: SES has stopped trying, the mailbox may live",
    ),
    Rule("ses.delivery", Kind.DELIVERED, {"$type": "Delivery"}),
    Rule("ses.delivery_delay", Kind.DEFERRED, {"$type": "DeliveryDelay"}),
    Rule("ses.not_attempted", Kind.REJECTED, {"$type": ("Reject", "Rendering Failure")}),
    Rule(
        "ses.subscription",
        Kind.UNSUBSCRIBED,
        {"$type": "Subscription"},
        note="a preference changed; it names no recipient but those of the mail, so it is counted only",
    ),
    Rule("ses.send", Kind.ACCEPTED, {"$type": "Send"}, note="SES took the message over; never removes"),
    Rule("ses.other", Kind.OTHER, note="Open, Click, Received, AmazonSnsSubscriptionSucceeded, and what is to come"),
)

TABLE = Table(RULES, discriminator="$type")
