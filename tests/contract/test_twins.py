"""Both frontiers under the same random calls: they lease the same visits, and all that they report is the same."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.contract import postgres_opener

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier import reports
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.sieve import Sieve
from gossamer.store.sqlite.database import Database
from gossamer.store.statements import State
from gossamer.testing import FakeClock
from gossamer.values.history import Past, Reschedule, Why
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Selection, Settled, TemplateTally, Visit, VisitKind, Yield

POLITE = Politeness(delay_s=1.0, robots_tries=2, jitter=0.0, retire_failures=3, retire_span_s=600.0)
HOSTS = ("a.test", "b.test", "c.test:8080")
PATHS = ("", "1", "2", "3?x=%00", "trap/1", "trap/2", "trap/3", "trap/4")
URLS = [f"{scheme}://{host}/{path}" for scheme in ("http", "https") for host in HOSTS for path in PATHS]
SITEMAP, ELSEWHERE = "http://a.test/sitemap.xml", "http://outside.test/sitemap.xml"
ENDS = (
    *[Reason.FETCHED] * 5, Reason.MOVED, Reason.GONE, Reason.ROBOTS, Reason.TIMEOUT, Reason.CONNECT, Reason.TOO_SLOW,
    Reason.UNCHANGED, Reason.SERVER_ERROR, Reason.FILTER, Reason.ADDRESS,
)  # fmt: skip
SELECTIONS = (
    Selection(),
    Selection(frozenset({Reason.TIMEOUT, Reason.GONE})),
    Selection(frozenset({Reason.FETCHED})),
    Selection(frozenset({Reason.ROBOTS_UNREACHABLE, Reason.ADDRESS, Reason.ROBOTS})),
    Selection(host="a.test"),
    Selection(host="nowhere.test"),
    Selection(urls=tuple(map(Url, URLS[:5]))),
    Selection(hows=frozenset({How.SEED})),
)
Twins = tuple[Any, Any]
OWN = ("has_back_queue", "ready_at", "band", "crawl_delay_s")
"""Where the stores differ: in PostgreSQL, hosts have no back queues, and the crawl delay goes with the robots.txt."""
OF_LEASED = ("next_at", "gap_s")
"""Set again when the visit ends."""


def template_of(text: str) -> str:
    return "trap" if "/trap/" in text else "page"


def judge(tally: TemplateTally) -> bool:
    return tally.template == "trap" and tally.fetched >= 2 and tally.fruitful == 0


def may_enter(offer: Offer) -> bool:
    return "outside" not in offer.url.text


def answers(state: State) -> dict[str, Any]:
    """All that is reported, comparable."""
    return {
        "hosts": [_plain(one, *OWN, *(OF_LEASED if one.leased else ())) for one in reports.hosts(state)],
        "ledger": list(reports.ledger(state)),
        "templates": list(reports.templates(state)),
        "queued": sorted(reports.queued(state)),
        "held": sorted(reports.held(state)),
        "ends": sorted(reports.every_end(state)),
        "remembered": sorted(map(str, reports.remembered(state))),
        "robots": [reports.robots_of(state, host) for host in HOSTS],
    }


def _plain(value: Any, *without: str) -> dict[str, Any]:
    return {name: one for name, one in msgspec.structs.asdict(value).items() if name not in without}


class Walk:
    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.random = random.Random(number)
        self.clock = FakeClock()
        self.out: dict[str, Visit] = {}
        self.steps: list[str] = []
        self.visited = 0

    async def open(self) -> None:
        budget = SiteBudget(visits=9, visits_per_link=1)
        more: dict[str, Any] = {"template_of": template_of, "judge_template": judge, "budget": budget}
        self.stack = AsyncExitStack()
        database = await self.stack.enter_async_context(Database(self.folder / "state.db", self.clock, silent))
        here = SqliteFrontier(
            database, FrontierRules(POLITE, may_enter, **more), self.clock, silent, Sieve(1, merge_every_s=0.0)
        )
        await here.open()
        self.stack.push_async_callback(here.close)
        opening = postgres_opener.opened(self.folder, self.clock, POLITE, may_enter, **more)
        self.twins: Twins = here, await self.stack.enter_async_context(opening)

    async def both(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        here, there = [await work(twin) for twin in self.twins]
        assert here == there, f"{here} != {there}, after {self.steps[-12:]}"
        return here

    def pick(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)

    def some(self, options: Sequence[Any], most: int = 4) -> list[Any]:
        return self.random.sample(options, self.random.randint(0, min(most, len(options))))

    async def offer(self) -> None:
        offers = [Offer(Url(text), How.SEED, None, self.pick((0, 1, 2))) for text in self.some(URLS)]
        await self.both(lambda twin: twin.offer(offers))

    async def take(self) -> None:
        self.clock.advance(self.pick((0, 1, 3, 60, 4000)))
        visits = await self.both(lambda twin: self.taken(twin))
        self.out |= {visit.url.host.name: visit for visit in visits}
        self.visited += len(visits)
        await self.compare()

    async def taken(self, twin: Any) -> list[Visit]:
        return sorted([*await twin.take(50), *await twin.take(50)], key=lambda visit: visit.url.text)

    async def settle(self) -> None:
        self.clock.advance(self.pick((0, 0.25, 1, 10)))
        await self.settle_at(self.some(sorted(self.out), 9))

    async def settle_at(self, hosts: Sequence[str]) -> None:
        done = [self.ended(self.out.pop(host)) for host in hosts]
        await self.both(lambda twin: twin.settle(done))

    def ended(self, visit: Visit) -> Settled:
        now = self.clock.now()
        if visit.kind is VisitKind.ROBOTS:
            return self.robots_ended(visit, now)
        reason, again_s = self.pick(ENDS), self.pick((None, None, 3.0, 500.0))
        due_at = None if again_s is None else now + round(again_s * SECOND)
        offers = [Offer(Url(text), How.LINK, visit.url.id, visit.depth + 1) for text in self.some(URLS)]
        offers = [offer for offer in offers if offer.url.host == visit.url.host]
        is_had = reason in (Reason.FETCHED, Reason.UNCHANGED) and due_at is not None
        return Settled(
            visit,
            reason,
            now,
            detail=self.pick(("", "why")),
            took_s=self.pick((0.0, 0.1, 4.0)),
            due_at=due_at,
            host_wait_s=self.pick((None, None, 20.0)),
            offers=tuple(offers),
            yielded=self.pick((None, Yield(template_of(visit.url.text), False, False))),
            is_host_fault=self.pick((False, False, True)),
            past=Past(now, due_at or 0, is_page=True) if is_had else None,
        )

    def robots_ended(self, visit: Visit, now: int) -> Settled:
        hops = visit.robots.hops if visit.robots is not None and visit.robots.state is RobotsState.PENDING else 0
        state = self.pick([RobotsState.READ] * 4 + [RobotsState.PENDING, RobotsState.UNREACHABLE])
        more: dict[str, Any] = {}
        reason, offers = Reason.FETCHED, []
        if state is RobotsState.PENDING and hops < 3:
            more = {"ask": Url(self.pick(("http://b.test/moved", "https://moved.test/robots.txt"))), "hops": hops + 1}
        elif state is RobotsState.UNREACHABLE:
            more["failures"] = visit.failures + 1
            reason = self.pick((Reason.TIMEOUT, Reason.ADDRESS, Reason.CONNECT))
        else:
            sitemaps = self.pick(((), (SITEMAP,), (SITEMAP, ELSEWHERE)))
            more = {"crawl_delay_s": self.pick((None, None, 7.0, 1e6)), "sitemaps": sitemaps}
            more["recrawl_delay_s"] = self.pick((None, 900.0))
            offers = [Offer(Url(text), How.ROBOTS, None, 1) for text in sitemaps if visit.url.host.name == "a.test"]
            state = RobotsState.READ
        robots = Robots(visit.origin, state, now, now + 3000 * SECOND, **more)
        return Settled(visit, reason, now, detail="moved", took_s=0.1, robots=robots, offers=tuple(offers))

    async def requeue(self) -> None:
        selection = self.pick(SELECTIONS)
        await self.both(lambda twin: twin.requeue(selection))

    async def refetch(self) -> None:
        urls = list(map(Url, self.some(URLS)))
        await self.both(lambda twin: twin.refetch(urls))

    async def revive(self) -> None:
        urls = list(map(Url, self.some(URLS, 9)))
        await self.both(lambda twin: twin.revive(urls))

    async def recall(self) -> None:
        await self.both(lambda twin: twin.recall())

    async def reschedule(self) -> None:
        at = self.clock.now() + self.pick((-5, 0, 2, 100)) * SECOND
        changes = [Reschedule(Url(text), at, Why.LINKS, None, None) for text in self.some(URLS, 12)]
        await self.both(lambda twin: twin.reschedule(changes))

    async def retire(self) -> None:
        host = self.pick((*HOSTS, "nowhere.test"))
        await self.both(lambda twin: twin.retire(host, "a user said so"))

    async def reinstate(self) -> None:
        host = self.pick((*HOSTS, "nowhere.test"))
        await self.both(lambda twin: twin.reinstate(host))

    async def quarantine(self) -> None:
        host = self.pick((*HOSTS, "new.test"))
        await self.both(lambda twin: twin.quarantine(host, "trap"))

    async def release(self) -> None:
        host = self.pick((*HOSTS, "nowhere.test"))
        await self.both(lambda twin: twin.release(host, "trap"))

    async def restart(self) -> None:
        await self.stack.aclose()
        self.out.clear()
        await self.open()

    async def compare(self) -> None:
        here, there = [await twin._read(answers) for twin in self.twins]
        for name in here:
            one, two = (set(map(str, answer[name])) for answer in (here, there))
            assert one == two, f"{name}: {one - two} != {two - one}, after {self.steps[-12:]}"
        await self.both(lambda twin: twin.counts())
        await self.both(lambda twin: twin.plans())
        for selection in SELECTIONS:
            await self.both(partial(ended, selection))
        for text in (*URLS, SITEMAP, ELSEWHERE):
            await self.both(partial(known, text))
        await self.both(lambda twin: twin.pasts(list(map(Url, URLS))))


async def known(text: str, twin: Any) -> Any:
    return await twin.known(Url(text)), await twin.failures(Url(text))


async def ended(selection: Selection, twin: Any) -> Any:
    """Which examples are named is open."""
    return sorted((one.reason, one.urls, one.details) for one in await twin.ended(selection))


STEPS = (
    *["take"] * 8, *["settle"] * 8, *["offer"] * 3, "requeue", "refetch", "revive", "recall", "reschedule", "retire",
    "reinstate", "reinstate", "quarantine", "release", "release", "restart",
)  # fmt: skip


FORGIVING = frozenset({"requeue", "revive", "reinstate", "refetch", "recall"})
"""They change hosts that a visit, when it ends, leaves as they were when it began: in state.db only."""


@pytest.mark.parametrize("number", range(3))
def test_both_frontiers_answer_the_same_calls_alike(tmp_path: Path, number: int) -> None:
    async def story() -> None:
        walk = Walk(tmp_path, number)
        await walk.open()
        try:
            for _ in range(60):
                step = walk.pick(STEPS)
                for one in dict.fromkeys(("take", step)):  # until then state.db has new URLs in its journal only
                    walk.steps.append(one)
                    if one in FORGIVING:
                        await walk.settle_at(sorted(walk.out))
                    await getattr(walk, one)()
            assert walk.visited > 10
        finally:
            await walk.stack.aclose()

    asyncio.run(story())


def test_the_urls_of_this_test_are_canonical() -> None:
    assert [url_of(text) for text in URLS] == list(map(Url, URLS))
