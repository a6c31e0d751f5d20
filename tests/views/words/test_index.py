"""Searching words: the writer and the searcher over a real index."""

import resource
from pathlib import Path

import msgspec
import pytest
import tantivy
from tests.views.words import forms
from tests.views.words.damaged import damage_entry

from gossamer.base.errors import DirectoryBusy, DirectoryUnusable, GossamerError, QueryRefused
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.extract.vocabularies import with_own
from gossamer.search.query import parse
from gossamer.values.link import Link
from gossamer.values.page import Directives, Page, Reading
from gossamer.values.query import Query, Word
from gossamer.values.url import Url
from gossamer.views.words.query import MOST_PARTS
from gossamer.views.words.reader import WordsReader
from gossamer.views.words.schema import last_part, names_above, signs_of
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter


def reading(address: str, content: str, at: int = 1, **more: object) -> Reading:
    of_reading = {name: more.pop(name) for name in ("types", "syntaxes", "fact_count") if name in more}
    page = Page(Url(address), "text/html", "utf-8", content=content, **more)
    return Reading(capture_id=at, fetched_at=at, page=page, **of_reading)


FORM: list[forms.Form] = []


@pytest.fixture(params=forms.NAMES, autouse=True)
def form(request):
    """The form of the index that `writer` and `searcher` use."""
    with forms.form_of(request) as used:
        FORM[:] = [used]
        yield used


@pytest.fixture
def writer(form, tmp_path):
    opened = form.writer(tmp_path / "index")
    opened.open()
    yield opened
    opened.close()


def searcher(tmp_path: Path, *more: object) -> WordsReader:
    opened = FORM[0].searcher(tmp_path / "index", *more)
    opened.open()
    return opened


def found(tmp_path: Path, query: str, **more: int) -> list[str]:
    return [hit.card.url.text for hit in searcher(tmp_path).find(parse(query, **more)).found]


def test_a_committed_page_is_found_by_its_words(writer, tmp_path):
    writer.replace(
        [reading("http://a.test/1", "Tropical fish are colourful"), reading("http://a.test/2", "Cold water")]
    )
    writer.commit()
    assert found(tmp_path, "FISH") == ["http://a.test/1"]


def test_nothing_is_found_before_the_commit(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "Tropical fish")])
    assert writer.waiting == 1
    assert found(tmp_path, "fish") == []


def test_an_open_searcher_sees_new_commits_after_a_reload(writer, tmp_path):
    early = searcher(tmp_path)
    writer.replace([reading("http://a.test/1", "Tropical fish")])
    writer.commit()
    if FORM[0].name == "tantivy":  # OpenSearch has no snapshots: it answers from what is there
        assert early.find(parse("fish")).total == 0
    early.reload()
    assert early.find(parse("fish")).total == 1


def test_a_newer_capture_replaces_the_words_of_a_page(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "old words", at=1)])
    writer.commit()
    assert writer.replace([reading("http://a.test/1", "new words", at=2)]) == 1
    writer.commit()
    assert found(tmp_path, "old") == []
    assert found(tmp_path, "new") == ["http://a.test/1"]
    assert searcher(tmp_path).pages == 1


@pytest.mark.tantivy_only
@pytest.mark.parametrize("commit_between", [True, False])
def test_an_older_or_equal_capture_never_replaces_a_newer_one(writer, tmp_path, commit_between):
    writer.replace([reading("http://a.test/1", "new words", at=5)])
    if commit_between:
        writer.commit()
    again = [reading("http://a.test/1", "old words", at=4), reading("http://a.test/1", "same words", at=5)]
    assert writer.replace(again) == 0
    writer.commit()
    assert found(tmp_path, "new") == ["http://a.test/1"]
    assert searcher(tmp_path).pages == 1


def test_two_captures_of_a_page_before_one_commit_leave_one_entry(writer, tmp_path):
    for at in (1, 2, 3):
        writer.replace([reading("http://a.test/1", f"words{at}", at=at)])
    writer.commit()
    assert searcher(tmp_path).pages == 1
    assert found(tmp_path, "words3") == ["http://a.test/1"]


def test_a_removed_page_is_not_found(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "fish")])
    writer.commit()
    writer.remove(Url("http://a.test/1"))
    writer.commit()
    assert searcher(tmp_path).pages == 0


