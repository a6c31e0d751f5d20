"""What a program gets: JSON, described so that the OpenAPI document can say what is in it."""

from collections.abc import Sequence
from types import UnionType
from typing import Any, get_args

import msgspec
from fastapi import Response

from gossamer.values.json_form import json_bytes

JSON = "application/json"
REF = "#/components/schemas/{name}"
Responses = dict[int | str, dict[str, Any]]


class Refusal(msgspec.Struct, frozen=True):
    """Every fault as JSON: what is wrong, in words for a person."""

    error: str


class Described(dict[str, Any]):
    """One possible answer of a route, as FastAPI wants it, and the type its body has: `web.api` gathers the types
    into the document's components."""

    def __init__(self, kind: Any, media_type: str, words: str) -> None:
        self.kinds: tuple[Any, ...] = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        """Several when any of them may come; msgspec itself wants such a union tagged."""
        schemas, _ = schemas_of(self.kinds)
        super().__init__(description=words, content={media_type: {"schema": any_of(schemas)}})


FAULTS = {
    400: "Invalid request: a value is missing, unknown or out of range.",
    401: "This server requires a token.",
    403: "Not allowed: a change needs the administrator's token and must come from these pages.",
    404: "Not found.",
    414: "The URL is too long.",
    421: "The Host header names an unknown host.",
    429: "Too many wrong tokens from this client.",
    503: "Temporarily unavailable: the collection is busy or the request took too long. Try again.",
}


def schemas_of(kinds: Sequence[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The JSON schemas of these types, and the components they refer to; instants are text (`values.json_form`)."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF)
    return [_with_text(one) for one in schemas], _with_text(components)


def _with_text(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_text(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_instant = schema.get("format") == "date-time"
    return {name: "string" if is_instant and name == "type" else _with_text(one) for name, one in schema.items()}


def any_of(schemas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}


def answers_with(kind: Any, status: int = 200, media_type: str = JSON, words: str = "The response.") -> Responses:
    """`responses=` of a route that answers with this type (a msgspec.Struct, or anything msgspec can describe), and
    with the faults any route may answer with."""
    told: Responses = {code: Described(Refusal, JSON, says) for code, says in FAULTS.items()}
    return told | {status: Described(kind, media_type, words)}


def json_answer(value: Any, status: int = 200) -> Response:
    """`</script>` in it is harmless: it is never part of a page, and nosniff keeps it JSON (FAULTS W17)."""
    return Response(json_bytes(value), status, media_type=JSON)
