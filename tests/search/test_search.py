"""A person's words, read and answered over real indexes."""

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import QueryRefused
from gossamer.files import DiskFiles
from gossamer.index.searcher import Searcher
from gossamer.index.writer import IndexWriter
from gossamer.links.reader import LinksReader
from gossamer.links.store import Links
from gossamer.search.find import Search
from gossamer.search.query import parse
from gossamer.testing import FakeClock
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.query import Query
from gossamer.values.tell import silent
from gossamer.values.url import Url


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("tropical fish", Query(words=("tropical", "fish"))),
        ('"tropical fish" tank', Query(words=("tank",), phrases=(("tropical", "fish"),))),
        ("“tropical fish”", Query(phrases=(("tropical", "fish"),))),
        ('fish -soup -"fish soup"', Query(words=("fish",), without=(("soup",), ("fish", "soup")))),
        ("site:example.org fish", Query(words=("fish",), site="example.org")),
        ("site:https://example.org/ fish", Query(words=("fish",), site="example.org")),
        ("type:Person lang:de", Query(type="Person", language="de")),
        ("type:http://schema.org/Person", Query(type="http://schema.org/Person")),
        (
            "fish -type:Recipe -site:a.test",
            Query(words=("fish",), without_types=("Recipe",), without_sites=("a.test",)),
        ),
        ("SITE:a.test", Query(site="a.test")),
        ("C++ 12:30 note:this", Query(words=("C++", "12:30"), phrases=(("note", "this"),))),
        ("e-mail", Query(words=("e-mail",))),
        ('fish "', Query(words=("fish",))),
        ('"fish tank', Query(words=("fish", "tank"))),
        ("- -- ( ) : \" ' type: site:", Query(words=("type:", "site:"))),
        ("", Query()),
        ("\0\n\t", Query()),
    ],
)
def test_how_words_are_read(text, query):
    assert parse(text) == query


@pytest.mark.parametrize("text", ["a" * 1_000_000, "(" * 10_000, '"' * 10_000, "-" * 5_000])
def test_F_W13_what_is_far_too_long_is_refused(text):
    with pytest.raises(QueryRefused):
        parse(text)


def test_F_W14_an_offset_beyond_the_limits_is_refused():
    with pytest.raises(QueryRefused):
        parse("fish", offset=1_000_000_000)


@pytest.fixture
def rooms(tmp_path):
    clock = FakeClock()
    index = IndexWriter(tmp_path / "index", DiskFiles(), silent)
    links = Links(tmp_path / "links.db", DiskFiles(), silent)
    index.open()
    links.open()
    search = Search(Searcher(tmp_path / "index"), LinksReader(tmp_path / "links.db"), clock)
    yield index, links, search, clock
    for room in (search, index, links):
        room.close()


def put(index: IndexWriter, links: Links, *readings: Reading) -> None:
    for view in (index, links):
        view.replace(readings)
        view.commit()


def reading(address: str, content: str, links: tuple[tuple[str, str], ...] = (), **more: object) -> Reading:
    found = tuple(Link(Url(target), text) for target, text in links)
    return Reading(1, 1, Page(Url(address), "text/html", "utf-8", content=content, links=found, **more))


def test_an_answer_says_what_was_found_and_who_speaks_of_it(rooms):
    index, links, search, clock = rooms
    put(
        index,
        links,
        reading("http://a.test/fish", "All about tropical fish", title="Fish", language="en"),
        reading("http://b.test/", "A list", (("http://a.test/fish", "the fish page"),)),
        reading("http://a.test/", "Start", (("http://a.test/fish", "more"),)),
    )
    answer = search.find(parse("tropical fish"), facets=("language",))
    (hit,) = answer.hits
    assert (hit.url, hit.title, hit.site, hit.language) == ("http://a.test/fish", "Fish", "a.test", "en")
    assert (hit.linked_from, [anchor.text for anchor in hit.anchors]) == (2, ["the fish page"])
    assert [part.text for part in hit.snippet if part.is_match] == ["tropical", "fish"]
    assert (answer.total, answer.as_of, answer.all_words) == (1, clock.now(), True)
    assert answer.facets["language"][0].value == "en"
    assert msgspec.json.decode(msgspec.json.encode(answer))["hits"][0]["snippet"][1] == ["tropical", True]


def test_M_Z2_a_search_sees_new_commits_within_a_second(rooms):
    index, links, search, clock = rooms
    put(index, links, reading("http://a.test/1", "fish"))
    assert search.find(parse("fish")).total == 1
    put(index, links, reading("http://a.test/2", "fish"))
    clock.advance(1.0)
    assert search.find(parse("fish")).total == 2


def test_searching_before_anything_was_crawled_finds_nothing(tmp_path):
    search = Search(Searcher(tmp_path / "index"), LinksReader(tmp_path / "links.db"), FakeClock())
    assert search.find(parse("fish")).hits == ()


def test_searching_goes_on_when_the_index_is_deleted_and_made_again(rooms, tmp_path):
    index, links, search, clock = rooms
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
def test_F_W13_nothing_a_person_types_is_an_error(text):
    query = parse(text)
    assert all(word.strip() for word in query.words)


def test_F_W13_awkward_texts_are_answered(rooms):
    index, links, search, _ = rooms
    put(index, links, reading("http://a.test/1", "fish and (a+)+$ things"))
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


def test_a_page_is_told_with_its_text_its_links_and_who_links_to_it(rooms):
    index, links, search, clock = rooms
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


def test_searches_may_come_from_several_threads(rooms):
    index, links, search, clock = rooms
    put(index, links, reading("http://a.test/", "fish", (("http://a.test/2", "x"),)))

    def ask(_: int) -> int:
        clock.advance(0.5)
        return search.find(parse("fish")).total + len(search.outgoing(Url("http://a.test/")))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(40))) == {2}