def test_F_R12_a_noindex_page_is_not_found_and_older_captures_do_not_restore_it(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "fish", at=1)])
    writer.commit()
    writer.replace([reading("http://a.test/1", "fish", at=3, directives=Directives(may_index=False))])
    writer.commit()
    writer.replace([reading("http://a.test/1", "fish", at=2)])
    writer.commit()
    assert found(tmp_path, "fish") == []
    assert found(tmp_path, "site:a.test") == []
    assert list(searcher(tmp_path).cards()) == []


@pytest.mark.tantivy_only
def test_the_position_is_kept_with_the_commit_and_lost_with_the_folder(tmp_path):
    files = DiskFiles()
    first = IndexWriter(tmp_path / "index", files, silent)
    first.open()
    assert first.position == b""
    first.replace([reading("http://a.test/1", "fish")])
    first.commit(b"here")
    first.close()
    again = IndexWriter(tmp_path / "index", files, silent)
    again.open()
    assert again.position == b"here"
    again.close()
    files.remove(tmp_path / "index")
    new = IndexWriter(tmp_path / "index", files, silent)
    new.open()
    assert new.position == b""
    new.close()


@pytest.mark.tantivy_only
def test_closing_discards_what_was_not_committed(tmp_path):
    for _ in range(2):
        writer = IndexWriter(tmp_path / "index", DiskFiles(), silent)
        writer.open()
        writer.replace([reading("http://a.test/1", "fish")])
        writer.close()
    assert searcher(tmp_path).pages == 0


@pytest.mark.tantivy_only
def test_a_second_writer_is_refused(writer, tmp_path):
    second = IndexWriter(tmp_path / "index", DiskFiles(), silent)
    with pytest.raises(DirectoryBusy):
        second.open()


@pytest.mark.tantivy_only
def test_an_index_of_a_newer_version_is_refused_and_an_older_one_is_replaced(tmp_path):
    files = DiskFiles()
    for version, raises in (("999", True), ("0", False)):
        writer = IndexWriter(tmp_path / "index", files, silent)
        writer.open()
        writer.commit(b"somewhere")
        writer.close()
        files.write(tmp_path / "index" / "format", version.encode())
        again = IndexWriter(tmp_path / "index", files, silent)
        if raises:
            with pytest.raises(DirectoryUnusable):
                again.open()
            files.remove(tmp_path / "index")
        else:
            again.open()
            assert again.position == b""
            again.close()


@pytest.mark.tantivy_only
def test_a_folder_without_an_index_cannot_be_searched(tmp_path):
    with pytest.raises(DirectoryUnusable):
        Searcher(tmp_path / "index").open()


@pytest.mark.tantivy_only
def test_F_P5_a_failed_write_loses_no_pages_once_there_is_room_again(tmp_path):
    events: list[str] = []
    writer = IndexWriter(tmp_path / "index", DiskFiles(), lambda event, **facts: events.append(event))
    writer.open()
    writer.replace([reading(f"http://a.test/{n}", f"fish number{n} " + "word " * 2000) for n in range(50)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(GossamerError):
            writer.commit(b"there")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert writer.position == b""
    writer.replace([reading("http://a.test/late", "fish latecomer")])
    writer.commit(b"there")
    writer.close()
    assert "index.revived" in events
    assert searcher(tmp_path).find(parse("fish")).total == 51


def test_lone_surrogates_in_a_page_do_no_harm(writer, tmp_path):
    writer.replace(
        [reading("http://a.test/1", "fish \ud800 soup", title="\udfff", headings=("\ud801",), rest="\ud802")]
    )
    writer.commit()
    assert found(tmp_path, "soup") == ["http://a.test/1"]


def test_a_word_in_the_title_weighs_more_than_in_the_content_and_that_more_than_in_the_rest(writer, tmp_path):
    filler, title, headings = "some other words that say nothing of the matter at hand", "A title", ("A heading",)
    writer.replace(
        [
            reading("http://a.test/rest", filler, title=title, headings=headings, rest="the quagga"),
            reading("http://a.test/content", filler + " quagga", title=title, headings=headings),
            reading("http://a.test/heading", filler, title=title, headings=("A quagga",)),
            reading("http://a.test/title", filler, title="The quagga", headings=headings),
        ]
    )
    writer.commit()
    order = [address.rpartition("/")[2] for address in found(tmp_path, "quagga")]
    assert order == ["title", "heading", "content", "rest"]


def test_pages_with_all_words_come_first_and_pages_with_some_follow(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "red fish"), reading("http://a.test/2", "blue fish")])
    writer.commit()
    both = searcher(tmp_path).find(parse("red fish"))
    assert (both.total, both.with_all_words, both.all_words) == (2, 1, False)
    assert [hit.has_all_words for hit in both.found] == [True, False]
    some = searcher(tmp_path).find(parse("red whale"))
    assert (some.total, some.all_words) == (1, False)


