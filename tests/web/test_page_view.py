"""The page view: each section has its own URL, for pages, for URLs never fetched, and for hosts."""

import asyncio
from urllib.parse import quote

import pytest
from tests.web.hostile_pages import ORIGIN
from tests.web.site import Site, trouble_in

from gossamer.base.errors import QueryTooLong
from gossamer.demo.oddities import ODD
from gossamer.web.page.copy import MOST_AT_ONCE, MOST_WAITING, POLICY, CopyTurns, place_of
from gossamer.web.page.routes import TABS

MUSEUM = "http://museum.demo.test/"
HOSTILE = ORIGIN + "/page/1"


def at(url: str, **more: str) -> str:
    return "/page?url=" + quote(url, safe="") + "".join(f"&{name}={quote(value)}" for name, value in more.items())


def with_body_facts(site: Site) -> str:
    """A page that states facts in its body."""
    for kind in ("Book", "Recipe", "Product", "Person"):
        for hit in site.ask(f"/search.json?q=type%3A{kind}").json["hits"]:
            facts = site.ask("/page.json?url=" + quote(hit["url"], safe="")).json["facts"]
            if any(fact["path"]["value"].startswith("/html/body/") for fact in facts):
                return str(hit["url"])
    raise AssertionError("no such page in the collection")


def test_F_W16_copies_are_made_a_few_at_a_time_and_waiting_requests_hold_no_memory() -> None:
    """A stored response can have tens of megabytes, and hundreds of clients may request copies at once."""
    running = most = 0

    async def make() -> bytes:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return b"a copy"

    async def run() -> list[bytes | str | BaseException]:
        turns = CopyTurns()
        return await asyncio.gather(*[turns.take(make) for _ in range(100)], return_exceptions=True)

    answers = asyncio.run(run())
    assert most == MOST_AT_ONCE and answers.count(b"a copy") == MOST_AT_ONCE + MOST_WAITING
    assert sum(isinstance(one, QueryTooLong) for one in answers) == 100 - MOST_AT_ONCE - MOST_WAITING


@pytest.mark.parametrize(
    ("path", "charset", "charset_from", "words"),
    [
        ("/charset/shift-jis", "shift_jis", "meta", "declared in the page"),
        ("/charset/unsaid", "utf-8", "utf-8", "not declared, valid UTF-8"),
        ("/charset/latin1-called-utf8", "utf-8", "header", "Content-Type header"),
    ],
)
def test_M_C10_the_encoding_and_its_source_are_shown(
    site: Site, path: str, charset: str, charset_from: str, words: str
) -> None:
    url = f"http://{ODD}{path}"
    version = site.ask("/page.json?url=" + quote(url, safe="")).json["versions"][0]
    assert (version["charset"], version["charset_from"]) == (charset, charset_from)
    timeline = site.ask("/page/versions.json?url=" + quote(url, safe="")).json["timeline"]
    assert timeline["versions"][-1]["charset_from"] == charset_from
    visit = site.ask("/page/why.json?url=" + quote(url, safe="")).json["trail"]["visits"][0]
    assert (visit["charset"], visit["charset_from"]) == (charset, charset_from)
    for tab in ("facts", "versions", "why"):
        assert f"{charset} ({words})" in site.ask(at(url, show=tab)).page.css_first("main").text(), tab


@pytest.mark.parametrize("tab", TABS)
def test_every_section_has_its_own_url_and_the_summary(site: Site, tab: str) -> None:
    answer = site.ask(at(MUSEUM, show=tab))
    page = answer.page
    assert answer.status == 200 and page.css_first("nav.tabs a[aria-current]").text() == TABS[tab]
    terms = [one.text() for one in page.css("dl.summary dt")]
    assert terms == ["Last fetched", "Size", "Encoding", "Facts", "Links in", "Links out", "Versions", "Host"]
    assert page.css_first("ul.about .badge").text() == "captured"
    assert [link.attributes["href"].rpartition("=")[2] for link in page.css("nav.tabs a")] == list(TABS)


