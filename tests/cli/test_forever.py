"""`gossamer crawl --forever` as a user starts it: an older collection is come back to, and kept up to date."""

import json
import signal
from pathlib import Path

from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, page, searchable, started, wait_until

LEAVES = {f"/{name}": page(name, f"what is to be told of {name}") for name in ("anchors", "buoys", "cranes")}


def home(*links: str) -> str:
    return page("harbour", f"a harbour with {len(links)} pages", *links)


def test_a_collection_is_come_back_to_and_what_is_gone_can_no_longer_be_found(tmp_path: Path) -> None:
    where, pages = tmp_path / "c", {"/": home(*LEAVES), **LEAVES}
    with Site(pages).serving() as site:
        assert gossamer("crawl", site.root, "--dir", where, *QUICK).returncode == 0
        assert searchable(where) == {site.root + path[1:] for path in pages}
        del pages["/buoys"]
        pages["/cranes"] = page("Page not found", "The page you asked for was not found.")
        pages |= {"/": home(*LEAVES, "/docks"), "/docks": page("docks", "there are docks now")}
        seen = len(site.hits)
        crawl = started("crawl", "--dir", where, "--forever", *QUICK, "--json")
        wait_until(lambda: {*pages, "/buoys"} <= set(site.hits[seen:]), "not every page was come back to")
        wanted = {site.root + path[1:] for path in pages if path != "/cranes"}
        wait_until(lambda: searchable(where) == wanted, "the views do not follow")
        assert crawl.poll() is None, "it has no end"
        crawl.send_signal(signal.SIGINT)
        crawl.communicate(timeout=PATIENCE_S)
        assert searchable(where) == wanted
        assert gossamer("rebuild", "--dir", where).returncode == 0
        assert searchable(where) == wanted, "a rebuild does not bring it back"
    told = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert told["all"]["pages"] == 3 and told["gone"] == 2


def test_without_pages_that_come_again_freshness_says_how_to_get_there(tmp_path: Path) -> None:
    with Site({"/": home()}).serving() as site:
        gossamer("crawl", site.root, "--dir", tmp_path / "c", *QUICK)
    found = gossamer("freshness", "--dir", tmp_path / "c")
    assert found.returncode == 1 and "--forever" in found.stdout
