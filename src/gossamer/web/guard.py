"""What stands before every page: whom we answer, and the headers that keep crawled content harmless."""

from collections.abc import Sequence

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.web.faults import NOT_OURS, fault
from gossamer.web.showing import Show

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-cache",
}
LONGEST_TARGET = 64 * 1024
READING = ("GET", "HEAD")


def answers_to(host_header: str | None, names: Sequence[str]) -> bool:
    """Whether the Host header is one of ours, whatever its port: a foreign name means DNS rebinding (FAULTS W7)."""
    if not host_header:
        return False
    name = host_header.rpartition("]")[0] + "]" if host_header.startswith("[") else host_header.partition(":")[0]
    return name.lower() in names


class Gate:
    """An ASGI application round another: it lets pass what may, and puts HEADERS on every answer, ours or not."""

    def __init__(self, inner: ASGIApp, names: Sequence[str], show: Show) -> None:
        self._inner, self._names, self._show = inner, names, show

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(Request(scope))
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope  # the server leaves the body out
        await (refused or self._inner)(asked, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        path, method = request.scope["path"], request.method
        if not path.startswith("/") or not answers_to(request.headers.get("host"), self._names):
            # An absolute-form target (RFC 9112, 3.2.2) is how one asks a proxy; we are none.
            return fault(request, self._show, 421, NOT_OURS)
        if len(request.scope["raw_path"]) + len(request.scope["query_string"]) > LONGEST_TARGET:
            words = "Ask for less, or send a long query to /sparql with POST."
            return fault(request, self._show, 414, words)
        if method not in (*READING, "POST"):
            is_graph_store = path.startswith("/sparql") and method in ("PUT", "DELETE", "PATCH")
            words = "Facts come from pages alone, and pages from the crawl: nothing is changed from here."
            return fault(request, self._show, 403 if is_graph_store else 405, words)
        if method == "POST" and self._is_foreign(request.headers.get("origin")):
            return fault(request, self._show, 403, "Another site may not ask in your name.")
        return None

    def _is_foreign(self, origin: str | None) -> bool:
        """Browsers name the page a POST comes from; other programs do not."""
        return origin is not None and not answers_to(origin.partition("://")[2], self._names)