def test_words_may_be_in_different_fields_of_the_page(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "about fish", title="Red")])
    writer.commit()
    assert searcher(tmp_path).find(parse("red fish")).with_all_words == 1


def test_phrases_exclusions_and_filters(writer, tmp_path):
    writer.replace(
        [
            reading("http://www.a.test/1", "tropical fish soup", language="en", types=("http://schema.org/Recipe",)),
            reading("http://b.test/2", "fish of tropical seas", language="en", types=("http://schema.org/Article",)),
            reading("http://b.test/3", "tropical fish tank", language="de"),
        ]
    )
    writer.commit()
    one, two, three = "http://www.a.test/1", "http://b.test/2", "http://b.test/3"
    assert set(found(tmp_path, '"tropical fish"')) == {one, three}
    assert set(found(tmp_path, "fish -soup")) == {two, three}
    assert set(found(tmp_path, 'fish -"tropical fish"')) == {two}
    assert found(tmp_path, "fish site:a.test") == [one]
    assert found(tmp_path, "type:Recipe") == [one]
    assert found(tmp_path, "type:http://schema.org/Article") == [two]
    assert set(found(tmp_path, "fish -type:recipe")) == {two, three}
    assert set(found(tmp_path, "fish -site:b.test")) == {one}
    assert found(tmp_path, "lang:de") == [three]
    assert set(found(tmp_path, "-soup")) == {two, three}


def test_accents_and_case_do_not_matter_and_words_of_the_url_count(writer, tmp_path):
    writer.replace([reading("http://museum.test/paintings/the_kiss", "Ein schöner Überblick")])
    writer.commit()
    assert found(tmp_path, "UBERBLICK") == found(tmp_path, "schoner")
    assert found(tmp_path, "paintings") == found(tmp_path, "kiss") != []


def test_words_of_a_script_without_spaces_are_found_and_shown(writer, tmp_path):
    writer.replace(
        [
            reading("http://a.test/ja", "これは日本語のテキストです。検索エンジンを作る。"),
            reading("http://a.test/x", "日光"),
        ]
    )
    writer.commit()
    matches = searcher(tmp_path).find(parse("検索エンジン"))
    assert matches.total == 1
    assert [part.text for part in matches.found[0].snippet if part.is_match] == ["検索エンジン"]
    assert found(tmp_path, "本日") == []


def test_a_snippet_is_plain_segments_around_the_match(writer, tmp_path):
    long = "Bäume stehen hier. " * 30 + "The <b>nöedle</b> & more. " + "Nothing else. " * 30
    writer.replace([reading("http://a.test/1", long)])
    writer.commit()
    (hit,) = searcher(tmp_path).find(parse("noedle nöedle")).found
    assert [part.text for part in hit.snippet if part.is_match] == ["nöedle"]
    joined = "".join(part.text for part in hit.snippet)
    assert "<b>nöedle</b>" in joined
    assert joined in long


def test_a_match_outside_the_content_shows_the_description(writer, tmp_path):
    writer.replace([reading("http://a.test/1", "nothing here", title="Needle", description="All about sewing")])
    writer.commit()
    (hit,) = searcher(tmp_path).find(parse("needle")).found
    assert [(part.text, part.is_match) for part in hit.snippet] == [("All about sewing", False)]


def test_M_C12_copies_are_folded_into_one_result(writer, tmp_path):
    same = bytes(range(32))
    copies = [reading(f"http://a.test/{n}", "the same fish", exact=same) for n in range(30)]
    writer.replace([*copies, reading("http://a.test/other", "another fish, longer than the rest", exact=b"x" * 32)])
    writer.commit()
    matches = searcher(tmp_path).find(parse("fish", limit=2))
    assert matches.total == 31
    assert [hit.copies for hit in matches.found] == [30, 1]


