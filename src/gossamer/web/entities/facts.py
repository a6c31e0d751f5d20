"""Facts from the rows of query results, grouped by entity, property, value and page. Pure."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple, TypeVar, cast

import msgspec

from gossamer.collection.answers import result_term
from gossamer.values.url import id_of
from gossamer.web.entities.queries import MOST_FACTS, NAMING, PER_PAGE, TYPE
from gossamer.web.names import TermView, named, named_in, outside_href, short, term_of

Row = Mapping[str, Mapping[str, str]]
"""One fact: `thing`, `property` and `value`, as in SPARQL 1.1 Query Results JSON; if known, also its `syntax` and the
`path` of its element."""
Cell = Mapping[str, str]
Key = TypeVar("Key", bound=Hashable)
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
"""Neighbours in each direction, in the graph and in its table."""


class StatedBy(msgspec.Struct, frozen=True):
    """A page that states a fact, and the place on it."""

    page: str
    fetched_at: str = ""
    """RFC 3339; empty if unknown."""
    syntaxes: tuple[str, ...] = ()
    path: str = ""
    """The path of the element; empty if unknown."""
    anchor: str = ""
    """The anchor of the entity in that page's page view."""


class FactValue(msgspec.Struct, frozen=True):
    kind: Literal["iri", "blank", "literal"]
    text: str
    """The IRI, the label of a blank node, or the text."""
    name: str = ""
    language: str = ""
    datatype: str = ""
    stated_by: tuple[StatedBy, ...] = ()
    says: tuple["PropertyValues", ...] = ()
    """The facts about a blank node, which has no page of its own."""

    @property
    def pages(self) -> int:
        return len({one.page for one in self.stated_by})


class PropertyValues(msgspec.Struct, frozen=True):
    """One property and all its values; the one that most pages state comes first."""

    property: str
    values: tuple[FactValue, ...]
    pages: int
    """The pages that state any of them."""
    differ: bool = False
    """Each page states one value, and they are not all the same."""
    follows: tuple[str, ...] = ()
    """Properties it implies by its vocabulary: the facts hold for these too, though no page states them."""


class TypeOf(msgspec.Struct, frozen=True):
    iri: str
    pages: int
    """The pages that state it; 0 if it is inferred."""
    because: str = ""
    """The stated class it follows from; empty if it is stated itself."""


class Reference(msgspec.Struct, frozen=True):
    """An entity that refers to this one, or an instance of this class."""

    entity: FactValue = msgspec.field(name="thing")
    type: str
    property: str
    pages: tuple[str, ...]


class TermUse(msgspec.Struct, frozen=True):
    """A property, class or value, and how often it is used."""

    term: FactValue
    facts: int
    entities: int = msgspec.field(name="things")
    pages: int


class Neighbour(msgspec.Struct, frozen=True):
    direction: Literal["in", "out"]
    property: str
    entity: FactValue = msgspec.field(name="thing")
    pages: int


def facts_in(rows: Sequence[Row], iri: str) -> tuple[tuple[PropertyValues, ...], bool]:
    """All facts about it, and whether there are more than the limit."""
    by_entity = grouped(rows[:MOST_FACTS], lambda row: key_of(row["thing"]))
    return _properties(by_entity, ("uri", iri), ()), len(rows) > MOST_FACTS


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def key_of(cell: Cell) -> tuple[str, str]:
    return cell["type"], cell["value"]


def text_in(row: Row, name: str) -> str:
    return row[name]["value"] if name in row else ""


def _properties(
    by_entity: Mapping[tuple[str, str], list[Row]], key: tuple[str, str], above: tuple[str, ...]
) -> tuple[PropertyValues, ...]:
    by_property = grouped(by_entity.get(key, ()), lambda row: row["property"]["value"])
    return tuple(_property(by_entity, name, by_property[name], above) for name in sorted(by_property, key=_order))


def _order(property: str) -> tuple[int, str]:
    """Names and types first, the rest by the name people see."""
    return (0 if property in NAMING else 1 if property == TYPE else 2, short(property).lower())


