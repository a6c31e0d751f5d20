"""FAULTS R1 to R12: responses to a request for robots.txt, and which pages are then fetched.

The first part connects to a real server on loopback. In the second, days pass on a virtual clock, with the frontier and
the rules of a crawl.
"""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.contract.test_frontier import sqlite_frontier

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch, RobotsKeeping
from gossamer.crawler.journey import refusal
from gossamer.fetch.answer import entry_of
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.reader.reading import done
from gossamer.rules.robots import judge
from gossamer.testing import FakeClock
from gossamer.values.capture import Capture
from gossamer.values.link import How, Offer
from gossamer.values.messages import ReadJob
from gossamer.values.outcome import Allowed, Denied, Failed, Fetched, Gone, Outcome, Reason, reason_of
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

RULES = b"User-agent: *\nDisallow: /secret\n"
SECRET, OPEN_PAGE = "/secret/x", "/open"
PATIENT = Fetch(contact="https://example.org/bot", timeout_s=60.0, connect_s=60.0, least_rate_after_s=60.0)
"""Long limits, because a busy machine is slow."""
IMPATIENT = replace(PATIENT, timeout_s=0.6, least_rate_after_s=0.2)
HOUR_S, DAY_S = 3600.0, 86_400.0

Write = asyncio.StreamWriter
Answer = bytes | Callable[[Write], Awaitable[None]]


