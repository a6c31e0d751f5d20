"""Options belong to the collection: they are stored, shown and unset, and URLs wait for a missing one. Options in a
collection from another person allow nothing."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, gossamer, harbour, json_lines, page

from gossamer.cli.crawl.summary import waiting_for_options
from gossamer.fetch.guard import closed_address, forbidden, forbidden_name
from gossamer.store.options import config_of
from gossamer.store.trust import allow_options, allowed_file
from gossamer.values.outcome import Reason
from gossamer.values.visit import EndedGroup

QUICKLY = ("--delay", "0.02")
WIDE = {
    "/": page("Home", "The first page.", "/one", "/deep/1", "/data.csv"),
    "/one": page("One", "Another page.", "/two"),
    "/two": page("Two", "A third one."),
    "/deep/1": page("Deep", "A page in a folder.", "/deep/2"),
    "/deep/2": page("Deeper", "Another one there."),
}


def one_line(text: str) -> str:
    return " ".join(text.split())


def shown(root: Path) -> dict[str, dict[str, object]]:
    done = gossamer("config", "show", "--json", "--dir", root)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found


def crawl_end(*words: object, **variables: str) -> dict[str, object]:
    done = gossamer("crawl", *words, "--json", **variables)
    assert done.returncode == 0, done.stderr
    return json_lines(done.stdout)[-1]


def test_a_crawl_continues_with_the_options_of_its_first_run(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(harbour()).serving() as site:
        assert gossamer("crawl", site.root, "--dir", root, *QUICK, "--max-pages", 3).returncode == 0
        assert len(site.pages_hit()) == 3
        found = shown(root)
        assert found["fetch.allow_addresses"]["value"] == ["127.0.0.0/8"]
        assert str(found["fetch.allow_addresses"]["origin"]).startswith("this collection, given on 20")
        assert found["politeness.delay_s"]["value"] == 0.02
        full = gossamer("crawl", "--dir", root)
        assert full.returncode == 0 and len(site.pages_hit()) == 3, "the limit stays too"
        assert "gossamer config unset crawl.max_pages" in one_line(full.stderr)
        unset = gossamer("config", "unset", "crawl.max_pages", "--dir", root)
        assert unset.returncode == 0 and "default" in unset.stdout
        last = crawl_end("--dir", root)
        assert (last["pages"], last["queued"]) == (8, 0), "without flags, every page was fetched"
        assert gossamer("config", "unset", "crawl.max_pages", "--dir", root).returncode == 2


def test_flags_win_over_stored_options_and_those_over_the_settings_file(tmp_path: Path) -> None:
    with Site({"/": page("Home", "One page.")}).serving() as site:
        assert gossamer("crawl", site.root, "--dir", tmp_path, *QUICK, "--max-depth", 3).returncode == 0
    (tmp_path / "gossamer.toml").write_text("[crawl]\nmax_depth = 9\nmax_pages = 7\n")
    loaded = config_of(tmp_path)
    assert (loaded.settings.crawl.max_depth, loaded.settings.crawl.max_pages) == (3, 7)
    assert loaded.origins["crawl.max_pages"] == "gossamer.toml"
    assert config_of(tmp_path, None, {"crawl.max_depth": 5}).settings.crawl.max_depth == 5


def test_urls_wait_for_a_missing_option_and_are_fetched_once_it_is_given_again(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(harbour()).serving() as site:
        assert gossamer("crawl", site.root, "--dir", root, *QUICK, "--max-pages", 2).returncode == 0
        for name in ("fetch.allow_addresses", "crawl.max_pages"):
            assert gossamer("config", "unset", name, "--dir", root).returncode == 0
        before = list(site.hits)
        closed = gossamer("crawl", "--dir", root)
        words = one_line(closed.stderr)
        assert closed.returncode == 0 and site.hits == before
        assert (
            "URLs wait because their IP addresses are not allowed: 127.0.0.1; continue with --allow-address 127.0.0.1"
            in words
        )
        assert "have been fetched" not in words
        held = crawl_end("--dir", root)["waiting"]
        assert isinstance(held, list) and held[0]["flags"] == "--allow-address 127.0.0.1" and held[0]["urls"] >= 1
        why = gossamer("why", f"{site.root}docs/", "--dir", root)
        last = crawl_end("--dir", root, "--allow-address", "127.0.0.1")
        assert (last["pages"], last["queued"], last["waiting"]) == (8, 0, [])
        assert len(site.pages_hit()) == len(set(site.pages_hit())), "nothing was fetched twice"
        assert "it needs an option: --allow-address 127.0.0.1" in one_line(why.stdout)


def test_urls_wait_if_their_robots_txt_may_not_be_fetched(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site({"/x": page("Other", "Elsewhere.")}).serving() as other:
        pages = {"/": page("Home", "One page.", f"{other.root}x", f"{other.root}y")}
        with Site(pages).serving() as site:
            crawl_end(site.root, "--dir", root, *QUICK, "--max-pages", 1, "--scope", "any")
            for name in ("fetch.allow_addresses", "crawl.max_pages"):
                assert gossamer("config", "unset", name, "--dir", root).returncode == 0
            last = crawl_end("--dir", root)
            assert last["outcomes"] == {"fetched": 1, "address": 2}, "not given up because of a missing robots.txt"
            assert other.hits == []
            last = crawl_end("--dir", root, *QUICK)
            assert last["outcomes"] == {"fetched": 2, "gone": 1} and other.hits[0] == "/robots.txt"


@pytest.mark.parametrize(
    ("narrow", "wide", "later"),
    [
        (("--max-depth", "1"), ("--max-depth", "5"), {"/two", "/deep/2"}),
        (("--max-depth", "0"), ("--max-depth", "1"), {"/one", "/deep/1"}),
    ],
)
def test_a_higher_limit_of_depth_adds_the_urls_that_the_lower_one_excluded(
    narrow: tuple[str, str], wide: tuple[str, str], later: set[str], tmp_path: Path
) -> None:
    root = tmp_path / "c"
    with Site(WIDE).serving() as site:
        crawl_end(site.root, "--dir", root, *QUICK, *narrow)
        assert later.isdisjoint(site.pages_hit())
        crawl_end("--dir", root, *wide)
        assert later <= set(site.pages_hit())
        assert site.pages_hit().count("/") == 1, "nothing is fetched again for it"
        way = json.loads(gossamer("why", f"{site.root}{sorted(later)[-1][1:]}", "--dir", root, "--json").stdout)["way"]
        assert way[-1]["how"] == "seed" and way[0]["how"] == "link", "how it was found is known"


def test_a_wider_scope_adds_the_urls_that_the_narrow_one_excluded(tmp_path: Path) -> None:
    root = tmp_path / "c"
    pages = {**WIDE, "/deep/": page("Folder", "The folder.", "/deep/1", "/two")}
    with Site(pages).serving() as site:
        crawl_end(f"{site.root}deep/", "--dir", root, *QUICK, "--scope", "prefix")
        assert set(site.pages_hit()) == {"/deep/", "/deep/1", "/deep/2"}
        crawl_end("--dir", root, "--scope", "host")
        assert "/two" in site.pages_hit() and site.pages_hit().count("/deep/") == 1


def test_removing_rules_adds_the_urls_that_they_excluded(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(WIDE).serving() as site:
        root.mkdir()
        (root / "rules.txt").write_text('exclude path ~ "^/deep/"\n')
        crawl_end(site.root, "--dir", root, *QUICK)
        assert set(site.pages_hit()) == {"/", "/one", "/two", "/data.csv"}
        (root / "rules.txt").write_text("")
        crawl_end("--dir", root)
        assert {"/deep/1", "/deep/2"} <= set(site.pages_hit())


def test_urls_of_added_media_types_are_fetched_again(tmp_path: Path) -> None:
    root = tmp_path / "c"
    pages = {"/": page("Home", "One page.", "/a.txt"), "/a.txt": "plain words"}
    with Site(pages).serving() as site:
        crawl_end(site.root, "--dir", root, *QUICK, GOSSAMER_FETCH_TYPES="text/html")
        last = crawl_end("--dir", root, GOSSAMER_FETCH_TYPES="text/html,text/plain")
        assert last["outcomes"] == {"fetched": 2} and site.pages_hit().count("/a.txt") == 2
        assert crawl_end("--dir", root, GOSSAMER_FETCH_TYPES="text/html,text/plain")["fetched"] == 0


def test_a_corrected_filter_is_applied_again(tmp_path: Path) -> None:
    root, filters = tmp_path / "c", {"GOSSAMER_CRAWL_FILTERS": "mine.py:judge"}
    root.mkdir()
    with Site(WIDE).serving() as site:
        for body in ("1 / 0", "'/one' in url", "True"):
            (root / "mine.py").write_text(f"def judge(url, depth):\n    return {body}\n")
            assert gossamer("trust", "--dir", root, "--allow", **filters).returncode == 0
            last = crawl_end(site.root, "--dir", root, *QUICK, **filters)
            if body == "1 / 0":
                assert last["outcomes"] == {"fetched": 1, "filter-error": 3}
            elif body == "True":
                assert set(site.pages_hit()) == {*WIDE, "/data.csv"} and site.pages_hit().count("/one") == 1


def test_a_collection_from_another_person_allows_no_address(tmp_path: Path) -> None:
    mine, received = tmp_path / "mine", tmp_path / "received"
    with Site(harbour()).serving() as site:
        assert gossamer("crawl", site.root, "--dir", mine, *QUICK, "--max-pages", 2).returncode == 0
        shutil.copytree(mine, received)
        assert gossamer("config", "unset", "crawl.max_pages", "--dir", received).returncode == 0
        before = list(site.hits)
        done = gossamer("crawl", "--dir", received)
        words = one_line(done.stderr)
        assert site.hits == before, "no address was allowed"
        assert 'asks for fetch.allow_addresses = ["127.0.0.0/8"]: not applied' in words
        assert f"gossamer trust --dir {received} --allow" in words
        option = shown(received)["fetch.allow_addresses"]
        assert option["value"] == [] and option["withheld"] == ["127.0.0.0/8"]
        listed = gossamer("trust", "--dir", received)
        assert listed.returncode == 1 and "not allowed  option  fetch.allow_addresses" in listed.stdout
        assert gossamer("trust", "--dir", received, "--allow").returncode == 0
        assert crawl_end("--dir", received)["pages"] == 8


def test_a_settings_file_in_a_collection_cannot_weaken_security(tmp_path: Path) -> None:
    text = '[fetch]\nallow_addresses = ["10.0.0.0/8"]\ntls = "record"\n[web]\npublic = true\nhost = "0.0.0.0"\n'
    (tmp_path / "gossamer.toml").write_text(text)
    loaded = config_of(tmp_path)
    assert loaded.settings.fetch.allow_addresses == () and loaded.settings.fetch.tls == "verify"
    assert not loaded.settings.web.public and loaded.settings.web.host == "127.0.0.1"
    assert {one.name for one in loaded.withheld} == {"fetch.allow_addresses", "fetch.tls", "web.public", "web.host"}
    assert config_of(tmp_path, tmp_path / "gossamer.toml").settings.web.public, "a file named by the user is applied"
    allow_options(tmp_path, {"web.public": True, "fetch.allow_addresses": ["192.168.0.0/16"]})
    loaded = config_of(tmp_path)
    assert loaded.settings.web.public and loaded.settings.fetch.allow_addresses == (), "another value is not allowed"
    assert allowed_file().stat().st_mode & 0o077 == 0


def test_permissions_of_deleted_collections_are_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    allow_options(gone, {"web.public": True})
    assert str(gone) in allowed_file().read_text()
    gone.rmdir()
    allow_options(tmp_path, {"web.public": True})
    assert str(gone) not in allowed_file().read_text()


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1", "fe80::1", "192.168.0.7", "::ffff:10.0.0.1"])
def test_the_reason_for_a_forbidden_address_names_the_address(address: str) -> None:
    why = forbidden(address, ())
    assert why is not None and closed_address(why) == address


def test_urls_that_no_option_allows_do_not_wait_for_one() -> None:
    for why in (forbidden("169.254.169.254", ()), "port 25 is not for web pages", "not a canonical URL"):
        assert why is not None and closed_address(why) is None
    assert closed_address(str(forbidden_name("localhost", ()))) == "127.0.0.0/8"
    metadata = EndedGroup(Reason.ADDRESS, 2, details=((str(forbidden("169.254.169.254", ())), 2),))
    assert waiting_for_options([metadata]) == []
    (both,) = waiting_for_options(
        [EndedGroup(Reason.ADDRESS, 1, details=(("::1 is not public (loopback)", 1),))], ["a"]
    )
    assert both.flags == "--allow-address a --allow-address ::1"
