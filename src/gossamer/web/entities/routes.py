"""A page for every thing, class and property: what is said of it and by whom, what points to it, and its files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from gossamer.base.clock import in_words
from gossamer.base.errors import QueryRefused
from gossamer.values.format import csv_line
from gossamer.views.facts.results import JSON, media_type_for
from gossamer.web.entities.facts import Row, bindings
from gossamer.web.entities.known import KnownThing, Wanted, known_of
from gossamer.web.entities.queries import MOST_DESCRIBED, PER_PAGE, WINDOW, description_of, iri_of
from gossamer.web.names import PREFIXES, entity_href, facts_about, named, outside_href, page_href, short
from gossamer.web.responses import Show, answers_with, fault, json_answer
from gossamer.web.rooms import WebRooms
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
Start = Annotated[int, Query(alias="from", ge=0, le=WINDOW)]
InstancesFrom = Annotated[int, Query(ge=0, le=WINDOW)]
UNKNOWN = (
    "This entity is not in the collection: no page states a fact about it, and none refers to it. "
    "It may be spelled differently (with or without a # or a / at the end), or its page may not have been fetched."
)
TOO_SLOW = "Facts are not available right now. Please try again in a few seconds."


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get(
        "/entity", responses=answers_with(Any, media_type="*/*", words="In the format preferred by the Accept header.")
    )
    async def entity(
        request: Request, iri: str = "", via: str = "", start: Start = 0, instances_from: InstancesFrom = 0
    ) -> Response:
        """Everything known about an IRI. The Accept header chooses: HTML, JSON, Turtle, N-Quads, JSON-LD or CSV."""
        kind = media_type_for(request.headers.get("accept", HTML), KINDS)
        asked = EntityRequest(request, iri, via, start, instances_from)
        answer = await answered(rooms, show, asked, kind)
        answer.headers["Vary"] = "Accept"
        return answer

    @routes.get("/entity.json", responses=answers_with(KnownThing))
    async def as_json(
        request: Request, iri: str = "", via: str = "", start: Start = 0, instances_from: InstancesFrom = 0
    ) -> Response:
        return await answered(rooms, show, EntityRequest(request, iri, via, start, instances_from), JSON)

    @routes.get("/entity.{ending}", responses=answers_with(str, media_type="*/*", words="The facts as a file."))
    async def as_file(request: Request, ending: str, iri: str = "") -> Response:
        """The facts about it, as Turtle (ttl), N-Quads with the pages as graphs (nq), JSON-LD (jsonld) or CSV."""
        if ending not in FORMATS:
            return fault(request, show, 404, f"Entities are available as json, {', '.join(FORMATS)}.")
        return await answered(rooms, show, EntityRequest(request, iri), FORMATS[ending])

    return routes


@dataclass(frozen=True, slots=True)
class EntityRequest:
    """The parameters of one request, not yet looked at."""

    request: Request
    iri: str
    via: str = ""
    start: int = 0
    instances_from: int = 0

    def read(self) -> Wanted:
        """Raises ValueError, in words."""
        via = iri_of(self.via) if self.via.strip() else None
        return Wanted(iri_of(self.iri), via, self.start, self.instances_from)


async def answered(rooms: WebRooms, show: Show, asked: EntityRequest, kind: str) -> Response:
    try:
        wanted = asked.read()
    except ValueError as trouble:
        return fault(asked.request, show, 400, str(trouble))
    if kind not in (HTML, JSON):
        return await described(rooms, show, asked.request, wanted, kind)
    try:
        known = await unless_left(asked.request, known_of(rooms, wanted))
    except QueryRefused:
        return fault(asked.request, show, 503, TOO_SLOW)
    if not known.is_known:
        return fault(asked.request, show, 404, UNKNOWN)
    if kind == JSON:
        return json_answer(known)
    return await run_in_threadpool(lambda: show("entity.html", **values(known)))


async def described(rooms: WebRooms, show: Show, request: Request, wanted: Wanted, kind: str) -> Response:
    try:
        asking = rooms.ask(description_of(wanted.iri), "json", most_rows=MOST_DESCRIBED + 1)
        result = await unless_left(request, asking)
    except QueryRefused:
        return fault(request, show, 503, TOO_SLOW)
    rows = bindings(result.body)
    if not rows:
        return fault(request, show, 404, UNKNOWN)
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
