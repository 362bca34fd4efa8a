"""Which provider's bodies are read for evidence in which way; their documentation is the source of all of it.

Under the default settings. Where the documentation leaves a gap, mailward's classification table is the rule.
"""

from collections.abc import Callable, Mapping

from bench.fuzz import batches, single, wrapped
from bench.fuzz.evidence import Evidence
from bench.fuzz.single import Stated

DOCUMENTED: Mapping[str, Callable[[bytes], Stated]] = {
    "brevo": batches.brevo,
    "cloudflare": single.cloudflare,
    "mailersend": single.mailersend,
    "mailgun": wrapped.mailgun,
    "mailjet": batches.mailjet,
    "mailtrap": batches.mailtrap,
    "mandrill": batches.mandrill,
    "postal": single.postal,
    "postmark": single.postmark,
    "resend": single.resend,
    "scaleway": wrapped.scaleway,
    "sendgrid": batches.sendgrid,
    "ses": wrapped.ses,
    "sparkpost": batches.sparkpost,
    "unisender_go": batches.unisender_go,
}


def evidence(provider: str, body: bytes) -> list[Evidence]:
    """What `body` of `provider` may justify. Never raises."""
    try:
        stated = list(DOCUMENTED[provider](body))
    except (ValueError, RecursionError):  # it cannot be read at all
        return []
    return [Evidence(kind, about) for kind, about in stated if isinstance(about, str)]
