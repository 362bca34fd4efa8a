"""The Resend client: what it writes, and that failures are told apart by whether anything may have been read."""

import json
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
import responses

from core.ledger.states import Happening
from sender.clients import connections, resend, transport
from sender.clients.base import Answer, Client
from sender.clients.resend import Resend, mails_in
from sender.mail import Mail
from tests.unit.sender.scripted_server import Scripted, scripted

API_KEY = "re_made_up_key"
KEY = "test.spring-2026.call-1"
URL = "https://api.resend.com/emails/batch"
MAIL = Mail("News <news@example.org>", "jane@example.com", "Grüße", "<p>Hi</p>", "Hi")
BODY = Resend(API_KEY).body([Resend(API_KEY).fragment(MAIL)])
OK_BODY = b'{"data":[{"id":"id-1"}]}'
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(OK_BODY), OK_BODY)
MORE_THAN_BUFFERS = 16_000_000  # bytes that the kernel cannot take off our hands
Play = Callable[[Scripted, socket.socket], None]


def client(url: str = resend.BASE_URL, total_s: float = 5.0, pool_size: int = 4) -> Resend:
    return Resend(API_KEY, url, connect_timeout_s=1.0, total_timeout_s=total_s, pool_size=pool_size)


def call(play: Play, total_s: float = 5.0) -> tuple[Answer, Scripted]:
    """One call to a server that plays `play`."""
    with scripted(play) as server:
        return client(server.url, total_s).call(BODY, KEY), server


# What is written


@responses.activate
def test_the_key_travels_in_the_header_that_resend_reads() -> None:
    responses.post(URL, body=OK_BODY)
    client().call(BODY, KEY)

    sent = responses.calls[0].request
    assert {name: value for name, value in sent.headers.items() if "idempotency" in name.lower()} == {
        "Idempotency-Key": KEY
    }
    assert sent.headers["Authorization"] == f"Bearer {API_KEY}"
    assert sent.headers["Content-Type"] == "application/json"
    assert sent.headers["x-batch-validation"] == "strict"


@responses.activate
def test_exactly_the_given_bytes_are_posted() -> None:
    responses.post(URL, body=OK_BODY)
    odd = b' [ {"to" : "\xc3\xbc" } ]\n'
    client().call(odd, KEY)

    assert responses.calls[0].request.body == odd


@responses.activate
def test_an_accepted_call_returns_the_ids() -> None:
    responses.post(URL, body=OK_BODY, headers={"ratelimit-limit": "2"})

    answer = client().call(BODY, KEY)
    assert (answer.happening, answer.ids, answer.rate.limit) == (Happening.ACCEPTED, ("id-1",), 2.0)


@responses.activate
@pytest.mark.parametrize(
    ("status", "name", "happening", "pause"),
    [
        (422, "validation_error", Happening.REJECTED, ""),
        (409, "invalid_idempotent_request", Happening.KEY_TAKEN, ""),
        (401, "validation_error", Happening.NOT_SENT, "credentials"),
        (429, "daily_quota_exceeded", Happening.NOT_SENT, "daily_quota"),
        (500, "application_error", Happening.AMBIGUOUS, ""),
        (302, "", Happening.NOT_SENT, "refused"),
    ],
)
def test_an_answer_is_read_by_the_table(status: int, name: str, happening: Happening, pause: str) -> None:
    responses.post(
        URL, json={"name": name, "message": "Said."}, status=status, headers={"Location": "https://example.net/"}
    )

    answer = client().call(BODY, KEY)
    assert (answer.status, answer.happening, answer.pause) == (status, happening, pause)
    assert len(responses.calls) == 1  # not repeated, and no redirect followed


