"""Incoming links: the writer and the reader over a real database, compared with a model in a dict."""

import random
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.views.digests import links_digest
from tests.views.links.forms import FORMS, both_sides, opened, reading

from gossamer.base.errors import DirectoryUnusable
from gossamer.values.link import Link
from gossamer.values.page import Directives, Page, Reading
from gossamer.values.url import Url
from gossamer.views.links.reader import Anchor, LinksReader
from gossamer.views.links.store import (
    BEYOND,
    LONGEST_TEXT,
    MOST_ANCHORS,
    Columns,
    by_target,
    pack,
    rows_between,
    unpack,
)


@pytest.fixture(params=FORMS)
def sides(request, tmp_path):
    with both_sides(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def links(sides):
    return sides[0]


@pytest.fixture
def reader(sides):
    return sides[1]


def test_M_C11_a_page_has_the_texts_of_the_links_to_it_by_site(links, reader):
    target = "http://t.test/"
    links.replace(
        [
            reading("http://a.test/1", [(target, "a fine page")]),
            reading("http://a.test/2", [(target, "a fine  page")]),
            reading("http://b.test/1", [(target, "dull")]),
            reading("http://t.test/own", [(target, "Home")]),
        ]
    )
    links.commit()
    assert reader.about(Url(target))[1] == [
        Anchor("a fine page", "a.test", 2),
        Anchor("dull", "b.test", 1),
        Anchor("Home", "t.test", 1, is_own_site=True),
    ]
    incoming = reader.about(Url(target))[0]
    assert incoming.count == 4
    assert incoming.sources[-1] == Url("http://t.test/own")


def test_a_page_without_incoming_links_has_no_anchors(links, reader):
    assert reader.about(Url("http://t.test/"))[1] == []
    assert reader.about(Url("http://t.test/"))[0].count == 0
    assert reader.outgoing(Url("http://t.test/")) == []


def test_outgoing_links_are_returned_as_the_page_has_them(links, reader):
    given = reading(
        "http://a.test/1", [("http://t.test/2", "two"), ("http://t.test/1", "one"), ("http://t.test/2", "2")]
    )
    links.replace([given])
    links.commit()
    assert tuple(reader.outgoing(Url("http://a.test/1"))) == given.page.links


def test_a_newer_capture_replaces_a_pages_links(links, reader):
    links.replace([reading("http://a.test/1", [("http://t.test/1", "old"), ("http://t.test/2", "stays")], at=1)])
    links.commit()
    links.replace([reading("http://a.test/1", [("http://t.test/2", "stays"), ("http://t.test/3", "new")], at=2)])
    links.commit()
    assert [reader.about(Url(f"http://t.test/{n}"))[0].count for n in (1, 2, 3)] == [0, 1, 1]


def test_a_changed_link_text_is_still_one_link(links, reader):
    for at, text in enumerate(("one", "two", "three"), start=1):
        links.replace([reading("http://a.test/1", [("http://t.test/", text)], at=at)])
        links.commit()
    assert reader.about(Url("http://t.test/"))[0].count == 1
    assert [anchor.text for anchor in reader.about(Url("http://t.test/"))[1]] == ["three"]


@pytest.mark.parametrize("commit_between", [True, False])
def test_an_older_capture_never_replaces_a_newer_one(links, reader, commit_between):
    links.replace([reading("http://a.test/1", [("http://t.test/", "new")], at=5)])
    if commit_between:
        links.commit()
    links.replace([reading("http://a.test/1", [("http://t.test/", "old")], at=4)])
    links.commit()
    assert [anchor.text for anchor in reader.about(Url("http://t.test/"))[1]] == ["new"]


@pytest.mark.parametrize("commit_between", [True, False])
def test_the_same_capture_is_not_taken_again(tmp_path, commit_between):
    links = opened(tmp_path)
    links.replace([reading("http://a.test/1", [("http://t.test/", "new")], at=5)])
    if commit_between:
        links.commit()
    assert links.replace([reading("http://a.test/1", [("http://t.test/", "old")], at=4)]) == 0
    assert links.replace([reading("http://a.test/1", [("http://t.test/", "same")], at=5)]) == 0
    links.close()


def test_links_of_a_page_to_itself_and_nofollow_links_do_not_count(links, reader):
    page = Page(
        Url("http://a.test/1"),
        "text/html",
        "utf-8",
        links=(Link(Url("http://a.test/1"), "me"), Link(Url("http://t.test/"), "paid", may_follow=False)),
    )
    links.replace([Reading(1, 1, page)])
    nofollow = Directives(may_follow=False)
    links.replace([reading("http://a.test/2", [("http://t.test/", "x")], directives=nofollow)])
    links.commit()
    assert reader.about(Url("http://t.test/"))[0].count == reader.about(Url("http://a.test/1"))[0].count == 0
    assert [link.may_follow for link in reader.outgoing(Url("http://a.test/2"))] == [False]


def test_M_C11_at_most_100_anchors_are_kept_and_every_link_is_counted(links, reader):
    target = "http://t.test/"
    links.replace([reading(f"http://t.test/{n}", [(target, "Home")]) for n in range(150)])
    links.commit()
    links.replace([reading(f"http://s{n}.test/", [(target, f"text {n}")]) for n in range(60)])
    links.commit()
    incoming = reader.about(Url(target))[0]
    assert (incoming.count, len(incoming.sources)) == (210, MOST_ANCHORS)
    anchors = reader.about(Url(target))[1]
    assert sum(not anchor.is_own_site for anchor in anchors) == 60, "links from other sites are kept first"


def test_long_texts_are_shortened_and_invalid_characters_do_no_harm(links, reader):
    links.replace([reading("http://a.test/1", [("http://t.test/", "ü" * 500), ("http://u.test/", "\ud800 x")])])
    links.commit()
    assert reader.about(Url("http://t.test/"))[1][0].text == "ü" * LONGEST_TEXT
    assert reader.about(Url("http://u.test/"))[0].count == 1


def test_the_position_is_kept_with_the_commit(tmp_path):
    first = opened(tmp_path)
    first.replace([reading("http://a.test/1", [("http://t.test/", "x")])])
    first.commit(b"here")
    first.replace([reading("http://a.test/2", [("http://t.test/", "x")])])
    first.close()
    again = opened(tmp_path)
    assert again.position == b"here"
    again.close()


def test_a_damaged_database_is_replaced_by_an_empty_one(tmp_path):
    first = opened(tmp_path)
    first.commit(b"here")
    first.close()
    (tmp_path / "links.db").write_bytes(b"this is no database, but it is long enough to be taken for one" * 100)
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"links.db{suffix}").unlink(missing_ok=True)
    again = opened(tmp_path)
    assert again.position == b""
    again.close()


