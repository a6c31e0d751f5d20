"""Responses: a page, JSON, or an error in the format the client accepts."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from gossamer.values.format import json_bytes
from gossamer.web.access.tokens import may_change
from gossamer.web.render import make_templates

Show = Callable[..., HTMLResponse]
"""(template, status, **values) -> a page."""
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
ROUTER_ERRORS = {
    404: "There is no page at {path}. Start again from the search page.",
    405: "This method is not allowed for this URL: pages are read with GET, and /sparql takes POST too.",
    413: "The request is larger than this server accepts.",
}
NOT_UNDERSTOOD = "The request could not be understood. Start again from the search page."
HEADERS_OF: Mapping[int, Mapping[str, str]] = {503: {"Retry-After": "5"}, 405: {"Allow": "GET, HEAD"}}


class WebError(Exception):
    """An error response: its status, and a message for the person who sent the request."""

    def __init__(self, status: int, words: str, headers: Mapping[str, str] = {}) -> None:
        super().__init__(words)
        self.status, self.words, self.headers = status, words, headers


def make_show() -> Show:
    templates = make_templates()

    def show(template: str, status_code: int = 200, **values: object) -> HTMLResponse:
        page = templates.get_template(template).render(may_change=may_change(), **values)
        return HTMLResponse(page, status_code)

    return show


def json_answer(value: Any, status: int = 200) -> Response:
    """`</script>` in it is harmless: it is never embedded in a page, and nosniff keeps it JSON (FAULTS W17)."""
    return Response(json_bytes(value), status, media_type="application/json")


def error_response(request: Request, show: Show, status: int, words: str, headers: Mapping[str, str] = {}) -> Response:
    """An error as JSON, a page or text; a `.json` URL always gets JSON."""
    accept, path = request.headers.get("accept", ""), request.url.path
    accepts_html = "text/html" in accept
    if path.endswith(".json") or path.startswith("/export/") or ("application/json" in accept and not accepts_html):
        answer: Response = JSONResponse({"error": words}, status)
    elif accepts_html:
        answer = show("error.html", status, heading=HEADINGS.get(status, HEADINGS[500]), words=words, status=status)
    else:
        answer = PlainTextResponse(words + "\n", status)
    answer.headers.update({**HEADERS_OF.get(status, {}), **headers})
    return answer
