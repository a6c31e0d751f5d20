"""Pages for when something cannot be had: each says what is wrong and what to do, as a page, as JSON or as text."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from gossamer.web.page_frame import Show

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
