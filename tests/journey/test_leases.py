"""A crawler that loses leases contacts none of those hosts, and settles the fetches whose leases it still holds."""

import asyncio
import json
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, page, started
from tests.journey.crawling import EventLog, Watched, crawl
from tests.postgres_server import server

from gossamer.frontier.api import LeaseLost
from gossamer.values.visit import Settled, Visit

SEEDS = [f"http://{name}.test/" for name in ("a", "b", "c")]
PAGES = dict.fromkeys(SEEDS, "<p>Words of a page.</p>")


def take_over(frontier: Watched) -> bool:
    """Another crawler holds b.test from now on."""
    frontier._leases.pop("b.test", None)
    return False


def test_no_request_is_sent_without_the_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(self: Watched, visit: Visit) -> bool:
        return visit.url.host.name != "b.test" or take_over(self)

    monkeypatch.setattr(Watched, "holds", holds)
    log = EventLog()
    done = asyncio.run(crawl(tmp_path, PAGES, SEEDS, log=log))
    assert not any("b.test" in url for url in done.asked)
    assert {url for url in done.asked if url in SEEDS} == {SEEDS[0], SEEDS[2]}
    assert done.ends[SEEDS[0]] == done.ends[SEEDS[2]] == "fetched" and SEEDS[1] not in done.ends
    assert [facts for facts in log.named("lease.lost") if "b.test" in str(facts["why"])]


def test_the_rest_of_a_group_is_settled_when_one_lease_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Watched.settle

    async def without_b(self: Watched, done: Sequence[Settled]) -> None:
        if lost := [one.visit.url for one in done if one.visit.url.text == SEEDS[1]]:
            take_over(self)
            raise LeaseLost(lost)
        await settle(self, done)

    monkeypatch.setattr(Watched, "settle", without_b)
    log = EventLog()
    done = asyncio.run(crawl(tmp_path, PAGES, SEEDS, log=log))
    assert set(SEEDS) <= set(done.asked)
    assert done.ends[SEEDS[0]] == done.ends[SEEDS[2]] == "fetched" and SEEDS[1] not in done.ends
    assert {kept.url.text for kept in done.kept} >= {SEEDS[0], SEEDS[2]}
    assert log.named("lease.lost")


def test_a_crawler_that_resumes_after_its_leases_expired_fetches_nothing_that_another_has_taken(tmp_path: Path) -> None:
    """Two crawls share a database. The first is stopped by a signal with a fetch in flight, for longer than a lease."""
    paths = [f"/{number}" for number in range(4)]
    pages = {"/": page("Start", "Words.", *paths)} | {path: page(path, "Words.") for path in paths}
    site, database = Site(pages), server().conninfo_for(tmp_path)
    with site.serving(), site.held():
        first = started("crawl", site.root, "--dir", tmp_path / "one", *QUICK, "--database", database, "--json")
        wait_until(lambda: "/" in site.hits)
        first.send_signal(signal.SIGSTOP)
        try:
            site.is_open.set()
            second = gossamer("crawl", site.root, "--dir", tmp_path / "two", *QUICK, "--database", database)
            assert second.returncode == 0, second.stderr
        finally:
            first.send_signal(signal.SIGCONT)
        out, err = first.communicate(timeout=PATIENCE_S)
        assert first.returncode == 0 and "Traceback" not in err, err
    assert sorted(set(site.pages_hit())) == ["/", *paths]
    assert site.hits.count("/") == 2, "the fetch in flight is repeated once by the other crawler"
    assert all(site.hits.count(path) == 1 for path in paths)
    settled = [json.loads(line) for line in out.splitlines() if '"visit.settled"' in line]
    assert [one["url"] for one in settled if one["kind"] == "page"] == []
    for folder in ("one", "two"):
        status = json.loads(gossamer("status", "--dir", tmp_path / folder, "--json").stdout)
        assert status["pages"] == 5


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.02)
