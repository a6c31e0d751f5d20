"""Checks before every page: host names, origins, tokens and sizes; and the headers of every response."""

import asyncio
from collections.abc import Sequence
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.web.access.login import CHALLENGE, Entrance, is_of, same_site
from gossamer.web.access.tokens import ROLE, Role
from gossamer.web.responses import Show, WebError, error_response
from gossamer.web.streams import MOST_LONG, PIECE, Slots

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Other sites do not learn our URLs. Our own forms are recognised by their Origin, which "no-referrer" would make
    # "null"; Sec-Fetch-Site is not sent over plain HTTP beyond this machine (Fetch, 3.2; FAULTS W6).
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-cache",
}
LONGEST_TARGET = 64 * 1024
LONGEST_BODY = 2 << 20
"""Bytes of any request; a route may allow less."""
BODY_S = 30.0
"""The time a body may take to arrive."""
MOST_AT_ONCE = 256
"""Responses being made at one time. Once one is being sent, its length is limited instead: see `streams`."""
LONG = 4 * PIECE
"""Bytes of a response above which it is sent in pieces."""
CROWDED = "Too many long responses are being sent to slow clients. Please try again in a minute, or request less."
TOO_MANY = "Too many requests at once. Please try again in a few seconds."
READING = ("GET", "HEAD")
CHANGING = ("POST", "PUT", "DELETE", "PATCH")
POSTABLE = ("/sparql", "/door", "/door/leave")
"""Posting there changes nothing in the collection: queries too long for a URL, and tokens."""
UNLOCKED = ("/door", "/door/leave", "/robots.txt")
"""Accessible without a token even if everything else requires one, so that people can sign in."""
NO_CHANGE = (
    "Changes need the administrator's token. Open the link with the token that `gossamer serve` printed, "
    "or send the token in the file `token` of the data directory as `Authorization: Bearer`."
)
NOT_OURS = "This server does not respond to that host name. Open the URL it printed when it started."
FACTS_STAY = "This endpoint is read-only: facts come only from crawled pages."


def answers_to(host_header: str | None, names: Sequence[str]) -> bool:
    """Whether the Host header is one of ours, on any port; any other name means DNS rebinding (FAULTS W7)."""
    if not host_header:
        return False
    name = host_header.rpartition("]")[0] + "]" if host_header.startswith("[") else host_header.partition(":")[0]
    return name.lower() in names


