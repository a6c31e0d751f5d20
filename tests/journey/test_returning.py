"""Revisits: conditional requests, how changes are detected and stored, and pages that are gone."""

import asyncio
import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest
from tests.journey.crawling import Crawled, EventLog, crawl, page

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.reader import read_record
from gossamer.base.clock import DAY, SECOND
from gossamer.base.environment import seeded
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.crawler.revisit import FetchEnd, NextFetch, Revisits
from gossamer.recrawl.policies import Calendar, VisitBudget, policy_named
from gossamer.spool.codec import decode
from gossamer.spool.frames import Follower, SpoolPosition
from gossamer.testing import FakeClock, TinyWeb
from gossamer.values.capture import Capture, Truncated
from gossamer.values.history import Past, Validators, Why
from gossamer.values.outcome import Failed, Fetched, Gone, Outcome, Reason, Refused, Unchanged
from gossamer.values.page import Reading
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

HOME = "http://one.test/"
Says = Callable[[int], str | None]
"""The page for the number of days since the start; None: the page does not exist."""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days pass in milliseconds here, so the crawl checks as often."""
    monkeypatch.setattr("gossamer.crawler.pace.WAIT_S", 0.003)


class Changing(TinyWeb):
    """Pages that are functions of the day. It honours entity tags when `tagged`."""

    def __init__(self, pages: dict[str, Says], clock: FakeClock, tagged: bool = True) -> None:
        super().__init__({}, clock)
        self._makers, self._started, self._tagged, self.clock = pages, clock.now(), tagged, clock
        self.sent = self.saved = 0
        self.days: dict[str, list[int]] = {}

    async def fetch(
        self,
        url: Url,
        kind: VisitKind = VisitKind.PAGE,
        depth: int = 0,
        validators: Validators | None = None,
        **_: object,
    ) -> Outcome:
        day = (self.clock.now() - self._started) // DAY
        make = self._makers.get(url.text)
        text = make(day) if make else None
        if text is None:
            return await super().fetch(url, kind, depth)
        self.asked.append(url.text)
        self.days.setdefault(url.text, []).append(day)
        body = text.encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
        fields = (("Content-Type", "text/html"), ("ETag", etag)) if self._tagged else (("Content-Type", "text/html"),)
        if self._tagged and validators is not None and validators.etag == etag:
            self.saved += len(body)
            return Unchanged(Capture(url, self.clock.now(), 304, "Not Modified", fields, b""))
        self.sent += len(body)
        return Fetched(Capture(url, self.clock.now(), 200, "OK", fields, body))


def revisits(allowance: VisitBudget | None = None) -> Revisits:
    return Revisits(lambda per_page: policy_named("age", per_page), seeded(3), allowance)


async def crawl_for(root: Path, web: Changing, days: float, again: Revisits | None = None) -> Crawled:
    """Crawl for so many days, which are skipped whenever no fetch is in progress."""
    stop, until, log = asyncio.Event(), web.clock.now() + round(days * DAY), EventLog()
    before = len(web.asked)

    async def pass_time() -> None:
        while web.clock.now() < until:
            await asyncio.sleep(0.004)
            settled = [one for one in log.named("visit.settled") if one["outcome"] != "robots"]  # not in web.asked
            if web.asked and len(web.asked) - before == len(settled) and log.idle_at == web.clock.now():
                web.clock.advance(6 * 3600)
        stop.set()

    passing = asyncio.create_task(pass_time())
    try:
        return await crawl(root, {}, [HOME], clock=web.clock, stop=stop, log=log, web=web, revisits=again or revisits())
    finally:
        passing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await passing


def spooled(root: Path) -> Iterator[Reading]:
    """The readings for the views, in order."""
    follower = Follower(DiskFiles(), root / "spool", ArchivePlaces(DiskFiles(), root / "archive"), silent)
    at = SpoolPosition()
    while frames := follower.follow(at, 100):
        yield from [decode(frame.reading) for frame in frames if frame.reading]
        at = frames[-1].after


def test_an_unchanged_page_is_not_sent_again_and_not_spooled_again(tmp_path: Path) -> None:
    web = Changing({HOME: lambda _: page(body="the same, day after day")}, FakeClock())
    done = asyncio.run(crawl_for(tmp_path, web, 120))
    assert len(web.asked) > 4 and done.ends[HOME] == "unchanged"
    again = [kept for kept in done.kept if kept.refers_at is not None]
    (first,) = [kept for kept in done.kept if kept.url.text == HOME and kept.refers_at is None]
    assert again and all(kept.status == 304 and kept.refers_at == first.fetched_at for kept in again)
    assert web.saved > web.sent, "most of the bytes are not sent"
    assert [reading.page.url.text for reading in spooled(tmp_path)] == [HOME]


def test_the_same_bytes_from_a_server_without_validators_are_archived_once(tmp_path: Path) -> None:
    web = Changing({HOME: lambda _: page(body="the same")}, FakeClock(), tagged=False)
    done = asyncio.run(crawl_for(tmp_path, web, 30))
    again = [kept for kept in done.kept if kept.refers_at is not None]
    assert again and {kept.status for kept in again} == {200} and done.ends[HOME] == "fetched"
    record = read_record(DiskFiles(), tmp_path / "archive", again[0].place).again
    assert record is not None and record.digest == again[0].digest and record.answer.body == b""


def test_a_fetch_whose_body_was_not_read_refers_to_the_stored_body(tmp_path: Path) -> None:
    class IgnoresConditions(Changing):
        """It ignores conditions; the client stops reading when the entity tag is the one it has."""

        async def fetch(self, *arguments: object, **options: object) -> Outcome:
            outcome = await super().fetch(*arguments, **options)  # type: ignore[arg-type]
            if not isinstance(outcome, Unchanged):
                return outcome
            capture = msgspec.structs.replace(outcome.capture, status=200, reason="OK", truncated=Truncated.LENGTH)
            return Unchanged(capture)

    web = IgnoresConditions({HOME: lambda _: page(body="the same")}, FakeClock())
    done = asyncio.run(crawl_for(tmp_path, web, 30))
    again = [kept for kept in done.kept if kept.refers_at is not None]
    assert again and {kept.status for kept in again} == {200} and done.ends[HOME] == "unchanged"
    record = read_record(DiskFiles(), tmp_path / "archive", again[0].place).again
    assert record is not None and record.digest == again[0].digest and record.answer.truncated is None
    assert len(list(spooled(tmp_path))) == 1


def test_a_date_line_is_not_a_change_and_a_price_is(tmp_path: Path) -> None:
    def dated(day: int) -> str:
        today = format_datetime(datetime.fromtimestamp(clock_start / SECOND + day * 86_400, UTC))
        return page(body=f"A page about lakes, printed {today}")

    def priced(day: int) -> str:
        offer = f'<div vocab="http://schema.org/" typeof="Offer"><span property="price">{10 + day // 7}</span></div>'
        return page("/dated", body=offer)

    clock = FakeClock()
    clock_start = clock.now()
    web = Changing({HOME: priced, HOME + "dated": dated}, clock)
    done = asyncio.run(crawl_for(tmp_path, web, 30))
    readings = list(spooled(tmp_path))
    assert len(web.days[HOME + "dated"]) > 3
    assert [one.page.url.text for one in readings].count(HOME + "dated") == 1
    dated_kept = [kept for kept in done.kept if kept.url.text == HOME + "dated"]
    assert len(dated_kept) > 3 and all(kept.refers_at is None for kept in dated_kept), "the bytes have changed"
    assert [kept.is_page for kept in dated_kept].count(True) == 1, "a rebuild uses the one that is in the views"
    prices = [one.facts for one in readings if one.page.url.text == HOME]
    seen = {10 + day // 7 for day in web.days[HOME]}
    assert len(prices) == len(seen), "each price once, at the first fetch with it"
    assert all(f'"{price}"'.encode() in b"".join(prices) for price in seen)


def test_a_page_that_is_gone_leaves_the_views_and_is_fetched_less_and_less_often(tmp_path: Path) -> None:
    pages: dict[str, Says] = {
        HOME: lambda _: page("/x"),
        HOME + "x": lambda day: page(body="here") if day < 10 else None,
    }
    web = Changing(pages, FakeClock())
    done = asyncio.run(crawl_for(tmp_path, web, 120))
    assert done.ends[HOME + "x"] == "gone"
    last = [one for one in spooled(tmp_path) if one.page.url.text == HOME + "x"][-1]
    assert not last.page.directives.may_index and last.facts == b"" and last.page.content == ""
    assert sum(not one.page.directives.may_index for one in spooled(tmp_path)) == 1, "removed once"
    gone = sorted(kept.fetched_at for kept in done.kept if kept.status == 404 and kept.url.text == HOME + "x")
    gaps = [later - sooner for sooner, later in itertools.pairwise(gone)]
    assert 3 <= len(gone) <= 8 and gaps == sorted(gaps)


def test_a_page_that_exists_again_is_shown_again(tmp_path: Path) -> None:
    pages: dict[str, Says] = {
        HOME: lambda _: page("/x"),
        HOME + "x": lambda day: None if 10 <= day < 20 else page(body="here"),
    }
    asyncio.run(crawl_for(tmp_path, Changing(pages, FakeClock()), 90))
    shown = [one.page.directives.may_index for one in spooled(tmp_path) if one.page.url.text == HOME + "x"]
    assert shown == [True, False, True]


def test_new_links_on_a_page_that_changed_are_followed(tmp_path: Path) -> None:
    pages: dict[str, Says] = {
        HOME: lambda day: page("/new", body="news") if day >= 5 else page(body="nothing"),
        HOME + "new": lambda _: page(body="new"),
    }
    done = asyncio.run(crawl_for(tmp_path, Changing(pages, FakeClock()), 40))
    assert done.ends[HOME + "new"] in ("fetched", "unchanged")


def test_without_revisits_a_crawl_ends_and_fetches_every_page_once(tmp_path: Path) -> None:
    done = asyncio.run(crawl(tmp_path, {HOME: page("/a"), HOME + "a": page()}, [HOME]))
    assert done.ends == {HOME: "fetched", HOME + "a": "fetched"}
    assert done.asked.count(HOME) == 1


def test_half_of_the_fetches_that_politeness_allows_are_reserved_for_new_pages() -> None:
    calendar = Calendar(VisitBudget(gap_s=10_000.0))
    assert [calendar.reserve(0, "one.test", 0) // DAY for _ in range(9)] == [0] * 5 + [1] * 4
    assert [calendar.reserve(0, "slow.test", 0, 43_200.0) // DAY for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("allowance", [VisitBudget(in_all=2.0), VisitBudget(per_site=2.0)])
def test_no_day_gets_more_fetches_than_its_allowance(allowance: VisitBudget) -> None:
    calendar = Calendar(allowance)
    days = [calendar.reserve(5 * DAY + 7, "one.test", 0) for _ in range(7)]
    assert sorted(day // DAY for day in days) == [5, 5, 6, 6, 7, 7, 8]
    assert all(day % DAY == 7 for day in days), "at the hour at which it was due"
    other = calendar.reserve(5 * DAY, "two.test", 0) // DAY
    assert other == (5 if allowance.per_site else 8)


def ended(outcome: Outcome, reason: Reason, past: Past | None, failures: int = 0) -> FetchEnd:
    return FetchEnd(Visit(Url(HOME), VisitKind.PAGE, 0, failures=failures, past=past), outcome, reason, DAY)


def test_a_stored_page_is_fetched_again_after_a_failure_or_a_refusal_and_stays_in_the_views() -> None:
    past, again = Past(0, DAY, is_page=True, etag='"x"'), revisits()
    failed = again.plan(ended(Failed(Reason.TIMEOUT), Reason.TIMEOUT, past, failures=3))
    assert failed.due_at is not None and 8 * DAY <= failed.due_at - DAY <= 10 * DAY
    assert failed.past is not None and failed.past.is_page and failed.past.etag == '"x"'
    refused = again.plan(ended(Refused(Reason.ROBOTS), Reason.ROBOTS, past))
    assert refused.due_at is not None and refused.past is not None and refused.past.is_page
    assert again.plan(ended(Failed(Reason.TIMEOUT), Reason.TIMEOUT, past, failures=20)).due_at is None


def test_M_A3_a_page_is_not_revisited_before_the_recrawl_delay_is_over() -> None:
    robots = Robots("http://one.test", RobotsState.READ, 0, 10**15, recrawl_delay_s=100 * 86_400.0)
    past, again = Past(0, DAY, is_page=True), revisits()
    visit = Visit(Url(HOME), VisitKind.PAGE, 0, past=past, robots=robots)
    unchanged = Unchanged(Capture(Url(HOME), DAY, 304, "", (), b""))
    plan = again.plan(FetchEnd(visit, unchanged, Reason.UNCHANGED, DAY))
    assert plan.due_at == 101 * DAY and plan.past is not None and plan.past.why == Why.ASKED
    assert again.earliest(Url(HOME), plan.past, 2 * DAY) == 101 * DAY
    failed = again.plan(FetchEnd(visit, Failed(Reason.TIMEOUT), Reason.TIMEOUT, DAY))
    assert failed.due_at == 101 * DAY


def test_a_page_that_never_existed_is_not_revisited() -> None:
    nothing = Capture(Url(HOME), DAY, 404, "Not Found", (), b"")
    assert revisits().plan(ended(Gone(nothing), Reason.GONE, None)) == NextFetch()
    assert revisits().plan(ended(Refused(Reason.ROBOTS), Reason.ROBOTS, None)) == NextFetch()
    assert revisits().plan(ended(Failed(Reason.TIMEOUT), Reason.TIMEOUT, None)).due_at is not None
