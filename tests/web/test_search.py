"""The search page without a browser: each of its states, also as JSON and CSV."""

import asyncio
import csv
import io
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from tests.web.hostile_pages import WORD
from tests.web.site import Site, serving, trouble_in

from gossamer.base.clock import SystemClock
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory
from gossamer.values.query import DEEPEST_HIT, MOST_HITS
from gossamer.web.search.answer import HEAD, Reply, SearchQuestion
from gossamer.web.search.routes import SearchDispatcher
from gossamer.web.search.state import SearchState

PERSON = "http://schema.org/Person"
RECIPE = "http://schema.org/Recipe"
THING = "http://schema.org/Thing"


def total(site: Site, target: str) -> int:
    number = site.ask("/search.json" + target).json["total"]
    assert isinstance(number, int)
    return number


def words(text: str) -> str:
    return " ".join(text.split())


def test_each_group_of_filters_is_computed_from_the_collection(site: Site) -> None:
    page = site.ask("/?q=demo").page
    headings = [heading.text() for heading in page.css("#filters h2")]
    assert headings == ["Type", "Vocabulary", "Property", "Site", "Language", "Syntax", "Fetched"]
    counts = [int(count.text().replace(",", "")) for count in page.css("#facet-site + ul .count")]
    assert counts == sorted(counts, reverse=True) and counts[0] > 0


@pytest.mark.parametrize("target", ["/?q=demo", "/search.json?q=demo", "/suggest.json?q=de"])
def test_the_server_timing_header_has_the_duration(site: Site, target: str) -> None:
    duration = re.fullmatch(r"search;dur=(\d+\.\d)", site.ask(target).headers["server-timing"])
    assert duration and 0 < float(duration[1]) < 60_000


def test_types_are_listed_as_a_tree_under_their_superclasses(site: Site) -> None:
    page = site.ask("/?type=" + quote(RECIPE)).page
    depth = {
        row.css_first("a.value").attributes.get("title"): int(row.attributes["class"].split()[0].removeprefix("depth-"))
        for row in page.css("#facet-type + ul li, #facet-type ~ details li")
    }
    assert depth[THING] == 0 < depth["http://schema.org/CreativeWork"] < depth[RECIPE]


@pytest.mark.parametrize("name", ["type", "ontology", "property", "site", "lang", "syntax"])
def test_the_count_of_a_filter_is_the_number_of_its_results(site: Site, name: str) -> None:
    page = site.ask("/?q=demo").page
    all_pages = total(site, "?q=demo")
    for row in page.css(f"#facet-{name} + ul li")[:3]:
        link, count = row.css_first("a.value").attributes["href"], int(row.css_first(".count").text())
        assert total(site, link[1:]) == count, link
        exclusion = row.css_first("a.not").attributes["href"]
        assert f"not_{name}=" in exclusion and total(site, exclusion[1:]) == all_pages - count


def test_the_count_of_a_date_range_is_the_number_of_its_results(site: Site) -> None:
    page = site.ask("/?q=demo").page
    first = page.css_first("#facet-date + ul li")
    link = first.css_first("a").attributes["href"]
    assert "since=" in link and "until=" in link
    assert total(site, link[1:]) == int(first.css_first(".count").text())
    assert len(site.ask(link).page.css(".chips li")) >= 2


def test_values_of_one_filter_widen_the_search_and_different_filters_narrow_it(site: Site) -> None:
    museum, shop = total(site, "?site=museum.demo.test"), total(site, "?site=shop.demo.test")
    assert total(site, "?site=museum.demo.test&site=shop.demo.test") == museum + shop
    assert total(site, "?site=museum.demo.test&lang=en") <= museum


def test_active_filters_are_chips_that_can_be_removed_one_by_one(site: Site) -> None:
    page = site.ask(f"/?q=demo&not_type={quote(RECIPE, safe='')}&lang=en&since=2020-01-01").page
    chips = {
        words(chip.css_first("span").text(separator=" ")): chip.css_first("a").attributes["href"]
        for chip in page.css(".chips li:not(.all)")
    }
    assert set(chips) == {"not Type Recipe", "Language English", "Fetched from 2020-01-01"}
    without = next(href for text, href in chips.items() if "Language" in text)
    assert dict(parse_qsl(urlsplit(without).query)) == {"q": "demo", "not_type": RECIPE, "since": "2020-01-01"}
    carried = {(one.attributes["name"], one.attributes["value"]) for one in page.css("#carried input")}
    assert carried == {("not_type", RECIPE), ("lang", "en"), ("since", "2020-01-01")}
    assert page.css_first(".chips li.all a").attributes["href"] == "/?q=demo"


