"""A search as an address and back, and the tree of types; pure."""

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


def test_the_same_question_has_one_address() -> None:
    one = SearchState("fish").with_only("lang", "de").with_never("type", "http://a.test/T")
    other = SearchState("fish").with_never("type", "http://a.test/T").with_only("lang", "de")
    assert one.href == other.href == "/?q=fish&not_type=http%3A%2F%2Fa.test%2FT&lang=de"


def test_a_value_is_either_wanted_or_not_and_choosing_begins_at_the_first_result() -> None:
    asked = SearchState("fish", start=30).with_only("site", "a.test").with_never("site", "a.test")
    assert asked.href == "/?q=fish&not_site=a.test"
    assert asked.without("site", "a.test") == SearchState("fish", {"site": ()}, {"site": ()})


def test_what_is_typed_and_what_is_clicked_make_one_query() -> None:
    asked = SearchState(
        "fish lang:de", {"lang": ("en",)}, {"site": ("a.test",)}, since="2026", until="2026-02", sort="newest"
    )
    query = query_of(asked)
    assert query.languages == ("de", "en") and query.without_sites == ("a.test",) and query.sort == "newest"
    assert (query.since, query.until) == (from_words("2026-01-01T00:00:00Z"), from_words("2026-02-01T00:00:00Z"))
    with pytest.raises(QueryRefused, match="not a date"):
        query_of(SearchState("fish", since="soon"))


def test_only_a_plain_last_word_may_be_unfinished() -> None:
    longer = with_prefix(SearchState("red harb lang:en"))
    assert longer is not None and longer.words == "red harb* lang:en"
    for words in ('"red harb"', "harb*", "harb~", "h", "lang:en", "", '"harb"'):
        assert with_prefix(SearchState(words)) is None, words


def test_what_was_meant_keeps_typed_and_clicked_filters_apart() -> None:
    meant = correction_of(
        SearchState("harbuor -soup lang:en", {"site": ("a.test",)}), "harbour -soup site:a.test lang:en"
    )
    assert (meant.text, meant.href) == ("harbour -soup lang:en", "/?q=harbour+-soup+lang%3Aen&site=a.test")


def test_a_tree_of_types_survives_circles_and_gaps() -> None:
    above = {"c": ("b", "a"), "b": ("a",), "x": ("y", "x"), "y": ("x", "y"), "d": ("missing", "a")}
    facets = [Facet(name, 9 - number) for number, name in enumerate("acbdxy")]
    told = [(facet.value, depth) for facet, depth in as_tree(facets, lambda iri: above.get(iri, ()))]
    assert told == [("a", 0), ("b", 1), ("c", 2), ("d", 1), ("x", 0), ("y", 0)]


@pytest.mark.parametrize("cell", ["=1+1", "+1+cmd", "-1+1", "@x", "\tx", "\rx", "\uff1d1"])
def test_F_W17_a_cell_that_looks_like_a_formula_is_a_text(cell: str) -> None:
    assert csv_safe(cell) == "'" + cell and csv_safe("a" + cell) == "a" + cell


@pytest.mark.parametrize("number", ["-5", "+5", "-5.25", "-.5", "-1e-7", "-INF"])
def test_F_X15_a_number_stays_a_number(number: str) -> None:
    assert csv_safe(number) == number


def test_F_X15_a_search_has_so_many_filters_and_no_more() -> None:
    words = " ".join(f"site:a{number}.test" for number in range(MOST_FILTERS))
    assert len(query_of(SearchState(words)).sites) == MOST_FILTERS
    for asked in (
        SearchState(words, {"type": ("x",)}),
        SearchState("", {"type": tuple(f"t{n}" for n in range(20)), "site": tuple(f"s{n}" for n in range(21))}),
        SearchState("", {"type": ("x" * LONGEST_FILTERS, "y")}),
    ):
        with pytest.raises(QueryRefused, match="at most 40 filters"):
            query_of(asked)


def test_languages_have_names() -> None:
    assert [language(tag) for tag in ("de", "de-AT", "tlh")] == ["German", "German (de-AT)", "tlh"]


def test_an_address_written_fast_is_the_address() -> None:
    for asked in (
        SearchState(),
        SearchState("a b", {"type": ("x",), "site": ("s",)}, {"type": ("y",)}, "2026", "", "newest", 20),
    ):
        addresses = SearchLinks(asked)
        for name in ("type", "ontology", "syntax"):
            assert addresses.adding(name, "http://a.test/é &") == asked.with_only(name, "http://a.test/é &").href
            assert addresses.adding(f"not_{name}", "<&>") == asked.with_never(name, "<&>").href
        assert addresses.replacing({"since": "2027", "until": ""}) == asked.with_dates("2027", "").href
        assert addresses.replacing({"sort": ""}) == replace(asked, sort="best", start=0).href
        assert addresses.replacing({"q": "c & d"}) == asked.with_words("c & d").href
        assert addresses.replacing({"from": "30"}) == replace(asked, start=30).href
        assert "/?" + addresses.parameters == replace(asked, start=0).href


def test_a_text_is_shortened_as_templates_shorten_it() -> None:
    cut = jinja2.Environment(autoescape=True).from_string("{{ text|truncate(12) }}")
    for text in ("", "short", "a" * 17, "a" * 18, "several words of it", "one twothreefourfive"):
        assert shortened(text, 12) == cut.render(text=text)


def test_a_count_that_is_an_estimate_says_so() -> None:
    facets = {"lang": (Facet("de", 1_200),)}
    dates = (Span(0, 86_400_000_000, "1970-01-01", 40),)
    for counted, shown in ((90_000, ("1,200", "40")), (2_500, ("≈1,200", "≈40"))):
        asked, answer = (
            SearchState("fish"),
            SearchAnswer((), 90_000, 0.0, 0, facets=facets, dates=dates, counted=counted),
        )
        [group] = groups_of(asked, answer, SearchLinks(asked))
        [span] = spans_of(asked, answer, SearchLinks(asked))
        assert (group.first[0].pages, span.pages) == shown
