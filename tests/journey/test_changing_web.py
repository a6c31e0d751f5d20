"""The changing demonstration web, crawled for weeks: real changes are noticed, irrelevant ones are ignored."""

import asyncio
import contextlib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from tests.journey.crawling import Crawled, EventLog, crawl
from tests.journey.test_returning import revisits, spooled

from gossamer.base.clock import DAY
from gossamer.demo.pages import DemoAnswer, DemoRequest
from gossamer.demo.web import DemoWeb, Fate, fate_of, price_of, version_of
from gossamer.fetch.answer import ResponseHead, outcome_of
from gossamer.testing import FakeClock, TinyWeb
from gossamer.values.capture import Capture
from gossamer.values.history import Validators
from gossamer.values.outcome import Outcome
from gossamer.values.page import Reading
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

DAYS = 24


class Served(TinyWeb):
    """The responses of a demonstration web without sockets."""

    def __init__(self, web: DemoWeb, clock: FakeClock) -> None:
        super().__init__({}, clock)
        self.web, self.clock = web, clock
        self.sent: Counter[int] = Counter()
        """Bytes of the bodies of repeated fetches, by status; under 304 the bytes that were saved."""
        self.seen_at: dict[str, list[int]] = defaultdict(list)

    async def fetch(
        self,
        url: Url,
        kind: VisitKind = VisitKind.PAGE,
        depth: int = 0,
        validators: Validators | None = None,
        **_: object,
    ) -> Outcome:
        self.asked.append(url.text)
        now, known = self.clock.now(), validators.etag if validators is not None else ""
        request = DemoRequest(url.host.name, url.target, "", known, 0, now)
        answer = self.web.answer(request)
        whole = self.web.answer(request._replace(known="")) if answer.status == 304 else answer
        self.sent[answer.status] += len(whole.body) if url.text in self.seen_at else 0
        self.seen_at[url.text].append(now)
        return outcome(url, answer, now)


def outcome(url: Url, answer: DemoAnswer, now: int) -> Outcome:
    capture = Capture(url, now, answer.status, "", answer.headers, answer.body)
    return outcome_of(capture, ResponseHead(CIMultiDictProxy(CIMultiDict(answer.headers))), (), now)


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Served, Crawled, list[Reading]]:
    root, clock = tmp_path_factory.mktemp("weeks"), FakeClock()
    web = DemoWeb(3, 6, 90, turn_s=3 * 86_400.0, started_at=clock.now())
    served = Served(web, clock)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gossamer.crawler.pace.WAIT_S", 0.003)
        done = asyncio.run(crawl_weeks(root, served))
    return served, done, list(spooled(root))


async def crawl_weeks(root: Path, web: Served) -> Crawled:
    stop, until, log = asyncio.Event(), web.clock.now() + DAYS * DAY, EventLog()

    async def pass_time() -> None:
        while web.clock.now() < until:
            await asyncio.sleep(0.002)
            settled = [one for one in log.named("visit.settled") if one["outcome"] != "robots"]
            if web.asked and len(web.asked) == len(settled) and log.idle_at == web.clock.now():
                web.clock.advance(3 * 3600)
        stop.set()

    passing = asyncio.create_task(pass_time())
    try:
        seeds = list(web.web.seeds)
        return await crawl(root, {}, seeds, clock=web.clock, stop=stop, log=log, web=web, revisits=revisits())
    finally:
        passing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await passing


def fated(served: Served, *fates: Fate) -> list[str]:
    """Items of these fates that were fetched more than once."""
    web = served.web
    items = [web.item(site, number) for site in web.sites for number in range(site.items)]
    fated = [item.url for item in items if fate_of(web.seed, item.site.host, item.path) in fates]
    return [url for url in fated if len(served.seen_at[url]) > 1]


Weeks = tuple[Served, Crawled, list[Reading]]


def test_an_advertisement_or_a_date_line_is_not_a_change(weeks: Weeks) -> None:
    served, _, readings = weeks
    ignored = fated(served, Fate.ADVERTISES, Fate.DATED)
    assert len(ignored) >= 3
    counts = Counter(reading.page.url.text for reading in readings)
    assert {url: counts[url] for url in ignored} == dict.fromkeys(ignored, 1)


def test_a_new_price_is_a_change_and_in_the_graph_after_one_fetch(weeks: Weeks) -> None:
    served, _, readings = weeks
    web, priced = served.web, fated(served, Fate.PRICED, Fate.PRICED_JSON)
    assert len(priced) >= 2
    for url in priced:
        host, target = Url(url).host.name, Url(url).target
        turns = [web.turn_at(at) for at in served.seen_at[url]]
        wanted = dict.fromkeys([price_of(version_of(web.seed, host, target, turn)) for turn in turns])
        stated = [reading.facts for reading in readings if reading.page.url.text == url]
        assert len(stated) == len(wanted)
        assert all(f'"{price}"'.encode() in facts for price, facts in zip(wanted, stated, strict=True))


def test_at_least_half_of_the_bytes_are_saved_by_304(weeks: Weeks) -> None:
    served, done, _ = weeks
    assert served.sent[304] >= served.sent[200], served.sent
    assert done.ends and "unchanged" in done.ends.values()


def test_removed_pages_leave_the_views_and_new_ones_are_found(weeks: Weeks) -> None:
    _, done, readings = weeks
    last = {reading.page.url.text: reading.page.directives.may_index for reading in readings}
    gone = [url for url, reason in done.ends.items() if reason == "gone" and url in last]
    assert gone and not any(last[url] for url in gone)
    assert any("/news/" in url and is_shown for url, is_shown in last.items())
