"""`gossamer crawl` as a user starts it, on a small web on this machine."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.answers import Web, article
from tests.cli.conftest import Collection
from tests.cli.site import OPEN, PATIENCE_S, QUICK, Site, gossamer, harbour, json_lines, page, searchable, started

from gossamer.archive.catalogue import Catalogue
from gossamer.base.files import DiskFiles
from gossamer.store.directory import Directory
from gossamer.values.url import Url

PAGES = {"/", "/docs/", "/docs/ropes", "/docs/knots", "/people/0", "/people/1", "/people/2", "/people/3"}


def test_json_lines_have_every_fetch_once_and_a_summary_at_the_end(collection: Collection) -> None:
    *_, last = collection.events
    assert last["event"] == "crawl.ended" and last["stopped"] is False
    assert (last["fetched"], last["pages"], last["queued"]) == (8, 8, 0)
    assert last["outcomes"] == {"fetched": 8, "gone": 1, "robots": 1}
    outcomes = {str(event["url"]).removeprefix(collection.origin): event["outcome"] for event in collection.settled()}
    assert {f"/{path}" for path, outcome in outcomes.items() if outcome == "fetched"} == PAGES | {"/robots.txt"}
    assert outcomes["private/x"] == "robots" and outcomes["dead"] == "gone"
    assert sum(int(str(event["facts"])) for event in collection.settled()) == 4 * 3 == last["facts"]


def test_robots_txt_is_fetched_first_and_disallowed_urls_are_never_fetched(collection: Collection) -> None:
    assert collection.hits[0] == "/robots.txt"
    assert "/private/x" not in collection.hits
    assert len(collection.hits) == len(set(collection.hits))


def test_every_acknowledged_page_is_in_the_archive_and_searchable(collection: Collection) -> None:
    directory = Directory(collection.root)
    acknowledged = {str(event["url"]) for event in collection.settled() if event["is_page"]}
    with Catalogue(directory, DiskFiles()) as catalogue:
        for url in acknowledged:
            capture = catalogue.capture(Url(url))
            assert capture is not None and capture.status == 200
    assert searchable(collection.root) == acknowledged


def test_the_crawl_stops_at_max_pages_and_continues_when_the_limit_is_unset(tmp_path: Path) -> None:
    with Site(harbour()).serving() as site:
        first = gossamer("crawl", site.root, "--dir", tmp_path / "c", *QUICK, "--max-pages", 3)
        assert first.returncode == 0 and "3 fetched in this run" in first.stderr
        assert "the limit crawl.max_pages is reached: a higher --max-pages continues" in " ".join(first.stderr.split())
        before = list(site.hits)
        assert len(site.pages_hit()) == 3
        assert gossamer("config", "unset", "crawl.max_pages", "--dir", tmp_path / "c").returncode == 0
        second = gossamer("crawl", "--dir", tmp_path / "c", *QUICK)
        assert second.returncode == 0 and "5 fetched in this run" in second.stderr
        assert set(site.hits[len(before) :]).isdisjoint(before), "nothing is fetched again"
        third = gossamer("crawl", site.root, "--dir", tmp_path / "c", *QUICK)
        assert third.returncode == 0 and "nothing was left to fetch" in third.stderr
        assert len(site.hits) == len(set(site.hits))


@pytest.mark.parametrize(("scope", "hosts"), [("prefix", {"docs"}), ("any", {"docs", "top", "other"})])
def test_scope_limits_which_links_are_followed(scope: str, hosts: set[str], tmp_path: Path) -> None:
    with Site({"/": page("Other", "Another host.")}).serving() as other:
        pages = {
            "/docs/": page("Docs", "Inside.", "/docs/in", "/top", other.root),
            "/docs/in": page("In", "In the folder."),
            "/top": page("Top", "Above the folder."),
        }
        with Site(pages).serving() as site:
            done = gossamer("crawl", f"{site.root}docs/", "--dir", tmp_path / "c", *QUICK, "--scope", scope)
            assert done.returncode == 0, done.stderr
            assert set(site.pages_hit()) == {"/docs/", "/docs/in"} | ({"/top"} if "top" in hosts else set())
            assert bool(other.hits) == ("other" in hosts)


def test_with_keep_structured_only_pages_with_facts_are_stored_in_full(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(harbour(people=2)).serving() as site:
        done = gossamer("crawl", site.root, "--dir", root, *QUICK, "--keep", "structured")
        assert done.returncode == 0, done.stderr
        origin = site.root
        assert set(site.pages_hit()) >= {"/", "/docs/knots"}, "links of pages that are not stored are followed"
    assert searchable(root) == {f"{origin}people/0", f"{origin}people/1"}
    directory = Directory(root)
    with Catalogue(directory, DiskFiles()) as catalogue:
        entry = catalogue.kept(Url(f"{origin}docs/knots"))
        assert entry is not None and not entry.is_page and catalogue.read(entry) is None, "only metadata is stored"
        whole = catalogue.capture(Url(f"{origin}people/0"))
        assert whole is not None and b"Ada 0" in whole.body


def test_a_crawl_that_can_fetch_nothing_says_why_and_fails(tmp_path: Path) -> None:
    with Site({"/robots.txt": "User-agent: *\nDisallow: /\n"}).serving() as site:
        done = gossamer("crawl", site.root, "--dir", tmp_path / "c", *QUICK)
    assert done.returncode == 1
    assert "Nothing was fetched" in done.stderr and "ask the site's owner" in done.stderr


def test_a_server_that_cannot_be_reached_is_reported_with_what_to_check(tmp_path: Path) -> None:
    with Site({}).serving() as site:
        port = site.port
    tries = {"GOSSAMER_POLITENESS_ROBOTS_TRIES": "1"}
    done = gossamer("crawl", f"http://127.0.0.1:{port}/", "--dir", tmp_path / "c", *QUICK, **tries)
    assert done.returncode == 1
    assert "could not be read (connect: no connection to the host)" in done.stderr
    assert "check that the server is up and the port is right" in done.stderr


def test_a_private_address_that_is_not_allowed_is_refused_before_the_directory_is_made(tmp_path: Path) -> None:
    with Site(harbour()).serving() as site:
        done = gossamer("crawl", site.root, "--dir", tmp_path / "c")
        assert done.returncode == 2 and "--allow-address 127.0.0.1" in done.stderr
        assert site.hits == [] and not (tmp_path / "c").exists()


def test_output_into_a_pipe_that_is_closed_stops_the_crawl_cleanly(tmp_path: Path) -> None:
    with Site(harbour()).serving() as site:
        with site.held():
            crawl = started("crawl", site.root, "--dir", tmp_path / "c", *OPEN, "--delay", "0.2", "--json")
            assert crawl.stdout is not None and crawl.stderr is not None
            assert json_lines(crawl.stdout.readline())
            crawl.stdout.close()
        err = crawl.stderr.read()
        assert crawl.wait(PATIENCE_S) == 141 and err == ""
        crawl.stderr.close()
        done = gossamer("crawl", "--dir", tmp_path / "c", *QUICK)
    assert done.returncode == 0
    assert len(site.pages_hit()) == len(set(site.pages_hit())), "pages that were settled are not fetched again"


def test_the_settings_file_of_the_directory_is_used(tmp_path: Path) -> None:
    root = tmp_path / "c"
    root.mkdir()
    (root / "gossamer.toml").write_text('[fetch]\nallow_addresses = ["127.0.0.1"]\n[crawl]\nmax_pages = 1\n')
    assert gossamer("trust", "--dir", root, "--allow").returncode == 0
    with Site(harbour()).serving() as site:
        done = gossamer("crawl", site.root, "--dir", root, "--delay", "0")
        assert done.returncode == 0, done.stderr
        assert len(site.pages_hit()) == 1


def test_help_imports_neither_the_crawler_nor_the_web_site() -> None:
    script = "import sys, gossamer.cli.main; print([name for name in sys.modules if name.startswith('gossamer.')])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "gossamer.crawler.journey" not in loaded and "gossamer.web" not in loaded


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback (::1)")
def test_M_A12_a_server_on_ipv6_is_crawled_if_its_address_is_allowed(tmp_path: Path) -> None:
    with Web({"/": article("home", "/a"), "/a": article("a")}, address="::1").serving() as web:
        refused = gossamer("crawl", web.root, "--dir", tmp_path / "none", *QUICK)
        assert refused.returncode != 0 and not web.hits, "allowing another address does not help"
        done = gossamer("crawl", web.root, "--dir", tmp_path / "c", "--allow-address", "::1", "--delay", "0.02")
        assert done.returncode == 0, done.stderr
        assert web.hits == ["/robots.txt", "/", "/a"]
    assert searchable(tmp_path / "c") == {web.root, f"{web.root}a"}