def test_a_typed_filter_is_a_chip_too_and_removing_it_keeps_the_words(site: Site) -> None:
    page = site.ask("/?q=" + quote("demo -type:Recipe lang:en")).page
    hrefs = [dict(parse_qsl(urlsplit(a.attributes["href"]).query))["q"] for a in page.css(".chips li:not(.all) a")]
    assert sorted(hrefs) == ["demo -type:Recipe", "demo lang:en"]
    chosen = page.css_first("#facet-lang + ul li.chosen a.value").attributes["href"]
    assert dict(parse_qsl(urlsplit(chosen).query)) == {"q": "demo -type:Recipe"}


def test_a_result_found_through_a_superclass_is_marked_inferred(site: Site) -> None:
    page = site.ask(f"/?type={quote(THING, safe='')}").page
    marked = page.css("ol.hits .tags li.inferred")
    assert marked and all("inferred" in one.text() for one in marked)


def test_M_A9_a_type_can_be_required_or_excluded(site: Site) -> None:
    entities = site.ask(f"/search.json?type={quote(PERSON, safe='')}").json["entities"]
    with_people = site.ask(f"/search.json?q=the&type={quote(PERSON, safe='')}").json
    assert with_people["total"] > 0 and isinstance(entities, list)
    without_people = site.ask(f"/search.json?q=the&not_type={quote(PERSON, safe='')}&limit=100").json
    assert without_people["hits"] and all(PERSON not in hit["types"] for hit in without_people["hits"])


def test_entities_are_listed_next_to_the_results_and_link_to_their_pages(site: Site) -> None:
    entities = site.ask("/search.json?q=harbour+museum").json["entities"]
    assert entities, "the museum is an entity"
    cards = site.ask("/?q=harbour+museum").page.css(".entities li")
    assert words(cards[0].css_first("h3").text()) == entities[0]["name"]
    assert cards[0].css_first("h3 a").attributes["href"].startswith(("/entity?iri=http", "/page?url=http"))
    assert re.search(r"\d+ pages?$", words(cards[0].text()))


def test_each_order_has_its_own_url(site: Site) -> None:
    page = site.ask("/?q=demo").page
    orders = {link.text(): link.attributes["href"] for link in page.css(".orders a")}
    assert set(orders) == {"Best first", "Newest first", "Oldest first"}
    hits = site.ask("/search.json" + orders["Newest first"][1:]).json["hits"]
    assert [hit["fetched_at"] for hit in hits] == sorted((hit["fetched_at"] for hit in hits), reverse=True)
    assert site.ask(orders["Newest first"]).page.css_first(".orders a[aria-current]").text() == "Newest first"


def test_a_misspelled_word_gets_a_correction(site: Site) -> None:
    page = site.ask("/?q=harbuor&lang=en").page
    correction = page.css_first(".correction a")
    assert correction.text() == "harbour"
    assert dict(parse_qsl(urlsplit(correction.attributes["href"]).query)) == {"q": "harbour", "lang": "en"}


def test_the_beginning_of_a_word_finds_words_that_start_with_it_and_a_note_says_so(site: Site) -> None:
    page = site.ask("/?q=harbou").page
    assert page.css("ol.hits > li") and "start with it" in page.css_first(".note").text()
    assert page.css_first("#q").attributes["value"] == "harbou"
    assert page.css_first("link[type='application/json']").attributes["href"] == "/search.json?q=harbou%2A"


def test_an_empty_result_with_filters_offers_to_remove_them(site: Site) -> None:
    page = site.ask("/?q=harbour&lang=xx").page
    assert "with these filters" in page.css_first(".empty").text()
    assert page.css_first(".empty a").attributes["href"] == "/?q=harbour"


def test_the_explanation_of_a_result_shows_each_part_of_its_score(site: Site) -> None:
    page = site.ask("/?q=harbour").page
    answer = site.ask(page.css_first("details.why a").attributes["href"])
    parts = words(answer.page.css_first("#parts").text())
    assert answer.status == 200 and "in the title" in parts and "pages have it there" in parts
    url = site.ask("/search.json?q=harbour").json["hits"][0]["url"]
    explanation = site.ask(f"/search/why.json?q=harbour&url={quote(url, safe='')}").json
    assert explanation["url"] == url and explanation["words"][0]["word"] == "harbour"
    assert abs(explanation["score"] - sum(word["score"] for word in explanation["words"])) < 0.01


