"""The hosts of who offers SNS, on loopback: certificates, confirmations of subscriptions, and what was asked for."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

CONFIRMATION = "Action=ConfirmSubscription"


class VendorHosts(ThreadingHTTPServer):
    """Serves `served` (host and path → content) and confirms every subscription, or with `redirect` set, redirects
    there instead. `asked` has every address that was asked for, without its scheme."""

    def __init__(self, served: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.served, self.asked, self.redirect = dict(served), list[str](), ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: VendorHosts

    def do_GET(self) -> None:
        address = self.path.removeprefix("/")
        self.server.asked.append(address)
        confirms = CONFIRMATION in urlsplit(self.path).query
        if confirms and self.server.redirect:
            self.send_response(302)
            self.send_header("Location", self.server.redirect)
            self.end_headers()
            return
        content = b"<ConfirmSubscriptionResponse/>" if confirms else self.server.served.get(address)
        self.send_response(404 if content is None else 200)
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def vendor_hosts(served: Mapping[str, bytes]) -> Iterator[VendorHosts]:
    """The hosts for as long as the block runs."""
    with VendorHosts(served) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
