"""What stands before every page: whom we answer, and the headers that keep crawled content harmless."""

from collections.abc import Awaitable, Callable, Sequence

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LONGEST_TARGET = 64 * 1024

Next = Callable[[Request], Awaitable[Response]]


def answers_to(host_header: str | None, names: Sequence[str]) -> bool:
    """Whether the Host header is one of ours, whatever its port: a foreign name means DNS rebinding (FAULTS W7)."""
    if not host_header:
        return False
    name = host_header.rpartition("]")[0] + "]" if host_header.startswith("[") else host_header.partition(":")[0]
    return name.lower() in names


def gate(names: Sequence[str]) -> Callable[[Request, Next], Awaitable[Response]]:
    async def pass_through(request: Request, following: Next) -> Response:
        if not answers_to(request.headers.get("host"), names):
            answer: Response = PlainTextResponse("This page does not answer to that host name.\n", 421)
        elif request.method not in ("GET", "HEAD", "POST"):
            answer = PlainTextResponse("Only GET, HEAD and POST are understood here.\n", 405)
        elif len(request.url.path) + len(request.url.query) > LONGEST_TARGET:
            answer = PlainTextResponse("That address is too long.\n", 414)
        else:
            answer = await following(request)
        for name, value in HEADERS.items():
            answer.headers[name] = value
        return answer

    return pass_through
