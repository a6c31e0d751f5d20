"""Everything known about one entity, class or property.

From the graph, the index and the vocabularies.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
from starlette.concurrency import run_in_threadpool

from gossamer.base.clock import Instant, in_words
from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.collection.vocabulary import TermsInUse
from gossamer.extract.vocabularies import bundled
from gossamer.values.query import Query
from gossamer.values.url import url_of
from gossamer.web.entities.facts import (
    Neighbour,
    PropertyValues,
    Reference,
    Row,
    TermUse,
    TypeOf,
    bindings,
    facts_in,
    name_in,
    neighbours_in,
    picture_in,
    references_in,
    same_in,
    total_in,
    types_in,
    uses_in,
)
from gossamer.web.entities.queries import SAMPLE, TYPE, WINDOW, Iri, facts_of, instances_of, pointing_to, uses_of
from gossamer.web.names import named, short

PATIENCE_S = 4.0
"""The limit of each query; the page shows the parts that are ready and names the missing ones."""
PARTS = {
    "facts": "its properties",
    "pointing": "the entities that refer to it",
    "instances": "the entities of this class",
    "uses": "how it is used",
}
LONGEST_NAME = 300


class ClassUse(msgspec.Struct, frozen=True):
    pages: int
    """Pages with an entity of this class or of a subclass."""
    instances: tuple[Reference, ...]
    instances_from: int
    has_more: bool
    properties: tuple[TermUse, ...]
    """Of the first `sampled` instances."""
    sampled: int
    superclasses: tuple[str, ...]
    subclasses: tuple[str, ...]
    """Most used first; most are not in use at all."""
    in_use: dict[str, int]
    """Pages by subclass."""


class PropertyUse(msgspec.Struct, frozen=True):
    facts: int
    entities: int = msgspec.field(name="things")
    pages: int
    is_at_least: bool
    """All numbers cover only the first facts: there are more."""
    values: tuple[TermUse, ...]
    """Most frequent first."""
    on: tuple[TermUse, ...]
    """The classes of the entities that have it."""
    superproperties: tuple[str, ...]
    subproperties: tuple[str, ...]
    in_use: dict[str, int]
    """Pages by subproperty."""


class KnownEntity(msgspec.Struct, frozen=True):
    iri: str
    name: str
    """The name from most pages, or from its vocabulary, or the last part of its IRI."""
    is_page: bool
    """Its IRI is the URL of a page of this collection."""
    picture: str
    """The URL of its image; empty if none is stated."""
    types: tuple[TypeOf, ...]
    says: tuple[PropertyValues, ...]
    is_cut: bool
    """There are more facts than in `says`; the files have more."""
    same_as: tuple[str, ...]
    pointing: tuple[TermUse, ...]
    """The properties by which entities refer to this one, with the number of entities."""
    points_here: tuple[Reference, ...]
    points_here_from: int
    via: str
    """Only references by this property; empty for all."""
    has_more: bool
    neighbours: tuple[Neighbour, ...]
    as_class: ClassUse | None
    as_property: PropertyUse | None
    missing: tuple[str, ...]
    """The parts that took too long, in words."""
    as_of: str

    @property
    def is_known(self) -> bool:
        stated = self.says or self.pointing or self.points_here
        return bool(stated or self.is_page or self.as_class or self.as_property or self.missing)

    @property
    def pages(self) -> int:
        return len({one.page for said in self.says for value in said.values for one in value.stated_by})

    @property
    def facts(self) -> int:
        return sum(len(value.stated_by) for said in self.says for value in said.values)


class EntityQuery(msgspec.Struct, frozen=True):
    """An entity, and the part of its long lists to show."""

    iri: Iri
    via: Iri | None = None
    start: int = 0
    instances_from: int = 0


async def known_of(collection: Collection, query: EntityQuery) -> KnownEntity:
    """Runs four queries at once, each with a time limit; one that exceeds it is reported as missing."""
    iri = query.iri
    queries = {
        "facts": facts_of(iri),
        "pointing": pointing_to(iri, query.via, query.start),
        "instances": instances_of(iri, query.instances_from),
        "uses": uses_of(iri),
    }
    results = await asyncio.gather(*(rows_of(collection, text) for text in queries.values()))
    found = dict(zip(queries, results, strict=True))
    rows = {part: answer[0] if answer else [] for part, answer in found.items()}
    missing = tuple(PARTS[part] for part, answer in found.items() if answer is None)
    as_of = min((answer[1] for answer in found.values() if answer), default=collection.outside.clock.now())
    indexed = await run_in_threadpool(_indexed, collection, iri.text, bool(rows["instances"]))
    return _gathered(query, rows, missing, as_of, indexed)


async def rows_of(collection: Collection, query: str) -> tuple[list[Row], Instant] | None:
    """None if it took too long."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            result = await collection.ask(query, "json")
    except (QueryRefused, TimeoutError):
        return None
    return bindings(result.body), result.as_of


