"""Checks by the server's log whether a crawl with revisits kept up with a changing demonstration web."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant, SystemClock
from gossamer.base.environment import Outside
from gossamer.demo.server import Logged
from gossamer.demo.verdict import SLACK_S, TooEarly, too_early
from gossamer.demo.web import DemoWeb, Fate, fate_of, price_of, version_of
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.values.url import Url
from gossamer.views.facts.store import facts_of, opened
from gossamer.views.words.place import words_reader

BEFORE_DAYS = 365
"""The calendar starts this long ago: the demo can run for as many days before it reaches today."""
LEAST_SPARED = 0.5
PASSED_OVER = (Fate.ADVERTISES, Fate.DATED)
PRICED = (Fate.PRICED, Fate.PRICED_JSON)


class Missed(msgspec.Struct, frozen=True):
    url: str
    says: str


class KeptPages(msgspec.Struct, frozen=True):
    """What the collection holds when the crawl has ended."""

    versions: Mapping[str, Sequence[Instant]]
    """By URL: the captures with a change that counts, including the first."""
    shown: Collection[str]
    """URLs that can be found."""
    facts: Mapping[str, bytes]
    """By URL: its facts in the graph, as N-Quads."""


class ChangingVerdict(msgspec.Struct, frozen=True):
    visits: int
    """Refetches of known pages."""
    passed_over: int
    """Pages that were fetched with another advertisement or date line, and nothing else new."""
    taken_for_changes: tuple[Missed, ...]
    prices: int
    """Prices that were fetched, and are versions of their pages."""
    prices_missed: tuple[Missed, ...]
    spared_share: float
    """The share of the bytes of refetched pages that 304 responses saved."""
    vanished: int
    still_shown: tuple[str, ...]
    """Pages that are gone but can still be found."""
    appeared: int
    politeness_violations: tuple[TooEarly, ...]

    @property
    def passes(self) -> bool:
        failings = (self.taken_for_changes, self.prices_missed, self.still_shown, self.politeness_violations)
        has_seen = self.passed_over and self.prices and self.vanished and self.appeared
        return not any(failings) and bool(has_seen) and self.spared_share >= LEAST_SPARED


def check_changing(
    web: DemoWeb, log: Sequence[Logged], kept: KeptPages, delay_s: float, slack_s: float
) -> ChangingVerdict:
    """`delay_s` and `slack_s` are seconds of the clock that the log was written by."""
    by_url: dict[str, list[Logged]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.asked_at):
        by_url[hit.url].append(hit)
    wrong, passed_over = advertised(web, by_url, kept)
    prices_missed, prices = priced(web, by_url, kept)
    spared, received, visits = bytes_of(by_url, {site.host for site in web.sites})
    gone = [url for url, hits in by_url.items() if hits[-1].status == 410 and hits[0].status == 200]
    news = [url for url in kept.shown if "/news/" in url]
    return ChangingVerdict(
        visits=visits,
        passed_over=passed_over,
        taken_for_changes=tuple(wrong),
        prices=prices,
        prices_missed=tuple(prices_missed),
        spared_share=spared / (spared + received) if spared + received else 0.0,
        vanished=len(gone),
        still_shown=tuple([url for url in gone if url in kept.shown]),
        appeared=len(news),
        politeness_violations=tuple(too_early(log, {}, delay_s - slack_s)),
    )


def changing_verdict(
    web: DemoWeb, directory: Directory, log: Sequence[Logged], delay_s: float, day_s: float
) -> ChangingVerdict:
    """What a crawl stored in a directory, compared with what the server sent. A day of the clock lasts `day_s`."""
    versions: dict[str, list[Instant]] = defaultdict(list)
    with closing(open_state(directory)) as state:
        for kept in captures.in_order(state):
            if kept.is_page:
                versions[kept.url.text].append(kept.fetched_at)
    searcher = words_reader(directory, SystemClock())
    searcher.open()
    shown = {card.url.text for card in searcher.cards()}
    store = opened(directory.graph)
    facts = {url: b"".join(facts_of(store, [Url(url)])) for url, _, _ in items_with(web, PRICED)}
    return check_changing(web, log, KeptPages(versions, shown, facts), delay_s, SLACK_S / day_s * DAY_S)


def known_dates(directory: Directory, outside: Outside) -> tuple[Instant, Instant]:
    """When this web started, and where its calendar continues: after the newest capture of the collection, because a
    capture never replaces a newer one."""
    started_at = outside.clock.now() - round(BEFORE_DAYS * DAY_S) * SECOND
    if not directory.is_begun:
        return started_at, started_at
    with closing(open_state(directory)) as state:
        fetched = [kept.fetched_at for kept in captures.in_order(state)]
    return (min(fetched), max(fetched) + SECOND) if fetched else (started_at, started_at)


def items_with(web: DemoWeb, fates: Collection[Fate]) -> list[tuple[str, str, str]]:
    """URL, host and target of the items with one of these fates."""
    items = [web.item(site, number) for site in web.sites for number in range(site.items)]
    return [
        (item.url, item.site.host, item.path) for item in items if fate_of(web.seed, item.site.host, item.path) in fates
    ]


def advertised(web: DemoWeb, by_url: Mapping[str, Sequence[Logged]], kept: KeptPages) -> tuple[list[Missed], int]:
    wrong, seen = [], 0
    for url, _, _ in items_with(web, PASSED_OVER):
        sent = [hit for hit in by_url.get(url, ()) if hit.status == 200]
        if len(sent) < 2:
            continue
        seen += 1
        if len(kept.versions.get(url, ())) > 1:
            wrong.append(Missed(url, f"{len(kept.versions[url])} versions, of {len(sent)} responses"))
    return wrong, seen


def priced(web: DemoWeb, by_url: Mapping[str, Sequence[Logged]], kept: KeptPages) -> tuple[list[Missed], int]:
    """The first fetch of a price must be a version of its page; the last price must be in the graph."""
    missed, found = [], 0
    for url, host, target in items_with(web, PRICED):
        sent = [hit for hit in by_url.get(url, ()) if hit.status == 200]
        if len(sent) < 2:
            continue
        turns = [web.turn_at(hit.asked_at) for hit in sent]
        wanted = dict.fromkeys([price_of(version_of(web.seed, host, target, turn)) for turn in turns])
        versions = kept.versions.get(url, ())
        if len(versions) != len(wanted):
            missed.append(Missed(url, f"{len(wanted)} prices were fetched, and {len(versions)} versions stored"))
        elif f'"{[*wanted][-1]}"'.encode() not in kept.facts.get(url, b""):
            missed.append(Missed(url, f"the price {[*wanted][-1]} is not in the graph"))
        found += len(wanted)
    return missed, found


def bytes_of(by_url: Mapping[str, Sequence[Logged]], hosts: Collection[str]) -> tuple[int, int, int]:
    """At ordinary hosts: bytes saved by 304 responses, bytes sent again, and the number of refetches."""
    spared = received = visits = 0
    for hits in by_url.values():
        size = None
        for hit in hits if hits[0].host in hosts and hits[0].target != "/robots.txt" else ():
            if size is not None and hit.status in (200, 304):
                visits += 1
                spared += size if hit.status == 304 else 0
                received += hit.size if hit.status == 200 else 0
            size = hit.size if hit.status == 200 else size
    return spared, received, visits
