"""Pages that ask not to be copied or quoted: what a client gets of them over HTTP."""

from pathlib import Path
from urllib.parse import quote

from tests.cli.site import page
from tests.web.crawling import admin_site, until

SECRET = "marzipan kept under the counter"
NOARCHIVE = '<meta name="robots" content="noarchive">'


def test_M_A3_a_page_with_noarchive_is_found_but_neither_copied_nor_quoted(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", "an open page about marzipan", "/closed"),
        "/closed": page("Closed", SECRET, facts=NOARCHIVE),
    }
    with admin_site(tmp_path, pages) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, reach="host", then="start")
        until(lambda: admin.json("/search.json?q=marzipan").get("total") == 2, "the pages are not found")
        url = f"{admin.web.root}closed"
        where = f"?url={quote(url, safe='')}"
        hits = {one["url"]: one for one in admin.json("/search.json?q=marzipan")["hits"]}
        assert hits[url]["snippet"] == [] and not hits[url]["may_cache"] and hits[admin.web.root]["snippet"]
        for path in ("/page/cached" + where, "/page" + where + "&show=copy", "/page" + where + "&show=text"):
            assert SECRET not in admin.site.ask(path).text, path
        assert admin.json("/page.json" + where)["text"] == ""
        for path in ("/search?q=marzipan", "/search.csv?q=marzipan", "/export/pages.jsonl", "/page/cached" + where):
            assert SECRET not in admin.site.ask(path, accept="*/*").text, path
        assert "asks not to show a copy" in admin.site.ask("/page/cached" + where).text


def test_M_A3_text_marked_data_nosnippet_is_found_but_never_quoted(tmp_path: Path) -> None:
    marked = page("Sweets", "toffee at the front", "/").replace("</main>", f"<div data-nosnippet>{SECRET}</div></main>")
    with admin_site(tmp_path, {"/": marked}) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, reach="host", then="start")
        until(lambda: admin.json("/search.json?q=marzipan").get("total") == 1, "the page is not found")
        for words in ("marzipan", "toffee marzipan", "toffee"):
            (hit,) = admin.json(f"/search.json?q={quote(words)}")["hits"]
            assert "marzipan" not in str(hit["snippet"]) and "marzipan" not in hit["description"], words
        assert "toffee" in str(hit["snippet"])
        assert SECRET not in admin.site.ask("/?q=marzipan").text
