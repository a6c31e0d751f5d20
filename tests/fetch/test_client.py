"""The client with well-behaved servers: the bytes it sends, and how it treats the responses."""

import asyncio
import gzip
import random
import socket
from collections.abc import Callable
from dataclasses import replace

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from gossamer import __version__
from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.environment import AddressPlan, Network, made_up_address
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.answer import ResponseHead, validators_of, wait_of
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.fetch.wire import Protocol
from gossamer.testing import FakeClock
from gossamer.values.capture import Truncated
from gossamer.values.history import Validators
from gossamer.values.outcome import Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.url import Url, url_of
from gossamer.values.visit import VisitKind

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0)
HOST = "site.test"


class Site:
    """Answers every request with the given response, and keeps the requests."""

    def __init__(self, answer: bytes | Callable[[int], bytes], closes: bool = False) -> None:
        self._answer = answer
        self._closes = closes
        self.requests: list[bytes] = []
        self.connections = 0

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.requests.append(await read.readuntil(b"\r\n\r\n"))
                answer = self._answer
                write.write(answer if isinstance(answer, bytes) else answer(len(self.requests)))
                await write.drain()
                if self._closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            write.close()


def fetch(
    site: Site,
    *texts: str,
    settings: Fetch = SETTINGS,
    kind: VisitKind = VisitKind.PAGE,
    port: int = 80,
    pause_s: float = 0.0,
) -> list[Outcome]:
    async def fetch_all() -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({HOST: {port: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:
                for text in texts:
                    url = url_of(text)
                    assert url is not None
                    outcomes.append(await client.fetch(url, kind))
                    await asyncio.sleep(pause_s)
        return outcomes

    return asyncio.run(fetch_all())


def response(status: int = 200, body: bytes = b"", **fields: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Words", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def test_the_request_has_exactly_these_bytes():
    site = Site(response())
    (outcome,) = fetch(site, "http://SITE.test:8080/a%2Fb/../c d/ü?q=%zz&x='1'|{}#part", port=8080)
    assert isinstance(outcome, Fetched)
    assert site.requests == [
        (
            "GET /a%2Fb/../c%20d/%C3%BC?q=%zz&x=%271%27|{} HTTP/1.1\r\n".replace("/a%2Fb/..", "")
            + "Host: site.test:8080\r\n"
            + f"User-Agent: Gossamer/{__version__} (+https://example.org/bot)\r\n"
            + "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5\r\n"
            + "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
        ).encode()
    ]


def test_a_capture_is_the_response_as_received():
    body = gzip.compress(b"<p>hello")
    raw = (
        b"HTTP/1.1 200 Fine\r\ncontent-TYPE: text/html\r\nX-Twice: 1\r\nX-Twice: \xe92\r\n"
        b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    ) + body
    (outcome,) = fetch(Site(raw), f"http://{HOST}/")
    assert isinstance(outcome, Fetched)
    capture = outcome.capture
    assert capture.headers == (
        ("content-TYPE", "text/html"),
        ("X-Twice", "1"),
        ("X-Twice", "é2"),
        ("Content-Encoding", "gzip"),
        ("Content-Length", str(len(body))),
    )
    assert (capture.status, capture.reason, capture.body) == (200, "Fine", body)
    assert capture.address == made_up_address(0)
    assert capture.truncated is None and capture.took_s > 0


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (200, Fetched, None),
        (203, Fetched, None),
        (304, Unchanged, None),
        (404, Gone, None),
        (410, Gone, None),
        (400, Failed, Reason.CLIENT_ERROR),
        (401, Failed, Reason.CLIENT_ERROR),
        (403, Failed, Reason.CLIENT_ERROR),
        (429, Failed, Reason.SLOW_DOWN),
        (500, Failed, Reason.SERVER_ERROR),
        (503, Failed, Reason.SLOW_DOWN),
        (300, Failed, Reason.PROTOCOL),
    ],
)
def test_each_status_gives_the_outcome_of_the_table(status, kind, reason):
    (outcome,) = fetch(Site(response(status)), f"http://{HOST}/")
    assert isinstance(outcome, kind)
    assert getattr(outcome, "reason", None) is reason
    assert outcome.capture is not None and outcome.capture.status == status


@pytest.mark.parametrize("status", [101, 600, 999])
def test_a_status_unknown_to_http_is_a_protocol_error(status):
    (outcome,) = fetch(Site(response(status)), f"http://{HOST}/")
    assert outcome == Failed(Reason.PROTOCOL, f"status {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_returned_joined_and_not_followed(status):
    site = Site(response(status, Location="../other?x#y"))
    (outcome,) = fetch(site, f"http://{HOST}/a/b/c")
    assert isinstance(outcome, Moved)
    assert outcome.to.text == f"http://{HOST}/a/other?x"
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("location", "where"),
    [("/caf\xc3\xa9", "/caf%C3%A9"), ("/caf\xe9", "/caf%C3%A9"), ("//site.test/x", "/x")],
)
def test_F_H11_a_location_may_hold_any_bytes(location, where):
    (outcome,) = fetch(Site(response(302, Location=location)), f"http://{HOST}/")
    assert isinstance(outcome, Moved) and outcome.to.text == f"http://{HOST}{where}"


def test_F_H11_a_redirect_without_a_valid_target_is_an_error():
    (missing,) = fetch(Site(response(302)), f"http://{HOST}/")
    assert isinstance(missing, Failed) and missing.reason is Reason.PROTOCOL
    (empty,) = fetch(Site(response(302, Location="")), f"http://{HOST}/")
    assert isinstance(empty, Failed) and empty.reason is Reason.PROTOCOL
    (endless,) = fetch(Site(response(302, Location="/" + "x" * 20_000)), f"http://{HOST}/")
    assert isinstance(endless, Refused) and endless.reason is Reason.REDIRECT_OUT


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        (None, None),
        ("0", 0.0),
        ("5", 5.0),
        (" 120 ", 120.0),
        ("1000000000000", 86400.0),
        ("9" * 500, 86400.0),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120.0),
        ("Tue, 14 Nov 2023 20:15:20 GMT", 0.0),
        ("Tue, 14 Nov 2033 20:15:20 GMT", 86400.0),
        ("soon", None),
        ("-5", None),
        ("١٢", None),
        ("", None),
    ],
)
def test_F_H16_retry_after_is_parsed_and_clamped(value, wait_s):
    assert wait_of(value, 1_700_000_000 * SECOND) == wait_s


