"""The page of an entity, class or property.

Its facts and their sources, what refers to it, and its files.
"""

from collections.abc import Mapping, Sequence
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
from gossamer.views.facts.results import CSV, JSON, JSON_LD, TURTLE, media_type_for
from gossamer.web.entities.facts import Row, bindings
from gossamer.web.entities.known import EntityQuery, KnownEntity, known_of
from gossamer.web.entities.queries import MOST_DESCRIBED, PER_PAGE, WINDOW, description_of, iri_of
from gossamer.web.names import PREFIXES, entity_href, facts_about, named, outside_href, page_href, short
from gossamer.web.responses import Show, WebError, json_answer
from gossamer.web.routes import HTML, Routes, answers_with
from gossamer.web.site import WebSite
from gossamer.web.streams import unless_disconnected

N_QUADS = "application/n-quads"
FORMATS = {"ttl": TURTLE, "nq": N_QUADS, "jsonld": JSON_LD, "csv": CSV}
"""By the ending of the URL."""
COLUMNS = ["thing", "property", "value", "language", "datatype", "page"]
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

    def query(self) -> EntityQuery:
        """Raises WebError."""
        try:
            via = iri_of(self.via) if self.via.strip() else None
            return EntityQuery(iri_of(self.iri), via, self.start, self.instances_from)
        except ValueError as trouble:
            raise WebError(400, str(trouble)) from None


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    @routes.get("/entity.json", "Everything known about an entity")
    async def entity_json(request: Request, params: EntityParameters) -> KnownEntity:
        try:
            known = await unless_disconnected(request, known_of(collection, params.query()))
        except QueryRefused:
            raise WebError(503, TOO_SLOW) from None
        if not known.is_known:
            raise WebError(404, UNKNOWN)
        return known

    any_format = answers_with(Any, "*/*", "In the format preferred by the Accept header.")

    @routes.get("/entity", "Facts about an entity", any_format)
    async def entity(request: Request, params: EntityParameters) -> Response:
        """Everything known about an IRI. The Accept header chooses: HTML, JSON, Turtle, N-Quads, JSON-LD or CSV."""
        kind = media_type_for(request.headers.get("accept", HTML), KINDS)
        if kind in FORMATS.values():
            answer = await described(collection, request, params.query(), kind)
        else:
            known = await entity_json(request, params)
            answer = json_answer(known) if kind == JSON else await run_in_threadpool(entity_page, show, known)
        answer.headers["Vary"] = "Accept"
        return answer

    a_file = answers_with(str, "*/*", "The facts as a file.")

    @routes.get("/entity.{ending}", "Facts about an entity, as a file", a_file)
    async def as_file(request: Request, params: EntityFileParameters) -> Response:
        """The facts about it, as Turtle (ttl), N-Quads with the pages as graphs (nq), JSON-LD (jsonld) or CSV."""
        if params.ending not in FORMATS:
            raise WebError(404, f"Entities are available as json, {', '.join(FORMATS)}.")
        return await described(collection, request, EntityParameters(params.iri).query(), FORMATS[params.ending])

    return routes


async def described(collection: Collection, request: Request, query: EntityQuery, kind: str) -> Response:
    """Its facts as a file. Raises WebError."""
    try:
        running = collection.ask(description_of(query.iri), "json", most_rows=MOST_DESCRIBED + 1)
        result = await unless_disconnected(request, running)
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


def entity_page(show: Show, known: KnownEntity) -> Response:
    values = {
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
    return show("entity.html", **values)


def link(known: KnownEntity, **changes: str | int) -> str:
    """A link to this page in another state."""
    state: dict[str, str | int] = {"iri": known.iri, "via": known.via, "from": known.points_here_from}
    if known.as_class:
        state["instances_from"] = known.as_class.instances_from
    if "start" in changes:
        changes["from"] = changes.pop("start")
    return "/entity?" + urlencode({name: value for name, value in (state | changes).items() if value})


def written(rows: Sequence[Row], media_type: str) -> bytes:
    """REQUIRES: rows with `page`, `thing`, `property` and `value`. Turtle has no graphs, so it lacks the pages."""
    if media_type == CSV:
        return b"".join(map(csv_line, (COLUMNS, *map(_csv_row, rows))))
    if media_type == TURTLE:
        triples = dict.fromkeys(Triple(*_terms(row)) for row in rows)
        iris = {str(row[name]["value"]) for row in rows for name in ("property", "value")}
        used = [(prefix, start) for start, prefix in PREFIXES.items() if any(iri.startswith(start) for iri in iris)]
        return serialize(triples, format=RdfFormat.TURTLE, prefixes=dict(reversed(used))) or b""
    quads = [Quad(*_terms(row), NamedNode(row["page"]["value"])) for row in rows]
    return serialize(quads, format=RdfFormat.from_media_type(media_type)) or b""


def _terms(row: Row) -> tuple[NamedNode | BlankNode, NamedNode, NamedNode | BlankNode | Literal]:
    entity = row["thing"]
    subject = BlankNode(entity["value"]) if entity["type"] == "bnode" else NamedNode(entity["value"])
    return subject, NamedNode(row["property"]["value"]), _term(row["value"])


def _term(cell: Mapping[str, str]) -> NamedNode | BlankNode | Literal:
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
    entity, text = (("_:" if cell["type"] == "bnode" else "") + str(cell["value"]) for cell in (row["thing"], value))
    tags = value.get("xml:lang", ""), value.get("datatype", "")
    return [entity, row["property"]["value"], text, *tags, row["page"]["value"]]