def test_pages_without_a_fingerprint_are_not_copies_of_each_other(writer, tmp_path):
    writer.replace([reading(f"http://a.test/{n}", "fish") for n in range(3)])
    writer.commit()
    assert len(found(tmp_path, "fish")) == 3


def test_results_come_in_pages_that_do_not_overlap(writer, tmp_path):
    writer.replace(
        [reading(f"http://a.test/{n}", "fish " * (n + 1), exact=n.to_bytes(32, "little")) for n in range(1, 26)]
    )
    writer.commit()
    pages = [found(tmp_path, "fish", offset=start, limit=10) for start in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({address for page in pages for address in page}) == 25


def test_F_W14_results_beyond_the_limits_are_refused(writer, tmp_path):
    for query in (Query((Word(("a",)),), offset=1_000_000_000), Query((Word(("a",)),), limit=1_000)):
        with pytest.raises(QueryRefused):
            searcher(tmp_path).find(query)


def test_F_W13_of_very_many_words_the_rarest_are_searched_and_far_too_many_are_refused(writer, tmp_path):
    writer.replace([reading(f"http://a.test/{n}", "often " + f"rare{n} " * (n == 3)) for n in range(9)])
    writer.commit()
    many = " ".join(["often", "rare3", *(f"w{n}" for n in range(100))])
    matches = searcher(tmp_path).find(parse(many))
    assert matches.found[0].card.url.text == "http://a.test/3"
    assert len(matches.omitted) == 102 - MOST_PARTS
    with pytest.raises(QueryRefused):
        searcher(tmp_path).find(Query(tuple(Word((f"w{n}",)) for n in range(2_000))))


def test_a_query_without_words_finds_nothing(writer, tmp_path):
    assert searcher(tmp_path).find(parse("??? (((")).total == 0


def test_facets_count_the_matching_pages(writer, tmp_path):
    person, place = "http://schema.org/Person", "http://schema.org/Place"
    writer.replace(
        [
            reading("http://a.test/1", "fish", types=(person, place), language="en"),
            reading("http://b.test/2", "fish", types=(person,), language="de"),
            reading("http://b.test/3", "whale", types=(person,)),
        ]
    )
    writer.commit()
    counted = searcher(tmp_path).find(parse("fish"), ("type", "site")).facets
    root = "http://schema.org/Thing"
    assert [(facet.value, facet.count, facet.inferred) for facet in counted["type"]] == [
        (person, 2, 0),
        (root, 2, 2),
        (place, 1, 0),
    ]
    assert {facet.value: facet.count for facet in counted["site"]} == {"a.test": 1, "b.test": 1}


def test_pages_written_several_times_have_one_entry(writer, tmp_path):
    """New pages are written without deletions, because each deletion is a cost in every segment."""
    for round_number in range(1, 4):
        writer.replace([reading(f"http://a.test/{n}", f"round{round_number}", at=round_number) for n in range(40)])
        writer.commit()
    assert searcher(tmp_path).pages == 40
    assert searcher(tmp_path).find(parse("round3")).total == 40
    assert searcher(tmp_path).find(parse("round1")).total == 0


def test_cards_have_what_a_result_shows(writer, tmp_path):
    given = reading(
        "http://a.test/1", "fish", 7, title="T", description="D", language="en", types=("t:x",), fact_count=3
    )
    writer.replace([given])
    writer.commit()
    (card,) = searcher(tmp_path).cards()
    assert (card.title, card.description, card.types, card.fact_count, card.fetched_at) == ("T", "D", ("t:x",), 3, 7)
    assert msgspec.json.encode(card)


@pytest.mark.tantivy_only
def test_the_parent_names_of_a_host():
    assert names_above("www.example.org:8080") == ["www.example.org:8080", "www.example.org", "example.org"]
    assert names_above("localhost") == ["localhost"]
    assert names_above("127.0.0.1:80") == ["127.0.0.1:80", "127.0.0.1"]
    assert names_above("[::1]") == ["[::1]"]


@pytest.mark.tantivy_only
def test_the_short_names_of_classes_and_the_signs_of_texts():
    assert last_part("http://schema.org/Person") == "person"
    assert last_part("http://xmlns.com/foaf/0.1#Agent/") == "agent"
    assert signs_of("plain") == signs_of("Ümläut") == ""
    assert signs_of("日本 x 語") == "日 本 語"


@pytest.mark.tantivy_only
def test_tantivy_still_counts_snippet_ranges_in_bytes():
    """`segments_of` relies on it."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("t", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer(15_000_000, 1)
    entry = tantivy.Document()
    entry.add_text("t", "äöü word")
    writer.add_document(entry)
    writer.commit()
    index.reload()
    snapshot = index.searcher()
    query = tantivy.Query.term_query(index.schema, "t", "word")
    snippet = tantivy.SnippetGenerator.create(snapshot, query, index.schema, "t").snippet_from_doc(entry)
    (part,) = snippet.highlighted()
    assert snippet.fragment().encode()[part.start : part.end] == b"word"


def unsearchable(address: str, at: int = 2) -> Reading:
    """What is written to the index for a page that is gone or noindex."""
    return reading(address, "", at=at, directives=Directives(may_index=False))


def linking(address: str, target: str, words: str) -> Reading:
    return reading(address, "harbour news", links=(Link(Url(target), text=words),))


@pytest.mark.parametrize(
    "query", ["the", "-fish", "since:1970-01-01", "until:2100-01-01", "-site:z.test", "anchor:the", "the missing"]
)
def test_an_entry_of_an_unsearchable_page_is_never_found_or_counted(writer, tmp_path, query):
    gone = "http://b.test/gone"
    others = [linking(f"http://a{n}.test/", gone, "the missing page") for n in range(3)]
    writer.replace([*others, reading("http://b.test/", "the old harbour"), unsearchable(gone)])
    writer.commit()
    answer = searcher(tmp_path).find(parse(query, limit=100), ("site", "date"))
    assert gone not in [one.card.url.text for one in answer.found]
    assert answer.unreadable == ()
    assert answer.total == len(answer.found) == sum(span.count for span in answer.dates)


@pytest.mark.tantivy_only
def test_only_an_unreadable_entry_is_left_out_and_it_is_reported(writer, tmp_path):
    writer.replace([reading(f"http://a.test/{n}", "tropical fish", exact=bytes([n] * 32)) for n in (1, 2, 3)])
    writer.commit()
    writer.close()
    damage_entry(tmp_path / "index", Url("http://a.test/2"))
    opened = searcher(tmp_path)
    for query in ("fish", "-soup", "site:a.test", "since:1970-01-01"):
        answer = opened.find(parse(query), ("type", "site", "date"))
        assert sorted(one.card.url.text for one in answer.found) == ["http://a.test/1", "http://a.test/3"]
        assert answer.unreadable == (Url("http://a.test/2").id,)
    urls = [Url(f"http://a.test/{n}") for n in (1, 2, 3, 4)]
    assert opened.unreadable(urls) == [Url("http://a.test/2")]
    assert opened.entities(parse("fish")) == []
    assert opened.stored(Url("http://a.test/2")) is None
    assert len(list(opened.cards())) == 2


EXCLUSIONS = {
    "-fish": "http://c.test/3",
    '-"tropical fish"': "http://c.test/3",
    "-title:Aquarium": "http://b.test/2",
    "-type:Recipe": "http://b.test/2",
    "-type:http://schema.org/CreativeWork": "http://c.test/3",
    "-ontology:schema": "http://c.test/3",
    "-property:schema:author": "http://b.test/2",
    "-site:a.test -site:c.test": "http://b.test/2",
    "-lang:en": "http://b.test/2",
    "-syntax:rdfa": "http://b.test/2",
}
"""Each query finds the given page, and not http://www.a.test/1."""


@pytest.fixture
def three_pages(writer, tmp_path):
    recipe = reading(
        "http://www.a.test/1",
        "tropical fish",
        at=1,
        title="Aquarium",
        language="en",
        syntaxes=("rdfa",),
        exact=b"1" * 32,
        types=("http://schema.org/Recipe",),
    )
    recipe = msgspec.structs.replace(recipe, properties=("http://schema.org/author",))
    article = reading(
        "http://b.test/2", "tropical fish", at=3, language="de", types=("http://schema.org/Article",), exact=b"2" * 32
    )
    writer.replace([recipe, article, reading("http://c.test/3", "cold water", at=2, exact=b"3" * 32)])
    writer.replace([unsearchable("http://c.test/4")])
    writer.commit()
    return searcher(tmp_path)


@pytest.mark.parametrize("query", EXCLUSIONS)
def test_a_query_of_exclusions_finds_all_other_pages(three_pages, query):
    answer = three_pages.find(parse(query), ("type", "site", "lang", "date"))
    found = [one.card.url.text for one in answer.found]
    assert EXCLUSIONS[query] in found
    assert "http://www.a.test/1" not in found
    assert answer.total == len(found) == sum(span.count for span in answer.dates)
    assert sum(one.count for one in answer.facets["site"] if not one.is_excluded) == answer.total
    assert three_pages.matching(parse(query)) == answer.total


def test_without_words_the_newest_come_first_page_by_page(three_pages):
    newest_first = ["http://b.test/2", "http://c.test/3", "http://www.a.test/1"]
    for query in ("-site:nowhere.test", "-soup", "since:1970-01-01"):
        pages = [three_pages.find(parse(query, offset=n, limit=1)) for n in range(4)]
        assert [one.card.url.text for page in pages for one in page.found] == newest_first
        assert {page.total for page in pages} == {3}
    assert [card.url.text for card, _ in three_pages.walked(parse("-site:nowhere.test"))] == newest_first
    assert [card.url.text for card, _ in three_pages.walked(parse("-lang:en sort:oldest"))] == newest_first[1::-1]


def test_an_empty_exclusion_is_an_empty_query(three_pages):
    for query in ("", "-", '-""', "sort:newest"):
        assert parse(query).is_empty
        assert three_pages.find(parse(query)).total == 0


@pytest.mark.parametrize(
    ("directives", "snippet", "description"),
    [
        (Directives(), "tropical fish swim in schools", "About fish"),
        (Directives(may_cache=False), "", ""),
        (Directives(most_snippet=0), "", ""),
        (Directives(most_snippet=11), "tropical fi", "About fish"),
        (Directives(most_snippet=5), "tropi", "About"),
        (Directives(may_cache=False, most_snippet=5), "", ""),
    ],
)
def test_a_result_quotes_no_more_than_the_page_allows(writer, tmp_path, directives, snippet, description):
    page = reading("http://a.test/", "tropical fish swim in schools", description="About fish", directives=directives)
    writer.replace([page])
    writer.commit()
    for query in ("fish", "site:a.test"):
        (hit,) = searcher(tmp_path).find(parse(query)).found
        quoted = "".join(part.text for part in hit.snippet)
        assert quoted == (snippet if query == "fish" else description[: len(quoted)])
        assert bool(quoted) == bool(snippet)
        assert hit.card.description == description and hit.card.may_cache == directives.may_cache
    stored = searcher(tmp_path).stored(Url("http://a.test/"))
    assert stored.may_cache == directives.may_cache and stored.text, "the user of the program may read it"


OWN = b"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix my: <http://my.test/#> .
<http://schema.org/Recipe> rdfs:subClassOf my:Dish . my:Dish rdfs:subClassOf my:Item .
<http://schema.org/author> rdfs:subPropertyOf my:maker ."""


def test_the_user_s_vocabulary_widens_filters_and_facets_as_it_does_sparql(three_pages, tmp_path):
    ours = searcher(tmp_path, lambda: with_own(OWN))
    recipe = "http://www.a.test/1"
    for query in (
        "type:http://my.test/#Dish",
        "type:http://my.test/#Item",
        "type:dish",
        "property:http://my.test/#maker",
    ):
        answer = ours.find(parse(query), ("type",))
        assert [one.card.url.text for one in answer.found] == [recipe], query
        assert three_pages.find(parse(query)).total == 0, "without the vocabulary they find nothing"
    assert {one.card.url.text for one in ours.find(parse("-type:http://my.test/#Dish")).found} == {
        "http://b.test/2",
        "http://c.test/3",
    }
    facets = {one.value: one for one in ours.find(parse("-soup"), ("type",)).facets["type"]}
    assert facets["http://my.test/#Dish"].count == facets["http://my.test/#Dish"].inferred == 1
    assert "http://my.test/#Dish" not in {
        one.value for one in three_pages.find(parse("-soup"), ("type",)).facets["type"]
    }


def test_an_edited_vocabulary_applies_after_a_reload(three_pages, tmp_path):
    del three_pages
    texts = [b"", OWN]
    ours = searcher(tmp_path, lambda: with_own(texts[0]))
    assert ours.find(parse("type:dish")).total == 0
    texts.pop(0)
    ours.reload()
    assert ours.find(parse("type:dish")).total == 1
