"""A page for every thing, class and property: what is said of it and by whom, what points to it, and its files."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from gossamer.base.clock import in_words
from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.values.format import csv_line
from gossamer.views.facts.results import JSON, media_type_for
from gossamer.web.entities.facts import Row, bindings
from gossamer.web.entities.known import KnownThing, Wanted, known_of
from gossamer.web.entities.queries import MOST_DESCRIBED, PER_PAGE, WINDOW, description_of, iri_of
from gossamer.web.names import PREFIXES, entity_href, facts_about, named, outside_href, page_href, short
from gossamer.web.responses import Show, WebError, json_answer
from gossamer.web.routes import Routes, answers_with
from gossamer.web.site import WebSite
from gossamer.web.streams import unless_left

TURTLE, N_QUADS, JSON_LD, CSV = "text/turtle", "application/n-quads", "application/ld+json", "text/csv"
TURTLE, N_QUADS, JSON_LD, CSV = "text/turtle", "application/n-quads", "application/ld+json", "text/csv"
TURTLE, N_QUADS, JSON_LD, CSV = "text/turtle", "application/n-quads", "application/ld+json", "text/csv"
TURTLE, N_QUADS, JSON_LD, CSV = "text/turtle", "application/n-quads", "application/ld+json", "text/csv"
FORMATS = {"ttl": TURTLE, "nq": N_QUADS, "jsonld": JSON_LD, "csv": CSV}
"""By the ending of the address."""
COLUMNS = ["thing", "property", "value", "language", "datatype", "page"]
Cell = Mapping[str, str]


HTML = "text/html"
KINDS = (HTML, JSON, TURTLE, N_QUADS, JSON_LD, CSV)
UNKNOWN = (
    "This entity is not in the collection: no page states a fact about it, and none refers to it. "
    "It may be spelled differently (with or without a # or a / at the end), or its page may not have been fetched."
)
TOO_SLOW = "Facts are not available right now. Please try again in a few seconds."


class EntityFileParameters(msgspec.Struct, frozen=True):
    ending: str
    iri: str = ""


class EntityParameters(msgspec.Struct, frozen=True):
    iri: str = ""
    via: str = ""
    start: Annotated[int, Meta(ge=0, le=WINDOW)] = msgspec.field(name="from", default=0)
    instances_from: Annotated[int, Meta(ge=0, le=WINDOW)] = 0

    def read(self) -> Wanted:
        """Raises WebError."""
        try:
            via = iri_of(self.via) if self.via.strip() else None
            return Wanted(iri_of(self.iri), via, self.start, self.instances_from)
        except ValueError as trouble:
            raise WebError(400, str(trouble)) from None


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    @routes.get(
        "/entity", answers_with(Any, "*/*", "In the format preferred by the Accept header."), "Facts about an entity"
    )
    async def entity(request: Request, wanted: EntityParameters) -> Response:
        """Everything known about an IRI. The Accept header chooses: HTML, JSON, Turtle, N-Quads, JSON-LD or CSV."""
        kind = media_type_for(request.headers.get("accept", HTML), KINDS)
        if kind in FORMATS.values():
            answer = await described(collection, request, wanted.read(), kind)
        elif kind == JSON:
            answer = json_answer(await known_to(collection, request, wanted.read()))
        else:
            known = await known_to(collection, request, wanted.read())
            answer = await run_in_threadpool(lambda: show("entity.html", **values(known)))
        answer.headers["Vary"] = "Accept"
        return answer

    @routes.get("/entity.json", answers_with(KnownThing), "Everything known about an entity")
    async def as_json(request: Request, wanted: EntityParameters) -> Response:
        return json_answer(await known_to(collection, request, wanted.read()))

    @routes.get(
        "/entity.{ending}", answers_with(str, "*/*", "The facts as a file."), "Facts about an entity, as a file"
    )
    async def as_file(request: Request, wanted: EntityFileParameters) -> Response:
        """The facts about it, as Turtle (ttl), N-Quads with the pages as graphs (nq), JSON-LD (jsonld) or CSV."""
        if wanted.ending not in FORMATS:
            raise WebError(404, f"Entities are available as json, {', '.join(FORMATS)}.")
        return await described(collection, request, EntityParameters(wanted.iri).read(), FORMATS[wanted.ending])

    return routes


async def known_to(collection: Collection, request: Request, wanted: Wanted) -> KnownThing:
    """Raises WebError."""
    try:
        known = await unless_left(request, known_of(collection, wanted))
    except QueryRefused:
        raise WebError(503, TOO_SLOW) from None
    if not known.is_known:
        raise WebError(404, UNKNOWN)
    return known


async def described(collection: Collection, request: Request, wanted: Wanted, kind: str) -> Response:
    """Its facts as a file. Raises WebError."""
    try:
        asking = collection.ask(description_of(wanted.iri), "json", most_rows=MOST_DESCRIBED + 1)
        result = await unless_left(request, asking)
    except QueryRefused:
        raise WebError(503, TOO_SLOW) from None
    rows = bindings(result.body)
    if not rows:
        raise WebError(404, UNKNOWN)
    headers = {"X-Gossamer-As-Of": in_words(result.as_of)}
    if len(rows) > MOST_DESCRIBED or result.truncated:
        headers["X-Gossamer-Truncated"] = "yes"
    body = await run_in_threadpool(written, rows[:MOST_DESCRIBED], kind)
    return Response(body, media_type=kind, headers=headers)


def values(known: KnownThing) -> dict[str, object]:
    """What the template needs besides: links, each made here."""
    return {
        "it": known,
        "here": "vocabularies" if known.as_class or known.as_property else "",
        "short": short,
        "last_part": lambda iri: named(iri).name,
        "href": entity_href,
        "outside": outside_href,
        "page_href": page_href,
        "address": f"iri={urlencode({'': known.iri})[1:]}",
        "endings": ("json", *FORMATS) if known.says else ("json",),
        "query": facts_about(known.iri),
        "link": lambda **changes: link(known, **changes),
        "per_page": PER_PAGE,
        "window": WINDOW,
    }


def link(known: KnownThing, **changes: str | int) -> str:
    """This page in another of its states."""
    state: dict[str, str | int] = {"iri": known.iri, "via": known.via, "from": known.points_here_from}
    if known.as_class:
        state["instances_from"] = known.as_class.instances_from
    if "start" in changes:
        changes["from"] = changes.pop("start")
    return "/entity?" + urlencode({name: value for name, value in (state | changes).items() if value})


def written(rows: Sequence[Row], media_type: str) -> bytes:
    """REQUIRES: rows with `page`, `thing`, `property` and `value`. Turtle has no graphs: it says what, not who."""
    match media_type:
        case "text/turtle":
            return _turtle(rows)
        case "application/n-quads":
            return serialize(_quads(rows), format=RdfFormat.N_QUADS) or b""
        case "application/ld+json":
            return serialize(_quads(rows), format=RdfFormat.JSON_LD) or b""
        case _:
            return b"".join(map(csv_line, (COLUMNS, *map(_csv_row, rows))))


def _turtle(rows: Sequence[Row]) -> bytes:
    triples = dict.fromkeys(Triple(*_terms(row)) for row in rows)
    used = {namespace: prefix for namespace, prefix in PREFIXES.items() if _is_used(namespace, rows)}
    prefixes = {prefix: namespace for namespace, prefix in reversed(used.items())}
    return serialize(triples, format=RdfFormat.TURTLE, prefixes=prefixes) or b""


def _is_used(namespace: str, rows: Iterable[Row]) -> bool:
    cells = (row[name] for row in rows for name in ("property", "value"))
    return any(str(cell["value"]).startswith(namespace) for cell in cells)


def _quads(rows: Iterable[Row]) -> list[Quad]:
    return [Quad(*_terms(row), NamedNode(row["page"]["value"])) for row in rows]


def _terms(row: Row) -> tuple[NamedNode | BlankNode, NamedNode, NamedNode | BlankNode | Literal]:
    thing = row["thing"]
    subject = BlankNode(thing["value"]) if thing["type"] == "bnode" else NamedNode(thing["value"])
    return subject, NamedNode(row["property"]["value"]), _term(row["value"])


def _term(cell: Cell) -> NamedNode | BlankNode | Literal:
    match cell["type"]:
        case "uri":
            return NamedNode(cell["value"])
        case "bnode":
            return BlankNode(cell["value"])
    if "xml:lang" in cell:
        return Literal(cell["value"], language=cell["xml:lang"])
    return Literal(str(cell["value"]), datatype=NamedNode(cell["datatype"]) if "datatype" in cell else None)


def _csv_row(row: Row) -> list[str]:
    value = row["value"]
    thing = ("_:" if row["thing"]["type"] == "bnode" else "") + row["thing"]["value"]
    shown = ("_:" if value["type"] == "bnode" else "") + str(value["value"])
    return [
        thing,
        row["property"]["value"],
        shown,
        value.get("xml:lang", ""),
        value.get("datatype", ""),
        row["page"]["value"],
    ]
