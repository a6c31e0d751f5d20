"""Facts as values: the rows of query results, gathered by entity, property, value and page. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from gossamer.values.url import id_of
from gossamer.web.entities.queries import MOST_FACTS, NAMING, PER_PAGE, TYPE
from gossamer.web.names import ShownTerm, named, named_in, outside_href, short, term_of

Row = Mapping[str, Mapping[str, str]]
"""One fact: `thing`, `property` and `value`, as in SPARQL 1.1 Query Results JSON; and, where known, its `syntax` and
the `path` of its element."""


Cell = Mapping[str, str]
SAME = ("http://www.w3.org/2002/07/owl#sameAs", "http://schema.org/sameAs")
PICTURES = (
    "http://schema.org/image",
    "http://xmlns.com/foaf/0.1/depiction",
    "http://xmlns.com/foaf/0.1/img",
    "http://ogp.me/ns#image",
    "http://schema.org/logo",
    "http://schema.org/thumbnailUrl",
)
DEEPEST = 3
MOST_DRAWN = 24
"""Neighbours on each side of the drawing, and of the table beside it."""


class StatedBy(msgspec.Struct, frozen=True):
    """One page that states a fact, and where in it."""

    page: str
    fetched_at: str = ""
    """RFC 3339; empty when it is not known."""
    syntaxes: tuple[str, ...] = ()
    path: str = ""
    """The element, as a path; empty when it is not known."""
    anchor: str = ""
    """Of the thing, on the page view of that page."""


class FactValue(msgspec.Struct, frozen=True):
    kind: Literal["iri", "blank", "literal"]
    text: str
    """The IRI, the label of a nameless thing, or the words."""
    name: str = ""
    """What the thing is called, if it has a name."""
    language: str = ""
    datatype: str = ""
    stated_by: tuple[StatedBy, ...] = ()
    says: tuple["SaidOf", ...] = ()
    """What is said of a thing without an IRI: it has no page of its own."""

    @property
    def pages(self) -> int:
        return len({one.page for one in self.stated_by})


class SaidOf(msgspec.Struct, frozen=True):
    """One property and all its values; the value that most pages state comes first."""

    property: str
    values: tuple[FactValue, ...]
    pages: int
    """How many state any of them."""
    differ: bool = False
    """Each page states one value, and not all the same."""
    follows: tuple[str, ...] = ()
    """Properties it implies by the vocabulary: the facts hold for these too, but no page says so."""


class TypeOf(msgspec.Struct, frozen=True):
    iri: str
    pages: int
    """How many state it; 0 when it is inferred."""
    because: str = ""
    """The stated class it follows from; empty when it is stated itself."""


class Pointing(msgspec.Struct, frozen=True):
    """A thing that points here, or an instance of this class."""

    thing: FactValue
    type: str
    property: str
    pages: tuple[str, ...]


class TermUse(msgspec.Struct, frozen=True):
    """A property, class or value, and how much it is used here."""

    term: FactValue
    facts: int
    things: int
    pages: int


class Neighbour(msgspec.Struct, frozen=True):
    direction: Literal["in", "out"]
    property: str
    thing: FactValue
    pages: int


def facts_in(rows: Sequence[Row], iri: str) -> tuple[tuple[SaidOf, ...], bool]:
    """All that is said of it, and whether there is more than was asked for."""
    by_thing: dict[tuple[str, str], list[Row]] = {}
    for row in rows[:MOST_FACTS]:
        by_thing.setdefault((row["thing"]["type"], row["thing"]["value"]), []).append(row)
    return _said(by_thing, ("uri", iri), ()), len(rows) > MOST_FACTS


def _said(
    by_thing: Mapping[tuple[str, str], list[Row]], of: tuple[str, str], above: tuple[str, ...]
) -> tuple[SaidOf, ...]:
    by_property: dict[str, list[Row]] = {}
    for row in by_thing.get(of, ()):
        by_property.setdefault(row["property"]["value"], []).append(row)
    return tuple(_property(by_thing, name, by_property[name], above) for name in sorted(by_property, key=_order))


def _order(property: str) -> tuple[int, str]:
    """What it is called and what it is first, then by the name people see."""
    return (0 if property in NAMING else 1 if property == TYPE else 2, short(property).lower())


def _property(
    by_thing: Mapping[tuple[str, str], list[Row]], property: str, rows: Sequence[Row], above: tuple[str, ...]
) -> SaidOf:
    by_value: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        cell = row["value"]
        key = (cell["type"], str(cell["value"]), cell.get("xml:lang", ""), cell.get("datatype", ""))
        by_value.setdefault(key, []).append(row)
    values = [_value(by_thing, group, above) for group in by_value.values()]
    values.sort(key=lambda one: (-one.pages, one.text))
    pages = {row["page"]["value"] for row in rows}
    return SaidOf(property, tuple(values), len(pages), _differ(values))


def _differ(values: Sequence[FactValue]) -> bool:
    """Several values in one page are a list, and other languages are translations; neither is a disagreement."""
    if len(values) < 2 or any(value.kind != "literal" for value in values):
        return False
    pages = [page for value in values for page in {one.page for one in value.stated_by}]
    return len(pages) == len(set(pages)) and len({value.language for value in values}) == 1


def _value(by_thing: Mapping[tuple[str, str], list[Row]], rows: Sequence[Row], above: tuple[str, ...]) -> FactValue:
    cell, called = rows[0]["value"], rows[0].get("name", {}).get("value", "")
    stated_by = tuple(sorted((_stated_by(row) for row in rows), key=lambda one: one.page))
    value = value_of(cell, called)
    if value.kind == "blank" and value.text not in above and len(above) < DEEPEST:
        says = _said(by_thing, ("bnode", value.text), (*above, value.text))
        return msgspec.structs.replace(value, stated_by=stated_by, says=says)
    return msgspec.structs.replace(value, stated_by=stated_by)


def _stated_by(row: Row) -> StatedBy:
    at, syntax, path = (row.get(name, {}).get("value", "") for name in ("at", "syntax", "path"))
    return StatedBy(row["page"]["value"], at, tuple(syntax.split()), path, anchor_of(row["thing"]))


def value_of(cell: Cell, called: str = "") -> FactValue:
    """A cell of an answer. A triple as a value, which RDF 1.2 allows, is shown as its text."""
    match cell["type"]:
        case "uri":
            return FactValue("iri", cell["value"], called)
        case "bnode":
            return FactValue("blank", cell["value"], called)
        case "literal":
            return FactValue("literal", cell["value"], "", cell.get("xml:lang", ""), cell.get("datatype", ""))
        case _:
            return FactValue("literal", str(cell["value"]))


def name_in(said: Iterable[SaidOf]) -> str:
    """What most pages call it, by the first naming property there is; empty when nobody names it."""
    by_property = {one.property: one for one in said}
    for property in NAMING:
        for value in by_property[property].values if property in by_property else ():
            if value.kind == "literal" and value.text.strip():
                return value.text.strip()
    return ""


def types_in(said: Iterable[SaidOf]) -> tuple[TypeOf, ...]:
    values = [value for one in said if one.property == TYPE for value in one.values]
    return tuple(TypeOf(value.text, value.pages) for value in values if value.kind == "iri")


def same_in(said: Iterable[SaidOf]) -> tuple[str, ...]:
    values = [value.text for one in said if one.property in SAME for value in one.values if value.kind != "blank"]
    return tuple(dict.fromkeys(values))


def picture_in(said: Iterable[SaidOf]) -> str:
    """The address of an image of it, if that is a web address. It is never loaded."""
    by_property = {one.property: one for one in said}
    for property in PICTURES:
        for value in by_property[property].values if property in by_property else ():
            if outside_href(value.text):
                return value.text
            for inner in value.says:  # an ImageObject
                if found := next((one.text for one in inner.values if outside_href(one.text)), ""):
                    return found
    return ""


def pointing_in(rows: Sequence[Row]) -> tuple[tuple[Pointing, ...], bool]:
    """One a thing and property, by name; and whether there are more."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows[:PER_PAGE]:
        key = (row["thing"]["type"], row["thing"]["value"], row["property"]["value"])
        found.setdefault(key, []).append(row)
    listed = [
        Pointing(
            value_of(group[0]["thing"], group[0].get("name", {}).get("value", "")),
            group[0].get("type", {}).get("value", ""),
            group[0]["property"]["value"],
            tuple(dict.fromkeys(row["page"]["value"] for row in group)),
        )
        for group in found.values()
    ]
    listed.sort(key=lambda one: (not one.thing.name, one.thing.name.lower(), one.thing.text, one.property))
    return tuple(listed), len(rows) > PER_PAGE