def whole(body: bytes, status: str = "200 OK", fields: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def moved(to: str, status: int = 301) -> bytes:
    return whole(b"", f"{status} Moved", f"Location: {to}\r\n")


async def entries(answers: Mapping[str, Answer], start: str, settings: Fetch, keeping: RobotsKeeping) -> list[Robots]:
    """Every entry from `start`'s robots.txt on, following the redirects."""

    async def serve(read: asyncio.StreamReader, write: Write) -> None:
        head = (await read.readuntil(b"\r\n\r\n")).decode()
        host = next(line[6:] for line in head.split("\r\n") if line.lower().startswith("host: "))
        answer = answers[host]
        with suppress(ConnectionError):
            if isinstance(answer, bytes):
                write.write(answer)
            else:
                await answer(write)
            await write.drain()
        write.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        plan = AddressPlan({host: {80: port} for host in answers})
        async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:
            return await fetch_until_final(client.fetch, Url(f"http://{start}/robots.txt"), keeping)


async def fetch_until_final(
    fetch: Callable[[Url, VisitKind], Awaitable[Outcome]], ask: Url | None, keeping: RobotsKeeping
) -> list[Robots]:
    found: list[Robots] = []
    now = 1_700_000_000 * SECOND
    while ask is not None:
        visit = Visit(ask, VisitKind.ROBOTS, now, robots=found[-1] if found else None)
        found.append(entry_after(visit, await fetch(ask, VisitKind.ROBOTS), now, keeping))
        ask = found[-1].ask
    return found


def entry_after(visit: Visit, outcome: Outcome, now: int, keeping: RobotsKeeping) -> Robots:
    parsed = None
    if isinstance(outcome, Fetched):
        parsed = done(ReadJob(outcome.capture, "robots", agent="Gossamer")).robots
    return entry_of(visit, outcome, parsed, now, keeping)


def robots_of(
    answer: Answer | Mapping[str, Answer], keeping: RobotsKeeping | None = None, settings: Fetch = PATIENT
) -> Robots:
    answers = answer if isinstance(answer, Mapping) else {"site.test": answer}
    return asyncio.run(entries(answers, "site.test", settings, keeping or RobotsKeeping()))[-1]


def allows(robots: Robots, target: str) -> bool:
    return judge(Url("http://site.test" + target), robots) == Allowed()


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone", "401 Unauthorized", "403 Forbidden", "418 Teapot"])
def test_F_R1_a_missing_file_allows_all(status: str) -> None:
    robots = robots_of(whole(RULES, status))
    assert robots.state is RobotsState.MISSING and allows(robots, SECRET)


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
def test_F_R1_a_refusal_can_be_treated_as_disallow(status: str) -> None:
    robots = robots_of(whole(RULES, status), RobotsKeeping(refusal_disallows=True))
    assert not allows(robots, OPEN_PAGE) and allows(robots_of(whole(b"", "404 No")), OPEN_PAGE)


def test_F_R2_429_disallows_all_for_as_long_as_it_asks() -> None:
    robots = robots_of(whole(b"", "429 Too Many", "Retry-After: 7200\r\n"))
    assert robots.state is RobotsState.UNREACHABLE and not allows(robots, OPEN_PAGE)
    assert robots.expires_at - robots.fetched_at == 7200 * SECOND


@pytest.mark.parametrize("status", ["500 No", "502 No", "503 No", "504 No", "599 No"])
def test_F_R3_a_failing_server_disallows_all(status: str) -> None:
    robots = robots_of(whole(RULES, status))
    assert robots.state is RobotsState.UNREACHABLE and not allows(robots, OPEN_PAGE)


async def never_answers(write: Write) -> None:
    await asyncio.sleep(3600)


async def one_byte_at_a_time(write: Write) -> None:
    write.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        write.write(b"#")
        await write.drain()
        await asyncio.sleep(0.02)


async def closes(write: Write) -> None:
    write.transport.abort()


CUT = whole(RULES).replace(b"Content-Length: 32", b"Content-Length: 320")
BAD_GZIP = whole(gzip.compress(RULES)[:-12] + b"x" * 12, fields="Content-Encoding: gzip\r\n")
UNKNOWN_CODING = whole(RULES, fields="Content-Encoding: rot13\r\n")
NOT_HTTP = b"220 mail.example.org ready\r\n\r\n"
UNANSWERED: dict[str, Answer] = {
    "silence": never_answers,
    "a byte at a time": one_byte_at_a_time,
    "closes": closes,
    "cut": CUT,
    "bad coding": BAD_GZIP,
    "unknown coding": UNKNOWN_CODING,
    "not http": NOT_HTTP,
}


@pytest.mark.parametrize("name", UNANSWERED)
def test_F_R4_an_incomplete_response_never_allows(name: str) -> None:
    robots = robots_of(UNANSWERED[name], settings=IMPATIENT)
    assert robots.state is RobotsState.UNREACHABLE and not allows(robots, OPEN_PAGE)


def test_F_R4_no_name_and_no_connection_never_allow() -> None:
    async def run() -> list[Robots]:
        plan = AddressPlan({"site.test": {81: 1}})
        async with Client(Connections(PATIENT, Network(plan, plan), SystemClock(), silent)) as client:
            return [
                (await fetch_until_final(client.fetch, Url(f"http://{host}/robots.txt"), RobotsKeeping()))[-1]
                for host in ("nowhere.test", "site.test")
            ]

    for robots in asyncio.run(run()):
        assert robots.state is RobotsState.UNREACHABLE and not allows(robots, OPEN_PAGE)


def test_F_R4_a_server_without_tls_never_allows() -> None:
    async def run() -> Robots:
        async def serve(read: asyncio.StreamReader, write: Write) -> None:
            write.write(whole(b""))
            write.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"site.test": {443: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(PATIENT, Network(plan, plan), SystemClock(), silent)) as client:
                return (await fetch_until_final(client.fetch, Url("https://site.test/robots.txt"), RobotsKeeping()))[-1]

    assert asyncio.run(run()).state is RobotsState.UNREACHABLE


def test_F_R5_ten_megabytes_are_read_to_half_a_mebibyte_and_flagged() -> None:
    filling = b"# nothing to see on this line, and on the next one\n" * 200_000
    robots = robots_of(whole(RULES + filling + b"Disallow: /open\n"), settings=Fetch(contact="x@example.org"))
    assert robots.state is RobotsState.READ and "too-long" in robots.flags
    assert not allows(robots, SECRET) and allows(robots, OPEN_PAGE)


def test_F_R5_a_line_of_a_megabyte_leaves_the_lines_before_it() -> None:
    robots = robots_of(whole(RULES + b"Disallow: /" + b"o" * 1_000_000), settings=Fetch(contact="x@example.org"))
    assert not allows(robots, SECRET) and allows(robots, OPEN_PAGE) and robots.flags == ("too-long",)


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        (b"\xef\xbb\xbf" + RULES, ()),
        (RULES.decode().encode("utf-16"), ("utf-16",)),
        (RULES.replace(b"\n", b"\r"), ()),
        (RULES.replace(b"\n", b"\n\0"), ("nul",)),
    ],
)
def test_F_R6_odd_bytes_do_not_hide_the_rules(body: bytes, flags: tuple[str, ...]) -> None:
    robots = robots_of(whole(body))
    assert not allows(robots, SECRET) and allows(robots, OPEN_PAGE) and robots.flags == flags


