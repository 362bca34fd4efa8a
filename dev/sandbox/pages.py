"""The outbox in a browser. Mails are hostile: they are shown in a frame without scripts, forms, or the network."""

from flask import Blueprint, Response, abort, render_template
from werkzeug.datastructures import Headers

from dev.sandbox.service import Sandbox

LISTED = 200  # mails
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# `sandbox` gives the mail an origin of its own and takes its scripts and forms; images would tell its sender who looks.
MAIL_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2733; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #dde3ea; vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; }
iframe { width: 100%; height: 36rem; border: 1px solid #c5ced8; }
pre { white-space: pre-wrap; background: #f4f6f8; padding: 1rem; }
.twice { color: #b00020; font-weight: 600; }
"""


def blueprint(sandbox: Sandbox) -> Blueprint:
    """The pages."""
    pages = Blueprint("pages", __name__, template_folder="templates")

    @pages.get("/")
    def index() -> Response:
        outbox = sandbox.state.outbox
        campaigns = [(name or "(no campaign)", outbox.summary(name)) for name in outbox.campaigns()]
        mails = [(one, outbox.count(one.kept)) for one in outbox.latest(LISTED)]
        return _page(render_template("outbox.html", campaigns=campaigns, mails=mails))

    @pages.get("/mail/<mail_id>")
    def mail(mail_id: str) -> Response:
        found = sandbox.state.outbox.mail(mail_id) or abort(404)
        return _page(render_template("mail.html", mail=found))

    @pages.get("/mail/<mail_id>/html")
    def html(mail_id: str) -> Response:
        found = sandbox.state.outbox.mail(mail_id) or abort(404)
        return _guarded(Response(found.html, mimetype="text/html"), MAIL_POLICY)

    @pages.get("/style.css")
    def style() -> Response:
        return _guarded(Response(_STYLE, mimetype="text/css"), PAGE_POLICY)

    return pages


def _page(content: str) -> Response:
    return _guarded(Response(content, mimetype="text/html"), PAGE_POLICY)


def _guarded(response: Response, policy: str) -> Response:
    response.headers.extend(
        Headers(
            {
                "Content-Security-Policy": policy,
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Cache-Control": "no-store",
            }
        )
    )
    return response