@pytest.mark.parametrize(
    "target", ["?q=harbour", "?url=http://museum.demo.test/", "?q=harbour&url=javascript:alert(1)"]
)
def test_an_explanation_without_query_and_page_is_refused_with_a_message(site: Site, target: str) -> None:
    assert site.ask("/search/why" + target).status == 400
    assert site.ask("/search/why.json" + target).json["error"]


def test_suggestions_complete_the_typed_text(site: Site) -> None:
    suggestions = site.ask("/suggest.json?q=harb").json["suggestions"]
    assert 0 < len(suggestions) <= 8 and all("harb" in one["text"].lower() for one in suggestions)
    assert {one["kind"] for one in suggestions} <= {"title", "name", "word"}
    for typed in ("", "%20", "a" * 300, "%ff", "qwertzuiop", '"'):
        assert site.ask(f"/suggest.json?q={typed}").json == {"suggestions": []}


def test_results_as_csv_can_be_opened_in_a_spreadsheet(site: Site) -> None:
    answer = site.ask("/search.csv?q=harbour", accept="*/*")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert len(rows) > 10 and rows[0]["url"].startswith("http://") and int(rows[0]["facts"]) >= 0
    assert rows[0]["fetched_at"].endswith("Z")


def test_csv_has_all_results_up_to_the_limit(site: Site) -> None:
    """It was once cut at 100 results, silently."""
    query = "/search.csv?q=site:demo.test"
    total = site.ask("/search.json?q=site:demo.test").json["total"]
    rows = list(csv.DictReader(io.StringIO(site.ask(query, accept="*/*").text, newline="")))
    assert total >= 100 and sum(int(row["copies"]) for row in rows) == total
    assert len({row["url"] for row in rows}) == len(rows)
    assert len(site.ask(query + "&limit=7", accept="*/*").text.splitlines()) == 8

    beyond = site.ask(query + f"&from={DEEPEST_HIT - MOST_HITS}", accept="*/*").text.splitlines()
    assert len(beyond) == 1, "no results there, and no line that says the list was cut"


def test_the_last_line_of_a_csv_that_was_cut_names_the_export_with_all_results() -> None:
    class Endless(SearchDispatcher):
        def __init__(self) -> None:
            pass

        async def _reply(self, question: SearchQuestion) -> Reply:
            return Reply(HEAD + b"x\r\n" * question.limit, is_full=True)

    async def all_rows() -> bytes:
        dispatcher, search = Endless(), SearchState("x")
        first = await dispatcher._reply(SearchQuestion("csv", search, MOST_HITS))
        return b"".join([piece async for piece in dispatcher._rows(search, first)])

    *rows, last = list(csv.reader(io.StringIO(asyncio.run(all_rows()).decode(), newline="")))
    assert len(rows) == 1 + DEEPEST_HIT and last[0] == ""
    assert last[1].startswith("cut after 10,000 results: /export/pages.csv")


@pytest.mark.parametrize(
    "target",
    [
        "since=nonsense",
        "until=2026-13-45",
        "since=99999999-01-01",
        "sort=worst",
        "type=" + "a" * 3000,
        "&".join(["lang=en"] * 21),
    ],
)
def test_an_invalid_filter_is_refused_with_a_message(site: Site, target: str) -> None:
    answer = site.ask(f"/?q=harbour&{target}")
    assert answer.status == 400 and answer.page.css_first("[role=alert]").text().strip()
    assert site.ask(f"/search.json?q=harbour&{target}").json["error"]


@pytest.mark.parametrize(
    "value", ["<script>alert(1)</script>", '" autofocus onfocus="x', "javascript:alert(1)", "\x00", "é" * 50]
)
def test_F_W2_no_parameter_of_the_url_becomes_markup(site: Site, value: str) -> None:
    for name in (
        "q",
        "type",
        "not_type",
        "ontology",
        "property",
        "site",
        "not_site",
        "lang",
        "syntax",
        "since",
        "sort",
        "from",
    ):
        answer = site.ask(f"/?{name}={quote(value)}")
        assert answer.status in (200, 400)
        assert trouble_in(answer.page) == []