@responses.activate
@pytest.mark.parametrize(
    ("error", "happening"),
    [
        (requests.ConnectTimeout(), Happening.NOT_SENT),
        (requests.ReadTimeout(), Happening.AMBIGUOUS),
        (requests.ConnectionError(), Happening.AMBIGUOUS),
        (requests.exceptions.ChunkedEncodingError(), Happening.AMBIGUOUS),
    ],
)
def test_an_error_proves_that_nothing_left_only_where_it_says_so(error: Exception, happening: Happening) -> None:
    responses.post(URL, body=error)

    assert client().call(BODY, KEY).happening is happening


def test_a_mail_is_written_in_compact_utf_8_and_always_the_same_way() -> None:
    mail = Mail(
        sender="News <news@example.org>",
        to="jane@example.com",
        subject="Grüße ✉",
        html='<p class="a">Hi</p>',
        text="Hi",
        reply_to=("help@example.org",),
        headers=(("List-Unsubscribe", "<https://example.org/u>"),),
        tags=(("mailward_campaign", "spring"), ("mailward_env", "test")),
    )
    expected = (
        '{"from":"News <news@example.org>","to":["jane@example.com"],"subject":"Grüße ✉",'
        '"html":"<p class=\\"a\\">Hi</p>","text":"Hi","reply_to":["help@example.org"],'
        '"headers":{"List-Unsubscribe":"<https://example.org/u>"},'
        '"tags":[{"name":"mailward_campaign","value":"spring"},{"name":"mailward_env","value":"test"}]}'
    )

    assert client().fragment(mail) == expected.encode()
    assert client().body([b"1", b"2"]) == b"[1,2]"


def test_what_a_mail_does_not_have_is_left_out() -> None:
    assert json.loads(client().fragment(Mail("a@example.org", "b@example.com", "Hi", "", "Hi"))) == {
        "from": "a@example.org",
        "to": ["b@example.com"],
        "subject": "Hi",
        "text": "Hi",
    }


def test_mails_are_counted_whatever_their_texts_hold() -> None:
    trap = ',{"from":"x"},{"from":'
    mail = Mail(trap, trap, trap, trap, trap, (trap,), (("from", trap), (trap, trap)), (("from", trap), ("a", trap)))
    one = client()

    for count in (1, 2, 100):
        body = one.body([one.fragment(mail)] * count)
        assert mails_in(body) == len(json.loads(body)) == count


# What the network does


def test_a_refused_connection_sent_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    answer = client(f"http://127.0.0.1:{port}").call(BODY, KEY)
    assert (answer.happening, answer.status, answer.error) == (Happening.NOT_SENT, 0, "not_connected")


def test_a_name_that_does_not_resolve_sent_nothing() -> None:
    assert client("http://mailward.invalid").call(BODY, KEY).happening is Happening.NOT_SENT


def test_a_server_that_never_takes_the_connection_sent_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        answer = client(f"http://127.0.0.1:{address[1]}").call(BODY, KEY)
        for one in waiting:
            one.close()

    assert answer.happening is Happening.NOT_SENT


