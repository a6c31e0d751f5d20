"""Whole crawls with the default settings against failing hosts: on a clock that skips waits, with a real frontier."""

import asyncio
import json
import re
import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.cli.answers import Says, article
from tests.cli.answers import Web as LocalWeb
from tests.cli.site import PATIENCE_S, QUICK, gossamer, person, searchable, started, wait_until
from tests.journey.whole_crawl import Answer, Web, WholeCrawl, crawl, in_dict, moved

from gossamer.config.settings import CrawlSettings, Settings
from gossamer.values.outcome import Reason

HOST = "http://a.test"
HOME = f"{HOST}/"
PAGES = [f"{HOST}/page-{number}" for number in range(12)]
HOUR = 3600.0
DAY_S = 86_400
OUTAGES: dict[str, Answer | None] = {
    "503": Answer("busy", 503),
    "503 with Retry-After": Answer("busy", 503, fields=(("Retry-After", "60"),)),
    "429": Answer("too many", 429),
    "500": Answer("oops", 500),
    "no connection": None,
}


def site(is_broken: Callable[[str, float], bool], broken: Answer | None, robots: str = "") -> Web:
    def answer(url: str, since_s: float) -> Answer | None:
        if url.endswith("/robots.txt"):
            return Answer(robots, 200 if robots else 404, kind="text/plain")
        if is_broken(url, since_s):
            return broken
        return Answer(article("home", *PAGES) if url == HOME else article(url.rpartition("/")[2]))

    return answer


def crawled(root: Path, web: Web, *look_up: str) -> WholeCrawl:
    return asyncio.run(crawl(root, web, [HOME], look_up=look_up))


@pytest.mark.parametrize("how", OUTAGES)
def test_F_H16_an_outage_of_an_hour_loses_no_page(tmp_path: Path, how: str) -> None:
    found = crawled(tmp_path, site(lambda url, at_s: 3 < at_s < HOUR, OUTAGES[how]))
    assert found.counts.by_reason == {"fetched": 13} and found.counts.queued == 0
    assert found.ended_s < 1.5 * HOUR, "the host recovers soon after"
    assert len(found.requests) < 13 + 260, "few requests are sent meanwhile"


def test_F_H16_an_outage_loses_no_page_of_a_host_with_a_long_crawl_delay(tmp_path: Path) -> None:
    robots = "User-agent: *\nCrawl-delay: 20\n"
    found = crawled(tmp_path, site(lambda url, at_s: 50 < at_s < 2 * HOUR - 600, OUTAGES["500"], robots))
    assert found.counts.by_reason == {"fetched": 13}


@pytest.mark.parametrize("broken", [(3,), (11,), (3, 7), (10, 11), (0, 1, 2), (0, 2, 4, 6, 8, 10)])
def test_F_H16_permanently_broken_pages_are_given_up_soon_in_any_order(tmp_path: Path, broken: tuple[int, ...]) -> None:
    bad = [PAGES[number] for number in broken]
    found = crawled(tmp_path, site(lambda url, _: url in bad, OUTAGES["500"]))
    assert [found.times(url) for url in bad] == [3] * len(bad)
    assert found.counts.by_reason == {"fetched": 13 - len(bad), "server-error": len(bad)}
    assert found.ended_s < 600


def test_F_H16_a_permanently_broken_seed_is_given_up_soon(tmp_path: Path) -> None:
    found = crawled(tmp_path, site(lambda *_: True, OUTAGES["500"]))
    assert found.times(HOME) == 3 and found.ended_s < 600


@pytest.mark.parametrize("how", OUTAGES)
def test_F_H16_a_permanently_failing_host_is_retried_for_two_hours_and_its_pages_have_the_reason(
    tmp_path: Path, how: str
) -> None:
    found = crawled(tmp_path, site(lambda url, at_s: at_s > 5, OUTAGES[how]), *PAGES)
    assert 2 * HOUR < found.ended_s < 3.5 * HOUR and found.counts.queued == 0
    given_up = [one for one in found.known.values() if one is not None and one.reason is not Reason.FETCHED]
    assert len(given_up) == 12 - sum(1 for one in found.requests if one.at_s <= 5 and "/page-" in one.url)
    assert {one.reason for one in given_up} == {
        {"no connection": Reason.CONNECT, "500": Reason.SERVER_ERROR}.get(how, Reason.SLOW_DOWN)
    }
    assert all(one.detail and one.failures == 3 for one in given_up)


def test_a_redirect_to_another_spelling_of_itself_is_followed_once(tmp_path: Path) -> None:
    pages = {
        HOME: moved("/;jsessionid=A1B2"),
        f"{HOST}/;jsessionid=A1B2": article("home", "/docs/index.html", "/docs/", "/index.html"),
        f"{HOST}/docs/index.html": moved("/docs/"),
        f"{HOST}/docs/": article("docs", "/"),
    }
    found = crawled(tmp_path, in_dict(pages))
    paths = [one.url.removeprefix(HOST) for one in found.requests]
    assert paths == ["/robots.txt", "/", "/;jsessionid=A1B2", "/docs/index.html", "/docs/"]
    assert found.counts.by_reason == {"fetched": 2}


