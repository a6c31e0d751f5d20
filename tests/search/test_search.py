"""Typed queries, parsed and answered with real indexes."""

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.views.words import forms

from gossamer.base.errors import DirectoryUnusable, QueryRefused, ViewDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.search.find import Search
from gossamer.search.query import parse, text_of, toggled
from gossamer.testing import FakeClock
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.query import Query, Word
from gossamer.values.url import Url
from gossamer.views.links.reader import LinksReader
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

NEAR = ("harbor", "harbour")
FIELDS = ("content", "anchors", "address")


def word(*text: str, **more: object) -> Word:
    return Word(text, **more)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("tropical fish", Query((word("tropical"), word("fish")))),
        ('"tropical fish" tank', Query((word("tropical", "fish"), word("tank")))),
        ("“tropical fish”", Query((word("tropical", "fish"),))),
        ('"fish"', Query((word("fish", is_exact=True),))),
        ('fish -soup -"fish soup"', Query((word("fish"),), (word("soup"), word("fish", "soup")))),
        ("harb* harbor~ harbour~2", Query((word("harb", is_prefix=True), *(word(w, is_fuzzy=True) for w in NEAR)))),
        ("h* * ~", Query((word("h*"),))),
        ('title:fish heading:"a b"', Query((word("fish", field="title"), word("a", "b", field="headings")))),
        ("text:a anchor:b url:c", Query(tuple(word(w, field=f) for w, f in zip("abc", FIELDS, strict=True)))),
        ("-title:fish", Query((), (word("fish", field="title"),))),
        ("site:example.org fish", Query((word("fish"),), sites=("example.org",))),
        ("site:https://example.org/ fish", Query((word("fish"),), sites=("example.org",))),
        ("site:a.test host:b.test", Query(sites=("a.test", "b.test"))),
        ("type:Person lang:de", Query(types=("Person",), languages=("de",))),
        ("type:http://schema.org/Person", Query(types=("http://schema.org/Person",))),
        ("type:schema:Person close", Query((word("close"),), types=("schema:Person",))),
        (
            "fish -type:Recipe -site:a.test",
            Query((word("fish"),), without_types=("Recipe",), without_sites=("a.test",)),
        ),
        ("vocab:schema -ontology:og", Query(ontologies=("schema",), without_ontologies=("og",))),
        ("has:schema:author property:name", Query(properties=("schema:author", "name"))),
        ("syntax:rdfa -syntax:json-ld", Query(syntaxes=("rdfa",), without_syntaxes=("json-ld",))),
        ("since:1970-01-02 until:1971", Query(since=86_400_000_000, until=31_536_000_000_000)),
        ("since:soon", Query((word("since", "soon"),))),
        ("fish sort:newest", Query((word("fish"),), sort="newest")),
        ("sort:foo", Query((word("sort", "foo"),))),
        ("SITE:a.test", Query(sites=("a.test",))),
        ("C++ 12:30 note:this", Query((word("C++"), word("12:30"), word("note", "this")))),
        ("e-mail", Query((word("e-mail"),))),
        ('fish "', Query((word("fish"),))),
        ('"fish tank', Query((word("fish"), word("tank")))),
        ("- -- ( ) : \" ' type: site:", Query((word("type:"), word("site:")))),
        ("", Query()),
        ("\0\n\t", Query()),
    ],
)
def test_a_typed_query_is_parsed(text, query):
    assert parse(text) == query


@pytest.mark.parametrize(
    "text",
    [
        'fish "tropical fish" "tank" -soup title:"a b" harb* harbor~ type:schema:Person -type:Recipe site:a.test',
        "vocab:schema has:name lang:de syntax:rdfa since:2026-01-01 until:2026-01-02T03:04:05Z sort:oldest url:x",
    ],
)
def test_a_written_query_is_parsed_to_the_same_query(text):
    assert parse(text_of(parse(text))) == parse(text)


