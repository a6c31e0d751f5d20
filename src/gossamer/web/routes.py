"""The route table: how the parameters of a request are read, and what each route responds with."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer.web.responses import NOT_UNDERSTOOD, WebError, json_answer

JSON, HTML, CSV, FORM = "application/json", "text/html", "text/csv", "application/x-www-form-urlencoded"
ERRORS = {
    400: "Invalid request: a value is missing, unknown or out of range.",
    401: "This server requires a token.",
    403: "Not allowed: a change needs the administrator's token and must come from these pages.",
    404: "Not found.",
    414: "The URL is too long.",
    421: "The Host header names an unknown host.",
    429: "Too many wrong tokens from this client.",
    503: "Temporarily unavailable: the collection is busy or the request took too long. Try again.",
}
"""Any route may respond with these."""
TOO_LONG = "The request is larger than this server accepts."


class ErrorMessage(msgspec.Struct, frozen=True):
    """Every error as JSON: what is wrong, in words for a person."""

    error: str


class ResponseKind(NamedTuple):
    """One possible response of a route."""

    words: str
    kind: Any = ErrorMessage
    """A type that msgspec can describe; None: no body."""
    media_type: str = JSON

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The members of a union one by one: msgspec describes a union only if its members are tagged."""
        if self.kind is None:
            return ()
        return get_args(self.kind) if isinstance(self.kind, UnionType) else (self.kind,)


Responses = Mapping[int, ResponseKind]
Handler = TypeVar("Handler", bound=Callable[..., Any])


def answers_with(kind: Any, media_type: str = JSON, words: str = "The response.") -> Responses:
    return {200: ResponseKind(words, kind, media_type)}


class WebRoute(NamedTuple):
    method: str
    path: str
    handler: Callable[..., Any]
    kinds: Sequence[type]
    """The types of the handler's arguments."""
    responses: Responses
    """Empty for a page for people, which the API document leaves out."""
    summary: str
    extra: Mapping[str, Any]
    """More fields of the operation in the API document."""

    @property
    def parameters(self) -> type[msgspec.Struct] | None:
        """The parameters in the query string and the path."""
        return next((kind for kind in self.kinds if kind is not Request), None)

    async def respond(self, request: Request) -> Response:
        given = [request if kind is Request else parameters_in(request, kind) for kind in self.kinds]
        if inspect.iscoroutinefunction(self.handler):
            return _as_response(await self.handler(*given))
        return await run_in_threadpool(lambda: _as_response(self.handler(*given)))


def _as_response(found: Any) -> Response:
    return found if isinstance(found, Response) else json_answer(found)


class Routes:
    """Routes by decorator. A handler declares what it takes: the request, a struct of parameters, both or neither.

    One that is not `async` runs on a thread. A result that is not a Response is sent as JSON; the API document takes
    its type from the return annotation.
    """

    def __init__(self) -> None:
        self.table: list[WebRoute] = []

    def get(
        self, path: str, summary: str = "", responses: Responses | None = None, **extra: Any
    ) -> Callable[[Handler], Handler]:
        return self._adding("GET", path, summary, responses, extra)

    def post(
        self, path: str, summary: str = "", responses: Responses | None = None, **extra: Any
    ) -> Callable[[Handler], Handler]:
        return self._adding("POST", path, summary, responses, extra)

    def include(self, *others: "Routes") -> None:
        for other in others:
            self.table += other.table

    def _adding(
        self, method: str, path: str, summary: str, responses: Responses | None, extra: Mapping[str, Any]
    ) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            signature = inspect.signature(handler)
            kinds = [one.annotation for one in signature.parameters.values()]
            returned = signature.return_annotation
            documented = responses or ({} if returned is Response else answers_with(returned))
            self.table.append(WebRoute(method, path, handler, kinds, documented, summary, extra))
            return handler

        return add

    def for_starlette(self) -> Iterator[Route]:
        return (Route(one.path, one.respond, methods=[one.method]) for one in self.table)


Parameters = TypeVar("Parameters", bound=msgspec.Struct)


def parameters_in(request: Request, kind: type[Parameters]) -> Parameters:
    query_string = request.scope["query_string"].decode("latin-1")
    return read(kind, parse_qsl(query_string, keep_blank_values=True), request.path_params)


def read(kind: type[Parameters], pairs: Sequence[tuple[str, str]], path: Mapping[str, str]) -> Parameters:
    """Unknown parameters are ignored; the last value of a repeated one counts, unless its type is a tuple.

    Raises WebError if a value does not have the type its struct declares.
    """
    types, given = _types(kind), dict[str, Any]()
    for name, value in pairs:
        if isinstance(types.get(name), msgspec.inspect.VarTupleType):
            given.setdefault(name, []).append(value)
        else:
            given[name] = value
    try:
        return msgspec.convert(given | dict(path), kind, strict=False)
    except msgspec.ValidationError as trouble:
        raise WebError(400, _in_words(str(trouble), kind)) from None


class UrlParameters(msgspec.Struct, frozen=True):
    url: str = ""


@cache
def _types(kind: type[msgspec.Struct]) -> dict[str, msgspec.inspect.Type]:
    """The type of each parameter, without its description, by its name in a URL."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    return {
        one.encode_name: one.type.type if isinstance(one.type, msgspec.inspect.Metadata) else one.type
        for one in info.fields
    }


_TROUBLE = re.compile(r"(?P<what>.*) - at `\$\.(?P<name>[^`\[]+)(\[.*\])?`", re.DOTALL)
_WORDS = (
    (re.compile(r"Expected `int.*got"), "must be a whole number"),
    (re.compile(r"Expected `float.*got"), "must be a number"),
    (re.compile(r"of length <= (\d+)"), "must have at most {} characters"),
    (re.compile(r">= (\S+)"), "must be at least {}"),
    (re.compile(r"<= (\S+)"), "must be at most {}"),
    (re.compile(r"out of range"), "is out of range"),
)


def _in_words(trouble: str, kind: type[msgspec.Struct]) -> str:
    """An error of msgspec, for the person who typed the URL."""
    found = _TROUBLE.fullmatch(trouble)
    if found is None:
        return "The URL has an invalid parameter."
    what, name = found["what"], found["name"]
    choices = _choices(_types(kind)[name])
    if choices:
        says = f"must be one of: {', '.join(choices)}"
    elif what.startswith("Expected `array`"):
        says = f"may be given at most {what.rpartition(' ')[2]} times"
    else:
        says = next((text.format(*at.groups()) for one, text in _WORDS if (at := one.search(what))), "is not valid")
    return f"The URL has an invalid parameter: “{name}” {says}."


def _choices(kind: msgspec.inspect.Type) -> list[str]:
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return [
        str(value) for one in kinds if isinstance(one, msgspec.inspect.LiteralType) for value in one.values if value
    ]


async def body_of(request: Request, at_most: int, too_long: str = TOO_LONG) -> bytes:
    """Raises WebError as soon as the body is longer, without reading the rest."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > at_most:
            raise WebError(413, too_long)
    return bytes(body)


async def form_of(request: Request, at_most: int, too_long: str = TOO_LONG) -> dict[str, str]:
    """The fields of a form, URL-encoded. Raises WebError if it is too long or has too many fields."""
    body = await body_of(request, at_most, too_long)
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise WebError(400, NOT_UNDERSTOOD) from None
