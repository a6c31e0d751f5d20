"""Routes that change something, described for programs: the form they take, the token they want, what they answer."""

from typing import Any

from gossamer.web.answers import JSON, Described, Refusal, Responses, answers_with
from gossamer.web.crawl.forms import FormNotice
from gossamer.web.sparql.protocol import FORM

DONE = "It is done, and in words what became of it."
NOT_DONE = "It could not be done, and in words why."
SHOWN = "To whoever likes HTML: on to the page that says what became of it."
ANSWERS: Responses = {
    **answers_with(FormNotice, words=DONE),
    303: {"description": SHOWN},
    409: Described(FormNotice, JSON, NOT_DONE),
    413: Described(Refusal, JSON, "The form is too long."),
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
    extra: dict[str, Any] = {"security": NEEDS_TOKEN}
    return {"responses": ANSWERS, "openapi_extra": extra | ({"requestBody": body} if fields else {})}