def test_a_facet_is_turned_on_and_off():
    query = parse("fish -type:Recipe", offset=20)
    chosen = toggled(query, "type", "Recipe")
    assert chosen == parse("fish type:Recipe")
    assert toggled(chosen, "type", "Recipe") == parse("fish")
    assert toggled(chosen, "type", "Recipe", unwanted=True) == parse("fish -type:Recipe")
    assert toggled(chosen, "site", "a.test") == parse("fish type:Recipe site:a.test")


@pytest.mark.parametrize("text", ["a" * 1_000_000, "(" * 10_000, '"' * 10_000, "-" * 5_000])
def test_F_W13_a_query_that_is_far_too_long_is_refused(text):
    with pytest.raises(QueryRefused):
        parse(text)


def test_F_W14_an_offset_beyond_the_limits_is_refused():
    with pytest.raises(QueryRefused):
        parse("fish", offset=1_000_000_000)


@pytest.fixture(params=forms.NAMES)
def parts(request, tmp_path):
    with forms.form_of(request) as form:
        yield from _parts(form, tmp_path)


def _parts(form, tmp_path):
    clock = FakeClock()
    index = form.writer(tmp_path / "index")
    links = LinksWriter(tmp_path / "links.db", DiskFiles(), silent)
    index.open()
    links.open()
    search = Search(form.searcher(tmp_path / "index"), LinksReader(tmp_path / "links.db"), clock)
    yield index, links, search, clock
    for part in (search, index, links):
        part.close()


def put(index: IndexWriter, links: LinksWriter, *readings: Reading) -> None:
    for view in (index, links):
        view.replace(readings)
        view.commit()


def reading(url: str, content: str, links: tuple[tuple[str, str], ...] = (), **more: object) -> Reading:
    outgoing = tuple(Link(Url(target), text) for target, text in links)
    return Reading(1, 1, Page(Url(url), "text/html", "utf-8", content=content, links=outgoing, **more))


def test_an_answer_has_hits_with_the_links_that_lead_to_them(parts):
    index, links, search, clock = parts
    put(
        index,
        links,
        reading("http://a.test/fish", "All about tropical fish", title="Fish", language="en"),
        reading("http://b.test/", "A list", (("http://a.test/fish", "the fish page"),)),
        reading("http://a.test/", "Start", (("http://a.test/fish", "more"),)),
    )
    answer = search.find(parse("tropical fish"), facets=("lang",))
    (hit,) = answer.hits
    assert (hit.url, hit.title, hit.site, hit.language) == ("http://a.test/fish", "Fish", "a.test", "en")
    assert (hit.linked_from, [anchor.text for anchor in hit.anchors]) == (2, ["the fish page"])
    assert [part.text for part in hit.snippet if part.is_match] == ["tropical", "fish"]
    assert (answer.total, answer.as_of, answer.all_words) == (1, clock.now(), True)
    assert answer.facets["lang"][0].value == "en"
    assert msgspec.json.decode(msgspec.json.encode(answer))["hits"][0]["snippet"][1] == ["tropical", True]


def test_M_Z2_a_search_sees_new_commits_within_a_second(parts):
    index, links, search, clock = parts
    put(index, links, reading("http://a.test/1", "fish"))
    assert search.find(parse("fish")).total == 1
    put(index, links, reading("http://a.test/2", "fish"))
    clock.advance(1.0)
    assert search.find(parse("fish")).total == 2


def test_a_search_without_an_index_finds_nothing(tmp_path):
    search = Search(Searcher(tmp_path / "index"), LinksReader(tmp_path / "links.db"), FakeClock())
    assert search.find(parse("fish")).hits == ()


@pytest.mark.tantivy_only
def test_search_continues_when_the_index_is_deleted_and_made_again(parts, tmp_path):
    index, links, search, clock = parts
    put(index, links, reading("http://a.test/1", "fish"))
    assert search.find(parse("fish")).total == 1
    index.close()
    DiskFiles().remove(tmp_path / "index")
    clock.advance(2)
    search.find(parse("fish"))
    index.open()
    put(index, links, reading("http://a.test/1", "fish"), reading("http://a.test/2", "fish"))
    clock.advance(2)
    assert search.find(parse("fish")).total == 2


