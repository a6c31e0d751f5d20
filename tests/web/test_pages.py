"""Each page and its JSON, as a browser or a program gets them."""

from urllib.parse import quote

import pytest
from tests.web.hostile_pages import pages
from tests.web.site import Site

from gossamer.extract.source import SYNTAXES
from gossamer.search.query import LONGEST_QUERY

HOSTILE = len(list(pages()))


def first_url(site: Site, words: str) -> str:
    return str(site.ask(f"/search.json?q={quote(words)}").json["hits"][0]["url"])


def test_the_start_page_has_one_search_box_numbers_and_examples(site: Site) -> None:
    page = site.ask("/").page
    assert len(page.css("input[type=search]")) == 1
    assert page.css_first("input[type=search]").attributes["autofocus"] is None
    assert int(page.css_first("[data-number=pages]").text()) > 50
    assert "type:Person" in page.css_first("dl.ways").text()
    assert [link.text() for link in page.css("main p a")][:2] == ["harbour", "type:Recipe"]


def test_a_result_shows_title_url_snippet_and_types(site: Site) -> None:
    page = site.ask("/?q=harbour").page
    hits = page.css("ol.hits > li")
    assert 0 < len(hits) <= 10
    assert any("harbour" in mark.text().lower() for mark in page.css("ol.hits mark"))
    assert all(hit.css_first("h2 a").attributes["href"].startswith("/page?url=http%3A//") for hit in hits)
    assert page.css_first("#result-count[role=status]").text().strip()[0].isdigit()


def test_a_search_by_type_finds_only_that_type_and_its_links_do_not_repeat_the_filter(site: Site) -> None:
    answer = site.ask("/search.json?q=type%3ARecipe").json
    assert answer["total"] > 0 and all("http://schema.org/Recipe" in hit["types"] for hit in answer["hits"])
    kinds = [link.attributes["href"] for link in site.ask("/?type=http://schema.org/Recipe").page.css(".tags a")]
    assert kinds and all(href.count("type=http%3A%2F%2Fschema.org%2FRecipe") == 1 for href in kinds)


def test_japanese_is_found_and_marked_as_japanese(site: Site) -> None:
    page = site.ask("/?q=lang%3Aja").page
    assert page.css("ol.hits h2 a[lang=ja]") and page.css("ol.hits p[lang=ja]")
    word = quote("港")
    results = site.ask(f"/?q={word}").page
    assert "港" in [mark.text() for mark in results.css("mark")]


def test_a_phrase_finds_words_in_that_order(site: Site) -> None:
    title = site.ask("/search.json?q=type%3ARecipe").json["hits"][0]["title"].split(" - ")[0]
    hits = site.ask(f"/search.json?q={quote(chr(34) + title + chr(34))}").json["hits"]
    assert title in hits[0]["title"]


def test_an_empty_result_says_what_to_try(site: Site) -> None:
    answer = site.ask("/?q=qwertzuiop")
    assert answer.status == 200
    message = " ".join(answer.page.css_first(".empty").text().split())
    assert message.startswith("No page matches. Try fewer or different words")


def test_pages_with_only_some_of_the_words_are_found_and_a_note_says_so(site: Site) -> None:
    page = site.ask("/?q=harbour+qwertzuiop").page
    assert page.css("ol.hits > li") and "some of them" in page.css_first(".note").text()


def test_results_are_paged_and_each_page_has_its_own_url(site: Site) -> None:
    first = site.ask("/?q=demo").page
    next_page = first.css_first("a[rel=next]").attributes["href"]
    second = site.ask(next_page).page
    assert next_page.endswith("&from=10") and second.css_first("ol.hits").attributes["start"] == "11"
    assert site.ask(second.css_first("a[rel=prev]").attributes["href"]).page.css("ol.hits > li")
    beyond = site.ask("/?q=harbour&from=990")
    assert beyond.status == 200 and "No more results" in beyond.text


@pytest.mark.parametrize(
    "target", ["/?q=demo&from=-1", "/?q=demo&from=x", "/?q=demo&from=100000", "/search.json?q=a&from=x"]
)
def test_an_invalid_offset_is_refused_with_a_message(site: Site, target: str) -> None:
    answer = site.ask(target)
    assert answer.status == 400 and "“from”" in answer.text


@pytest.mark.parametrize(
    "words",
    ["", "-", '"', "type:", "site:", '"unclosed', "(((((", "*", "a" * 900, "\x00", "-harbour", "AND OR NOT", "\\", "%"],
)
def test_no_typed_query_is_an_error(site: Site, words: str) -> None:
    assert site.ask("/?q=" + quote(words)).status == 200


def test_a_query_that_is_too_long_is_refused_with_a_message(site: Site) -> None:
    answer = site.ask("/?q=" + "a" * (LONGEST_QUERY + 1))
    assert answer.status == 400 and f"{LONGEST_QUERY:,} characters" in answer.page.css_first("[role=alert]").text()
    assert site.ask("/search.json?q=" + "a" * (LONGEST_QUERY + 1)).json["error"].startswith("A search may be")