def test_F_R6_a_web_page_instead_allows_all_and_is_flagged() -> None:
    robots = robots_of(whole(b"<!doctype html><title>Welcome</title><p>Disallow nothing", fields="X-A: text/html\r\n"))
    assert robots.state is RobotsState.READ and robots.flags == ("html",) and allows(robots, SECRET)


def chain(length: int) -> dict[str, Answer]:
    """site.test redirects to hop1.test and so on; the last answers."""
    names = ["site.test", *(f"hop{number}.test" for number in range(1, length + 1))]
    answers: dict[str, Answer] = {name: moved(f"http://{following}/elsewhere") for name, following in pairwise(names)}
    return {**answers, names[-1]: whole(RULES)}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_F_R7_five_redirects_to_other_hosts_are_followed(status: int) -> None:
    robots = robots_of({**chain(5), "site.test": moved("http://hop1.test/elsewhere", status)})
    assert (robots.state, robots.origin) == (RobotsState.READ, "http://site.test")
    assert not allows(robots, SECRET) and allows(robots, OPEN_PAGE)


def test_F_R7_a_sixth_redirect_means_there_is_no_file() -> None:
    found = asyncio.run(entries(chain(6), "site.test", PATIENT, RobotsKeeping()))
    assert [entry.state for entry in found] == [RobotsState.PENDING] * 5 + [RobotsState.MISSING]


@pytest.mark.parametrize(
    "to",
    ["http://10.0.0.1/robots.txt", "http://127.0.0.1/", "http://169.254.169.254/", "http://[::1]/", "file:///etc/x"],
)
def test_F_R7_a_redirect_to_a_private_ip_address_is_unreachable(to: str) -> None:
    robots = robots_of(moved(to))
    assert robots.state is RobotsState.UNREACHABLE and not allows(robots, OPEN_PAGE)


# On a virtual clock.


class Web:
    """One host: its pages always exist, its robots.txt is what `robots` returns for the time."""

    def __init__(self, clock: FakeClock, robots: Callable[[float], Outcome | bytes]) -> None:
        self._clock, self._robots, self._began = clock, robots, clock.now()
        self.asked: list[tuple[float, str]] = []

    def passed_s(self) -> float:
        return (self._clock.now() - self._began) / SECOND

    async def fetch(self, url: Url, kind: VisitKind, depth: int = 0) -> Outcome:
        self.asked.append((self.passed_s(), url.target))
        given = self._robots(self.passed_s()) if kind is VisitKind.ROBOTS else b"words"
        return given if not isinstance(given, bytes) else Fetched(Capture(url, self._clock.now(), 200, "", (), given))

    def pages(self) -> list[tuple[float, str]]:
        return [(at, target) for at, target in self.asked if target != "/robots.txt"]

    def robots_at(self) -> list[float]:
        return [at for at, target in self.asked if target == "/robots.txt"]


def days_of(folder: Path, days: float, robots: Callable[[float], Outcome | bytes]) -> Web:
    """A crawl of two pages, each due every hour."""

    async def run() -> Web:
        clock = FakeClock()
        web = Web(clock, robots)
        async with sqlite_frontier(folder, clock) as frontier:
            await frontier.offer([Offer(Url("http://site.test" + page), How.SEED) for page in (SECRET, OPEN_PAGE)])
            while web.passed_s() < days * DAY_S:
                for visit in await frontier.take(1):
                    outcome = refusal(visit) or await web.fetch(visit.url, visit.kind)
                    await frontier.settle([ended(visit, outcome, clock)])
                next_at = await frontier.next_at()
                if next_at is None:
                    break
                clock.advance(max(1.0, (next_at - clock.now()) / SECOND))
        return web

    return asyncio.run(run())


def ended(visit: Visit, outcome: Outcome, clock: FakeClock) -> Settled:
    now = clock.now()
    entry = entry_after(visit, outcome, now, RobotsKeeping()) if visit.kind is VisitKind.ROBOTS else None
    due_at = now + round(HOUR_S * SECOND) if visit.kind is VisitKind.PAGE else None
    return Settled(visit, reason_of(outcome), now, due_at=due_at, robots=entry)


