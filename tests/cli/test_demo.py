"""The first thing a newcomer runs."""

import json
import os
import re
import signal
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.site import PATIENCE_S, gossamer, started

from gossamer.base.clock import DAY, SystemClock, in_words
from gossamer.base.environment import real_outside
from gossamer.collection.directory import outside_of
from gossamer.demo.changes import known_dates
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only


def test_the_demo_goes_on_serving_after_its_crawl_until_it_is_told_to_stop(tmp_path: Path) -> None:
    demo = started("demo", "--pages", "40", "--traps", "0", "--dir", tmp_path / "demo", "--port", "0")
    try:
        assert demo.stderr is not None
        told = ""
        while "Ctrl-C ends the demo" not in told:
            line = demo.stderr.readline()
            assert line, f"the demo ended by itself: {told}"
            told += line
        links = set(re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", told))
        assert len(links) == 1, "the link that was printed first still holds"
        with urllib.request.urlopen(links.pop(), timeout=PATIENCE_S) as page:
            assert page.status == 200 and b"Gossamer" in page.read()
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=PATIENCE_S)
        assert demo.returncode == 0
    finally:
        demo.kill()
        demo.communicate()


ASKED = ("q=the", "q=of", "q=in", "since=2000-01-01", "q=-type:Person", "not_lang=xx")


def ask(address: str) -> str:
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode()
        return text


def every_hit(site: str, question: str) -> int:
    """Page by page to the end; how many there are, copies counted."""
    found, total, start = 0, 1, 0
    while start < total:
        answer = json.loads(ask(f"{site}/search.json?{question}&limit=100&from={start}"))
        assert answer["unreadable"] == [] and set(answer["facets"]) >= {"type", "site", "lang"}
        found, total, start = found + sum(hit["copies"] for hit in answer["hits"]), answer["total"], start + 100
    return found


def seen_beside(where: Path) -> None:
    """Another process counts the days of this web too: it is some weeks old, not a year."""
    fresh = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert fresh["all"]["average_age_days"] < 60, "by the wall clock it would be a year"
    assert fresh["at"][:10] < in_words(SystemClock().now())[:10]
    due = json.loads(gossamer("revisits", "--due", "--limit", "0", "--dir", where, "--json").stdout)
    every = json.loads(gossamer("revisits", "--limit", "0", "--dir", where, "--json").stdout)
    assert len(due) < len(every), "not every page is late"
    why = gossamer("why", every[0]["url"], "--dir", where).stdout
    assert "days ago" not in why.replace(".", "") or not re.search(r"\b3\d\d days ago", why), why
    told = json.loads(gossamer("status", "--dir", where, "--json").stdout)
    assert told["processes"] and all(one["silent_s"] < PATIENCE_S for one in told["processes"])


@pytest.mark.timeout(600)
def test_a_web_that_changes_is_searched_while_it_changes_and_after(tmp_path: Path) -> None:
    """Pages that vanished leave entries without words; no question meets one. What is told of the crawl is told by the
    clock on the wall, though the days of this web last a second."""
    where = tmp_path / "demo"
    demo = started("demo", "--changing", "--dir", where, "--port", "0", "--day", "1")
    try:
        assert demo.stderr is not None
        told = ""
        while not re.search(r"^day .*; [1-9]\d* revisits?", told, re.MULTILINE):  # later lines come ever more rarely
            line = demo.stderr.readline()
            assert line, f"the demo ended by itself: {told}"
            told += line
        site = re.findall(r"http://127\.0\.0\.1:\d+", told)[0]
        for question in ASKED:
            assert every_hit(site, question) > 0, question
            assert "<ol" in ask(f"{site}/?{question}")
        assert 'data-state="running"' in ask(f"{site}/crawl")
        figures = json.loads(ask(f"{site}/nodes.json"))
        assert figures["totals"]["words_lag_s"] < PATIENCE_S and figures["totals"]["facts_lag_s"] < PATIENCE_S
        assert json.loads(ask(f"{site}/crawl/freshness.json"))["all"]["average_age_days"] < 60
        seen_beside(where)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 0
    for words in ("the", "-type:Person", "since:2000"):
        after = gossamer("search", words, "--dir", where, "--facets", "--limit", "100")
        assert after.returncode == 0 and "skipped" not in after.stdout, after.stderr
    assert gossamer("verify", "--dir", where).returncode == 0
    directory = Directory(where)
    with closing(read_only(directory.state)) as state:
        last = max(kept.fetched_at for kept in captures.in_order(state))
    began_at, goes_on_at = known_dates(directory, real_outside())
    ended = outside_of(directory)
    assert 0 <= ended.dates.now() - last < 90 * DAY, "after its end the calendar stands where it ended"
    assert json.loads(gossamer("freshness", "--dir", where, "--json").stdout)["all"]["average_age_days"] < 60
    assert began_at < last < goes_on_at < SystemClock().now(), "the calendar goes on where it ended"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_web_that_changes_is_kept_up_with_and_everything_is_checked(tmp_path: Path) -> None:
    """Two weeks in half a minute. On a machine that has no time for it some pages may not be met: what was must be
    right all the same."""
    where = tmp_path / "demo"
    ran = started(
        "demo", "--changing", "--exit", "--json", "--dir", where, "--port", "0", "--pages", "60", "--day", "1.5",
        "--days", "14",
    )  # fmt: skip
    out, said = ran.communicate(timeout=PATIENCE_S)
    found = json.loads(out)
    wrong = ("taken_for_changes", "prices_missed", "still_shown", "politeness_violations")
    assert {name: found[name] for name in wrong} == {name: [] for name in wrong}
    least_visits, least_spared = (100, 0.5) if os.getloadavg()[0] < 1.0 else (60, 0.1)
    assert found["visits"] > least_visits and found["spared_share"] >= least_spared
    assert ran.returncode == (0 if found["passes"] else 4)
    assert "day " in said and "of the bytes not sent" in said and "Traceback" not in said
    told = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert len(told["samples"]) >= 2 and told["runs"][0]["comes_back"] and told["visits"]["visits"] > least_visits
