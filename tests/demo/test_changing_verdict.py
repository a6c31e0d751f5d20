"""The verdict on a crawl with revisits: it passes when all is right, and fails for each kind of error."""

from dataclasses import replace
from functools import lru_cache

import msgspec
import pytest

from gossamer.base.clock import SECOND
from gossamer.demo.changes import PRICED, ChangingVerdict, KeptPages, check_changing, items_with
from gossamer.demo.pages import DemoRequest
from gossamer.demo.server import Logged
from gossamer.demo.web import DemoWeb, Fate, price_of, version_of

DAY = 86_400 * SECOND
START_AT = 1_700_000_000 * SECOND
WEB = replace(DemoWeb(1, 12, 72), turn_s=2 * 86_400.0, started_at=START_AT)
NEWS = f"{WEB.sites[0].origin}/news/1"


@lru_cache(maxsize=1)
def perfect_crawl() -> tuple[tuple[Logged, ...], KeptPages]:
    """Every item fetched once a day, by a crawl that misses nothing."""
    hits: list[Logged] = []
    versions: dict[str, list[int]] = {}
    facts: dict[str, bytes] = {}
    shown = {NEWS}
    for place, (url, host, target) in enumerate(items_with(WEB, tuple(Fate))):
        etag, last = "", ""
        for day in range(14):
            now = START_AT + day * DAY + place * 1000 * SECOND
            answer = WEB.answer(DemoRequest(host, target, "", etag, 0, now))
            hits.append(Logged(host, target, answer.status, now, now + SECOND, len(answer.body)))
            etag = dict(answer.headers).get("ETag", etag)
            price = price_of(version_of(WEB.seed, host, target, WEB.turn_at(now)))
            is_new = not versions.get(url) or (price != last and (url, host, target) in items_with(WEB, PRICED))
            if answer.status == 200 and is_new:
                versions.setdefault(url, []).append(now)
                facts[url] = f'<a> <b> "{price}" .'.encode()
                last = price
            shown = shown | {url} if answer.status != 410 else shown - {url}
    return tuple(hits), KeptPages(versions, shown, facts)


def verdict(hits: tuple[Logged, ...] | None = None, **other: object) -> ChangingVerdict:
    seen, kept = perfect_crawl()
    return check_changing(WEB, hits if hits is not None else seen, msgspec.structs.replace(kept, **other), 100.0, 1.0)


def test_a_crawl_that_misses_nothing_passes() -> None:
    found = verdict()
    assert found.passes, found
    assert found.passed_over >= 3 and found.prices >= 10 and found.vanished >= 1 and found.spared_share > 0.5


def test_a_date_taken_for_a_change_is_reported() -> None:
    dated = items_with(WEB, (Fate.DATED, Fate.ADVERTISES))[0][0]
    found = verdict(versions={**perfect_crawl()[1].versions, dated: [1, 2, 3]})
    assert not found.passes and [one.url for one in found.taken_for_changes] == [dated]


@pytest.mark.parametrize("part", ["versions", "facts"])
def test_a_missed_price_is_reported(part: str) -> None:
    kept = perfect_crawl()[1]
    priced = max(items_with(WEB, PRICED), key=lambda one: len(kept.versions[one[0]]))[0]
    wrong = {"versions": {**kept.versions, priced: [1]}, "facts": {**kept.facts, priced: b""}}[part]
    found = verdict(**{part: wrong})
    assert not found.passes and [one.url for one in found.prices_missed] == [priced]


def test_a_page_that_is_gone_but_still_found_fails_and_so_does_a_missing_new_page() -> None:
    hits, kept = perfect_crawl()
    everything = {hit.url for hit in hits} | {NEWS}
    assert len(verdict(shown=everything).still_shown) == verdict().vanished
    assert not verdict(shown=set(kept.shown) - {NEWS}).passes


def test_bytes_sent_again_and_early_fetches_are_reported() -> None:
    hits, _ = perfect_crawl()
    again = tuple([msgspec.structs.replace(hit, status=200, size=9_000) if hit.status == 304 else hit for hit in hits])
    assert not verdict(again).passes and verdict(again).spared_share == 0.0
    early = (*hits, msgspec.structs.replace(hits[0], asked_at=hits[0].asked_at + 10 * SECOND))
    assert len(verdict(early).politeness_violations) == 1
