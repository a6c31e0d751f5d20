"""Forms that change the crawl: how they are documented, carried out, and answered with a notice."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.base.errors import GossamerError
from gossamer.web.responses import json_answer
from gossamer.web.routes import FORM, ResponseKind, Responses, Routes, form_of

LONGEST_FORM = 1_500_000
"""Bytes of a form. The rules are the longest text sent, and URL-encoding may triple each letter."""
MOST_KEPT = 100


class FormNotice(msgspec.Struct, frozen=True):
    """The outcome of a change."""

    words: str
    kind: Literal["good", "bad"] = "good"
    lines: tuple[str, ...] = ()


class Notices:
    """The latest notices by number: the page after a change has the number in its URL."""

    def __init__(self) -> None:
        self._kept: dict[str, FormNotice] = {}
        self._number = 0

    def keep(self, notice: FormNotice) -> str:
        self._number += 1
        self._kept[str(self._number)] = notice
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return str(self._number)

    def get(self, number: str) -> FormNotice | None:
        return self._kept.get(number)


async def notice_of(change: Awaitable[str]) -> FormNotice:
    """Our own errors have messages for the person who sent the form."""
    try:
        return FormNotice(await change)
    except GossamerError as trouble:
        return refusal(trouble)


def refusal(trouble: GossamerError) -> FormNotice:
    first, *lines = str(trouble).splitlines() or ["The request failed."]
    return FormNotice(first[:1].upper() + first[1:], "bad", tuple(lines))


def is_program(request: Request) -> bool:
    """Browsers accept HTML whenever they send a form."""
    return "text/html" not in request.headers.get("accept", "")


def respond(request: Request, notices: Notices, notice: FormNotice, path: str, **state: str) -> Response:
    """A browser is redirected to a page that shows the notice; a program receives it as JSON."""
    if is_program(request):
        return json_answer(notice, 200 if notice.kind == "good" else 409)
    parameters = {name: value for name, value in state.items() if value}
    return RedirectResponse(f"{path}?{urlencode(parameters | {'said': notices.keep(notice)})}", 303)


Fields = Mapping[str, str]
FieldDocs = dict[str, Any]


def add_change(
    routes: Routes,
    notices: Notices,
    path: str,
    summary: str,
    change: Callable[[Fields], Awaitable[str]],
    back: str,
    *,
    state: Callable[[Fields], Fields] = lambda _: {},
    description: str = "",
    **docs: FieldDocs,
) -> None:
    """A route that makes one change and redirects to the page `back`, in the state computed from the form."""

    @routes.post(path, summary, **form_docs(**docs))
    async def changed(request: Request) -> Response:
        fields = await form_of(request, LONGEST_FORM)
        return respond(request, notices, await notice_of(change(fields)), back, **state(fields))

    changed.__doc__ = description


ANSWERS: Responses = {
    200: ResponseKind("Done. The message gives the result.", FormNotice),
    303: ResponseKind("For clients that accept HTML: a redirect to the page that shows the result.", None),
    409: ResponseKind("Not done. The message gives the reason.", FormNotice),
    413: ResponseKind("The form is too long."),
}


def field(words: str, *choices: str, needed: bool = False) -> FieldDocs:
    """A field of a form for the API document: a text, or one of several choices."""
    found: FieldDocs = {"type": "string", "description": words, "x-needed": needed}
    return found | ({"enum": list(choices)} if choices else {})


def form_docs(**fields: FieldDocs) -> dict[str, Any]:
    """The arguments of `Routes.post` for a route that accepts these fields and uses `respond`."""
    needed = [name for name, one in fields.items() if one["x-needed"]]
    properties = {name: {key: one[key] for key in one if key != "x-needed"} for name, one in fields.items()}
    schema = {"type": "object", "properties": properties} | ({"required": needed} if needed else {})
    body = {"required": bool(needed), "content": {FORM: {"schema": schema}}}
    return {"responses": ANSWERS, "security": [{"token": []}]} | ({"requestBody": body} if fields else {})