def uses_in(rows: Sequence[Row], what: str) -> tuple[TermUse, ...]:
    return tuple(
        TermUse(value_of(row["term"]), *(int(row[name]["value"]) for name in ("facts", "things", "pages")))
        for row in rows
        if row["what"]["value"] == what and "term" in row
    )


def total_in(rows: Sequence[Row]) -> tuple[int, int, int]:
    """Facts, things and pages with this property, as far as they were counted."""
    for row in rows:
        if row["what"]["value"] == "all":
            return int(row["facts"]["value"]), int(row["things"]["value"]), int(row["pages"]["value"])
    return 0, 0, 0


def neighbours_in(said: Iterable[SaidOf], pointing: Iterable[Pointing]) -> tuple[Neighbour, ...]:
    """What a drawing shows: things this one leads to, then things that lead here. Classes and literals are not
    neighbours."""
    out = [
        Neighbour("out", one.property, msgspec.structs.replace(value, name=_called(value), stated_by=(), says=()),
                  value.pages)
        for one in said
        if one.property != TYPE
        for value in one.values
        if value.kind != "literal"
    ]  # fmt: skip
    into = [Neighbour("in", one.property, one.thing, len(one.pages)) for one in pointing if one.property != TYPE]
    return (*out[:MOST_DRAWN], *into[:MOST_DRAWN])


