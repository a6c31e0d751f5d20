"""One suite for every frontier: what the `Frontier` protocol promises, for each way of storing it."""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.contract import postgres_opener

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.sieve import Sieve
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place
from gossamer.values.history import Past
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

POLITE = Politeness(delay_s=1.0, robots_tries=2)


def not_outside(offer: Offer) -> bool:
    return "outside" not in offer.url.text


@asynccontextmanager
async def sqlite_frontier(
    folder: Path,
    clock: FakeClock,
    stops_cleanly: bool = True,
    politeness: Politeness = POLITE,
    may_enter: Callable[[Offer], bool] = not_outside,
    **more: Any,
) -> AsyncIterator[Frontier]:
    async with Database(folder / "state.db", clock, silent) as database:
        sieve = Sieve(journal_most=20, merge_every_s=0.5)
        frontier = SqliteFrontier(database, FrontierRules(politeness, may_enter, **more), clock, silent, sieve)
        await frontier.open()
        yield frontier
        if stops_cleanly:
            await frontier.close()


@asynccontextmanager
async def postgres_frontier(
    folder: Path,
    clock: FakeClock,
    politeness: Politeness = POLITE,
    may_enter: Callable[[Offer], bool] = not_outside,
    **more: Any,
) -> AsyncIterator[Frontier]:
    async with postgres_opener.opened(folder, clock, politeness, may_enter, **more) as frontier:
        yield frontier


Opener = Callable[..., Any]
OPENERS: list[Opener] = [sqlite_frontier, postgres_frontier]
EXAMPLES = {sqlite_frontier: 10, postgres_frontier: 3}
"""Each commit of a server takes some milliseconds; the long random runs below get further."""


@pytest.fixture(params=OPENERS, ids=lambda opener: opener.__name__)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda clock, **more: request.param(tmp_path, clock, **more)


def seed(text: str, depth: int = 0) -> Offer:
    return Offer(Url(text), How.SEED, None, depth)


def entry(origin: str, now: int, state: RobotsState = RobotsState.READ, for_s: float = 86_400.0, **more: Any) -> Robots:
    return Robots(origin, state, now, now + round(for_s * SECOND), **more)


def settled(visit: Visit, clock: FakeClock, reason: Reason = Reason.FETCHED, **more: Any) -> Settled:
    if visit.kind is VisitKind.ROBOTS and "robots" not in more:
        more["robots"] = entry(visit.origin, clock.now())
    return Settled(visit, reason, clock.now(), **more)


async def take_page(frontier: Frontier, clock: FakeClock) -> Visit:
    """Take the next page, after its robots.txt."""
    while True:
        (visit,) = await frontier.take(1)
        if visit.kind is VisitKind.PAGE:
            return visit
        await frontier.settle([settled(visit, clock)])
        clock.advance(1)


def run(work: Awaitable[None]) -> None:
    async def whole_story() -> None:
        await work

    asyncio.run(whole_story())


