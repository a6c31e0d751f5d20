"""Pages that ask not to be copied or quoted, over HTTP: what anybody who searches gets of them."""

from pathlib import Path
from urllib.parse import quote

from tests.cli.site import page
from tests.web.crawling import desk, until

SECRET = "marzipan kept under the counter"
ASKING = '<meta name="robots" content="noarchive">'


def test_M_A3_what_asks_for_no_copy_is_found_and_neither_copied_nor_quoted(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", "an open page about marzipan", "/closed"),
        "/closed": page("Closed", SECRET, facts=ASKING),
    }
    with desk(tmp_path, pages) as here:
        here.change("/crawl/seeds", seeds=here.web.root, reach="host", then="start")
        until(lambda: here.json("/search.json?q=marzipan").get("total") == 2, "the pages cannot be found")
        url = f"{here.web.root}closed"
        where = f"?url={quote(url, safe='')}"
        hits = {one["url"]: one for one in here.json("/search.json?q=marzipan")["hits"]}
        assert hits[url]["snippet"] == [] and not hits[url]["may_cache"] and hits[here.web.root]["snippet"]
        for path in ("/page/cached" + where, "/page" + where + "&show=copy", "/page" + where + "&show=text"):
            assert SECRET not in here.site.ask(path).text, path
        assert here.json("/page.json" + where)["text"] == ""
        for path in ("/search?q=marzipan", "/search.csv?q=marzipan", "/export/pages.jsonl", "/page/cached" + where):
            assert SECRET not in here.site.ask(path, accept="*/*").text, path
        assert "asks not to show a copy" in here.site.ask("/page/cached" + where).text


def test_M_A3_what_is_marked_data_nosnippet_is_found_and_never_quoted(tmp_path: Path) -> None:
    marked = page("Sweets", "toffee at the front", "/").replace("</main>", f"<div data-nosnippet>{SECRET}</div></main>")
    with desk(tmp_path, {"/": marked}) as here:
        here.change("/crawl/seeds", seeds=here.web.root, reach="host", then="start")
        until(lambda: here.json("/search.json?q=marzipan").get("total") == 1, "the page cannot be found")
        for words in ("marzipan", "toffee marzipan", "toffee"):
            (hit,) = here.json(f"/search.json?q={quote(words)}")["hits"]
            assert "marzipan" not in str(hit["snippet"]) and "marzipan" not in hit["description"], words
        assert "toffee" in str(hit["snippet"])
        assert SECRET not in here.site.ask("/?q=marzipan").text