def test_F_H16_the_requested_wait_is_part_of_the_outcome():
    (outcome,) = fetch(Site(response(503, Retry_After="17")), f"http://{HOST}/")
    assert isinstance(outcome, Failed) and outcome.wait_s == 17.0


def test_M_A12_an_unwanted_media_type_is_dropped_after_its_headers():
    endless = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 1000
    site = Site(endless)
    outcomes = fetch(site, f"http://{HOST}/a.png", f"http://{HOST}/b.png")
    assert outcomes == [Refused(Reason.MEDIA_TYPE, "image/png")] * 2
    assert site.connections == 2, "the connection is closed, not drained"


def test_M_B7_a_response_without_a_media_type_is_accepted():
    (outcome,) = fetch(Site(response(200, b"<p>")), f"http://{HOST}/")
    assert isinstance(outcome, Fetched)


def test_a_robots_txt_may_be_of_any_type_and_is_cut_early():
    site = Site(response(200, b"x" * 600_000, Content_Type="application/octet-stream"))
    (outcome,) = fetch(site, f"http://{HOST}/robots.txt", kind=VisitKind.ROBOTS)
    assert isinstance(outcome, Fetched)
    assert outcome.capture.truncated is Truncated.LENGTH and len(outcome.capture.body) == 512 * 1024


def test_one_connection_serves_many_fetches():
    site = Site(response(200, b"<p>", Content_Type="text/html"))
    outcomes = fetch(site, *[f"http://{HOST}/{number}" for number in range(5)])
    assert all(isinstance(outcome, Fetched) for outcome in outcomes)
    assert (site.connections, len(site.requests)) == (1, 5)


def test_a_kept_connection_that_was_closed_is_replaced_and_the_request_repeated_once():
    site = Site(response(200, b"<p>"), closes=True)
    outcomes = fetch(site, f"http://{HOST}/1", f"http://{HOST}/2")
    assert [type(outcome) for outcome in outcomes] == [Fetched, Fetched]
    assert len(site.requests) == 2


def test_a_request_on_a_new_connection_that_is_closed_is_not_repeated():
    site = Site(b"", closes=True)
    (outcome,) = fetch(site, f"http://{HOST}/")
    assert isinstance(outcome, Failed) and outcome.reason is Reason.DISCONNECTED
    assert len(site.requests) == 1


def test_F_H8_the_limits_apply_to_a_reused_connection():
    endless = b"HTTP/1.1 200 OK\r\n" + (b"X-Field: " + b"y" * 8000 + b"\r\n") * 20
    site = Site(lambda number: response(200, b"x" * 100_000) if number == 1 else endless)
    first, second = fetch(site, f"http://{HOST}/1", f"http://{HOST}/2")
    assert isinstance(first, Fetched)
    assert isinstance(second, Failed) and second.reason is Reason.HEADERS_TOO_LARGE
    assert site.connections == 1


def test_cookies_are_neither_stored_nor_sent():
    site = Site(response(200, b"", Set_Cookie="a=b"))
    fetch(site, f"http://{HOST}/1", f"http://{HOST}/2")
    assert b"cookie" not in site.requests[1].lower()


