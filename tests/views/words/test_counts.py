"""Counting matches, and ranking pages that have all the words before those that have some."""

from functools import partial
from pathlib import Path

import pytest

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.search.query import parse
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.words import facets
from gossamer.views.words.facets import FACETS, estimated
from gossamer.views.words.query import WordsQuery
from gossamer.views.words.schema import count
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

PAGES = 400
RARE, COMMON = "http://schema.org/Recipe", "http://schema.org/Person"
DAY = 86_400_000_000


def reading(number: int) -> Reading:
    words = ["fish", "red" if number % 2 else "blue", *(["coral reef"] if number < 3 else [])]
    address = Url(f"http://h{number % 4}.test/{number}")
    linked = Link(Url("http://h1.test/1"), "quay"), Link(Url("http://unfetched.test/"), "quay")
    page = Page(
        address,
        "text/html",
        "utf-8",
        title=f"Page {number}",
        content=" ".join([*words, str(number)]),
        language="en" if number % 4 else "de",
        links=linked if number == 2 else (),
        exact=number.to_bytes(32, "big")[::-1],
    )
    return Reading(number, number * DAY, page, types=(RARE if number % 8 == 0 else COMMON,))


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("many") / "index"
    writer = IndexWriter(folder, DiskFiles(), silent)
    writer.open()
    for start in range(0, PAGES, 100):  # several segments
        writer.replace([reading(number) for number in range(start, start + 100)])
        writer.commit()
    writer.close()
    opened = Searcher(folder)
    opened.open()
    return opened


def counts(searcher: Searcher, words: str, total: int, **limits: int) -> facets.FacetCounts:
    snapshot, query = searcher.snapshot, parse(words)
    matching = partial(WordsQuery(snapshot, query).matching, True)
    return facets.counted(snapshot, query, FACETS, matching, total, **limits)


def test_every_page_is_counted_up_to_a_limit(searcher: Searcher) -> None:
    exact = counts(searcher, "fish", PAGES, most=PAGES, sample=50)
    assert exact.counted == PAGES
    assert {one.value: one.count for one in exact.facets["lang"]} == {"en": 300, "de": 100}
    assert sum(span.count for span in exact.dates) == PAGES
    assert searcher.find(parse("fish"), FACETS).counted == PAGES


def test_of_very_many_pages_a_sample_gives_approximate_counts(searcher: Searcher) -> None:
    sampled = counts(searcher, "fish", PAGES, most=100, sample=200)
    assert sampled.counted == PAGES // 2
    near = {one.value: one.count for one in sampled.facets["lang"]}
    assert near["en"] == pytest.approx(300, rel=0.25) and near["de"] == pytest.approx(100, rel=0.5)
    types = {one.value: one.count for one in sampled.facets["type"]}
    assert types[COMMON] == pytest.approx(350, rel=0.25)
    assert sampled == counts(searcher, "fish", PAGES, most=100, sample=200)


def test_the_counts_of_a_facet_ignore_its_own_filter_in_a_sample_too(searcher: Searcher) -> None:
    narrowed = counts(searcher, "fish lang:de", 100, most=50, sample=50)
    languages = {one.value: one.count for one in narrowed.facets["lang"]}
    assert languages["en"] > languages["de"] > 0
    assert {one.value for one in narrowed.facets["lang"] if one.is_chosen} == {"de"}


def test_a_chosen_value_is_counted_even_when_it_is_too_rare_to_be_listed(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "MOST_TRAITS", 1)
    chosen = counts(searcher, "fish lang:de syntax:rdfa", 100).facets
    assert [(one.value, one.count) for one in chosen["lang"] if one.is_chosen] == [("de", 0)]  # no page in RDFa
    chosen = counts(searcher, "fish lang:de -lang:fr", 100).facets
    assert [(one.value, one.count) for one in chosen["lang"] if one.is_chosen] == [("de", 100)]
    assert [(one.value, one.count) for one in chosen["lang"] if one.is_excluded] == [("fr", 0)]


def test_sites_are_listed_by_their_names(searcher: Searcher) -> None:
    exact = counts(searcher, "fish site:h1.test", 100)
    assert {one.value: one.count for one in exact.facets["site"]} == {f"h{number}.test": 100 for number in range(4)}
    assert [one.value for one in exact.facets["site"] if one.is_chosen] == ["h1.test"]


def test_an_estimate_has_two_digits() -> None:
    assert [estimated(pages) for pages in (0, 7, 94, 95, 1_049, 1_050, 99_960)] == [0, 7, 94, 95, 1_000, 1_100, 100_000]


@pytest.mark.parametrize(
    "words",
    ["fish", "red fish", "red blue", "red -coral", "fi*", "fsh~", '"coral reef"', "title:page", "quay", "quay coral",
     "anchor:quay", "lang:de", "red lang:de", "nothing", "page fish"],
)  # fmt: skip
def test_the_count_of_a_query_is_the_number_of_results(searcher: Searcher, words: str) -> None:
    snapshot = searcher.snapshot
    asking = WordsQuery(snapshot, parse(words))
    assert count(snapshot.searcher, asking.matching(True)) == count(snapshot.searcher, asking.all_words())
    assert searcher.matching(parse(words)) == searcher.find(parse(words)).with_all_words
    some = count(snapshot.searcher, asking.some_words())
    if asking.parts:
        assert count(snapshot.searcher, asking.matching(False)) == count(snapshot.searcher, asking.any_word()) == some


def test_pages_with_all_words_come_first_and_once_for_any_page_size(searcher: Searcher) -> None:
    complete = searcher.find(parse("coral red", limit=50))
    assert (complete.with_all_words, complete.all_words, complete.total) == (1, False, 202)
    assert [one.has_all_words for one in complete.found] == [True] + [False] * 49
    assert complete.found[0].card.url.text == "http://h1.test/1"
    pieces = [searcher.find(parse("coral red", offset=at, limit=1)).found[0] for at in range(20)]
    assert [one.card.url for one in pieces] == [one.card.url for one in complete.found[:20]]
    assert [one.score for one in pieces] == [one.score for one in complete.found[:20]]
    assert len({one.card.url for one in complete.found}) == 50


def test_anchors_find_fetched_pages_only(searcher: Searcher) -> None:
    assert [one.card.url.text for one in searcher.find(parse("quay")).found] == ["http://h1.test/1"]


def test_facets_are_not_counted_again_for_the_next_page_or_another_order(searcher: Searcher) -> None:
    first = searcher.find(parse("fish"), FACETS)
    for other in ("fish", "fish sort:newest"):
        assert searcher.find(parse(other, offset=10), FACETS).facets is first.facets
    assert searcher.find(parse("red fish"), FACETS).facets is not first.facets
