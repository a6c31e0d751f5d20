"""`gossamer crawl --forever` as a user starts it: an older collection is revisited and kept up to date."""

import json
import signal
from pathlib import Path

from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, page, searchable, started, wait_until

LEAVES = {f"/{name}": page(name, f"what there is to say about {name}") for name in ("anchors", "buoys", "cranes")}


def home(*links: str) -> str:
    return page("harbour", f"a harbour with {len(links)} pages", *links)


def test_a_collection_is_revisited_and_pages_that_are_gone_leave_the_search(tmp_path: Path) -> None:
    where, pages = tmp_path / "c", {"/": home(*LEAVES), **LEAVES}
    with Site(pages).serving() as site:
        assert gossamer("crawl", site.root, "--dir", where, *QUICK).returncode == 0
        assert searchable(where) == {site.root + path[1:] for path in pages}
        del pages["/buoys"]
        pages["/cranes"] = page("Page not found", "The page you asked for was not found.")
        pages |= {"/": home(*LEAVES, "/docks"), "/docks": page("docks", "there are docks now")}
        before = len(site.hits)
        crawl = started("crawl", "--dir", where, "--forever", *QUICK, "--json")
        wait_until(lambda: {*pages, "/buoys"} <= set(site.hits[before:]), "not every page was revisited")
        expected = {site.root + path[1:] for path in pages if path != "/cranes"}
        wait_until(lambda: searchable(where) == expected, "the views were not updated")
        assert crawl.poll() is None, "the crawl ended by itself"
        crawl.send_signal(signal.SIGINT)
        crawl.communicate(timeout=PATIENCE_S)
        assert searchable(where) == expected
        assert gossamer("rebuild", "--dir", where).returncode == 0
        assert searchable(where) == expected, "a rebuild brought deleted pages back"
    report = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert report["all"]["pages"] == 3 and report["gone"] == 2


def test_without_revisits_freshness_names_the_flag_that_enables_them(tmp_path: Path) -> None:
    with Site({"/": home()}).serving() as site:
        gossamer("crawl", site.root, "--dir", tmp_path / "c", *QUICK)
    done = gossamer("freshness", "--dir", tmp_path / "c")
    assert done.returncode == 1 and "--forever" in done.stdout