def test_a_body_of_exactly_the_limit_is_not_cut():
    settings = replace(SETTINGS, body_limit=1000)
    (whole,) = fetch(Site(response(200, b"x" * 1000)), f"http://{HOST}/", settings=settings)
    assert isinstance(whole, Fetched) and whole.capture.truncated is None
    (cut,) = fetch(Site(response(200, b"x" * 1001)), f"http://{HOST}/", settings=settings)
    assert isinstance(cut, Fetched) and cut.capture.truncated is Truncated.LENGTH
    assert len(cut.capture.body) == 1000


def test_the_limit_applies_to_the_decoded_size_too():
    settings = replace(SETTINGS, body_limit=1000)
    coded = gzip.compress(b"x" * 1001)
    (cut,) = fetch(Site(response(200, coded, Content_Encoding="gzip")), f"http://{HOST}/", settings=settings)
    assert isinstance(cut, Fetched) and cut.capture.truncated is Truncated.LENGTH
    assert cut.capture.body == coded


def test_a_name_that_does_not_resolve_and_a_port_without_a_server_are_failures():
    unknown, closed = fetch(Site(b""), "http://unknown.test/", f"http://{HOST}:81/")
    assert isinstance(unknown, Failed) and unknown.reason is Reason.DNS
    assert isinstance(closed, Failed) and closed.reason is Reason.CONNECT


def test_the_time_of_a_capture_comes_from_the_clock():
    async def one() -> Outcome:
        site, clock = Site(response()), FakeClock()
        async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({HOST: {80: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(SETTINGS, Network(plan, plan), clock, silent)) as client:
                return await client.fetch(url_of(f"http://{HOST}/"))

    outcome = asyncio.run(one())
    assert isinstance(outcome, Fetched) and outcome.capture.fetched_at == FakeClock().now()


@pytest.mark.parametrize("contact", ["a\r\nX-Evil: 1", "ünï"])
def test_a_contact_cannot_smuggle_a_header_field(contact):
    plan = AddressPlan({})
    with pytest.raises(ConfigError):
        Client(Connections(Fetch(contact=contact), Network(plan, plan), SystemClock(), silent))


def test_a_conditional_request_sends_the_validators_of_the_last_response():
    site = Site(response(304))
    validators = Validators('W/"abc"', "Wed, 01 Jan 2025 08:00:00 GMT")

    async def ask() -> Outcome:
        async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({HOST: {80: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), silent)) as client:
                return await client.fetch(Url(f"http://{HOST}/"), validators=validators)

    assert isinstance(asyncio.run(ask()), Unchanged)
    assert b'\r\nIf-None-Match: W/"abc"\r\n' in site.requests[0]
    assert site.requests[0].endswith(b"\r\nIf-Modified-Since: Wed, 01 Jan 2025 08:00:00 GMT\r\n\r\n")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"ETag": '"x"'}, Validators('"x"')),
        ({"ETag": "no quotes", "Last_Modified": "Wed, 01 Jan 2025 08:00:00 GMT"},
         Validators("", "Wed, 01 Jan 2025 08:00:00 GMT")),
        ({"ETag": '"' + "x" * 500 + '"', "Last_Modified": "some day"}, Validators()),
        ({"ETag": '"a\xe9"', "Last_Modified": "0"}, Validators()),
    ],
)  # fmt: skip
def test_only_well_formed_validators_are_sent_back(fields, found):
    (outcome,) = fetch(Site(response(200, b"<p>x</p>", Content_Type="text/html", **fields)), f"http://{HOST}/")
    assert isinstance(outcome, Fetched) and validators_of(outcome.capture) == found


@pytest.mark.parametrize(
    ("sent", "etag", "size", "more", "is_skipped"),
    [
        ('"abc"', '"abc"', 100_000, {}, True),
        ('"abc"', '"abc"', 1_000, {}, False),
        ('"abc"', '"other"', 100_000, {}, False),
        ('W/"abc"', 'W/"abc"', 100_000, {}, False),
        ("", '"abc"', 100_000, {}, False),
        ('"abc"', '"abc"', 100_000, {"X_Robots_Tag": "noindex"}, False),
    ],
    ids=["the same", "small", "another", "weak", "not sent", "X-Robots-Tag"],
)
def test_a_large_body_is_not_read_when_its_entity_tag_is_the_one_sent(
    sent: str, etag: str, size: int, more: dict[str, str], is_skipped: bool
) -> None:
    """From a server that ignores conditional requests."""
    site = Site(response(body=b"x" * size, ETag=etag, Content_Type="text/html", **more))

    async def twice() -> list[Outcome]:
        async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({HOST: {80: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), silent)) as client:
                url = Url(f"http://{HOST}/")
                return [await client.fetch(url, validators=Validators(sent)) for _ in range(2)]

    for outcome in asyncio.run(twice()):
        if is_skipped:
            assert isinstance(outcome, Unchanged) and outcome.capture.status == 200
            assert outcome.capture.body == b"" and outcome.capture.truncated is Truncated.LENGTH
        else:
            assert isinstance(outcome, Fetched) and len(outcome.capture.body) == size
    assert site.connections == (2 if is_skipped else 1), "a body that is not read is not waited for"