@pytest.mark.parametrize("tab", [tab for tab in TABS if tab != "copy"])
def test_F_W1_hostile_pages_are_shown_as_text_in_every_section(site: Site, tab: str) -> None:
    assert trouble_in(site.ask(at(HOSTILE, show=tab)).page) == []


def test_an_unknown_section_shows_the_first(site: Site) -> None:
    assert site.ask(at(MUSEUM, show="<script>")).page.css_first("nav.tabs a[aria-current]").text() == "Facts"


def test_links_show_the_state_of_their_targets(site: Site) -> None:
    states = {link["state"] for link in site.ask("/page.json?url=" + quote(MUSEUM, safe="")).json["outgoing"]}
    assert {"captured", "refused"} <= states
    page = site.ask(at(MUSEUM, show="links")).page
    captions = [one.text() for one in page.css("caption")]
    assert "From other sites" in captions or "From the same site" in captions
    assert {"captured", "refused"} <= {one.text() for one in page.css("td .badge")}


def test_M_A9_the_words_of_a_page_are_shown_with_their_counts(site: Site) -> None:
    words = site.ask("/page/words.json?url=" + quote(MUSEUM, safe="")).json["words"]
    assert words == sorted(words, key=lambda one: (-one["count"], one["word"])) and len(words) > 20
    rows = site.ask("/page/words?url=" + quote(MUSEUM, safe="")).page.css("table.words tbody tr")
    assert rows[0].css_first("td").text() == words[0]["word"]


def test_why_shows_the_path_from_the_seed_the_rules_and_the_fetches(site: Site) -> None:
    url = with_body_facts(site)
    page = site.ask(at(url, show="why")).page
    headings = [one.text() for one in page.css("section.trail h3")]
    assert headings[:3] == ["URL", "Discovery", "Rules"] and "Fetches" in headings
    why = site.ask("/page/why.json?url=" + quote(url, safe="")).json
    assert why["is_known"] and why["state"] == "captured"
    assert why["trail"]["way"][-1]["how"] in ("seed", "robots"), "by links, or by a sitemap that robots.txt names"
    assert [section["heading"] for section in why["sections"]][:2] == ["address", "found"]


def test_a_refused_url_has_a_page_that_explains_why(site: Site) -> None:
    outgoing = site.ask("/page.json?url=" + quote(MUSEUM, safe="")).json["outgoing"]
    refused = next(link["url"] for link in outgoing if link["state"] == "refused" and "/private/" in link["url"])
    answer = site.ask(at(refused))
    assert answer.status == 200 and answer.page.css_first("nav.tabs a[aria-current]").text() == "Why"
    assert "robots" in answer.page.css_first("main").text() and "Disallow" in answer.page.css_first("main").text()
    assert "No copy was stored" in site.ask(at(refused, show="copy")).text


def test_an_unknown_url_has_a_page_that_shows_what_the_rules_would_decide(site: Site) -> None:
    answer = site.ask(at("http://nowhere.test/"))
    assert answer.status == 404 and "Rules" in answer.text
    assert site.ask("/page/why.json?url=http://nowhere.test/").json["is_known"] is False


def test_a_url_with_tracking_parameters_finds_its_page(site: Site) -> None:
    page = site.ask("/page.json?url=" + quote(MUSEUM + "?utm_source=x", safe="")).json
    assert page["url"] == MUSEUM and page["versions"]