class Indexed(msgspec.Struct, frozen=True):
    """What the index and the archive know about an IRI."""

    pages: int
    """Pages with an entity of this class or of a subclass."""
    is_page: bool
    terms: TermsInUse


def _indexed(collection: Collection, iri: str, has_instances: bool) -> Indexed:
    below = bundled().subclasses(iri)
    is_class = has_instances or bool(below)
    pages = collection.index.find(Query(types=(iri,), limit=0)).total if is_class else 0
    url = url_of(iri) if "#" not in iri else None
    return Indexed(pages, url is not None and url in collection.pages_among([url]), collection.terms.count())


def _gathered(
    query: EntityQuery, rows: Mapping[str, list[Row]], missing: tuple[str, ...], as_of: Instant, indexed: Indexed
) -> KnownEntity:
    iri = query.iri.text
    said, is_cut = facts_in(rows["facts"], iri)
    said = tuple(msgspec.structs.replace(one, follows=bundled().superproperties(one.property)) for one in said)
    references, has_more = references_in(rows["pointing"])
    uses = rows["uses"]
    return KnownEntity(
        iri=iri,
        name=_name(iri, said),
        is_page=indexed.is_page,
        picture=picture_in(said),
        types=with_inferred(types_in(said)),
        says=said,
        is_cut=is_cut,
        same_as=same_in(said),
        pointing=tuple(one for one in uses_in(uses, "points") if one.term.text != TYPE),
        points_here=references,
        points_here_from=query.start,
        via=query.via.text if query.via else "",
        has_more=has_more,
        neighbours=neighbours_in(said, references),
        as_class=_as_class(query, rows["instances"], uses, indexed),
        as_property=_as_property(iri, uses, indexed.terms.properties),
        missing=missing,
        as_of=in_words(as_of),
    )


def _name(iri: str, said: Sequence[PropertyValues]) -> str:
    known = bundled().term(iri)
    return (name_in(said) or (known.name if known else "") or named(iri).name or short(iri))[:LONGEST_NAME]


def with_inferred(types: tuple[TypeOf, ...]) -> tuple[TypeOf, ...]:
    """Adds their superclasses that no page states, each with the stated class it follows from."""
    stated = {one.iri for one in types}
    inferred: dict[str, TypeOf] = {}
    for one in types:
        for above in bundled().superclasses(one.iri):
            if above not in stated:
                inferred.setdefault(above, TypeOf(above, 0, one.iri))
    return (*types, *inferred.values())


def _as_class(query: EntityQuery, instances: Sequence[Row], uses: Sequence[Row], indexed: Indexed) -> ClassUse | None:
    """None if it has no instances and no vocabulary defines it as a class."""
    iri = query.iri.text
    known = bundled().term(iri)
    if not instances and not query.instances_from and (known is None or known.kind != "class"):
        return None
    listed, has_more = references_in(instances)
    below, in_use = _by_use(bundled().subclasses(iri), indexed.terms.classes)
    return ClassUse(
        pages=indexed.pages,
        instances=listed,
        instances_from=query.instances_from,
        has_more=has_more,
        properties=tuple(one for one in uses_in(uses, "has") if one.term.text != TYPE),
        sampled=SAMPLE,
        superclasses=bundled().superclasses(iri),
        subclasses=below,
        in_use=in_use,
    )


def _as_property(iri: str, uses: Sequence[Row], used: Mapping[str, int]) -> PropertyUse | None:
    facts, entities, pages = total_in(uses)
    known = bundled().term(iri)
    if not facts and (known is None or known.kind != "property"):
        return None
    below, in_use = _by_use(bundled().subproperties(iri), used)
    return PropertyUse(
        facts=facts,
        entities=entities,
        pages=pages,
        is_at_least=facts >= WINDOW,
        values=uses_in(uses, "value"),
        on=uses_in(uses, "on"),
        superproperties=bundled().superproperties(iri),
        subproperties=below,
        in_use=in_use,
    )


def _by_use(terms: Sequence[str], pages: Mapping[str, int]) -> tuple[tuple[str, ...], dict[str, int]]:
    in_use = {iri: pages[iri] for iri in terms if iri in pages}
    return tuple(sorted(terms, key=lambda iri: -in_use.get(iri, 0))), in_use
