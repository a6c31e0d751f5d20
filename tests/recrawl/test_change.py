"""Kinds of change are distinguished, and text that changes by itself is ignored."""

from datetime import UTC, datetime

import pytest

from gossamer.base.clock import from_words
from gossamer.recrawl.change import compared, counts, facts_print, prints_of, without_today
from gossamer.values.history import Change, Prints
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url

NOW = from_words("2026-11-15T10:00:00Z")
LATER = from_words("2026-11-18T22:00:00Z")
PRICE = (
    b'_:c1n0 <https://schema.org/price> "%d" .\n_:c1n0 <https://schema.org/itemOffered> <https://a.example/boat> .\n'
)


def reading(content: str, facts: bytes = b"", at: int = NOW, rest: str = "") -> Reading:
    page = Page(Url("https://a.example/"), "text/html", "utf-8", "Boats", content=content, rest=rest)
    return Reading(1, at, page, facts)


def test_three_kinds_of_change_are_distinguished() -> None:
    before = prints_of(reading("A boat", PRICE % 5), b"<p>A boat")
    assert compared(before, prints_of(reading("A boat", PRICE % 5), b"<p>A boat")) == Change.NONE
    assert compared(before, prints_of(reading("A boat", PRICE % 5, rest="Buy!"), b"<p>Buy!")) == Change.BYTES
    text = compared(before, prints_of(reading("A big boat", PRICE % 5), b"<p>A big boat"))
    assert text == Change.BYTES | Change.TEXT
    facts = compared(before, prints_of(reading("A boat", PRICE % 6), b"<p>A boat!"))
    assert facts == Change.BYTES | Change.FACTS


def test_M_Z6_a_change_of_facts_counts_and_a_change_of_advertisements_does_not() -> None:
    assert counts(Change.BYTES | Change.FACTS) and counts(Change.TEXT) and not counts(Change.BYTES)
    assert counts(Change.BYTES, Change.BYTES) and not counts(Change.TEXT, Change.FACTS)


def test_without_an_earlier_version_there_is_no_change() -> None:
    assert compared(Prints(), prints_of(reading("A boat"), b"x")) == Change.NONE


@pytest.mark.parametrize(
    "line",
    [
        "Last updated: {0:%d %B %Y}, {0:%H:%M}",
        "Sonntag, {0:%d}. November {0:%Y} {0:%H:%M:%S} Uhr",
        "{0:%B %d, %Y}",
        "{0:%Y-%m-%dT%H:%M:%S}",
        "{0:%d/%m/%Y %H:%M}",
        "{0:%d} de noviembre de {0:%Y}",
        "{0:%m/%d/%Y}",
        "the time is {0:%H:%M:%S}",
    ],
)
def test_a_date_line_is_not_a_change(line: str) -> None:
    texts = []
    for at in (NOW, LATER):
        when = datetime.fromtimestamp(at // 1_000_000, UTC)
        texts.append(without_today(f"Boats for sale. Now: {line.format(when)}. Come and see.", at))
    assert texts[0] == texts[1]


def test_another_date_is_a_change() -> None:
    texts = [without_today(f"The fair is on {day} May 2027, doors open at 10:30.", NOW) for day in (3, 4)]
    assert texts[0] != texts[1] and "10:30" in texts[0]
    assert without_today("since 2026", NOW) == "since 2026"


def test_facts_are_the_same_in_any_order_and_with_any_labels() -> None:
    one = b'_:a <p> _:b .\n_:b <q> "1" .\n<x> <p> _:a .\n_:c <q> "2" .\n'
    two = b'_:n7 <q> "2" .\n_:n1 <q> "1" .\n_:n2 <p> _:n1 .\n<x> <p> _:n2 .\n'
    assert facts_print(one) == facts_print(two)
    assert facts_print(one) != facts_print(one.replace(b'"1"', b'"3"'))
    assert facts_print(b"_:a <p> _:b .\n_:a <q> _:b .\n") != facts_print(b"_:a <p> _:b .\n_:b <q> _:a .\n")
    assert facts_print(b"") == facts_print(b"\n")


def test_a_new_modification_date_alone_is_not_a_change() -> None:
    fact = b'<https://a.example/> <https://schema.org/%s> "%s" .\n'
    stamps = [facts_print(fact % (b"dateModified", day)) for day in (b"2026-11-14", b"2026-11-15")]
    dates = [facts_print(fact % (b"startDate", day)) for day in (b"2026-11-14", b"2026-11-15")]
    assert stamps[0] == stamps[1] and dates[0] != dates[1]