@pytest.mark.parametrize("hello", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", None], ids=["not TLS", "closed", "silent"])
def test_a_failure_before_the_tls_connection_stands_sent_nothing(hello: bytes | None) -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        connection.recv(65_536)
        if hello is None:
            server.stopping.wait(10)
        else:
            connection.sendall(hello)
            _reset(connection)

    with scripted(play) as server:
        answer = client(server.url.replace("http:", "https:")).call(BODY, KEY)

    assert (answer.happening, answer.error) == (Happening.NOT_SENT, "not_connected")


def test_a_connection_that_is_closed_without_an_answer_is_ambiguous() -> None:
    answer, server = call(lambda server, connection: _ignore(server.read_request(connection)))

    assert (answer.happening, answer.error) == (Happening.AMBIGUOUS, "no_answer")
    assert (len(server.requests), server.connections) == (1, 1)  # nothing beneath us has tried again


def test_a_reset_while_writing_is_ambiguous() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        connection.recv(10)
        _reset(connection)

    with scripted(play) as server:
        answer = client(server.url).call(b"[" + b" " * MORE_THAN_BUFFERS + b"]", KEY)

    assert answer.happening is Happening.AMBIGUOUS
    assert server.connections == 1


def test_a_silent_server_is_ambiguous_when_the_time_is_up() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        server.stopping.wait(10)

    began = time.monotonic()
    answer, _ = call(play, total_s=1.0)

    assert answer.happening is Happening.AMBIGUOUS
    assert 0.9 < time.monotonic() - began < 4


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", HEAD, b"HTTP/1.1 200 OK\r\n\r\n"])
def test_an_answer_that_drips_ends_at_the_deadline_and_is_ambiguous(start: bytes) -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        connection.sendall(start)
        while not server.stopping.wait(0.05):
            connection.sendall(b" ")

    began = time.monotonic()
    answer, _ = call(play, total_s=1.0)

    assert answer.happening is Happening.AMBIGUOUS
    assert 0.9 < time.monotonic() - began < 4


def test_a_server_that_reads_slowly_ends_at_the_deadline_and_is_ambiguous() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        while not server.stopping.wait(0.05):
            connection.recv(1000)

    began = time.monotonic()
    with scripted(play) as server:
        answer = client(server.url, total_s=0.7).call(b"[" + b" " * MORE_THAN_BUFFERS + b"]", KEY)

    assert answer.happening is Happening.AMBIGUOUS
    assert time.monotonic() - began < 5


def test_writing_may_take_longer_than_connecting() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.stopping.wait(1.5)  # longer than the second that connecting may take
        server.read_request(connection)
        connection.sendall(OK)

    with scripted(play) as server:
        answer = client(server.url, total_s=20).call(BODY[:-1] + b" " * MORE_THAN_BUFFERS + b"]", KEY)

    assert answer.happening is Happening.ACCEPTED


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + OK_BODY,
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"dat',
        b"HTTP/1.1 200 OK\r\n\r\n" + OK_BODY[:-3],
        b"HTTP/1.1 200 OK\r\n\r\n[" + b" " * (transport.ANSWER_LIMIT + 1) + b"]",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 2",
        b"\x00\x01\x02\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
def test_an_answer_that_cannot_be_read_to_its_end_is_ambiguous(reply: bytes) -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        connection.sendall(reply)

    assert call(play)[0].happening is Happening.AMBIGUOUS


def test_a_refusal_that_broke_off_still_counts() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        connection.sendall(b"HTTP/1.1 422 Unprocessable\r\nContent-Length: 1000\r\n\r\n{")

    assert call(play)[0].happening is Happening.REJECTED


def _serve(server: Scripted, connection: socket.socket) -> None:
    while server.read_request(connection):
        connection.sendall(OK)


def test_calls_one_after_the_other_share_a_connection() -> None:
    with scripted(_serve) as server:
        one = client(server.url)
        answers = [one.call(BODY, KEY).happening for _ in range(3)]

    assert (answers, server.connections) == ([Happening.ACCEPTED] * 3, 1)


def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_S", 0.1)
    with scripted(_serve) as server:
        one = client(server.url)
        one.call(BODY, KEY)
        time.sleep(0.2)
        one.call(BODY, KEY)

    assert server.connections == 2


def test_a_kept_connection_that_the_server_closed_is_replaced() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        connection.sendall(OK)

    with scripted(play) as server:
        one = client(server.url)
        one.call(BODY, KEY)
        time.sleep(0.2)

        assert one.call(BODY, KEY).happening is Happening.ACCEPTED


def test_a_kept_connection_that_breaks_under_the_post_is_ambiguous() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        connection.sendall(OK)
        server.read_request(connection)
        _reset(connection)

    with scripted(play) as server:
        one = client(server.url)
        one.call(BODY, KEY)

        assert one.call(BODY, KEY).happening is Happening.AMBIGUOUS
        assert len(server.requests) == 2


def test_a_broken_call_does_not_harm_the_next() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        if server.connections == 1:
            server.stopping.wait(1)
        connection.sendall(OK)

    with scripted(play) as server:
        one = client(server.url, total_s=0.5, pool_size=1)

        assert [one.call(BODY, KEY).happening for _ in range(2)] == [Happening.AMBIGUOUS, Happening.ACCEPTED]


def test_many_threads_use_no_more_connections_than_allowed() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        while server.read_request(connection):
            time.sleep(0.02)
            connection.sendall(OK)

    found: list[Happening] = []
    with scripted(play) as server:
        one = client(server.url, pool_size=3)
        threads = [threading.Thread(target=lambda: found.append(one.call(BODY, KEY).happening)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert found == [Happening.ACCEPTED] * 12
    assert 1 < server.connections <= 3


def test_a_call_that_finds_no_free_connection_sent_nothing() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        server.stopping.wait(10)

    with scripted(play) as server:
        one = client(server.url, total_s=3, pool_size=1)
        thread = threading.Thread(target=one.call, args=(BODY, KEY))
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        answer = one.call(BODY, KEY)
        server.stopping.set()
        thread.join()

    assert answer.happening is Happening.NOT_SENT
    assert len(server.requests) == 1


# What must not leak, and what must not leak in


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with scripted(_serve) as server:
        answer = client(server.url).call(BODY, KEY)

    assert answer.happening is Happening.ACCEPTED
    assert f"Authorization: Bearer {API_KEY}".encode() in server.requests[0]


def test_cookies_are_not_kept() -> None:
    def play(server: Scripted, connection: socket.socket) -> None:
        while server.read_request(connection):
            connection.sendall(OK.replace(b"\r\n", b"\r\nSet-Cookie: a=b\r\n", 1))

    with scripted(play) as server:
        one = client(server.url)
        one.call(BODY, KEY)
        one.call(BODY, KEY)

    assert b"cookie" not in server.requests[1].lower()


def test_the_api_key_is_nowhere_but_in_its_header(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quoted = json.dumps({"name": "validation_error", "message": f"API key {API_KEY} is invalid"}).encode()

    def play(server: Scripted, connection: socket.socket) -> None:
        server.read_request(connection)
        connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n%b" % (len(quoted), quoted))

    with scripted(play) as server:
        one = client(server.url)
        answer = one.call(BODY, KEY)

    assert answer.text == "API key *** is invalid"
    assert API_KEY not in f"{answer!r} {one!r} {one} {one.account} {caplog.text}"


def test_the_account_is_the_same_only_for_the_same_key_and_address() -> None:
    accounts = [client().account, client().account, client("http://127.0.0.1:1").account, Resend("re_other").account]

    assert accounts[0] == accounts[1]
    assert len(set(accounts)) == 3


@pytest.mark.parametrize("key", ["", "a b", "a\r\nX: y", "é", "k" * 257])
def test_an_idempotency_key_of_another_alphabet_is_a_mistake_and_nothing_is_sent(key: str) -> None:
    with scripted(_serve) as server:
        one = client(server.url)
        with pytest.raises(ValueError, match="idempotency key"):
            one.call(BODY, key)

    assert server.connections == 0


@pytest.mark.parametrize("key", ["", "re_a b", "re_a\n", "re_é"])
def test_an_api_key_that_cannot_stand_in_a_header_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="API key"):
        Resend(key)


@pytest.mark.parametrize("url", ["", "api.resend.com", "ftp://example.org", "https://"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base URL"):
        Resend(API_KEY, url)


def test_the_adapter_says_what_it_promises() -> None:
    one: Client = client()

    assert (one.capabilities.key_window_s, one.capabilities.batch_limit, one.capabilities.returns_ids) == (
        86_400,
        100,
        True,
    )


def _ignore(_: object) -> None:
    return None


def _reset(connection: socket.socket) -> None:
    """Close with a reset instead of an orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
