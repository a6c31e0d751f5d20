"""A protocol other than HTTP: its answers become outcomes, under the same limits as any fetch."""

import asyncio
from dataclasses import dataclass, replace

import pytest

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.fetch.protocols import Answer, Dial
from gossamer.values.capture import Truncated
from gossamer.values.outcome import Failed, Fetched, Gone, Moved, Outcome, Reason, Refused
from gossamer.values.url import DEFAULT_PORTS, Url
from gossamer.values.visit import VisitKind

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0)


@dataclass
class Quay:
    """Sends the URL in one line and returns the given answer, or what the server sends."""

    answer: object = None
    connects: bool = True
    has_robots: bool = True
    port: int = 1900
    with_tls: bool = False
    most_bytes: int = 0

    async def fetch(self, url: str, dial: Dial, most_bytes: int) -> Answer:
        self.most_bytes = most_bytes
        if self.connects:
            reader, writer = await dial()
            writer.write(url.encode() + b"\r\n")
            body = await reader.read()
            if self.answer is None:
                return Answer(body, "text/plain")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


def fetch(quay: Quay, kind: VisitKind = VisitKind.PAGE, settings: Fetch = SETTINGS, is_there: bool = True) -> Outcome:
    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        write.write(b"heard " + await read.readline())
        write.close()

    async def ask() -> Outcome:
        DEFAULT_PORTS["quay"] = quay.port
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"site.test": {1900: server.sockets[0].getsockname()[1]}} if is_there else {})
            async with Client(
                Connections(settings, Network(plan, plan), SystemClock(), silent), protocols={"quay": quay}
            ) as client:
                return await client.fetch(Url("quay://site.test/a"), kind)

    return asyncio.run(ask())


def test_the_response_of_the_server_is_captured_with_its_ip_address() -> None:
    outcome = fetch(Quay())
    assert isinstance(outcome, Fetched)
    capture = outcome.capture
    assert (capture.body, capture.status, capture.reason) == (b"heard quay://site.test/a\r\n", 200, "quay")
    assert capture.headers == (("Content-Type", "text/plain"),) and capture.truncated is None
    assert capture.address and not outcome.flags and not capture.distrust


def test_a_protocol_that_does_not_connect_gives_no_ip_address() -> None:
    outcome = fetch(Quay(Answer(b"x", "text/plain"), connects=False))
    assert isinstance(outcome, Fetched) and outcome.capture.address == ""


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (199, Failed, Reason.PROTOCOL),
        (200, Fetched, None),
        (404, Gone, None),
        (503, Failed, Reason.SLOW_DOWN),
        (599, Failed, Reason.SERVER_ERROR),
        (600, Failed, Reason.PROTOCOL),
    ],
)
def test_a_status_means_the_same_as_in_http(status: int, kind: type, reason: Reason | None) -> None:
    outcome = fetch(Quay(Answer(b"", status=status)))
    assert type(outcome) is kind and getattr(outcome, "reason", None) is reason


def test_a_redirect_is_returned_joined() -> None:
    outcome = fetch(Quay(Answer(status=301, location="/b")))
    assert isinstance(outcome, Moved) and outcome.to == Url("quay://site.test/b")


def test_a_body_is_cut_at_the_limit_of_its_kind() -> None:
    settings = replace(SETTINGS, body_limit=100, other_limit=10, robots_limit=50, list_limit=70)
    quay = Quay(Answer(b"x" * 101, "text/plain"))
    outcome = fetch(quay, settings=settings)
    assert isinstance(outcome, Fetched) and quay.most_bytes == 100
    assert (len(outcome.capture.body), outcome.capture.truncated) == (100, Truncated.LENGTH)
    whole = fetch(Quay(Answer(b"x" * 100, "text/plain")), settings=settings)
    assert isinstance(whole, Fetched) and whole.capture.truncated is None
    for kind, limit in ((VisitKind.ROBOTS, 50), (VisitKind.LIST, 70)):
        fetch(quay, kind, settings)
        assert quay.most_bytes == limit


def test_a_page_of_an_unwanted_type_is_refused_and_a_robots_txt_is_not() -> None:
    picture = Answer(b"x", "image/png")
    assert fetch(Quay(picture)) == Refused(Reason.MEDIA_TYPE, "image/png")
    assert isinstance(fetch(Quay(picture), VisitKind.ROBOTS), Fetched)
    missing = fetch(Quay(Answer(b"x", "image/png", status=404)))
    assert isinstance(missing, Gone)


def test_no_robots_txt_is_requested_for_a_scheme_without_one() -> None:
    outcome = fetch(Quay(ValueError("never called"), has_robots=False), VisitKind.ROBOTS)
    assert isinstance(outcome, Failed) and outcome.reason is Reason.CLIENT_ERROR
    assert isinstance(fetch(Quay(has_robots=False)), Fetched)


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (ValueError("no sense"), Reason.PROTOCOL, "the response is invalid"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "no"), Reason.PROTOCOL, "the response is invalid"),
        (asyncio.IncompleteReadError(b"", 9), Reason.PROTOCOL, "the response ended too early"),
        (KeyError("x"), Reason.PROTOCOL, "the code for this protocol failed; the log says how"),
        (ConnectionResetError("gone"), Reason.DISCONNECTED, "the connection was lost"),
        (OSError(104, "[Errno 104] x"), Reason.DISCONNECTED, "the connection was lost: connection reset by peer"),
        ("a text", Reason.PROTOCOL, "the code for this protocol returned no Answer"),
    ],
)
def test_an_error_in_third_party_code_is_an_outcome(error: object, reason: Reason, words: str) -> None:
    outcome = fetch(Quay(error))
    assert isinstance(outcome, Failed) and (outcome.reason, outcome.detail) == (reason, words)


def test_an_unknown_host_and_a_forbidden_port_have_their_own_outcomes() -> None:
    unknown = fetch(Quay(), is_there=False)
    assert isinstance(unknown, Failed) and unknown.reason is Reason.DNS
    forbidden = fetch(Quay(port=25))
    assert isinstance(forbidden, Refused) and forbidden.reason is Reason.ADDRESS


def test_an_answer_is_empty_and_successful_by_default() -> None:
    found = fetch(Quay(answer=Answer(status=404), connects=False))
    assert isinstance(found, Gone) and found.capture is not None and found.capture.body == b""
    assert Answer() == Answer(b"", "", 200, "")


def test_a_connect_timeout_differs_from_a_response_timeout() -> None:
    class Hanging(AddressPlan):
        async def addresses(self, hostname: str) -> list[str]:
            await asyncio.sleep(3600)
            raise AssertionError("cancelled before")

    async def ask(settings: Fetch) -> Outcome:
        plan, quay = Hanging({"site.test": {1900: 1}}), Quay()
        DEFAULT_PORTS["quay"] = quay.port
        async with Client(
            Connections(settings, Network(plan, plan), SystemClock(), silent), protocols={"quay": quay}
        ) as client:
            return await client.fetch(Url("quay://site.test/a"))

    assert asyncio.run(ask(replace(SETTINGS, connect_s=0.05))) == Failed(Reason.CONNECT, "no connection within 0.05 s")
    late = asyncio.run(ask(replace(SETTINGS, timeout_s=0.05)))
    assert late == Failed(Reason.TIMEOUT, "no answer within 0.05 s (fetch.timeout_s)")
