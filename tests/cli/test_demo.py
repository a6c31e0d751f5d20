"""`gossamer demo`, the first command that a newcomer runs."""

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


def test_the_demo_serves_after_its_crawl_until_it_is_stopped(tmp_path: Path) -> None:
    demo = started("demo", "--pages", "40", "--traps", "0", "--dir", tmp_path / "demo", "--port", "0")
    try:
        assert demo.stderr is not None
        output = ""
        while "Ctrl-C ends the demo" not in output:
            line = demo.stderr.readline()
            assert line, f"the demo ended by itself: {output}"
            output += line
        links = set(re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", output))
        assert len(links) == 1, "the link that was printed first stays valid"
        with urllib.request.urlopen(links.pop(), timeout=PATIENCE_S) as page:
            assert page.status == 200 and b"Gossamer" in page.read()
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=PATIENCE_S)
        assert demo.returncode == 0
    finally:
        demo.kill()
        demo.communicate()


QUERIES = ("q=the", "q=of", "q=in", "since=2000-01-01", "q=-type:Person", "not_lang=xx")


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
        text: str = response.read().decode()
        return text


def count_hits(site: str, query: str) -> int:
    """The hits of all result pages; copies are counted."""
    found, total, start = 0, 1, 0
    while start < total:
        answer = json.loads(get(f"{site}/search.json?{query}&limit=100&from={start}"))
        assert answer["unreadable"] == [] and set(answer["facets"]) >= {"type", "site", "lang"}
        found, total, start = found + sum(hit["copies"] for hit in answer["hits"]), answer["total"], start + 100
    return found


def check_dates_from_another_process(where: Path) -> None:
    """Another process uses the calendar of the demonstration too: the web is some weeks old, not a year."""
    fresh = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert fresh["all"]["average_age_days"] < 60, "by the real clock it would be a year"
    assert fresh["at"][:10] < in_words(SystemClock().now())[:10]
    due = json.loads(gossamer("revisits", "--due", "--limit", "0", "--dir", where, "--json").stdout)
    every = json.loads(gossamer("revisits", "--limit", "0", "--dir", where, "--json").stdout)
    assert len(due) < len(every), "not every page is overdue"
    why = gossamer("why", every[0]["url"], "--dir", where).stdout
    assert "days ago" not in why.replace(".", "") or not re.search(r"\b3\d\d days ago", why), why
    status = json.loads(gossamer("status", "--dir", where, "--json").stdout)
    assert status["processes"] and all(one["silent_s"] < PATIENCE_S for one in status["processes"])


@pytest.mark.timeout(600)
def test_a_changing_web_is_searched_while_it_changes_and_after(tmp_path: Path) -> None:
    """Pages that vanished leave entries without words, and no query returns one. The state of the crawl is reported by
    the real clock, although a day of this web lasts a second."""
    where = tmp_path / "demo"
    demo = started("demo", "--changing", "--dir", where, "--port", "0", "--day", "1")
    try:
        assert demo.stderr is not None
        output = ""
        while not re.search(r"^day .*; [1-9]\d* revisits?", output, re.MULTILINE):  # later lines are less frequent
            line = demo.stderr.readline()
            assert line, f"the demo ended by itself: {output}"
            output += line
        site = re.findall(r"http://127\.0\.0\.1:\d+", output)[0]
        for query in QUERIES:
            assert count_hits(site, query) > 0, query
            assert "<ol" in get(f"{site}/?{query}")
        assert 'data-state="running"' in get(f"{site}/crawl")
        figures = json.loads(get(f"{site}/nodes.json"))
        assert figures["totals"]["words_lag_s"] < PATIENCE_S and figures["totals"]["facts_lag_s"] < PATIENCE_S
        assert json.loads(get(f"{site}/crawl/freshness.json"))["all"]["average_age_days"] < 60
        check_dates_from_another_process(where)
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
    began_at, continues_at = known_dates(directory, real_outside())
    ended = outside_of(directory)
    assert 0 <= ended.dates.now() - last < 90 * DAY, "after the demonstration its calendar stands still"
    assert json.loads(gossamer("freshness", "--dir", where, "--json").stdout)["all"]["average_age_days"] < 60
    assert began_at < last < continues_at < SystemClock().now(), "the calendar continues where it ended"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_crawl_keeps_up_with_a_changing_web_and_checks_its_results(tmp_path: Path) -> None:
    """Two weeks in half a minute. On a busy machine some pages may not be fetched; those that are must still be
    right."""
    where = tmp_path / "demo"
    ran = started(
        "demo", "--changing", "--exit", "--json", "--dir", where, "--port", "0", "--pages", "60", "--day", "1.5",
        "--days", "14",
    )  # fmt: skip
    out, err = ran.communicate(timeout=PATIENCE_S)
    report = json.loads(out)
    wrong = ("taken_for_changes", "prices_missed", "still_shown", "politeness_violations")
    assert {name: report[name] for name in wrong} == {name: [] for name in wrong}
    least_visits, least_spared = (100, 0.5) if os.getloadavg()[0] < 1.0 else (60, 0.1)
    assert report["visits"] > least_visits and report["spared_share"] >= least_spared
    assert ran.returncode == (0 if report["passes"] else 4)
    assert "day " in err and "of the bytes not sent" in err and "Traceback" not in err
    fresh = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert len(fresh["samples"]) >= 2 and fresh["runs"][0]["comes_back"] and fresh["visits"]["visits"] > least_visits