def test_F_R10_an_added_rule_is_obeyed_from_the_refresh_after_24_hours(tmp_path: Path) -> None:
    web = days_of(tmp_path, 3, lambda at: b"User-agent: *\nDisallow:\n" if at == 0 else RULES)
    assert len(web.robots_at()) == 3 and web.robots_at()[1] >= DAY_S
    refreshed_at = web.robots_at()[1]
    assert refreshed_at < DAY_S + HOUR_S
    secret = [at for at, target in web.pages() if target == SECRET]
    assert len(secret) > 20 and max(secret) < refreshed_at, "it is not fetched after the refresh"
    assert max(at for at, target in web.pages() if target == OPEN_PAGE) > 2.9 * DAY_S


def test_F_R10_a_removed_rule_is_obeyed_until_the_refresh(tmp_path: Path) -> None:
    web = days_of(tmp_path, 2, lambda at: RULES if at < DAY_S / 2 else b"")
    secret = [at for at, target in web.pages() if target == SECRET]
    assert secret and min(secret) > web.robots_at()[1] >= DAY_S


def gone() -> Outcome:
    return Gone(Capture(Url("http://site.test/robots.txt"), 0, 404, "", (), b""))


def failed(reason: Reason) -> Outcome:
    return Failed(reason)


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.SERVER_ERROR, Reason.SLOW_DOWN, Reason.DNS, Reason.TLS])
def test_F_R3_F_R4_no_page_is_ever_fetched_without_a_robots_txt(tmp_path: Path, reason: Reason) -> None:
    web = days_of(tmp_path, 2, lambda at: failed(reason))
    assert web.pages() == [] and len(web.robots_at()) > 1


def test_F_R1_without_a_robots_txt_all_is_fetched_and_it_is_requested_once_a_day(tmp_path: Path) -> None:
    web = days_of(tmp_path, 2, lambda at: gone())
    assert len(web.robots_at()) == 2 and {target for _, target in web.pages()} == {SECRET, OPEN_PAGE}


def test_F_R11_a_huge_crawl_delay_is_capped(tmp_path: Path) -> None:
    web = days_of(tmp_path, 0.1, lambda at: b"User-agent: *\nCrawl-delay: 1000000000\nRequest-rate: 1/1d\n")
    first, second = web.asked[0][0], web.asked[1][0]
    assert second - first == 30.0 and len(web.pages()) > 2


def test_F_R9_a_verdict_names_the_line() -> None:
    assert judge(Url("http://site.test" + SECRET), robots_of(whole(RULES))) == Denied("Disallow: /secret (line 2)")


PAGE = b"""<html><head><title>A page</title>%b</head><body><p>words</p>
<a href="/a">a</a> <a href="/b" rel="external nofollow">b</a></body></html>"""


def page_read(head: bytes = b"", *fields: tuple[str, str]) -> tuple[bool, list[str]]:
    """Whether it is indexed, and which links are followed."""
    capture = Capture(Url("http://site.test/"), 0, 200, "", (("Content-Type", "text/html"), *fields), PAGE % head)
    read = done(ReadJob(capture, agent="Gossamer"))
    return read.is_page, [Url(text).target for text in read.links]


def test_F_R12_a_nofollow_link_is_not_followed() -> None:
    assert page_read() == (True, ["/a"])


@pytest.mark.parametrize("name", ["robots", "GOSSAMER"])
def test_F_R12_noindex_and_nofollow_of_a_page_are_obeyed(name: str) -> None:
    meta = f'<meta name="{name}" content="%s">'
    assert page_read((meta % "noindex").encode()) == (False, ["/a"])
    assert page_read((meta % "nofollow").encode()) == (True, [])
    assert page_read((meta % "none").encode()) == (False, [])
    assert page_read(b"", ("X-Robots-Tag", f"{name}: noindex")) == (False, ["/a"])


def test_F_R12_directives_for_another_agent_are_ignored() -> None:
    assert page_read(b'<meta name="otherbot" content="none">', ("X-Robots-Tag", "otherbot: none")) == (True, ["/a"])