@pytest.mark.parametrize("ways", ["two", "endless"])
def test_a_loop_between_spellings_ends_within_ten(tmp_path: Path, ways: str) -> None:
    requested: list[str] = []

    def turning(url: str, _: float) -> Answer:
        if url.endswith("/robots.txt"):
            return Answer("", 404)
        requested.append(url)
        if ways == "endless":
            return moved(f"/;jsessionid={len(requested)}")
        return moved("/index.html" if url == HOME else "/")

    found = crawled(tmp_path, turning, HOME)
    known = found.known[HOME]
    assert len(requested) == 11 and known is not None and known.reason is Reason.TOO_MANY_REDIRECTS
    assert found.counts.known == 1


def test_rules_apply_to_the_other_spelling_too(tmp_path: Path) -> None:
    pages = {
        f"{HOST}/robots.txt": Answer("User-agent: *\nDisallow: /*jsessionid\n", kind="text/plain"),
        HOME: article("home", "/a"),
        f"{HOST}/a": moved("/a;jsessionid=9"),
        f"{HOST}/a;jsessionid=9": article("a"),
    }
    found = crawled(tmp_path, in_dict(pages), f"{HOST}/a")
    known = found.known[f"{HOST}/a"]
    assert f"{HOST}/a;jsessionid=9" not in found.pages()
    assert known is not None and known.reason is Reason.ROBOTS


def test_M_E9_a_mirror_is_detected_and_retired_and_the_original_is_fetched_completely(tmp_path: Path) -> None:
    paths = [f"/page-{number}" for number in range(40)]

    def twins(url: str, _: float) -> Answer:
        path = "/" + url.split("/", 3)[3]
        if path == "/robots.txt":
            return Answer("", 404)
        return Answer(article("home", *paths) if path == "/" else article(path.strip("/")))

    found = asyncio.run(crawl(tmp_path, twins, [HOME, "http://m.test/"], look_up=("http://m.test/page-39",)))
    fetches = {name: sum(1 for one in found.requests if name in one.url) for name in ("a.test", "m.test")}
    assert max(fetches.values()) == 42 and min(fetches.values()) < 25
    assert found.counts.retired == 1
    known = found.known["http://m.test/page-39"]
    assert known is not None and known.reason is None, "it stays queued"


def test_F_U8_a_soft_404_is_not_found_by_search_nor_its_facts_also_after_a_rebuild(
    tmp_path: Path,
) -> None:
    root, web = tmp_path / "c", LocalWeb()
    lost = f"<html><head><title>Page not found</title>{person('Jane')}</head><body>Sorry, no such page.</body></html>"
    query = 'SELECT ?g WHERE { GRAPH ?g { ?s ?p "Jane" } }'
    web.answers = {"/": article("home", "/lost", "/there"), "/lost": lost, "/there": article("there")}
    with web.serving():
        assert gossamer("crawl", web.root, "--dir", root, *QUICK).returncode == 0
        output = gossamer("why", web.root + "lost", "--dir", root).stdout
        assert "last fetch: soft-404" in output and "stored, not searchable" in output
        for _ in range(2):
            assert searchable(root) == {web.root, web.root + "there"}
            assert "lost" not in gossamer("sparql", query, "--dir", root).stdout
            assert gossamer("rebuild", "--dir", root).returncode == 0
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_M_E9_a_retired_mirror_is_shown_and_crawled_again_after_reinstate(tmp_path: Path) -> None:
    root, paths = tmp_path / "c", [f"/page-{number}" for number in range(22)]
    pages = {"/": article("home", *paths)} | {path: article(path.strip("/")) for path in paths}
    one, other = LocalWeb(pages), LocalWeb(pages)
    with one.serving(), other.serving():
        assert gossamer("crawl", one.root, other.root, "--dir", root, *QUICK).returncode == 0
        mirror, original = sorted((one, other), key=lambda web: len(web.hits))
        assert len(original.hits) == 24 > len(mirror.hits)
        listed = gossamer("hosts", "--dir", root, "--state", "retired").stdout
        assert mirror.name in listed and f"a mirror of {original.name}" in listed
        assert gossamer("politeness", "--dir", root).returncode == 0
        assert gossamer("hosts", "reinstate", mirror.name, "--dir", root).returncode == 0
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert len(mirror.hits) == 24, "its queued URLs were kept"


