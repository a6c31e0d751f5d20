"""The URL of a search and its parsing, and the tree of types."""

from dataclasses import replace

import jinja2
import pytest

from gossamer.base.clock import from_words
from gossamer.base.errors import QueryRefused
from gossamer.search.find import SearchAnswer
from gossamer.values.format import csv_safe
from gossamer.views.words.facets import Facet, Span
from gossamer.web.names import language
from gossamer.web.render import shortened
from gossamer.web.search.results import as_tree, correction_of, groups_of, spans_of
from gossamer.web.search.state import LONGEST_FILTERS, MOST_FILTERS, SearchLinks, SearchState, query_of, with_prefix


def test_equal_searches_have_the_same_url() -> None:
    one = SearchState("fish").with_only("lang", "de").with_never("type", "http://a.test/T")
    other = SearchState("fish").with_never("type", "http://a.test/T").with_only("lang", "de")
    assert one.href == other.href == "/?q=fish&not_type=http%3A%2F%2Fa.test%2FT&lang=de"


def test_a_value_is_either_required_or_excluded_and_a_new_filter_starts_at_the_first_result() -> None:
    search = SearchState("fish", start=30).with_only("site", "a.test").with_never("site", "a.test")
    assert search.href == "/?q=fish&not_site=a.test"
    assert search.without("site", "a.test") == SearchState("fish", {"site": ()}, {"site": ()})


def test_typed_and_selected_filters_are_combined_into_one_query() -> None:
    search = SearchState(
        "fish lang:de", {"lang": ("en",)}, {"site": ("a.test",)}, since="2026", until="2026-02", sort="newest"
    )
    query = query_of(search)
    assert query.languages == ("de", "en") and query.without_sites == ("a.test",) and query.sort == "newest"
    assert (query.since, query.until) == (from_words("2026-01-01T00:00:00Z"), from_words("2026-02-01T00:00:00Z"))
    with pytest.raises(QueryRefused, match="not a date"):
        query_of(SearchState("fish", since="soon"))


def test_only_a_plain_last_word_is_completed() -> None:
    longer = with_prefix(SearchState("red harb lang:en"))
    assert longer is not None and longer.words == "red harb* lang:en"
    for words in ('"red harb"', "harb*", "harb~", "h", "lang:en", "", '"harb"'):
        assert with_prefix(SearchState(words)) is None, words


def test_a_correction_keeps_typed_and_selected_filters_apart() -> None:
    correction = correction_of(
        SearchState("harbuor -soup lang:en", {"site": ("a.test",)}), "harbour -soup site:a.test lang:en"
    )
    assert (correction.text, correction.href) == ("harbour -soup lang:en", "/?q=harbour+-soup+lang%3Aen&site=a.test")


def test_a_tree_of_types_may_have_cycles_and_gaps() -> None:
    above = {"c": ("b", "a"), "b": ("a",), "x": ("y", "x"), "y": ("x", "y"), "d": ("missing", "a")}
    facets = [Facet(name, 9 - number) for number, name in enumerate("acbdxy")]
    tree = [(facet.value, depth) for facet, depth in as_tree(facets, lambda iri: above.get(iri, ()))]
    assert tree == [("a", 0), ("b", 1), ("c", 2), ("d", 1), ("x", 0), ("y", 0)]


@pytest.mark.parametrize("cell", ["=1+1", "+1+cmd", "-1+1", "@x", "\tx", "\rx", "\uff1d1"])
def test_F_W17_a_cell_that_looks_like_a_formula_is_escaped(cell: str) -> None:
    assert csv_safe(cell) == "'" + cell and csv_safe("a" + cell) == "a" + cell


@pytest.mark.parametrize("number", ["-5", "+5", "-5.25", "-.5", "-1e-7", "-INF"])
def test_F_X15_a_number_stays_a_number(number: str) -> None:
    assert csv_safe(number) == number


def test_F_X15_the_number_of_filters_is_limited() -> None:
    words = " ".join(f"site:a{number}.test" for number in range(MOST_FILTERS))
    assert len(query_of(SearchState(words)).sites) == MOST_FILTERS
    for search in (
        SearchState(words, {"type": ("x",)}),
        SearchState("", {"type": tuple(f"t{n}" for n in range(20)), "site": tuple(f"s{n}" for n in range(21))}),
        SearchState("", {"type": ("x" * LONGEST_FILTERS, "y")}),
    ):
        with pytest.raises(QueryRefused, match="at most 40 filters"):
            query_of(search)


def test_languages_have_names() -> None:
    assert [language(tag) for tag in ("de", "de-AT", "tlh")] == ["German", "German (de-AT)", "tlh"]


def test_the_fast_way_to_write_links_gives_the_same_links() -> None:
    for search in (
        SearchState(),
        SearchState("a b", {"type": ("x",), "site": ("s",)}, {"type": ("y",)}, "2026", "", "newest", 20),
    ):
        links = SearchLinks(search)
        for name in ("type", "ontology", "syntax"):
            assert links.adding(name, "http://a.test/é &") == search.with_only(name, "http://a.test/é &").href
            assert links.adding(f"not_{name}", "<&>") == search.with_never(name, "<&>").href
        assert links.replacing({"since": "2027", "until": ""}) == search.with_dates("2027", "").href
        assert links.replacing({"sort": ""}) == replace(search, sort="best", start=0).href
        assert links.replacing({"q": "c & d"}) == search.with_words("c & d").href
        assert links.replacing({"from": "30"}) == replace(search, start=30).href
        assert "/?" + links.parameters == replace(search, start=0).href


def test_text_is_shortened_as_in_templates() -> None:
    cut = jinja2.Environment(autoescape=True).from_string("{{ text|truncate(12) }}")
    for text in ("", "short", "a" * 17, "a" * 18, "several words of it", "one twothreefourfive"):
        assert shortened(text, 12) == cut.render(text=text)


def test_an_estimated_count_is_marked() -> None:
    facets = {"lang": (Facet("de", 1_200),)}
    dates = (Span(0, 86_400_000_000, "1970-01-01", 40),)
    for counted, shown in ((90_000, ("1,200", "40")), (2_500, ("≈1,200", "≈40"))):
        search, answer = (
            SearchState("fish"),
            SearchAnswer((), 90_000, 0.0, 0, facets=facets, dates=dates, counted=counted),
        )
        [group] = groups_of(search, answer, SearchLinks(search))
        [span] = spans_of(search, answer, SearchLinks(search))
        assert (group.first[0].pages, span.pages) == shown
