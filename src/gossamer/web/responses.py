"""How a request is answered: as a page, as JSON that the OpenAPI document describes, or with an error."""

from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, get_args

import msgspec
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from gossamer.values.format import json_bytes
from gossamer.web.access.tokens import may_change
from gossamer.web.render import make_templates

Show = Callable[..., HTMLResponse]
"""(template, status, **values) -> a page."""


def make_show() -> Show:
    templates = make_templates()

    def show(template: str, status_code: int = 200, **values: object) -> HTMLResponse:
        page = templates.get_template(template).render(may_change=may_change(), **values)
        return HTMLResponse(page, status_code)

    return show


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
    """The JSON schemas of these types, and the components they refer to; instants are text (`values.format`)."""
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


HEADINGS = {
    400: "Invalid request",
    401: "Sign-in required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    413: "Request too large",
    414: "URL too long",
    415: "Unsupported content type",
    421: "Unknown host name",
    429: "Too many attempts",
    500: "Server error",
    503: "Temporarily unavailable",
}
NOT_OURS = "This server does not respond to that host name. Open the URL it printed when it started."
BROKEN = "This is an error in the server; details are on its terminal. It is safe to go back and try again."
DAMAGED = (
    "A file of this collection is damaged. The archive is not affected: its owner can repair it with "
    "`gossamer {mend}`; the file's name is on the terminal."
)
CLOSED = (
    "The server is not allowed to read a file of this collection. Its name is on the terminal; the owner should "
    "check its ownership and permissions."
)
BUSY = "The collection cannot be read at the moment. Please try again in a few seconds."


def fault(request: Request, show: Show, status: int, words: str) -> Response:
    """In the manner the asker can read: whoever asked for a `.json` gets one."""
    headers = {"Retry-After": "5"} if status == 503 else {"Allow": "GET, HEAD"} if status == 405 else {}
    accept = request.headers.get("accept", "")
    if request.url.path.endswith(".json") or request.url.path.startswith("/export/"):
        answer: Response = JSONResponse({"error": words}, status)
    elif "text/html" in accept:
        answer = show("fault.html", status, heading=HEADINGS.get(status, HEADINGS[500]), words=words, status=status)
    elif "application/json" in accept:
        answer = JSONResponse({"error": words}, status)
    else:
        answer = PlainTextResponse(words + "\n", status)
    answer.headers.update(headers)
    return answer


def in_words(status: int, path: str) -> str:
    """For what the router itself refuses."""
    match status:
        case 404:
            return f"There is no page at {path[:200]}. Start again from the search page."
        case 405:
            return "This method is not allowed for this URL: pages are read with GET, and /sparql takes POST too."
        case 413:
            return "The request is larger than this server accepts."
        case _:
            return "The request could not be understood. Start again from the search page."


def wrong_parameters(errors: Sequence[Mapping[str, Any]]) -> str:
    named = [f"“{one['loc'][-1]}”: {str(one['msg']).lower()}" for one in errors]
    return "The URL has an invalid parameter. " + "; ".join(named) + "."