def test_M_C11_the_copy_is_sandboxed_and_marks_the_elements_that_state_facts(site: Site) -> None:
    url = with_body_facts(site)
    answer = site.ask("/page/cached?url=" + quote(url, safe=""))
    assert answer.status == 200 and answer.headers["content-security-policy"] == POLICY
    assert POLICY.startswith("sandbox ") and "allow-scripts" not in POLICY and "allow-same-origin" not in POLICY
    assert "x-frame-options" not in answer.headers and "set-cookie" not in answer.headers
    facts = site.ask("/page.json?url=" + quote(url, safe="")).json["facts"]
    paths = {fact["path"]["value"] for fact in facts}
    marked = {node.id for node in answer.page.css("[id^=gossamer-]")}
    assert marked == {f"gossamer-{place_of(path)}" for path in paths}
    listed = site.ask(at(url, show="copy")).page
    assert {node.id for node in listed.css(".places li[id]")} == {f"at-{place_of(path)}" for path in paths}
    frame = listed.css_first("iframe")
    assert frame.attributes["sandbox"] == "allow-top-navigation-by-user-activation"


def test_a_copy_is_chosen_by_its_time(site: Site) -> None:
    versions = site.ask("/page.json?url=" + quote(MUSEUM, safe="")).json["versions"]
    target = "/page/cached?url=" + quote(MUSEUM, safe="")
    assert site.ask(f"{target}&at={quote(versions[0]['fetched_at'])}").status == 200
    assert site.ask(f"{target}&at=2001-01-01T00:00:00Z").status == 404
    assert site.ask(f"{target}&at=yesterday").status == 400
    assert "Show the newest copy" in site.ask(at(MUSEUM, show="copy", at="2001-01-01T00:00:00Z")).text


@pytest.mark.parametrize(
    "target",
    [
        "/page/cached?url=../../etc/passwd",
        "/page/cached?url=file:///etc/passwd",
        "/page/cached?url=%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/page/cached?url=http://museum.demo.test/..%5c..%5cstate.db",
        "/page/cached?url=http://museum.demo.test/a%00b",
        "/page/cached?url=%00",
        "/page/cached",
        "/page/cached/../../etc/passwd",
        "/page/cached/%2e%2e/%2e%2e/etc/passwd",
        "/page/..%5c..%5cetc",
        "/page/cached?url=http://museum.demo.test/&at=-1",
        "/page/cached?url=http://museum.demo.test/&at=99999999999999999999",
        "/page/cached?url=http://museum.demo.test/&at=../../x",
        "/page/cached?url=http://museum.demo.test/&at=0001-01-01T00:00:00%2B23:59",
        "/static/../../state.db",
        "/static/..%2f..%2fapp.py",
    ],
)
def test_F_W15_no_path_leads_out_of_the_archive(site: Site, target: str) -> None:
    answer = site.ask(target)
    assert answer.status in (400, 404) and "root:" not in answer.text and "import " not in answer.text


def test_a_host_page_shows_its_minimum_gap_and_what_it_waits_for(site: Site) -> None:
    page = site.ask("/host?name=museum.demo.test").page
    assert page.css_first("h1").text() == "museum.demo.test"
    assert "minimum gap always kept" in page.css_first("main").text()
    host = site.ask("/host.json?name=museum.demo.test").json
    assert host["promise"]["visits"] > 1 and host["promise"]["least_s"] > 0 and host["promise"]["broken"] == 0
    assert host["trail"]["waits"] and host["sections"][0]["heading"] == "host"
    assert site.ask("/host?name=http://museum.demo.test/x").status == 200


@pytest.mark.parametrize("name", ["nowhere.test", "<script>", "..", "a b", "%00", "http://"])
def test_an_unknown_host_is_not_found(site: Site, name: str) -> None:
    assert site.ask("/host?name=" + quote(name)).status == 404
    assert site.ask("/host.json?name=" + quote(name)).json["error"]


def test_a_request_without_a_host_name_is_refused(site: Site) -> None:
    assert site.ask("/host").status == 400


def test_an_empty_collection_has_no_pages_and_no_hosts(empty_site: Site) -> None:
    for target in ("/page?url=http://a.test/", "/page/cached?url=http://a.test/", "/host?name=a.test"):
        assert empty_site.ask(target).status == 404