def test_a_complete_header_above_the_limit_is_refused_even_when_each_field_is_small():
    fields = {f"X_Field_{number}": "y" * 80 for number in range(20)}
    (outcome,) = fetch(Site(response(**fields)), f"http://{HOST}/", settings=replace(SETTINGS, header_limit=1000))
    assert isinstance(outcome, Failed) and outcome.reason is Reason.HEADERS_TOO_LARGE
    (fits,) = fetch(Site(response(**fields)), f"http://{HOST}/", settings=replace(SETTINGS, header_limit=4000))
    assert isinstance(fits, Fetched)


@pytest.mark.parametrize(("status", "reason"), [(299, Reason.MEDIA_TYPE), (300, Reason.PROTOCOL)])
def test_only_a_successful_response_is_refused_for_its_media_type(status, reason):
    (outcome,) = fetch(Site(response(status, b"x", Content_Type="image/png")), f"http://{HOST}/")
    assert isinstance(outcome, Refused | Failed) and outcome.reason is reason


@pytest.mark.parametrize(
    "media_type",
    [
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "application/xml",
        "text/xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/ld+json",
        "application/feed+json",
    ],
)
def test_pages_feeds_and_data_are_accepted(media_type):
    (outcome,) = fetch(Site(response(200, b"x", Content_Type=f"{media_type}; charset=utf-8")), f"http://{HOST}/")
    assert isinstance(outcome, Fetched)


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ({"Content-Length": "9" * 18}, 10**18 - 1),
        ({"Content-Length": "1" * 19}, None),
        ({"Content-Length": "0"}, 0),
        ({}, None),
    ],
)
def test_a_length_counts_when_it_fits_into_64_bits(fields, length):
    assert ResponseHead(CIMultiDictProxy(CIMultiDict(fields))).length == length


def test_bytes_sent_before_any_request_end_the_connection():
    async def send_unasked() -> bool:
        protocol = Protocol(asyncio.get_running_loop())
        ours, theirs = socket.socketpair()
        with theirs:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, ours)
            theirs.sendall(b"220 mail.test ESMTP\r\n" * 100)
            while not protocol.has_heard:
                await asyncio.sleep(0.01)
            is_usable = protocol.is_usable()
            transport.abort()
        return is_usable

    assert not asyncio.run(send_unasked())


def test_a_redirect_from_http_to_http_is_not_flagged_as_dropping_tls():
    (moved,) = fetch(Site(response(301, Location=f"http://{HOST}/there")), f"http://{HOST}/")
    assert isinstance(moved, Moved) and moved.flags == ()


@pytest.mark.parametrize("before", [b"\r\n", b"\n\r\n", b"\r\n" * 3])
def test_empty_lines_before_a_response_are_ignored(before):
    (outcome,) = fetch(Site(before + response(200, b"x", Content_Type="text/html")), f"http://{HOST}/")
    assert isinstance(outcome, Fetched) and outcome.capture.body == b"x"


def test_bodies_in_very_many_chunks_arrive_in_full_over_one_connection():
    body = random.Random(8).randbytes(400_000)
    chunks = b"".join(b"8\r\n" + body[at : at + 8] + b"\r\n" for at in range(0, len(body), 8))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    site = Site(head + chunks + b"0\r\n\r\n")
    outcomes = fetch(site, *[f"http://{HOST}/{number}" for number in range(3)])
    assert [isinstance(one, Fetched) and one.capture.body == body for one in outcomes] == [True] * 3
    assert site.connections == 1


def test_made_up_addresses_are_numbered_from_20_0_0_0():
    numbers = (0, 255, 256, 65_535, 65_536, (1 << 24) - 1)
    found = [made_up_address(number) for number in numbers]
    assert found == ["20.0.0.0", "20.0.0.255", "20.0.1.0", "20.0.255.255", "20.1.0.0", "20.255.255.255"]
    for wrong in (-1, 1 << 24):
        with pytest.raises(ValueError, match="at most 16777216 names"):
            made_up_address(wrong)


def test_a_transfer_coding_other_than_chunked_is_a_protocol_error():
    (outcome,) = fetch(Site(response(200, b"x", Transfer_Encoding="gzip").replace(b"Content-Length: 1\r\n", b""), True),
                       f"http://{HOST}/")  # fmt: skip
    assert outcome == Failed(Reason.PROTOCOL, "a transfer coding other than chunked")