def test_a_reader_without_a_database_is_refused(tmp_path):
    with pytest.raises(DirectoryUnusable):
        LinksReader(tmp_path / "links.db").open()


def test_a_reader_sees_each_commit_in_full_during_merges(tmp_path):
    links = opened(tmp_path, merge_at=50)
    reader = LinksReader(tmp_path / "links.db")
    reader.open()
    for n in range(40):
        links.replace([reading(f"http://a.test/{n}", [(f"http://t.test/{m}", "x") for m in range(10)])])
        links.commit()
        assert [reader.about(Url(f"http://t.test/{m}"))[0].count for m in range(10)] == [n + 1] * 10
    links.close()


def test_a_long_merge_is_done_in_slices_and_answers_stay_correct(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.views.links.store.SLICE", 16)
    links = opened(tmp_path, merge_at=300)
    reader = LinksReader(tmp_path / "links.db")
    reader.open()
    chance, model = random.Random(7), dict[str, set[str]]()
    for at in range(1, 80):
        source = f"http://s{chance.randrange(30)}.test/"
        model[source] = {f"http://t.test/{chance.randrange(40)}" for _ in range(12)}
        links.replace([reading(source, [(target, target[-2:]) for target in sorted(model[source])], at=at)])
        links.commit()
        target = f"http://t.test/{chance.randrange(40)}"
        expected = {source for source, targets in model.items() if target in targets}
        incoming = reader.about(Url(target))[0]
        assert (incoming.count, {url.text for url in incoming.sources}) == (len(expected), expected)
    links.close()


PAGES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "a", "ü b", "日本"])), max_size=6),
        st.booleans(),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(PAGES, st.sampled_from([1, 5, 1_000]))
def test_the_links_are_those_of_the_newest_captures_in_any_order_of_writing(tmp_path_factory, pages, merge_at):
    live, plain = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("plain")
    links, newest = opened(live, merge_at), dict[str, Reading]()
    for at, (source, targets, commits) in enumerate(pages, start=1):
        one = reading(f"http://s{source}.test/", [(f"http://t{t}.test/", text) for t, text in targets], at=at)
        newest[one.page.url.text] = one
        links.replace([one])
        if commits:
            links.commit()
    links.commit()
    links.close()
    rebuilt = opened(plain)
    rebuilt.replace(list(newest.values()))
    rebuilt.commit()
    rebuilt.close()
    assert links_digest(live / "links.db") == links_digest(plain / "links.db")


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 9), st.integers(0, 2), st.text(max_size=5))))
def test_a_run_is_read_back_piece_by_piece(changes):
    if not changes:
        return
    plain = [(t, s, k, text.encode("utf-8", "replace").decode()) for t, s, k, text in changes]
    one_by_one = [(s, Columns(array("q", [t]), bytes([k]), [text])) for t, s, k, text in plain]
    _, columns, texts = pack(one_by_one)
    plain.sort(key=by_target)
    middle = plain[len(plain) // 2][0]

    def between(low, below):
        start, end = rows_between(len(plain), lambda at, size: columns[at : at + size], low, below)
        return unpack(
            len(plain), start, end, lambda at, size: columns[at : at + size], lambda at, size: texts[at : at + size]
        )

    assert between(-(2**63), BEYOND) == plain
    assert between(-(2**63), middle) + between(middle, BEYOND) == plain