def test_F_W1_hostile_pages_are_shown_as_text_in_results_and_filters(site: Site) -> None:
    answer = site.ask(f"/?q={WORD}")
    assert len(answer.page.css("ol.hits > li")) > 5 and trouble_in(answer.page) == []
    for link in answer.page.css("#filters a.value")[:40]:
        assert trouble_in(site.ask(link.attributes["href"]).page) == []


def test_an_empty_collection_explains_how_to_start_a_crawl(empty_site: Site) -> None:
    page = empty_site.ask("/").page
    assert "gossamer crawl" in page.css_first(".empty").text()
    results = empty_site.ask("/?q=harbour").page
    assert "Nothing has been crawled yet" in results.css_first(".empty").text() and not results.css("#filters")
    assert empty_site.ask("/suggest.json?q=harb").json == {"suggestions": []}
    assert empty_site.ask("/search/why?q=a&url=http://a.test/").status == 400


def test_copies_are_grouped_into_one_result_and_can_be_listed(site: Site) -> None:
    hits = site.ask("/search.json?q=demo&limit=100").json["hits"]
    folded = next(hit for hit in hits if hit["copies"] > 1)
    answer = site.ask(f"/search/copies?url={quote(folded['url'], safe='')}")
    listed = [link.text() for link in answer.page.css("tbody a")]
    assert len(listed) == folded["copies"] and folded["url"] in listed and trouble_in(answer.page) == []
    copies = site.ask(f"/search/copies.json?url={quote(folded['url'], safe='')}").json["copies"]
    assert [one["url"] for one in copies] == listed
    for unknown in ("", "x", "http://nowhere.test/", "javascript:alert(1)"):
        assert site.ask(f"/search/copies?url={unknown}").status == 404


def test_the_search_page_shows_how_far_the_index_is_behind_the_crawl(tmp_path: Path) -> None:
    directory, clock = Directory(tmp_path / "running"), SystemClock()
    with serving(directory) as site:
        with SqliteControl(directory.control, clock) as control:
            control.beat("crawler", 1, {"state": "running"})
            control.beat("indexer", 2, {"lag_s": 42.0})
        page = site.ask("/?q=harbour").page
    assert "The index is 42 s behind the crawl" in page.css_first(".stale").text()
    assert "The crawl is running" in page.css_first("#result-count").text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", PERSON),
        ("type", THING),
        ("ontology", "http://schema.org/"),
        ("property", "http://schema.org/name"),
        ("site", "demo.test"),
        ("lang", "en"),
        ("syntax", "json-ld"),
    ],
)
def test_a_query_of_exclusions_only_finds_all_other_pages(site: Site, name: str, value: str) -> None:
    """Pages with and without a value add up to all pages: by link and typed, on the page, in JSON and when paged."""
    all_pages = total(site, "?since=1970-01-01")
    clicked, typed = f"?not_{name}={quote(value, safe='')}", f"?q={quote(f'-{name}:{value}', safe='')}"
    rest = total(site, clicked)
    assert rest == total(site, typed) == all_pages - total(site, f"?{name}={quote(value, safe='')}")
    answer = site.ask("/search.json" + clicked).json
    assert sum(span["count"] for span in answer["dates"]) == rest
    assert sum(one["count"] for one in answer["facets"]["lang"]) <= rest
    dates = [hit["fetched_at"] for hit in answer["hits"]]
    assert dates == sorted(dates, reverse=True) and len(dates) == min(10, rest)
    page = site.ask("/" + clicked).page
    assert len(page.css("ol.hits > li")) == min(10, rest)
    if rest > 20:
        second = site.ask(f"/search.json{clicked}&from=10").json
        assert not {hit["url"] for hit in second["hits"]} & {hit["url"] for hit in answer["hits"]}
    exported = site.ask("/export/pages.jsonl" + clicked).text
    assert len(exported.splitlines()) == rest


def test_links_to_a_search_without_a_term_find_pages(site: Site) -> None:
    vocabularies = site.ask("/vocabularies").page
    without = next(link.attributes["href"] for link in vocabularies.css("a") if link.text() == "without")
    assert total(site, without.removeprefix("/")) > 0
    person = site.ask(f"/entity?iri={quote(PERSON, safe='')}").page
    without = next(link.attributes["href"] for link in person.css("a.button") if link.text() == "Search without them")
    assert 0 < total(site, without.removeprefix("/")) == total(site, f"?not_type={quote(PERSON, safe='')}")