def test_a_robots_txt_that_fails_for_days_is_retried_less_and_less_often_and_its_host_not_lost(tmp_path: Path) -> None:
    def answer(url: str, since_s: float) -> Answer:
        if url.endswith("/robots.txt"):
            return Answer("oops", 500) if since_s < 5 * DAY_S else Answer("", 404)
        return Answer(article("home"))

    forever = Settings(crawl=CrawlSettings(revisit="age"))
    found = asyncio.run(crawl(tmp_path, answer, [HOME], forever, until_s=6 * DAY_S, look_up=(HOME,)))
    known = found.known[HOME]
    assert known is not None and known.reason is Reason.FETCHED
    asked = [one.at_s for one in found.requests if one.url.endswith("/robots.txt") and one.at_s < 5 * DAY_S]
    waits = [round(later - sooner) for sooner, later in pairwise(asked)]
    assert len(asked) < 20 and waits == sorted(waits) and waits[0] <= 61 and waits[-1] == DAY_S


def test_a_crawl_that_ends_reports_hosts_skipped_because_of_robots_txt_and_how_to_continue(tmp_path: Path) -> None:
    root, web = tmp_path / "c", LocalWeb({"/robots.txt": Says("oops", 500), "/": article("home")})
    root.mkdir()
    (root / "gossamer.toml").write_text("[politeness]\nrobots_retry_s = 0.1\nrobots_tries = 2\n")
    with web.serving():
        done = gossamer("crawl", web.root, "--dir", root, *QUICK)
        messages = " ".join(done.stderr.split())
        assert f"{web.root}robots.txt could not be read, so its host is skipped" in messages
        assert "the same command tries again" in messages
        (host,) = json.loads(gossamer("hosts", "--dir", root, "--json").stdout)
        assert "could not be read, 2 times in a row (server-error: status 500): given up" in host["says"]
        assert "given up until" in gossamer("why", "--host", web.name, "--dir", root).stdout
        web.answers = {"/": article("home")}
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
    assert web.asked("/") == 1


def test_M_A3_a_recrawl_delay_is_kept_between_any_two_fetches_of_a_page(tmp_path: Path) -> None:
    def answer(url: str, since_s: float) -> Answer:
        if url.endswith("/robots.txt"):
            return Answer("User-agent: *\nRecrawl-delay: 5d\n", kind="text/plain")
        if url.endswith("/broken") and since_s < 20 * DAY_S:
            return Answer("oops", 500)
        return Answer(article(f"on day {since_s // DAY_S:.0f}", "/", "/broken"))

    forever = Settings(crawl=CrawlSettings(revisit="age"))
    found = asyncio.run(crawl(tmp_path, answer, [HOME], forever, until_s=40 * DAY_S))
    for url in (HOME, f"{HOST}/broken"):
        fetches = [one.at_s for one in found.requests if one.url == url]
        assert len(fetches) > 3 and min(later - sooner for sooner, later in pairwise(fetches)) >= 5 * DAY_S


def test_a_crawl_that_waits_to_retry_a_page_reports_which_why_and_until_when(tmp_path: Path) -> None:
    root, web = tmp_path / "c", LocalWeb({"/": article("home", "/broken"), "/broken": Says("oops", 500)})
    root.mkdir()
    (root / "gossamer.toml").write_text("[retry]\nbase_s = 600.0\n")
    with web.serving():
        crawling = started("crawl", web.root, "--dir", root, *QUICK)
        try:
            message = re.compile(rf"waiting .* to retry {web.root}broken: server-error \(status 500\)")
            wait_until(
                lambda: message.search(gossamer("status", "--dir", root).stdout) is not None,
                "it is in the status",
            )
            (waits,) = [one["waits"] for one in processes(root) if "waits" in one]
            assert (waits["what"], waits["url"]) == ("retry", f"{web.root}broken") and waits["until_at"] > 0
            assert message.search(next(line for line in crawling.stderr or () if "to retry" in line)), "in the progress"
        finally:
            crawling.send_signal(signal.SIGINT)
            crawling.communicate(timeout=PATIENCE_S)


def processes(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gossamer("status", "--dir", root, "--json").stdout)["processes"]
    return found


def test_endless_documents_are_given_up_and_do_not_block_their_host(tmp_path: Path) -> None:
    root, endless, plain = tmp_path / "c", ["/endless-1", "/endless-2"], [f"/plain-{number}" for number in range(4)]
    pages: dict[str, str | Says] = {path: article(path[1:]) for path in plain}
    pages |= {path: Says("<p>and so on", is_endless=True) for path in endless}
    web = LocalWeb(pages | {"/": article("home", *endless, *plain)})
    root.mkdir()
    (root / "gossamer.toml").write_text("[fetch]\ntimeout_s = 2.0\n[retry]\nbase_s = 0.1\ntries = 2\n")
    with web.serving():
        done = gossamer("crawl", web.root, "--dir", root, *QUICK)
        assert done.returncode == 0, done.stderr
    asked = [path for path in web.hits if path not in ("/robots.txt", "/")]
    assert asked == [*endless, *plain, *endless], "the other pages are fetched before the retries"
    output = gossamer("why", web.root + "endless-1", "--dir", root).stdout
    assert "unfinished" in output and "within 2 s (fetch.timeout_s)" in output
    (host,) = json.loads(gossamer("hosts", "--dir", root, "--json").stdout)
    assert host["troubles"] == 0