def test_a_host_on_lease_is_not_leased_again(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2"), seed("http://a.test/3")])
            assert len(await frontier.take(10)) == 1
            clock.advance(3600)
            assert await frontier.take(10) == []
            assert await frontier.next_at() is not None

    run(story())


def test_robots_txt_is_requested_before_the_first_page(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1")])
            (visit,) = await frontier.take(10)
            assert (visit.kind, visit.url.text, visit.robots) == (
                VisitKind.ROBOTS,
                "https://a.test/robots.txt",
                None,
            )
            await frontier.settle([settled(visit, clock)])
            assert await frontier.take(10) == []
            clock.advance(1)
            (page,) = await frontier.take(10)
            assert (page.kind, page.url.text) == (VisitKind.PAGE, "https://a.test/1")
            assert page.robots == entry("https://a.test", clock.now() - SECOND)

    run(story())


def test_M_C1_the_gap_starts_when_the_response_was_received(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2")])
            page = await take_page(frontier, clock)
            clock.advance(20)
            await frontier.settle([settled(page, clock, took_s=20.0)])
            assert await frontier.take(1) == []
            assert await frontier.next_at() == clock.now() + SECOND
            clock.advance(0.999_999)
            assert await frontier.take(1) == []
            clock.advance(0.000_001)
            assert len(await frontier.take(1)) == 1

    run(story())


def test_a_crawl_delay_widens_the_gap_up_to_thirty_seconds(opened: Opener) -> None:
    async def story(asked: float, wanted_s: float) -> None:
        clock = FakeClock()
        name = f"https://d{abs(hash(asked))}.test"
        async with opened(clock) as frontier:
            await frontier.offer([seed(f"{name}/1")])
            (robots,) = await frontier.take(1)
            await frontier.settle([settled(robots, clock, robots=entry(name, clock.now(), crawl_delay_s=asked))])
            assert await frontier.next_at() == clock.now() + wanted_s * SECOND
            clock.advance(wanted_s)
            (page,) = await frontier.take(1)
            await frontier.settle([settled(page, clock)])

    for asked, wanted_s in ((5.0, 5.0), (1e9, 30.0), (0.001, 1.0), (-1.0, 1.0), (float("nan"), 1.0)):
        run(story(asked, wanted_s))


def test_a_wait_requested_by_a_host_is_added_to_its_gap(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1")])
            page = await take_page(frontier, clock)
            due_at = clock.now() + 10 * SECOND
            await frontier.settle([settled(page, clock, Reason.SLOW_DOWN, host_wait_s=120.0, due_at=due_at)])
            clock.advance(121)
            assert await frontier.take(1) == []
            clock.advance(10)
            (again,) = await frontier.take(1)
            assert (again.url, again.failures) == (page.url, 1)

    run(story())


def test_a_page_refused_by_a_rule_starts_no_gap(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2")])
            page = await take_page(frontier, clock)
            await frontier.settle([settled(page, clock, Reason.ROBOTS, detail="Disallow: /1 (line 2)")])
            (other,) = await frontier.take(1)
            assert other.url.text == "https://a.test/2"

    run(story())


def test_shallow_pages_go_first_and_equal_ones_in_the_order_they_were_found(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            offers = [seed("https://a.test/deep", 3), *(seed(f"https://a.test/{n}", 1) for n in range(5))]
            await frontier.offer([*offers, seed("https://a.test/", 0)])
            order = []
            for _ in range(7):
                page = await take_page(frontier, clock)
                order.append(page.url.path)
                await frontier.settle([settled(page, clock)])
                clock.advance(1)
            assert order == ["/", "/0", "/1", "/2", "/3", "/4", "/deep"]

    run(story())


def test_hosts_take_turns_the_longest_ready_first(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(f"https://{host}.test/{n}") for host in "abc" for n in range(4)])
            order: list[str] = []
            for _ in range(12):
                (visit,) = await frontier.take(1)
                order.append(visit.url.host.name)
                await frontier.settle([settled(visit, clock)])
                clock.advance(1)
            assert sorted(order[:3]) == sorted(order[3:6]) == sorted(order[6:9]) == ["a.test", "b.test", "c.test"]

    run(story())


def test_links_offered_by_a_settlement_are_visited_once_each(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1")])
            page = await take_page(frontier, clock)
            texts = ["https://b.test/x", "https://b.test/x", "https://a.test/1", "https://outside.test/"]
            links = tuple(Offer(Url(text), How.LINK, page.url.id, 1) for text in texts)
            await frontier.settle([settled(page, clock, offers=links)])
            assert await frontier.next_at() is not None
            found = await take_page(frontier, clock)
            assert (found.url.text, found.depth) == ("https://b.test/x", 1)
            await frontier.settle([settled(found, clock, offers=links)])
            assert await frontier.next_at() is None
            counts = await frontier.counts()
            assert (counts.known, counts.settled, counts.queued, counts.leased, counts.hosts) == (2, 2, 0, 0, 2)
            assert counts.by_reason == {"fetched": 2}

    run(story())


def test_a_url_due_again_is_visited_at_its_time_with_its_failures(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2")])
            page = await take_page(frontier, clock)
            due_at = clock.now() + 60 * SECOND
            await frontier.settle([settled(page, clock, Reason.DNS, due_at=due_at)])
            clock.advance(1)
            other = await take_page(frontier, clock)
            assert other.url.text == "https://a.test/2"
            await frontier.settle([settled(other, clock)])
            clock.advance(1)
            assert await frontier.take(1) == []
            assert await frontier.next_at() == due_at
            clock.advance(58)
            (again,) = await frontier.take(1)
            assert (again.url, again.failures) == (page.url, 1)
            await frontier.settle([settled(again, clock)])
            assert (await frontier.counts()).by_reason == {"fetched": 2}

    run(story())


def test_a_gone_or_noindex_page_is_not_counted_until_it_is_indexable_again(opened: Opener) -> None:
    def kept(visit: Visit, number: int, at: int, is_page: bool, status: int = 200) -> Kept:
        place = Place("a.warc.gz", number, number, 1)
        return Kept(number, visit.url, at, place, status, "text/html", bytes(32), 1, is_page)

    async def work() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://a.test/")])
            counted = []
            for number, (is_page, withdraws) in enumerate(
                [
                    (False, True),
                    (True, False),
                    (True, False),
                    (False, True),
                    (False, True),
                    (False, False),
                    (True, False),
                ]
            ):
                visit = await take_page(frontier, clock)
                capture = kept(visit, number, clock.now(), is_page)
                due_at = clock.now() + 60 * SECOND
                await frontier.settle([settled(visit, clock, kept=capture, withdraws=withdraws, due_at=due_at)])
                counted.append((await frontier.counts()).pages)
                clock.advance(61)
            assert counted == [0, 1, 1, 0, 0, 0, 1]

    run(work())


def test_an_expired_robots_txt_is_requested_again_before_the_next_page(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2")])
            page = await take_page(frontier, clock)
            await frontier.settle([settled(page, clock)])
            clock.advance(86_400)
            (robots,) = await frontier.take(1)
            assert robots.kind is VisitKind.ROBOTS and robots.robots == page.robots

    run(story())


def test_F_R4_pages_wait_for_an_unreachable_robots_txt_and_are_given_up_in_the_end(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2")])
            for failures in (1, 2):
                (robots,) = await frontier.take(5)
                assert robots.kind is VisitKind.ROBOTS and robots.failures == failures - 1
                found = entry(robots.origin, clock.now(), RobotsState.UNREACHABLE, 60, failures=failures)
                await frontier.settle([settled(robots, clock, Reason.TIMEOUT, robots=found)])
                clock.advance(59)
                assert await frontier.take(5) == []
                clock.advance(1)
            assert await frontier.next_at() is None
            assert (await frontier.counts()).by_reason == {"robots-unreachable": 2}
            clock.advance(-30)
            await frontier.offer([seed("https://a.test/3")])  # while the entry is still valid: it is not even requested
            assert await frontier.take(5) == []
            assert await frontier.next_at() is None
            assert (await frontier.counts()).by_reason == {"robots-unreachable": 3}

    run(story())


def test_a_continuous_crawl_never_gives_up_a_host_whose_robots_txt_fails(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        endless = Politeness(delay_s=1.0, robots_tries=None, retire_failures=3, retire_span_s=10.0)
        async with opened(clock, politeness=endless) as frontier:
            await frontier.offer([seed("https://a.test/1")])
            for failures in range(1, 40):
                (robots,) = await frontier.take(5)
                assert robots.kind is VisitKind.ROBOTS and robots.failures == failures - 1
                shut = entry(robots.origin, clock.now(), RobotsState.UNREACHABLE, 86_400, failures=failures)
                await frontier.settle([settled(robots, clock, Reason.SERVER_ERROR, robots=shut)])
                assert await frontier.next_at() is not None and await frontier.take(5) == []
                clock.advance(86_400)
            counts = await frontier.counts()
            assert (counts.queued, counts.retired, counts.by_reason) == (1, 0, {})
            await frontier.settle([settled(robots, clock) for robots in await frontier.take(5)])
            clock.advance(60)
            assert (await take_page(frontier, clock)).url.text == "https://a.test/1"

    run(story())


@pytest.mark.parametrize("ask", ["https://a.test/moved", "https://elsewhere.test/robots.txt", "http://b.test/r"])
def test_F_R7_a_moved_robots_txt_is_requested_from_its_new_host_while_pages_wait(opened: Opener, ask: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1")])
            (robots,) = await frontier.take(1)
            pending = entry(robots.origin, clock.now(), RobotsState.PENDING, 60, ask=Url(ask), hops=1)
            await frontier.settle([settled(robots, clock, Reason.MOVED, robots=pending)])
            clock.advance(1)
            await frontier.offer([seed("https://b.test/1")])
            visits = await frontier.take(5)
            request = next(visit for visit in visits if visit.robots is not None)
            assert (request.url.text, request.kind, request.origin) == (ask, VisitKind.ROBOTS, "https://a.test")
            assert request.robots == pending
            await frontier.settle([settled(visit, clock) for visit in visits])
            clock.advance(1)
            visits = await frontier.take(5)
            assert "https://a.test/1" in [visit.url.text for visit in visits if visit.kind is VisitKind.PAGE]

    run(story())


def test_one_scheme_of_a_host_waits_while_the_other_continues(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://a.test/plain"), seed("https://a.test/safe", 1)])
            (robots,) = await frontier.take(1)
            assert robots.url.text == "http://a.test/robots.txt"
            shut = entry(robots.origin, clock.now(), RobotsState.UNREACHABLE, 3600, failures=1)
            await frontier.settle([settled(robots, clock, Reason.SERVER_ERROR, robots=shut)])
            clock.advance(3)
            page = await take_page(frontier, clock)
            assert page.url.text == "https://a.test/safe"

    run(story())


def test_a_visit_is_settled_only_once(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1")])
            page = await take_page(frontier, clock)
            await frontier.settle([settled(page, clock)])
            with pytest.raises(ValueError, match="not leased"):
                await frontier.settle([settled(page, clock)])

    run(story())


@pytest.mark.parametrize("stops_cleanly", [True, False])
def test_M_Z7_a_leased_visit_returns_to_its_queue_and_its_host_waits_a_full_gap(
    opened: Opener, stops_cleanly: bool
) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, stops_cleanly=stops_cleanly) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://b.test/1")])
            page = await take_page(frontier, clock)
            clock.advance(10)
        async with opened(clock) as frontier:
            assert (await frontier.counts()).leased == 0
            waiting = [visit.url for visit in await frontier.take(5)]
            assert page.url not in waiting and len(waiting) == 1
            clock.advance(0.5)
            assert await frontier.take(5) == []
            clock.advance(0.5)
            (again,) = await frontier.take(5)
            assert (again.url, again.failures, again.kind) == (page.url, 0, VisitKind.PAGE)

    run(story())


def test_after_a_clean_stop_gaps_simply_continue(opened: Opener) -> None:
    async def story(stops_cleanly: bool, waits_s: float) -> None:
        clock = FakeClock()
        name = f"https://{stops_cleanly}.test".lower()
        async with opened(clock, stops_cleanly=stops_cleanly) as frontier:
            await frontier.offer([seed(f"{name}/1"), seed(f"{name}/2")])
            page = await take_page(frontier, clock)
            await frontier.settle([settled(page, clock)])
            clock.advance(0.75)
        async with opened(clock) as frontier:
            assert await frontier.next_at() == clock.now() + waits_s * SECOND
            clock.advance(waits_s)
            last = await take_page(frontier, clock)
            await frontier.settle([settled(last, clock)])

    run(story(True, 0.25))
    run(story(False, 1.0))


HOSTS = ("a.test", "b.test:8080")
ADDRESSES = [f"{scheme}://{host}/{page}" for host in HOSTS for scheme in ("http", "https") for page in range(5)]
ASKS = ("https://a.test/moved", "http://b.test:8080/robots.txt", "https://new.test/robots.txt")
SECONDS = (0.0, 0.1, 0.5, 0.999, 1.0, 5.0, 29.0, 400.0)
STATES = (*[RobotsState.READ] * 4, RobotsState.MISSING, *[RobotsState.PENDING] * 2, *[RobotsState.UNREACHABLE] * 2)
ENDS = (*[Reason.FETCHED] * 3, Reason.GONE, Reason.TIMEOUT, Reason.ROBOTS, Reason.SLOW_DOWN)
Pick = Callable[[Sequence[Any]], Any]


class Promises:
    """A frontier with a model of what it has promised. Every choice is the caller's `pick`."""

    def __init__(self, opener: Opener, folder: Path) -> None:
        self.opener = opener
        self.folder = folder
        self.clock = FakeClock()
        self.runner = asyncio.Runner()
        self.queued: dict[str, int] = {}  # URL -> when it is due
        self.over: set[str] = set()
        self.out: dict[str, Visit] = {}  # host -> the leased visit
        self.promised: dict[str, int] = {}  # host -> earliest time of the next request
        self.before: dict[str, int] = {}  # host -> that time when the visit was taken
        self.rules: dict[str, Robots] = {}
        self.visited = 0
        self.open()

    def open(self) -> None:
        self.context = self.opener(self.folder, self.clock, stops_cleanly=False)
        self.frontier: SqliteFrontier = self.runner.run(self.context.__aenter__())

    def close(self) -> None:
        self.runner.run(self.context.__aexit__(None, None, None))

    def gap(self, host: str) -> int:
        asked = [self.rules[o].crawl_delay_s or 0 for o in (f"http://{host}", f"https://{host}") if o in self.rules]
        return round(max([POLITE.delay_s, *[min(30.0, delay) for delay in asked]]) * SECOND)

    def offered(self, texts: list[str], how: How) -> list[Offer]:
        for text in texts:
            if "outside" not in text and text not in self.over:
                self.queued.setdefault(text, 0)
        return [Offer(Url(text), how, None, len(text) % 3) for text in texts]

    def some(self, pick: Pick, addresses: Sequence[str]) -> list[str]:
        return [pick(addresses) for _ in range(pick((0, 1, 2, 5)))]

    def offer(self, pick: Pick) -> None:
        texts = self.some(pick, [*ADDRESSES, "http://outside.test/"])
        self.runner.run(self.frontier.offer(self.offered(texts, How.SEED)))

    def advance(self, pick: Pick) -> None:
        self.clock.advance(pick(SECONDS))

    def wait(self, pick: Pick) -> None:
        """Advance to the time that `next_at` names, or just before it, when nothing new may be taken yet."""
        next_at = self.runner.run(self.frontier.next_at())
        if next_at is not None:
            self.clock.advance(max(0, next_at - self.clock.now() - pick((0, 0, 1))) / SECOND)
            self.take(pick)

    def take(self, pick: Pick) -> None:
        at_most = pick((1, 2, 5))
        visits = self.runner.run(self.frontier.take(at_most))
        assert len(visits) <= at_most
        for visit in visits:
            self.check(visit)

    def check(self, visit: Visit) -> None:
        now, host = self.clock.now(), visit.url.host.name
        assert visit.taken_at == now
        assert host not in self.out, "two visits to one host"
        assert now >= self.promised.get(host, 0), "too early"
        rules = self.rules.get(visit.origin)
        assert visit.robots == rules
        if visit.kind is VisitKind.PAGE:
            assert rules is not None and rules.state in (RobotsState.READ, RobotsState.MISSING)
            assert rules.expires_at > now
            assert self.queued[visit.url.text] <= now, "not due"
        elif rules is not None and rules.state is RobotsState.PENDING:
            assert visit.url == rules.ask
        else:
            assert visit.url.text == f"{visit.origin}/robots.txt"
            assert rules is None or rules.expires_at <= now
        self.visited += 1
        self.before[host] = self.promised.get(host, 0)
        self.promised[host] = now + self.gap(host)
        self.out[host] = visit

    def settle(self, pick: Pick) -> None:
        self.clock.advance(pick(SECONDS[:6]))
        hosts = sorted(self.out)[: pick((1, 1, 2, 5))]
        visits = [self.out.pop(host) for host in hosts]
        done = [self.end_page(v, pick) if v.kind is VisitKind.PAGE else self.end_robots(v, pick) for v in visits]
        self.runner.run(self.frontier.settle(done))

    def end_page(self, visit: Visit, pick: Pick) -> Settled:
        now, host, text = self.clock.now(), visit.url.host.name, visit.url.text
        reason, again_s, wait_s = pick(ENDS), pick((None, None, 0.0, 3.0, 100.0)), pick((None, None, 20.0))
        due_at = None if again_s is None else now + round(again_s * SECOND)
        assert text not in self.over
        del self.queued[text]
        if due_at is None:
            self.over.add(text)
        else:
            self.queued[text] = due_at
        if reason is Reason.ROBOTS:
            self.promised[host] = self.before[host]
        else:
            self.promised[host] = now + self.gap(host) + round((wait_s or 0) * SECOND)
        offers = tuple(self.offered(self.some(pick, ADDRESSES), How.LINK))
        return Settled(visit, reason, now, due_at=due_at, host_wait_s=wait_s, offers=offers)

    def end_robots(self, visit: Visit, pick: Pick) -> Settled:
        now, host, origin = self.clock.now(), visit.url.host.name, visit.origin
        hops = visit.robots.hops if visit.robots is not None and visit.robots.state is RobotsState.PENDING else 0
        state = pick(STATES)
        more: dict[str, Any] = {}
        if state is RobotsState.PENDING and hops < 3:
            more = {"ask": Url(pick(ASKS)), "hops": hops + 1}
        elif state is RobotsState.UNREACHABLE:
            more["failures"] = visit.failures + 1
        else:
            state, more["crawl_delay_s"] = RobotsState.READ, pick((None, None, 5.0, 1e6))
        self.rules[origin] = entry(origin, now, state, 300, **more)
        if more.get("failures", 0) >= POLITE.robots_tries:
            self.give_up(origin)
        self.promised[host] = now + self.gap(host)
        return Settled(visit, Reason.FETCHED, now, robots=self.rules[origin])

    def give_up(self, origin: str) -> None:
        """URLs in the queue are settled now; those offered while the entry is valid will be at their turn."""
        self.over.update(text for text in self.queued if Url(text).origin == origin)
        self.queued = {text: due_at for text, due_at in self.queued.items() if text not in self.over}

    def restart(self, pick: Pick) -> None:
        is_clean = pick((True, False, False))
        if is_clean:
            self.runner.run(self.frontier.close())
        self.close()
        now = self.clock.now()
        for host in set(self.out) | {h for h, at in self.promised.items() if at > now and not is_clean}:
            self.promised[host] = max(self.promised[host], now + self.gap(host))
        self.out.clear()
        self.open()

    def check_nothing_is_lost(self) -> None:
        next_at = self.runner.run(self.frontier.next_at())
        if next_at is None:
            assert not self.out
            assert self.lost() == []

    def lost(self) -> list[str]:
        """URLs that are queued in the model although the frontier says that nothing is."""
        return [text for text in self.queued if not self.was_given_up(text)]

    def was_given_up(self, text: str) -> bool:
        found = self.runner.run(self.frontier.known(Url(text)))
        return found is not None and found.reason is Reason.ROBOTS_UNREACHABLE and not found.is_queued

    def finish(self) -> None:
        """From any state the crawl finishes, with every URL visited or given up, each once."""
        last = lambda options: RobotsState.READ if options is STATES else options[0]  # noqa: E731
        for _ in range(500):
            while self.out:
                self.settle(last)
            self.wait(lambda options: options[0])
            if self.runner.run(self.frontier.next_at()) is None:
                break
        assert self.lost() == []
        counts = self.runner.run(self.frontier.counts())
        assert (counts.known, counts.settled) == (len(self.over | set(self.queued)),) * 2
        assert (counts.queued, counts.leased) == (0, 0)
        assert sum(counts.by_reason.values()) == counts.settled


class FrontierMachine(RuleBasedStateMachine):
    opener: Opener

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.promises = Promises(type(self).opener, Path(self.temporary.name))

    @rule(given=st.data(), step=st.sampled_from(["offer", "advance", "wait", "wait", "take", "restart"]))
    def step(self, given: Any, step: str) -> None:
        getattr(self.promises, step)(lambda options: given.draw(st.sampled_from(options)))

    @precondition(lambda self: self.promises.out)
    @rule(given=st.data())
    def settle(self, given: Any) -> None:
        self.promises.settle(lambda options: given.draw(st.sampled_from(options)))

    @invariant()
    def check_nothing_is_lost(self) -> None:
        self.promises.check_nothing_is_lost()

    def teardown(self) -> None:
        try:
            self.promises.finish()
        finally:
            self.promises.close()
            self.promises.runner.close()
            self.temporary.cleanup()


@pytest.mark.parametrize("opener", OPENERS, ids=lambda opener: opener.__name__)
def test_every_promise_is_kept_in_any_order_of_events(opener: Opener) -> None:
    machine = type("Machine", (FrontierMachine,), {"opener": staticmethod(opener)})
    quick = settings(
        max_examples=EXAMPLES[opener],
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    run_state_machine_as_test(machine, settings=quick)


STEPS = ("offer", *["wait"] * 6, "take", "advance", *["settle"] * 6, "restart")


RUNS = [(sqlite_frontier, number) for number in (*range(8), 18, 75)] + [(postgres_frontier, n) for n in (0, 1, 18)]


@pytest.mark.parametrize(("opener", "number"), RUNS, ids=lambda given: getattr(given, "__name__", str(given)))
def test_every_promise_is_kept_in_a_long_random_run(opener: Opener, tmp_path: Path, number: int) -> None:
    """A state machine that shrinks its examples stays near the start; a random run gets further."""
    pick = random.Random(number).choice
    promises = Promises(opener, tmp_path)
    try:
        for _ in range(150):
            getattr(promises, pick(STEPS) if promises.out else pick(STEPS[:-7]))(pick)
            promises.check_nothing_is_lost()
        promises.finish()
        assert promises.visited > 20
    finally:
        promises.close()
        promises.runner.close()


def test_fetched_pages_are_due_again_when_the_crawl_starts_to_revisit(opened: Opener) -> None:
    async def work() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://one.test/"), seed("http://one.test/gone")])
            ends = {"http://one.test/": Reason.FETCHED, "http://one.test/gone": Reason.GONE}
            for _ in ends:
                visit = await take_page(frontier, clock)
                await frontier.settle([settled(visit, clock, ends[visit.url.text])])
                clock.advance(1)
            assert await frontier.next_at() is None
            assert await frontier.recall() == 1 and await frontier.recall() == 0
            assert (await frontier.counts()).queued == 1
            again = await take_page(frontier, clock)
            assert again.url.text == "http://one.test/"
            assert again.past is not None and again.past.is_page and not again.past.validators

    run(work())


def test_M_A3_a_page_is_not_revisited_before_the_recrawl_delay_of_its_host_is_over(opened: Opener) -> None:
    async def work() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://one.test/"), seed("http://two.test/")])
            for robots in await frontier.take(5):
                delay_s = 3600.0 if robots.url.hostname == "one.test" else None
                delayed = entry(robots.origin, clock.now(), recrawl_delay_s=delay_s)
                await frontier.settle([settled(robots, clock, robots=delayed)])
            clock.advance(1)
            await frontier.settle([settled(page, clock) for page in await frontier.take(5)])
            clock.advance(600)
            assert await frontier.recall() == 2
            (again,) = await frontier.take(5)
            assert again.url.hostname == "two.test"
            await frontier.settle([settled(again, clock)])
            assert await frontier.next_at() == clock.now() + 3000 * SECOND
            clock.advance(3000)
            (again,) = await frontier.take(5)
            assert again.url.hostname == "one.test" and again.past is not None

    run(work())


def test_the_past_of_a_page_is_part_of_its_next_visit(opened: Opener) -> None:
    async def work() -> None:
        clock = FakeClock()
        past = Past(clock.now(), clock.now() + 60 * SECOND, 7, b"digest", '"tag"', is_page=True, why="rate")
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://one.test/")])
            visit = await take_page(frontier, clock)
            assert visit.past is None
            await frontier.settle([settled(visit, clock, due_at=clock.now() + 60 * SECOND, past=past)])
        async with opened(clock) as frontier:
            clock.advance(61)
            again = await take_page(frontier, clock)
            assert again.url == visit.url and again.past == past
            await frontier.settle([settled(again, clock, Reason.UNCHANGED, due_at=clock.now() + SECOND)])
            clock.advance(2)
            assert (await take_page(frontier, clock)).past == past, "without a new past the old one is kept"

    run(work())