def _property(
    by_entity: Mapping[tuple[str, str], list[Row]], property: str, rows: Sequence[Row], above: tuple[str, ...]
) -> PropertyValues:
    by_value = grouped(rows, lambda row: result_term(row["value"]))
    values = [_value(by_entity, group, above) for group in by_value.values()]
    values.sort(key=lambda one: (-one.pages, one.text))
    pages = {row["page"]["value"] for row in rows}
    return PropertyValues(property, tuple(values), len(pages), _differ(values))


def _differ(values: Sequence[FactValue]) -> bool:
    """Several values on one page are a list, and other languages are translations; neither is a disagreement."""
    if len(values) < 2 or any(value.kind != "literal" for value in values):
        return False
    pages = [page for value in values for page in {one.page for one in value.stated_by}]
    return len(pages) == len(set(pages)) and len({value.language for value in values}) == 1


def _value(by_entity: Mapping[tuple[str, str], list[Row]], rows: Sequence[Row], above: tuple[str, ...]) -> FactValue:
    value = value_of(rows[0]["value"], text_in(rows[0], "name"))
    says: tuple[PropertyValues, ...] = ()
    if value.kind == "blank" and value.text not in above and len(above) < DEEPEST:
        says = _properties(by_entity, ("bnode", value.text), (*above, value.text))
    stated_by = tuple(sorted(map(_stated_by, rows), key=lambda one: one.page))
    return msgspec.structs.replace(value, stated_by=stated_by, says=says)


def _stated_by(row: Row) -> StatedBy:
    at, syntax, path = (text_in(row, name) for name in ("at", "syntax", "path"))
    return StatedBy(row["page"]["value"], at, tuple(syntax.split()), path, anchor_of(row["thing"]))


def value_of(cell: Cell, name: str = "") -> FactValue:
    """A cell of a result. A triple as a value, which RDF 1.2 allows, becomes its text."""
    match cell["type"]:
        case "uri":
            return FactValue("iri", cell["value"], name)
        case "bnode":
            return FactValue("blank", cell["value"], name)
        case "literal":
            return FactValue("literal", cell["value"], "", cell.get("xml:lang", ""), cell.get("datatype", ""))
        case _:
            return FactValue("literal", str(cell["value"]))


def values_of(said: Iterable[PropertyValues], properties: Sequence[str]) -> Iterator[FactValue]:
    """The values of these properties, in the order of `properties`."""
    by_property = {one.property: one.values for one in said}
    return chain.from_iterable(by_property.get(property, ()) for property in properties)


def name_in(said: Iterable[PropertyValues]) -> str:
    """The name most pages give it, by the first naming property present; empty if it has none."""
    values = values_of(said, NAMING)
    return next((name for value in values if value.kind == "literal" and (name := value.text.strip())), "")


def types_in(said: Iterable[PropertyValues]) -> tuple[TypeOf, ...]:
    return tuple(TypeOf(value.text, value.pages) for value in values_of(said, (TYPE,)) if value.kind == "iri")


def same_in(said: Iterable[PropertyValues]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.text for value in values_of(said, SAME) if value.kind != "blank"))


def picture_in(said: Iterable[PropertyValues]) -> str:
    """The URL of its image, if that is an HTTP URL. It is never loaded."""
    for value in values_of(said, PICTURES):
        inner = (one.text for part in value.says for one in part.values)  # of an ImageObject
        if found := next(filter(outside_href, (value.text, *inner)), ""):
            return found
    return ""


def references_in(rows: Sequence[Row]) -> tuple[tuple[Reference, ...], bool]:
    """One per entity and property, sorted by name; and whether there are more."""
    found = grouped(rows[:PER_PAGE], lambda row: (*key_of(row["thing"]), row["property"]["value"]))
    listed = [
        Reference(
            value_of(group[0]["thing"], text_in(group[0], "name")),
            text_in(group[0], "type"),
            group[0]["property"]["value"],
            tuple(dict.fromkeys(row["page"]["value"] for row in group)),
        )
        for group in found.values()
    ]
    listed.sort(key=lambda one: (not one.entity.name, one.entity.name.lower(), one.entity.text, one.property))
    return tuple(listed), len(rows) > PER_PAGE