class Gate:
    """An ASGI application around another: it refuses what is not allowed and puts HEADERS on every response."""

    def __init__(self, inner: ASGIApp, names: Sequence[str], show: Show, entrance: Entrance) -> None:
        self._inner, self._names, self._show = inner, names, show
        self._entrance, self._door = entrance, entrance.door
        self._making = Slots(MOST_AT_ONCE)
        self._long = Slots(MOST_LONG)

    @property
    def load(self) -> tuple[int, int]:
        """The number of responses being made, and of long ones being sent."""
        return self._making.taken, self._long.taken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no other protocol is supported
        if self._door.is_behind_tls:
            scope = {**scope, "scheme": "https"}
        request = Request(scope)
        body = RequestBody(request, receive)
        ROLE.set(Role.ANONYMOUS)
        if not self._making.take():
            full = error_response(request, self._show, 503, TOO_MANY)
            await full(scope, body.receive, self._with_headers(request, body, send))
            return
        sending = Sending(self._with_headers(request, body, send), self._making, self._long)
        # A HEAD is handled as a GET; the server leaves the body out, and streams do not make theirs.
        scope = {**scope, "method": "GET", "is_head": True} if scope["method"] == "HEAD" else scope
        try:
            await (self._refusal(request) or self._inner)(scope, body.receive, sending.send)
            if sending.is_crowded_out:
                full = error_response(request, self._show, 503, CROWDED)
                await full(scope, body.receive, self._with_headers(request, body, send))
        finally:
            sending.close()

    def _with_headers(self, request: Request, body: "RequestBody", send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(MutableHeaders(scope=message), request)
                if body.is_unread:  # it stays unread, so the connection cannot be reused
                    MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        return send_with_headers

    def _add_headers(self, headers: MutableHeaders, request: Request) -> None:
        is_sandboxed = headers.get("content-security-policy", "").startswith("sandbox")
        headers.update({name: value for name, value in HEADERS.items() if not (is_sandboxed and name in SANDBOXED_OWN)})
        bears = request.headers.get("authorization") or request.headers.get("cookie")
        if self._door.is_public and request.method in READING and not bears:
            headers["Access-Control-Allow-Origin"] = "*"
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"

    def _refusal(self, request: Request) -> Response | None:
        """None if the request is allowed. Sets ROLE to the role of the client."""
        try:
            self._check_host(request)
            check_size_and_method(request)
            self._check_origin(request)
            return self._session_of(request) or self._check_role(request)
        except WebError as refused:
            return error_response(request, self._show, refused.status, refused.words, refused.headers)

    def _check_host(self, request: Request) -> None:
        # An absolute-form target (RFC 9112, 3.2.2) is for proxies; this is none.
        is_ours = request.scope["path"].startswith("/") and answers_to(request.headers.get("host"), self._names)
        if not is_ours or len(request.headers.getlist("host")) > 1:
            raise WebError(421, NOT_OURS)

    def _check_origin(self, request: Request) -> None:
        """Browsers report where a request comes from; other programs do not (FAULTS W6)."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        host = request.headers["host"].lower()
        if request.method in CHANGING:
            # A browser set to withhold every referrer posts with the origin "null" (Fetch, 3.2): then only
            # Sec-Fetch-Site distinguishes our forms from those of other sites.
            is_our_form = origin == "null" and site == "same-origin"
            ours = (("https",) if self._door.is_behind_tls else ("http", "https"), host)
            is_foreign = origin is not None and not is_of(origin, *ours) and not is_our_form
            if is_foreign or site not in (None, "same-origin", "none"):
                raise WebError(403, "Requests from other sites are not allowed.")
        elif site == "cross-site" and request.headers.get("sec-fetch-mode") != "navigate" and not self._door.is_public:
            raise WebError(403, "Other sites may link to this server, but not read from it.")

    def _session_of(self, request: Request) -> Response | None:
        """Sets ROLE. A link with a token starts a session; a wrong token is refused."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            self._entrance.admit(request, bearer.strip())
            return None
        ROLE.set(self._entrance.role_in(request))
        if request.method not in READING or b"token=" not in request.scope["query_string"]:
            return None
        text = request.scope["query_string"].decode("latin-1")
        pairs = parse_qsl(text, keep_blank_values=True)
        tokens = [value for name, value in pairs if name == "token"]
        if not tokens:
            return None
        self._entrance.admit(request, tokens[0])
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        return self._entrance.welcome(request, same_site(quote(request.scope["path"])) + (f"?{rest}" if rest else ""))

    def _check_role(self, request: Request) -> Response | None:
        """A page that requires a token redirects browsers to the sign-in page."""
        path, role = request.scope["path"], ROLE.get()
        is_unlocked = self._door.is_open or path in UNLOCKED or path.startswith("/static/")
        if role is Role.ANONYMOUS and not is_unlocked:
            if "text/html" in request.headers.get("accept", "") and request.method in READING:
                here = path + (f"?{query}" if (query := request.url.query) else "")
                return RedirectResponse("/door?" + urlencode({"next": same_site(here)}), 303)
            raise WebError(401, "This server requires a token.", CHALLENGE)
        is_change = request.method in CHANGING and not (request.method == "POST" and path in POSTABLE)
        if is_change and role is not Role.ADMIN:
            raise WebError(403, FACTS_STAY if path.startswith("/sparql") else NO_CHANGE)
        return None


def check_size_and_method(request: Request) -> None:
    length = request.headers.get("content-length", "0")
    if "transfer-encoding" in request.headers and "content-length" in request.headers:
        # Two lengths allow request smuggling (RFC 9112, 6.3).
        raise WebError(400, "The request has two different body lengths.")
    if not length.isdigit() or len(length) > 9 or int(length) > LONGEST_BODY:
        raise WebError(413, f"Send at most {LONGEST_BODY:,} bytes.")
    if len(request.scope["raw_path"]) + len(request.scope["query_string"]) > LONGEST_TARGET:
        raise WebError(414, "Shorten the request, or send a long query to /sparql with POST.")
    if request.method not in (*READING, *CHANGING):
        raise WebError(405, FACTS_STAY)


SANDBOXED_OWN = ("Content-Security-Policy", "X-Frame-Options")
"""A stored copy is shown inside our page, isolated by a policy of its own."""


class Sending:
    """The sending of one response.

    It holds a slot of `making` until its first bytes, so that slow clients do not block other requests. A long body
    holds a slot of `long` and is sent in pieces, each once the client has read the one before.
    """

    def __init__(self, send: Send, making: Slots, long: Slots) -> None:
        self._send, self._making, self._long = send, making, long
        self._start: Message | None = None
        self._is_made = self._is_long = False
        self.is_crowded_out = False
        """No slot was free for its long body, and nothing was sent."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message  # held back until the length of the first piece is known
            return
        body = message.get("body", b"")
        is_whole = self._start is not None and not message.get("more_body", False)
        if is_whole and len(body) > LONG and not self._is_long:
            self._is_long = self._long.take()
            self.is_crowded_out = not self._is_long
        if self.is_crowded_out:
            return
        self._has_begun()
        if self._start is not None:
            start, self._start = self._start, None
            await self._send(start)
        if self._is_long:
            view = memoryview(body)
            for at in range(0, len(body) - PIECE, PIECE):
                await self._send({**message, "body": bytes(view[at : at + PIECE]), "more_body": True})
            body = bytes(view[(len(body) - 1) // PIECE * PIECE :])
        await self._send({**message, "body": body})

    def close(self) -> None:
        self._has_begun()
        if self._is_long:
            self._long.give_back()

    def _has_begun(self) -> None:
        if not self._is_made:
            self._is_made = True
            self._making.give_back()


class RequestBody:
    """The body of one request, cut off if it is too long or too slow."""

    def __init__(self, request: Request, receive: Receive) -> None:
        self._receive = receive
        self._left = LONGEST_BODY
        self._until_s: float | None = None
        self.is_unread = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"

    async def receive(self) -> Message:
        """After the whole body, the next message is the disconnect of the client, which has no time limit."""
        if not self.is_unread:
            return await self._receive()
        if self._until_s is None:
            self._until_s = asyncio.get_running_loop().time() + BODY_S
        try:
            async with asyncio.timeout_at(self._until_s):
                message = await self._receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            return {"type": "http.disconnect"}
        self.is_unread = bool(message.get("more_body", False))
        return message