AWKWARD = st.text(st.sampled_from(list("ab \"'-:()*?~^[]{}\\/+&|!.\0\ud800é日")), max_size=60)


@given(AWKWARD)
@example('"-a')
@example('-"type:x')
def test_F_W13_no_typed_query_is_an_error(text):
    query = parse(text)
    assert all(part.strip() for word in (*query.wanted, *query.without) for part in word.text)
    assert parse(text_of(query)) == query


def test_F_W13_awkward_texts_are_answered(parts):
    index, links, search, _ = parts
    put(index, links, reading("http://a.test/1", "fish and (a+)+$ words"))
    for text in (
        "(a+)+$",
        "*",
        "fish AND",
        "fish^9 ~2",
        "[a TO z]",
        "\\",
        "fi?h",
        "\ud800 fish",
        "(" * 900,
        '"a b" "',
        "-fish",
    ):
        search.find(parse(text))
    assert search.find(parse("fish \ud800")).total == 1


def test_a_page_is_returned_with_its_text_and_its_incoming_and_outgoing_links(parts):
    index, links, search, clock = parts
    fish, other = Url("http://a.test/fish"), Url("http://b.test/")
    assert search.stored(fish) is None
    put(index, links, reading(fish.text, "All about fish", title="Fish"))
    put(index, links, reading(other.text, "A list", ((fish.text, "the fish page"),)))
    clock.advance(1.0)
    stored = search.stored(fish)
    assert stored is not None and (stored.title, stored.text) == ("Fish", "All about fish")
    assert search.stored(Url("http://a.test/none")) is None
    incoming, anchors = search.about(fish)
    assert (incoming.count, [anchor.text for anchor in anchors]) == (1, ["the fish page"])
    assert [link.url for link in search.outgoing(other)] == [fish]


def test_several_threads_can_search(parts):
    index, links, search, clock = parts
    put(index, links, reading("http://a.test/", "fish", (("http://a.test/2", "x"),)))

    def ask(_: int) -> int:
        clock.advance(0.5)
        return search.find(parse("fish")).total + len(search.outgoing(Url("http://a.test/")))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(40))) == {2}


@pytest.mark.tantivy_only
def test_views_that_are_replaced_while_they_are_opened_are_opened_again(parts, tmp_path):
    index, links, _, clock = parts
    put(index, links, reading("http://a.example/", "tropical fish"))
    replaced = iter([tmp_path / "removed", tmp_path / "removed too", tmp_path])

    def moved() -> tuple[Searcher, LinksReader] | None:
        folder = next(replaced, None)
        return None if folder is None else (Searcher(folder / "index"), LinksReader(folder / "links.db"))

    search = Search(Searcher(tmp_path / "first"), LinksReader(tmp_path / "first.db"), clock, moved=moved)
    assert search.find(parse("fish")).total == 1
    search.close()


def test_views_that_are_replaced_without_end_give_an_error(tmp_path):
    def moved() -> tuple[Searcher, LinksReader]:
        return Searcher(tmp_path / "index"), LinksReader(tmp_path / "links.db")

    search = Search(*moved(), FakeClock(), moved=moved)
    with pytest.raises(DirectoryUnusable, match="try again"):
        search.find(parse("fish"))


def test_F_X12_a_missing_index_is_an_error_and_not_an_empty_result(tmp_path):
    def refuse_lost() -> None:
        raise ViewDamaged(tmp_path / "index", "it is missing")

    search = Search(Searcher(tmp_path / "index"), None, FakeClock(), refuse_lost=refuse_lost)
    with pytest.raises(ViewDamaged, match="gossamer rebuild"):
        search.find(parse("fish"))


@pytest.mark.tantivy_only
@pytest.mark.parametrize("name", ["meta.json", "format"])
def test_F_X12_an_index_with_unreadable_files_is_an_error(parts, tmp_path, name):
    index, links, _, _ = parts
    put(index, links, reading("http://a.example/", "tropical fish"))
    (tmp_path / "index" / name).unlink()
    (tmp_path / "index" / name).mkdir()
    with pytest.raises(DirectoryUnusable):
        Searcher(tmp_path / "index").open()
