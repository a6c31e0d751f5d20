"""The facts of one page, gathered by the thing they speak of."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gossamer.values.url import id_of
from gossamer.web.names import named, short
from gossamer.web.terms import ShownTerm, term_of

Row = Mapping[str, Mapping[str, str]]
"""One fact: `thing`, `property` and `value`, as in SPARQL 1.1 Query Results JSON; and, where known, its `syntax` and
the `path` of its element."""

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
CALLED = ("name", "title", "headline", "label", "legalName")
"""Last parts of properties that say what a thing is called; the first of them that is there wins."""


class Stated(NamedTuple):
    predicate: str
    property: str
    value: ShownTerm
    syntax: str
    path: str
    """Which syntaxes state it, and which element; empty when that is not known."""
    spelling: str = ""
    """The fact as the page spells it, as N-Triples, where that is another spelling."""


class PageEntity(NamedTuple):
    anchor: str
    name: str
    title: str
    types: list[str]
    facts: list[Stated]


def things_of(rows: Sequence[Row], page: str, pages: Collection[str]) -> list[PageEntity]:
    """Things with a class first, in the order of their names; what is said of the page itself last."""
    facts: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda one: (one["property"]["value"] != TYPE, one["property"]["value"])):
        facts.setdefault(_key(row["thing"]), []).append(row)
    order = sorted(facts, key=lambda key: (key[1] == page, key[0] == "bnode", key[1]))
    anchors = {key: anchor_of({"type": key[0], "value": key[1]}) for key in order}
    names = {key: _name(key, facts[key], page, number) for number, key in enumerate(order, 1)}
    return [
        PageEntity(
            anchors[key],
            names[key],
            key[1] if key[0] == "uri" else "",
            [short(row["value"]["value"]) for row in facts[key] if row["property"]["value"] == TYPE],
            [_stated(row, pages, anchors, names) for row in facts[key]],
        )
        for key in order
    ]


def anchor_of(cell: Mapping[str, str]) -> str:
    """Where a thing stands on the page view of any page: the same for the same thing, so that others can lead there."""
    number = id_of(f"{cell['type']} {cell['value']}") & (1 << 64) - 1
    return f"thing-{number:016x}"


def _key(cell: Mapping[str, str]) -> tuple[str, str]:
    return cell["type"], cell["value"]


def _name(key: tuple[str, str], rows: Sequence[Row], page: str, number: int) -> str:
    kind, value = key
    if value == page:
        return "This page"
    for wanted in CALLED:
        for row in rows:
            if named(row["property"]["value"]).name == wanted and row["value"]["type"] == "literal":
                return row["value"]["value"]
    return value if kind == "uri" else f"Entity {number}"


def _stated(
    row: Row, pages: Collection[str], anchors: Mapping[tuple[str, str], str], names: Mapping[tuple[str, str], str]
) -> Stated:
    predicate, key = row["property"]["value"], _key(row["value"])
    value = term_of(row["value"], pages)
    if key in anchors and not value.href.startswith("/page"):
        value = ShownTerm(names[key], key[1] if key[0] == "uri" else "", "#" + anchors[key])
    told = "is a" if predicate == TYPE else short(predicate)
    syntax, path, spelling = [row[name]["value"] if name in row else "" for name in ("syntax", "path", "spelling")]
    return Stated(predicate, told, value, syntax, path, spelling)
