"""The API described: for programs as OpenAPI 3.1, for people as a page made from it."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import iter_route_contexts

from gossamer.web.responses import FAULTS, JSON, REF, Described, Refusal, Show, any_of, schemas_of
from gossamer.web.sparql.protocol import FORM

HTML = "text/html"
TEXT = {"type": "string"}
KINDS = {"csv": "text/csv", "tsv": "text/tab-separated-values", "ttl": "text/turtle", "nq": "application/n-quads"}
ABOUT = (
    "All data shown on the pages, for programs. Every page is also JSON at the same URL with `.json` after the path. "
    "Reading from the same machine needs no token; from elsewhere, and for every change, send `Authorization: Bearer` "
    "with the token in the data directory. Errors are JSON with one field, `error`, a message."
)
STRANGE = ("HTTPValidationError", "ValidationError")
"""FastAPI describes faults of its own making, which are not ours."""


class Parameter(NamedTuple):
    name: str
    kind: str
    words: str
    is_needed: bool


class Operation(NamedTuple):
    method: str
    path: str
    summary: str
    words: str
    parameters: list[Parameter]
    answers: list[tuple[str, str]]
    """Media types, and the name of what comes."""
    needs_token: bool


class ApiExample(NamedTuple):
    words: str
    curl: str
    python: str


def router(app: FastAPI, show: Show) -> APIRouter:
    """REQUIRES: every other route is in `app` before the first request comes."""
    routes = APIRouter(include_in_schema=False)

    @cache
    def described() -> dict[str, Any]:
        return document(app)

    @routes.get("/openapi.json")
    def openapi() -> Response:
        return Response(msgspec.json.encode(described()), media_type=JSON)

    @routes.get("/api", response_class=HTMLResponse)
    def page(request: Request) -> Response:
        here = f"{request.url.scheme}://{request.headers['host']}"
        operations = list(operations_in(described()))
        return show("api.html", operations=operations, examples=examples(here), about=ABOUT)

    return routes


def document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI of every route a program would ask; pages for people are left out."""
    whole = get_openapi(
        title=app.title, version=app.version, openapi_version="3.1.0", description=ABOUT, routes=app.routes
    )
    schemas = whole.get("components", {}).get("schemas", {})
    for name in STRANGE:
        schemas.pop(name, None)
    for path, operations in list(whole["paths"].items()):
        for method, operation in list(operations.items()):
            mend(path, operation["responses"])
            if is_for_people(operation):
                del operations[method]
        if not operations:
            del whole["paths"][path]
    whole["components"] = {
        "schemas": schemas | typed(app, whole["paths"]),
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    whole["security"] = [{}, {"token": []}]
    return whole


def mend(path: str, responses: dict[str, Any]) -> None:
    """What FastAPI cannot know: which kind of text comes when nobody said JSON, and the faults of every route."""
    responses.pop("422", None)
    content = responses.get("200", {}).get("content", {})
    if content.get(JSON) == {"schema": {}} and not path.endswith(".json"):
        del content[JSON]
        if not content:
            content[KINDS.get(path.rpartition(".")[2], "*/*" if "." in path else HTML)] = {"schema": {}}
    for code, words in FAULTS.items():
        told = {JSON: {"schema": {"$ref": REF.format(name=Refusal.__name__)}}}
        responses.setdefault(str(code), {"description": words, "content": told})
    if not path.endswith(".json"):
        for status in responses.keys() - {"200", "303"}:
            responses[status]["content"]["text/plain"] = {"schema": TEXT}  # to those who do not say that they like JSON


def is_for_people(operation: Mapping[str, Any]) -> bool:
    content = operation["responses"].get("200", {}).get("content", {})
    return set(content) == {HTML}


def typed(app: FastAPI, paths: dict[str, Any]) -> dict[str, Any]:
    """Puts the schema of every described answer into its place and gives the components they refer to. All are made
    at once: two types of one name get longer names."""
    places: list[tuple[dict[str, Any], Described]] = []
    for route in iter_route_contexts(app.routes):
        for status, answer in (getattr(route, "responses", None) or {}).items():
            for method in getattr(route, "methods", None) or ():
                operation = paths.get(getattr(route, "path_format", ""), {}).get(method.lower())
                if operation is not None and isinstance(answer, Described):
                    places.append((operation["responses"][str(status)]["content"], answer))
    kinds = [kind for _, answer in places for kind in answer.kinds]
    schemas, components = schemas_of([*kinds, Refusal])
    each = iter(schemas)
    for content, answer in places:
        schema = any_of([next(each) for _ in answer.kinds])
        for media_type in answer["content"]:
            content[media_type]["schema"] = schema
    return components


def operations_in(whole: Mapping[str, Any]) -> Iterator[Operation]:
    for path, operations in sorted(whole["paths"].items()):
        for method, one in operations.items():
            content: dict[str, Any] = next(
                (answer for code, answer in one["responses"].items() if code.startswith("2")), {}
            )
            yield Operation(
                method.upper(),
                path,
                one.get("summary", ""),
                one.get("description", ""),
                [*map(parameter_of, one.get("parameters", [])), *fields_of(one.get("requestBody", {}))],
                [
                    (media_type, name_of(body.get("schema", {})))
                    for media_type, body in content.get("content", {}).items()
                ],
                "security" in one,
            )


def parameter_of(given: Mapping[str, Any]) -> Parameter:
    schema = given.get("schema", {})
    return Parameter(
        given["name"],
        kind_of(schema),
        given.get("description") or schema.get("description", ""),
        bool(given.get("required")),
    )


def fields_of(body: Mapping[str, Any]) -> list[Parameter]:
    """Of a form that is sent there."""
    schema = body.get("content", {}).get(FORM, {}).get("schema", {})
    needed = schema.get("required", ())
    return [
        Parameter(name, kind_of(one), one.get("description", ""), name in needed)
        for name, one in schema.get("properties", {}).items()
    ]


def kind_of(schema: Mapping[str, Any]) -> str:
    """In few words, with its bounds."""
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
    """They can be copied and run as they stand."""
    query = "SELECT DISTINCT ?type WHERE { ?thing a ?type } LIMIT 20"
    return [
        ApiExample(
            "Search",
            f"curl '{here}/search.json?q=the'",
            "import json, urllib.request\n\n"
            f'with urllib.request.urlopen("{here}/search.json?q=the") as answer:\n'
            "    found = json.load(answer)\n"
            'for hit in found["hits"]:\n'
            '    print(hit["url"], hit["title"])',
        ),
        ApiExample(
            "List the types in use",
            f"curl --get --header 'Accept: text/csv' '{here}/sparql' \\\n  --data-urlencode 'query={query}'",
            "import csv, io, urllib.parse, urllib.request\n\n"
            f'query = urllib.parse.urlencode({{"query": "{query}"}})\n'
            "asked = urllib.request.Request(\n"
            f'    "{here}/sparql?" + query,\n'
            '    headers={"Accept": "text/csv"},\n'
            ")\n"
            "with urllib.request.urlopen(asked) as answer:\n"
            "    for row in csv.DictReader(io.TextIOWrapper(answer)):\n"
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
