"""Failed and refused URLs are queued again, pages are fetched again on request, and `why` shows earlier failures."""

import json
import time
from pathlib import Path

import pytest
from tests.cli.site import OPEN, QUICK, Site, gossamer, json_lines, page, searchable, started

from gossamer.base.errors import ConfigError
from gossamer.cli.crawl.retry import selected

PAGES = {"/": page("Home", "The first page.", "/a", "/b"), "/a": page("Apple", "Fruit.")}


def crawled(site: Site, root: Path) -> None:
    done = gossamer("crawl", site.root, "--dir", root, *QUICK)
    assert done.returncode == 0, done.stderr


def test_a_preview_changes_nothing_and_yes_queues_the_urls_again(tmp_path: Path) -> None:
    pages = dict(PAGES)
    with Site(pages).serving() as site:
        crawled(site, tmp_path)
        shown = gossamer("retry", "--reason", "gone", "--dir", tmp_path)
        assert shown.returncode == 0 and f"{site.root}b" in shown.stdout and "use --yes to do it" in shown.stdout
        preview = json.loads(gossamer("retry", "--reason", "gone", "--json", "--dir", tmp_path).stdout)
        assert preview["urls"] == 1 and preview["waiting"] is None and preview["groups"][0]["reason"] == "gone"
        assert json.loads(gossamer("status", "--json", "--dir", tmp_path).stdout)["queued"] == 0
        pages["/b"] = page("Banana", "It is there now.")
        done = gossamer("retry", "--url", f"{site.root}b", "--yes", "--dir", tmp_path)
        assert done.returncode == 0 and "1 URL queued again" in done.stdout
        last = json_lines(gossamer("crawl", "--dir", tmp_path, "--json").stdout)[-1]
        assert last["outcomes"] == {"fetched": 3} and site.pages_hit().count("/a") == 1
        assert gossamer("retry", "--reason", "gone", "--dir", tmp_path).returncode == 1
        why = gossamer("why", f"{site.root}b", "--dir", tmp_path)
        assert "before that gone" in why.stdout
        trail = json.loads(gossamer("why", f"{site.root}b", "--dir", tmp_path, "--json").stdout)
        assert [one["reason"] for one in trail["failures"]] == ["gone"]


@pytest.mark.parametrize("selection", [((), "", ()), (("fetched",), "", ()), (("no-such",), "", ())])
def test_an_invalid_selection_is_refused(selection: tuple[tuple[str, ...], str, tuple[str, ...]]) -> None:
    with pytest.raises(ConfigError):
        selected(*selection)


def test_a_page_is_fetched_again_on_request_and_one_that_is_gone_leaves_the_search(tmp_path: Path) -> None:
    pages = dict(PAGES)
    with Site(pages).serving() as site:
        crawled(site, tmp_path)
        pages["/a"] = page("Apricot", "Another fruit.")
        again = gossamer("crawl", "--again", f"{site.root}a", "--dir", tmp_path)
        assert again.returncode == 0, again.stderr
        assert site.pages_hit().count("/a") == 2 and site.pages_hit().count("/") == 1
        assert "Apricot" in gossamer("search", "apricot", "--dir", tmp_path).stdout
        del pages["/a"]
        assert gossamer("crawl", "--again", "all", "--dir", tmp_path).returncode == 0
        assert site.pages_hit().count("/") == 2
        assert searchable(tmp_path) == {site.root}
        unknown = gossamer("crawl", "--again", f"{site.root}never", "--dir", tmp_path)
        assert unknown.returncode == 2 and "seed" in unknown.stderr


def test_a_running_crawl_fetches_it_again(tmp_path: Path) -> None:
    many = {"/": page("Home", "All.", *[f"/p{n}" for n in range(60)])}
    many |= {f"/p{n}": page(f"Page {n}", f"Number {n}.") for n in range(60)}
    with Site(many).serving() as site:
        crawl = started("crawl", site.root, "--dir", tmp_path, *OPEN, "--delay", "0.3")
        try:
            while "/p1" not in site.hits and crawl.poll() is None:
                time.sleep(0.05)
            again = gossamer("crawl", "--again", site.root, "--dir", tmp_path)
            assert again.returncode == 0 and "the running crawl fetches 1 URL again" in again.stderr
        finally:
            crawl.communicate(timeout=300)
        assert site.pages_hit().count("/") == 2


def test_why_calls_a_filter_with_the_real_depth_of_the_url(tmp_path: Path) -> None:
    chain = {"/": page("Home", "0", "/1"), "/1": page("One", "1", "/2"), "/2": page("Two", "2", "/3")}
    filters = {"GOSSAMER_CRAWL_FILTERS": "mine.py:shallow"}
    root = tmp_path / "c"
    root.mkdir()
    (root / "mine.py").write_text("def shallow(url, depth):\n    return depth < 3 or f'asked at {depth}'\n")
    with Site(chain).serving() as site:
        assert gossamer("trust", "--dir", root, "--allow", **filters).returncode == 0
        assert gossamer("crawl", site.root, "--dir", root, *QUICK, **filters).returncode == 0
        assert "/3" not in site.hits
        why = gossamer("why", f"{site.root}3", "--dir", root, **filters)
    assert "asked at 3" in why.stdout, why.stdout