def uses_in(rows: Sequence[Row], what: str) -> tuple[TermUse, ...]:
    return tuple(
        TermUse(value_of(row["term"]), *_counts(row)) for row in rows if row["what"]["value"] == what and "term" in row
    )


def total_in(rows: Sequence[Row]) -> tuple[int, int, int]:
    """Facts, entities and pages with this property, as far as they were counted."""
    return next((_counts(row) for row in rows if row["what"]["value"] == "all"), (0, 0, 0))


def _counts(row: Row) -> tuple[int, int, int]:
    return int(row["facts"]["value"]), int(row["things"]["value"]), int(row["pages"]["value"])


def neighbours_in(said: Iterable[PropertyValues], references: Iterable[Reference]) -> tuple[Neighbour, ...]:
    """The entities it refers to, then those that refer to it; without classes and literals."""
    out = [
        Neighbour("out", one.property, msgspec.structs.replace(value, name=_name(value), stated_by=(), says=()),
                  value.pages)
        for one in said
        if one.property != TYPE
        for value in one.values
        if value.kind != "literal"
    ]  # fmt: skip
    into = [Neighbour("in", one.property, one.entity, len(one.pages)) for one in references if one.property != TYPE]
    return (*out[:MOST_DRAWN], *into[:MOST_DRAWN])


def _name(value: FactValue) -> str:
    first = next((one.iri for one in types_in(value.says)), "")
    return value.name or name_in(value.says) or named_in(first)


def bindings(body: bytes) -> list[Row]:
    """The rows of SPARQL 1.1 Query Results JSON."""
    return cast(list[Row], msgspec.json.decode(body)["results"]["bindings"])


NAME_PARTS = ("name", "title", "headline", "label", "legalName")
"""Last parts of properties that name an entity; the first one present counts."""


class PageFact(NamedTuple):
    predicate: str
    property: str
    value: TermView
    syntax: str
    path: str
    """The syntaxes and the element that state it; empty if unknown."""
    spelling: str = ""
    """The fact as N-Triples in the page's own spelling, if that differs."""


class PageEntity(NamedTuple):
    anchor: str
    name: str
    title: str
    facts: list[PageFact]


def entities_of(rows: Sequence[Row], page: str, pages: Collection[str]) -> list[PageEntity]:
    """Entities with an IRI first, then nameless ones, then the page itself; the types of each come first."""
    ordered = sorted(rows, key=lambda one: (one["property"]["value"] != TYPE, one["property"]["value"]))
    facts = grouped(ordered, lambda row: key_of(row["thing"]))
    order = sorted(facts, key=lambda key: (key[1] == page, key[0] == "bnode", key[1]))
    links = {
        key: TermView(
            _name_on_page(key, facts[key], page, number),
            key[1] if key[0] == "uri" else "",
            "#" + anchor_of({"type": key[0], "value": key[1]}),
        )
        for number, key in enumerate(order, 1)
    }
    return [
        PageEntity(link.href[1:], link.text, link.title, [_page_fact(row, pages, links) for row in facts[key]])
        for key, link in links.items()
    ]


def anchor_of(cell: Cell) -> str:
    """The entity's anchor on the page view, the same on every page, so that other pages can link to it."""
    number = id_of(f"{cell['type']} {cell['value']}") & (1 << 64) - 1
    return f"thing-{number:016x}"


def _name_on_page(key: tuple[str, str], rows: Sequence[Row], page: str, number: int) -> str:
    kind, value = key
    if value == page:
        return "This page"
    for wanted in NAME_PARTS:
        for row in rows:
            if named(row["property"]["value"]).name == wanted and row["value"]["type"] == "literal":
                return row["value"]["value"]
    return value if kind == "uri" else f"Entity {number}"


def _page_fact(row: Row, pages: Collection[str], links: Mapping[tuple[str, str], TermView]) -> PageFact:
    predicate, value = row["property"]["value"], term_of(row["value"], pages)
    if not value.href.startswith("/page"):
        value = links.get(key_of(row["value"]), value)
    syntax, path, spelling = (text_in(row, name) for name in ("syntax", "path", "spelling"))
    return PageFact(predicate, "is a" if predicate == TYPE else short(predicate), value, syntax, path, spelling)