def test_invalid_utf_8_is_not_a_server_error(site: Site) -> None:
    for target in (
        "/?q=%ff%fe",
        "/?q=%ed%a0%80",
        "/page?url=%ff",
        "/sparql?query=%ff",
        "/%ff",
        "/static/%00",
        "/static/%ff",
    ):
        assert site.ask(target).status in (200, 400, 404)


def test_the_page_view_has_facts_text_links_and_captures(site: Site) -> None:
    target = f"/page?url={quote(first_url(site, 'type:Recipe'), safe='')}"
    shown = {
        "facts": ("Facts stated by this page", "schema:Recipe"),
        "text": ("Text",),
        "links": ("Incoming links", "Outgoing links"),
        "versions": ("first seen", "gossamer-00000001"),
    }
    for section, parts in shown.items():
        answer = site.ask(f"{target}&show={section}")
        assert answer.status == 200 and all(part in answer.page.css_first("main").text() for part in parts)
        assert answer.page.css_first(".address a").attributes["rel"] == "noopener noreferrer nofollow external"


def test_the_page_view_as_json(site: Site) -> None:
    url = first_url(site, "type:Recipe")
    page = site.ask(f"/page.json?url={quote(url, safe='')}").json
    assert page["url"] == url and page["text"] and page["outgoing"] and page["versions"][0]["status"] == 200
    properties = {fact["property"]["value"] for fact in page["facts"]}
    assert "http://schema.org/name" in properties and page["facts_as_of"]
    assert {fact["path"]["value"][:6] for fact in page["facts"]} == {"/html/"}, "each fact has its element"
    assert all(fact["syntax"]["value"] for fact in page["facts"])


def test_the_page_view_shows_the_syntax_and_element_of_each_fact(site: Site) -> None:
    page = site.ask(f"/page?url={quote(first_url(site, 'type:Recipe'), safe='')}").page
    sources = [cell.text().strip() for cell in page.css("table.facts td.source")]
    assert sources and all("/html/" in one for one in sources)
    syntaxes = {name for summary in page.css("td.source summary") for name in summary.text().split(", ")}
    assert syntaxes and syntaxes <= set(SYNTAXES)


def test_links_between_entities_lead_to_anchors_on_the_page(site: Site) -> None:
    page = site.ask(f"/page?url={quote(first_url(site, 'type:Recipe'), safe='')}").page
    inner = [link.attributes["href"] for link in page.css("table.facts a") if link.attributes["href"].startswith("#")]
    assert inner and all(page.css_first(f"tbody[id='{href[1:]}']") for href in inner)


def test_a_page_without_facts_says_so(site: Site) -> None:
    hits = site.ask("/search.json?q=demo").json["hits"] + site.ask("/search.json?q=list").json["hits"]
    plain = next(hit["url"] for hit in hits if not hit["fact_count"])
    assert "No structured data was found" in site.ask(f"/page?url={quote(plain, safe='')}").text


def test_a_page_that_was_not_crawled_is_not_found_with_possible_reasons(site: Site) -> None:
    answer = site.ask("/page?url=http://nowhere.test/")
    assert answer.status == 404 and "robots.txt" in answer.page.css_first("[role=alert]").text()
    assert site.ask("/page.json?url=http://nowhere.test/").json["error"]


@pytest.mark.parametrize(
    "url", ["", "%20", "x", "javascript:alert(1)", "file:///etc/passwd", "../../etc/passwd", "http://"]
)
def test_an_invalid_url_is_refused(site: Site, url: str) -> None:
    assert site.ask(f"/page?url={url}").status in (400, 404)


def test_the_status_page_shows_counts_and_reasons(site: Site) -> None:
    page = site.ask("/status").page
    assert page.css_first("h1").text() == "Crawl: idle"
    rows = {row.css_first("td").text(): row.css("td")[2].text() for row in page.css("table")[0].css("tbody tr")}
    assert rows["robots"] == "disallowed by robots.txt"
    assert "ended, last heartbeat" in page.css("table")[1].text()
    numbers = site.ask("/status.json").json
    assert numbers["state"] == "idle" and numbers["numbers"]["queued"] == 0
    assert numbers["outcomes"]["fetched"] >= numbers["numbers"]["pages"] - HOSTILE > 0
    assert {"name", "pid", "age_s", "facts"} == set(numbers["processes"][0])


def test_an_empty_collection_has_all_pages(empty_site: Site) -> None:
    assert empty_site.ask("/").status == 200
    assert empty_site.ask("/status").page.css_first("h1").text() == "Crawl: idle"
    assert "No page matches" in empty_site.ask("/?q=harbour").text
    assert empty_site.ask("/page?url=http://a.test/").status == 404
    assert empty_site.sparql("ASK { ?s ?p ?o }").json["boolean"] is False


def test_the_api_is_described(site: Site) -> None:
    document = site.ask("/openapi.json").json
    assert {"/search.json", "/suggest.json", "/page.json", "/sparql", "/status.json"} <= set(document["paths"])


def test_other_crawlers_are_excluded(site: Site) -> None:
    assert site.ask("/robots.txt").text == "User-agent: *\nDisallow: /\n"
    assert site.ask("/").headers["x-robots-tag"] == "noindex, nofollow"
