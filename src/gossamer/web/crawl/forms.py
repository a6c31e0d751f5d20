"""What the crawl's pages are sent, and what they say about it: a change is posted, then a page is shown that tells."""

from collections.abc import Awaitable
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.base.errors import GossamerError
from gossamer.web.responses import json_answer
from gossamer.web.routes import FORM, ResponseKind, Responses

LONGEST_FORM = 1_500_000
"""Bytes of a form; the rules are the longest text that is sent, and each letter may take three."""
MOST_KEPT = 100


class FormNotice(msgspec.Struct, frozen=True):
    """What became of a change."""

    words: str
    kind: Literal["good", "bad"] = "good"
    lines: tuple[str, ...] = ()


class Notices:
    """The last of them, by number: the page after a change names one in its address."""

    def __init__(self) -> None:
        self._kept: dict[str, FormNotice] = {}
        self._number = 0

    def keep(self, notice: FormNotice) -> str:
        self._number += 1
        self._kept[str(self._number)] = notice
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return str(self._number)

    def named(self, number: str) -> FormNotice | None:
        return self._kept.get(number)


async def told(doing: Awaitable[str]) -> FormNotice:
    """Our own errors have words for the person who asked."""
    try:
        return FormNotice(await doing)
    except GossamerError as trouble:
        return refusal(trouble)


def refusal(trouble: GossamerError) -> FormNotice:
    first, *lines = str(trouble).splitlines() or ["The request failed."]
    return FormNotice(first[:1].upper() + first[1:], "bad", tuple(lines))


def is_program(request: Request) -> bool:
    """Browsers say that they like HTML whenever they send a form."""
    return "text/html" not in request.headers.get("accept", "")


def then(request: Request, notices: Notices, notice: FormNotice, path: str, **state: str) -> Response:
    """On to a page that says it; a program gets it at once."""
    if is_program(request):
        return json_answer(notice, 200 if notice.kind == "good" else 409)
    parameters = {name: value for name, value in state.items() if value}
    return RedirectResponse(f"{path}?{urlencode(parameters | {'said': notices.keep(notice)})}", 303)


DONE = "It is done, and in words what became of it."
NOT_DONE = "It could not be done, and in words why."
SHOWN = "To whoever likes HTML: on to the page that says what became of it."
ANSWERS: Responses = {
    200: ResponseKind(DONE, FormNotice),
    303: ResponseKind(SHOWN, None),
    409: ResponseKind(NOT_DONE, FormNotice),
    413: ResponseKind("The form is too long."),
}
NEEDS_TOKEN: list[dict[str, list[str]]] = [{"token": []}]


def field(words: str, *choices: str, needed: bool = False) -> dict[str, Any]:
    """One field of a form: a text, or one of some."""
    found: dict[str, Any] = {"type": "string", "description": words, "x-needed": needed}
    return found | ({"enum": list(choices)} if choices else {})


def change(**fields: dict[str, Any]) -> dict[str, Any]:
    """`responses=` and more of a route to which these fields are posted; see `crawl_forms.then` for its answers."""
    needed = [name for name, one in fields.items() if one["x-needed"]]
    properties = {name: {key: one[key] for key in one if key != "x-needed"} for name, one in fields.items()}
    schema = {"type": "object", "properties": properties} | ({"required": needed} if needed else {})
    body = {"required": bool(needed), "content": {FORM: {"schema": schema}}}
    return {"responses": ANSWERS, "security": NEEDS_TOKEN} | ({"requestBody": body} if fields else {})