def _called(value: FactValue) -> str:
    return value.name or name_in(value.says) or named_in(_first_type(value.says))


def _first_type(said: Sequence[SaidOf]) -> str:
    return next((one.iri for one in types_in(said)), "")


def bindings(body: bytes) -> list[Row]:
    """The rows of SPARQL 1.1 Query Results JSON."""
    found: dict[str, Any] = msgspec.json.decode(body)
    rows: list[Row] = found["results"]["bindings"]
    return rows


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
    names = {key: _name_on_page(key, facts[key], page, number) for number, key in enumerate(order, 1)}
    return [
        PageEntity(
            anchors[key],
            names[key],
            key[1] if key[0] == "uri" else "",
            [short(row["value"]["value"]) for row in facts[key] if row["property"]["value"] == TYPE],
            [_stated_fact(row, pages, anchors, names) for row in facts[key]],
        )
        for key in order
    ]


def anchor_of(cell: Mapping[str, str]) -> str:
    """Where a thing stands on the page view of any page: the same for the same thing, so that others can lead there."""
    number = id_of(f"{cell['type']} {cell['value']}") & (1 << 64) - 1
    return f"thing-{number:016x}"


def _key(cell: Mapping[str, str]) -> tuple[str, str]:
    return cell["type"], cell["value"]


def _name_on_page(key: tuple[str, str], rows: Sequence[Row], page: str, number: int) -> str:
    kind, value = key
    if value == page:
        return "This page"
    for wanted in CALLED:
        for row in rows:
            if named(row["property"]["value"]).name == wanted and row["value"]["type"] == "literal":
                return row["value"]["value"]
    return value if kind == "uri" else f"Entity {number}"


def _stated_fact(
    row: Row, pages: Collection[str], anchors: Mapping[tuple[str, str], str], names: Mapping[tuple[str, str], str]
) -> Stated:
    predicate, key = row["property"]["value"], _key(row["value"])
    value = term_of(row["value"], pages)
    if key in anchors and not value.href.startswith("/page"):
        value = ShownTerm(names[key], key[1] if key[0] == "uri" else "", "#" + anchors[key])
    told = "is a" if predicate == TYPE else short(predicate)
    syntax, path, spelling = [row[name]["value"] if name in row else "" for name in ("syntax", "path", "spelling")]
    return Stated(predicate, told, value, syntax, path, spelling)
