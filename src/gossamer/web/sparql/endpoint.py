"""The SPARQL endpoint: every request of the protocol, every result format.

Limits are in the headers.
"""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gossamer.base.clock import in_words
from gossamer.collection.collection import Collection
from gossamer.views.facts.results import ROWS, TRIPLES, media_type_for
from gossamer.web.responses import Show, WebError
from gossamer.web.routes import FORM, HTML, ResponseKind, Responses, Routes, answers_with, body_of
from gossamer.web.site import WebSite
from gossamer.web.sparql.console import console
from gossamer.web.sparql.description import UsedTerms, described, describes, description_router, terms_router
from gossamer.web.sparql.protocol import DIRECT, LONGEST_BODY, ProtocolQuery, from_body, from_url
from gossamer.web.streams import unless_disconnected

KINDS = ("json", "xml", "csv", "tsv", "ttl", "nt", "jsonld", "rdf")
NO_QUERY = "Send a SPARQL query in the parameter “query”, or open /sparql in a browser and type one."


def _parameter(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": words, "schema": {"type": "string"}}


PARAMETERS = {
    "parameters": [
        _parameter("query", "A SPARQL 1.1 query, read-only."),
        _parameter("default-graph-uri", "A page to use as default graph; may be repeated."),
        _parameter("named-graph-uri", "A page to use as named graph; may be repeated."),
        _parameter("inference", "“rdfs”: also find facts inferred from the vocabularies."),
        _parameter("names", "“exact”: match IRIs only as spelled in the query; otherwise variants count as one name."),
    ]
}
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            DIRECT: {"schema": {"type": "string"}},
            FORM: {
                "schema": {
                    "type": "object",
                    "properties": {one["name"]: one["schema"] for one in PARAMETERS["parameters"]},
                    "required": ["query"],
                }
            },
        },
    }
}
ANSWERS: Responses = {
    **answers_with(Any, "*/*", "The result, in the format preferred by the Accept header."),
    413: ResponseKind("The query is too long."),
    415: ResponseKind("The body is not a query."),
    414: ResponseKind("The URL is too long; use POST."),
}


class ResultFileParameters(msgspec.Struct, frozen=True):
    kind: str


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()
    used = UsedTerms(collection.ask, collection.outside.clock)
    routes.include(terms_router(used), description_router(collection, used))

    @routes.get("/sparql", "A SPARQL query", ANSWERS, **PARAMETERS)
    async def ask(request: Request) -> Response:
        query = from_url(request.query_params.multi_items())
        accept = request.headers.get("accept", "*/*")
        if "query" not in request.query_params and describes(accept):
            return await described(request, collection, used)
        return await answer(collection, show, request, query, accept)

    @routes.post("/sparql", "A SPARQL query in the body", ANSWERS, **BODY)
    async def post(request: Request) -> Response:
        body = await body_of(request, LONGEST_BODY, f"A query may be at most {LONGEST_BODY:,} bytes long.")
        given = request.headers.get("content-type", "")
        query = from_body(given, body, request.query_params.multi_items())
        return await answer(collection, show, request, query, request.headers.get("accept", "*/*"))

    @routes.get("/sparql.{kind}", "A SPARQL query, its result as a file", ANSWERS, **PARAMETERS)
    async def as_file(request: Request, params: ResultFileParameters) -> Response:
        if params.kind not in KINDS:
            raise WebError(404, f"Supported formats: {', '.join(KINDS)}.")
        return await answer(collection, show, request, from_url(request.query_params.multi_items()), params.kind)

    return routes


async def answer(collection: Collection, show: Show, request: Request, query: ProtocolQuery, accept: str) -> Response:
    if media_type_for(accept, (*ROWS, *TRIPLES, HTML)) == HTML:
        return await console(collection, show, request, query)
    if not query.query.strip():
        raise WebError(400, NO_QUERY)
    running = collection.ask(
        query.query,
        accept,
        query.default_graphs,
        query.named_graphs,
        has_inference=query.has_inference,
        has_exact_names=query.has_exact_names,
    )
    result = await unless_disconnected(request, running)
    headers = {"X-Gossamer-As-Of": in_words(result.as_of), "Vary": "Accept"}
    if result.truncated:
        headers["X-Gossamer-Truncated"] = "yes"
    if query.has_inference:
        headers["X-Gossamer-Inference"] = "rdfs"
    return Response(result.body, media_type=result.media_type, headers=headers)
