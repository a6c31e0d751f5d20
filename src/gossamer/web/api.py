"""The description of the API: OpenAPI 3.1 for programs, and a page made from it for people."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from inspect import getdoc
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gossamer import __version__
from gossamer.web.responses import Show
from gossamer.web.routes import ERRORS, FORM, JSON, ErrorMessage, ResponseKind, Routes, WebRoute

REF = "#/components/schemas/{name}"
ABOUT = (
    "All data shown on the pages, for programs. Every page is also JSON at the same URL with `.json` after the path. "
    "Reading from the same machine needs no token; from elsewhere, and for every change, send `Authorization: Bearer` "
    "with the token in the data directory. Errors are JSON with one field, `error`, a message."
)


class ApiExample(NamedTuple):
    words: str
    curl: str
    python: str


def router(site: Routes, show: Show) -> Routes:
    """REQUIRES: every other route is in `site` before the first request."""
    routes = Routes()

    described = cache(lambda: document(site.table))

    @routes.get("/openapi.json")
    def openapi() -> Response:
        return Response(msgspec.json.encode(described()), media_type=JSON)

    @routes.get("/api")
    def page(request: Request) -> Response:
        here = f"{request.url.scheme}://{request.headers['host']}"
        return show("api.html", operations=operations_in(described()), examples=examples(here), about=ABOUT)

    return routes


def document(table: Sequence[WebRoute]) -> dict[str, Any]:
    """OpenAPI of every route for programs; pages for people have no documented responses."""
    for_programs = [route for route in table if route.responses]
    # All schemas are made at once, so that two types of one name get longer names.
    kinds = [kind for route in for_programs for one in route.responses.values() for kind in one.kinds]
    schemas, components = schemas_of([*kinds, ErrorMessage])
    each = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in for_programs:
        bodies = {status: [next(each) for _ in one.kinds] for status, one in route.responses.items()}
        paths.setdefault(route.path, {})[route.method.lower()] = operation_of(route, bodies, schemas[-1])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gossamer", "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def operation_of(
    route: WebRoute, bodies: Mapping[int, Sequence[dict[str, Any]]], of_errors: Mapping[str, Any]
) -> dict[str, Any]:
    found = {str(code): _response(ResponseKind(words), [of_errors]) for code, words in ERRORS.items()}
    found |= {str(status): _response(one, bodies[status]) for status, one in route.responses.items()}
    if not route.path.endswith(".json"):
        for status in found.keys() - {"200", "303"}:  # for clients that do not accept JSON
            found[status]["content"]["text/plain"] = {"schema": {"type": "string"}}
    name = "".join(letter if letter.isalnum() else "_" for letter in f"{route.method.lower()}{route.path}")
    words = getdoc(route.handler)
    return {
        "operationId": name,
        "summary": route.summary,
        **({"description": words} if words else {}),
        **route.extra,
        **({"parameters": parameters} if (parameters := _parameters(route)) else {}),
        "responses": found,
    }


def _response(one: ResponseKind, schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if one.kind is None:
        return {"description": one.words}
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {"description": one.words, "content": {one.media_type: {"schema": schema}}}


def _parameters(route: WebRoute) -> list[dict[str, Any]]:
    others: list[dict[str, Any]] = list(route.extra.get("parameters", ()))
    if route.parameters is None:
        return others
    _, components = schemas_of([route.parameters])
    whole = components[route.parameters.__name__]
    return [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in route.path else "query",
            "required": name in whole["required"],
            **({"description": words} if (words := schema.pop("description", "")) else {}),
            "schema": schema,
        }
        for name, schema in whole["properties"].items()
    ] + others


def schemas_of(kinds: Sequence[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The JSON schemas of these types, and their components; instants are text (`values.format`)."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF)
    return _with_text(schemas), _with_text(components)


def _with_text(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return [_with_text(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_instant = schema.get("format") == "date-time"
    return {name: "string" if is_instant and name == "type" else _with_text(one) for name, one in schema.items()}


def operations_in(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every operation, with the values that the page adds to it."""
    for path, operations in sorted(whole["paths"].items()):
        for method, one in operations.items():
            content = one["responses"]["200"].get("content", {})
            form = one.get("requestBody", {}).get("content", {}).get(FORM, {}).get("schema", {})
            fields = [
                {"name": name, "schema": schema, "required": name in form.get("required", ())}
                for name, schema in form.get("properties", {}).items()
            ]
            parameters = [
                {"description": given["schema"].get("description", ""), "kind": kind_of(given["schema"])} | given
                for given in (*one.get("parameters", ()), *fields)
            ]
            answers = [(media_type, name_of(body.get("schema", {}))) for media_type, body in content.items()]
            yield one | {"method": method.upper(), "path": path, "parameters": parameters, "answers": answers}


def kind_of(schema: Mapping[str, Any]) -> str:
    """The type in words, with its bounds."""
    if "enum" in schema:
        return ", ".join(str(one) for one in schema["enum"] if one != "")
    if "anyOf" in schema:
        return " or ".join(kind_of(one) for one in schema["anyOf"] if one.get("type") != "null")
    kind = str(schema.get("type", "value"))
    if kind == "array":
        return f"{kind_of(schema.get('items', {}))}, may be repeated"
    bounds = [
        f"{words} {schema[name]:,}"
        for name, words in (("minimum", "from"), ("maximum", "to"), ("maxLength", "max. length"))
        if name in schema
    ]
    return " ".join([{"string": "text", "integer": "whole number"}.get(kind, kind), *bounds])


def name_of(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return "text" if schema.get("type") == "string" else ""


def examples(here: str) -> list[ApiExample]:
    """They run as they are."""
    query = "SELECT DISTINCT ?type WHERE { ?entity a ?type } LIMIT 20"
    return [
        ApiExample(
            "Search",
            f"curl '{here}/search.json?q=the'",
            "import json, urllib.request\n\n"
            f'with urllib.request.urlopen("{here}/search.json?q=the") as response:\n'
            "    found = json.load(response)\n"
            'for hit in found["hits"]:\n'
            '    print(hit["url"], hit["title"])',
        ),
        ApiExample(
            "List the types in use",
            f"curl --get --header 'Accept: text/csv' '{here}/sparql' \\\n  --data-urlencode 'query={query}'",
            "import csv, io, urllib.parse, urllib.request\n\n"
            f'query = urllib.parse.urlencode({{"query": "{query}"}})\n'
            "request = urllib.request.Request(\n"
            f'    "{here}/sparql?" + query,\n'
            '    headers={"Accept": "text/csv"},\n'
            ")\n"
            "with urllib.request.urlopen(request) as response:\n"
            "    for row in csv.DictReader(io.TextIOWrapper(response)):\n"
            '        print(row["type"])',
        ),
        ApiExample(
            "Export all pages, one JSON object per line",
            f"curl '{here}/export/pages.jsonl'",
            "import json, urllib.request\n\n"
            f'with urllib.request.urlopen("{here}/export/pages.jsonl") as lines:\n'
            "    for line in lines:\n"
            "        page = json.loads(line)\n"
            '        print(page["url"], len(page["text"]))',
        ),
    ]
