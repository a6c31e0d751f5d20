"""Pages for when something cannot be had: each says what is wrong and what to do, as a page, as JSON or as text."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from gossamer.web.page_frame import Show

HEADINGS = {
    400: "That cannot be answered",
    401: "Who is asking?",
    403: "That is not allowed",
    404: "There is nothing here",
    405: "That is not done here",
    413: "That is too long",
    414: "That address is too long",
    415: "That is not a query",
    421: "This is another place",
    429: "Too many tries",
    500: "Something went wrong on our side",
    503: "Not just now",
}
NOT_OURS = "These pages do not answer to that host name. Open the address that the program printed when it started."
BROKEN = "It is our fault, and has been written to the terminal. Going back and trying once more does no harm."
DAMAGED = (
    "A file of this collection is damaged. Nothing of the archive is touched by that: its owner mends it with "
    "`gossamer {mend}`, and finds the name of the file on the terminal."
)
CLOSED = (
    "The server may not read a file of this collection. Its owner finds the name of the file on the terminal, and "
    "checks who owns it and its mode."
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
            return f"No page has the address {path[:200]}. Begin again from the search."
        case 405:
            return "That method is not for this address: pages are read with GET, and /sparql takes POST too."
        case 413:
            return "That is longer than anything one can send here."
        case _:
            return "The question could not be understood. Begin again from the search."


def wrong_parameters(errors: Sequence[Mapping[str, Any]]) -> str:
    named = [f"“{one['loc'][-1]}”: {str(one['msg']).lower()}" for one in errors]
    return "The address holds a value that cannot be. " + "; ".join(named) + "."
