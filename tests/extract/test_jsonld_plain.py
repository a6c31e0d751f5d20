"""What is read without the parser is what the parser would have read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract import schema_org
from gossamer.extract.jsonld import Relabelled, read_script
from gossamer.extract.jsonld_plain import plainly_stated
from gossamer.extract.terms import Labels
from gossamer.values.page import Triple

BASE = "https://shop.example:8443/a/b.html?q=1"
CONTEXT = "https://schema.org"
ENOUGH = 1000

PLAIN_NAMES = ["name", "url", "image", "sameAs", "startDate", "price", "x9", "schema"]
PLAIN_KINDS = ["Book", "Person", "Action", "httpd", "https://schema.org/Book", "9"]
PLAIN_ADDRESSES = [
    "http://a.example",
    "https://a.example/x/y.html?a=b&c=1#it",
    "http://a.example:99999",
    "//a.example:8080/x",
    "//a.example",
    "//A-.example?#",
    "/x?q",
    "/x//y",
    "/",
]
ODD_NAMES = ["type", "a-b", "@id", "@index", "@value"]
ODD_KINDS = ["type", "a b", "", "//a.example/Kind", "http://a b"]
ODD_ADDRESSES = [
    "#it",
    "",
    "x/y",
    "/x/../y",
    "http://a.example/ä b",
    "mailto:a@b.example",
    "schema:Book",
    "_:b",
    "HTTP://A",
]


def scripts(names: list[str], kinds: list[str], addresses: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    def things(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        values = inside | st.lists(inside, min_size=1, max_size=3)
        properties = st.dictionaries(st.sampled_from(names), values, max_size=4)
        kind, address = st.sampled_from(kinds), st.sampled_from(addresses)
        said = st.fixed_dictionaries({}, optional={"@type": kind | st.lists(kind, max_size=3), "@id": address})
        return st.tuples(properties, said).map(lambda both: both[0] | both[1])

    words = st.text(max_size=12) | st.text("aé ’", max_size=5) | st.sampled_from(addresses)
    return things(st.recursive(words | st.integers(-9, 9) | st.integers() | st.booleans(), things, max_leaves=8))


plain_scripts = scripts(PLAIN_NAMES, PLAIN_KINDS, PLAIN_ADDRESSES)
odd_scripts = scripts(PLAIN_NAMES + ODD_NAMES, PLAIN_KINDS + ODD_KINDS, PLAIN_ADDRESSES + ODD_ADDRESSES)


def plain(root: Any, labels: Labels | None = None, at_most: int = ENOUGH) -> list[Triple] | None:
    return plainly_stated(root, BASE, labels or Labels(1), at_most)


def by_parser(root: dict[str, Any]) -> list[Triple]:
    """A context in a list means the same, and is always the parser's."""
    text = json.dumps({**root, "@context": [CONTEXT]})
    return read_script(text, BASE, Relabelled(Labels(1)), ENOUGH)[0]


@given(plain_scripts | odd_scripts)
def test_what_is_read_without_the_parser_is_what_the_parser_reads(root: dict[str, Any]) -> None:
    found = plain({**root, "@context": CONTEXT})
    assert found is None or found == by_parser(root)


@given(st.lists(plain_scripts, min_size=1, max_size=3))
def test_things_side_by_side_are_read_as_the_parser_reads_them(nodes: list[dict[str, Any]]) -> None:
    found = plain({"@context": CONTEXT, "@graph": nodes})
    assert found is None or found == by_parser({"@graph": nodes})


def test_a_usual_script_needs_no_parser() -> None:
    book = {
        "@context": "http://schema.org/",
        "@type": ["Book", "https://schema.org/Product"],
        "@id": "//shop.example:8443/books/1#it",
        "name": "Brücken",
        "url": "/books/1",
        "datePublished": "2026-11-15",
        "numberOfPages": 300,
        "isFamilyFriendly": True,
        "keywords": ["roofs", "tables"],
        "author": {"@type": "Person", "name": "Thea Aoki", "sameAs": ["https://a.example/thea", "//b.example"]},
        "publisher": {"@id": "https://p.example/#us"},
    }
    found = plain(book)
    assert found is not None
    assert found == by_parser(book)
    assert Triple("<https://shop.example:8443/books/1#it>", "<http://schema.org/name>", '"Brücken"') in found
    assert plain([book, book]) == found + [_relabelled(fact) for fact in found]


def _relabelled(fact: Triple) -> Triple:
    """The second time the only thing without an address has the next label."""
    return Triple(*[term.replace("n1", "n2") if term.startswith("_:") else term for term in fact])


@pytest.mark.parametrize(
    "odd",
    [
        {"@context": ["https://schema.org"], "name": "a"},
        {"@context": "https://other.example/", "name": "a"},
        {"@context": CONTEXT, "name": {"@value": "a", "@language": "en"}},
        {"@context": CONTEXT, "@reverse": {"author": {"name": "a"}}},
        {"@context": CONTEXT, "schema:name": "a"},
        {"@context": CONTEXT, "author": {"@context": {"name": "http://a.example/n"}, "name": "a"}},
        {"@context": CONTEXT, "name": "tab\there"},
        {"@context": CONTEXT, "name": 1.5},
        {"@context": CONTEXT, "name": []},
        {"@context": CONTEXT, "url": "x y"},
        {"@context": CONTEXT},
        {"name": "a"},
        "a",
        None,
    ],
)
def test_whatever_is_not_plain_is_left_to_the_parser_and_uses_up_no_label(odd: Any) -> None:
    labels = Labels(1)
    assert plain(odd, labels) is None
    assert labels.new() == Labels(1).new()


def test_things_that_nest_too_deep_are_left_to_the_parser() -> None:
    root: dict[str, Any] = {"name": "innermost"}
    for _ in range(20):
        root = {"author": root}
    assert plain({"@context": CONTEXT, **root}) is None
    assert len(by_parser(root)) == 21


def test_more_facts_than_are_wanted_are_left_to_the_parser() -> None:
    root = {"@context": CONTEXT, "keywords": ["a", "b", "c"]}
    assert plain(root, at_most=2) is None
    assert len(read_script(json.dumps(root), BASE, Relabelled(Labels(1)), 2)[0]) == 2


def test_no_alias_or_prefix_of_the_context_is_taken_for_a_property() -> None:
    for name in schema_org.ALIASES:
        assert plain({"@context": CONTEXT, name: "Book"}) is None
    assert plain({"@context": CONTEXT, "schema": "a"}) == by_parser({"schema": "a"})
