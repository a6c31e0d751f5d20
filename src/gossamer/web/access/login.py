"""Coming in: a token becomes a session. Programs send the token itself, each time."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.base.clock import Clock
from gossamer.web.access.tokens import ROLE, SESSION_S, Access, Role, Sessions, Tries, address_in, is_near
from gossamer.web.responses import Show, error_response
from gossamer.web.routes import Routes, form_of

WRONG = "This token is not valid, or no longer valid: it may have been replaced."
WAIT = "Too many wrong tokens from your IP address. Wait a minute, or use a valid one."
LONGEST_FORM = 8192


def same_site(target: str) -> str:
    """The target if it is a path of ours, else the first page. Browsers read `//x` and `/\\x` as other hosts, and drop
    tabs and line ends before they do (WHATWG URL, 4.4)."""
    is_path = target.startswith("/") and target[1:2] not in ("/", "\\")
    return target if is_path and target.isprintable() else "/"


def cookie_name(request: Request, door: Access) -> str:
    """With the port: cookies are shared by all servers on one host. Browsers take one that is called __Host- from that
    host alone, and by HTTPS alone (RFC 6265bis, 4.1.3)."""
    return f"{'__Host-' if door.is_behind_tls else ''}gossamer-{(request.scope.get('server') or ('', 0))[1]}"


def client_of(request: Request, door: Access) -> str:
    """The address that asks. A proxy on this machine says last for whom it does; nobody else is believed."""
    peer = request.client.host if request.client else ""
    if door.is_behind_tls and is_near(peer):
        told = ",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
        return told if address_in(told) is not None else peer
    return peer


def is_of(origin: str, schemes: Sequence[str], host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:  # such as `http://[`
        return False
    return parts.scheme in schemes and parts.netloc.lower() == host


def is_led_here(request: Request) -> bool:
    """By a page of another site, as far as the browser tells: a link or picture there with a wrong token in it is no
    try of the person who is led here (FAULTS X14)."""
    told = [request.headers.get(name) for name in ("origin", "referer")]
    host = request.headers.get("host", "").lower()
    is_foreign = any(one is not None and not is_of(one, ("http", "https"), host) for one in told)
    return is_foreign or request.headers.get("sec-fetch-site") not in (None, "same-origin", "none")


def unauthorized(request: Request, show: Show, words: str) -> Response:
    answer = error_response(request, show, 401, words)
    answer.headers["WWW-Authenticate"] = 'Bearer realm="gossamer"'
    return answer


class Entrance:
    """Where tokens are looked at."""

    def __init__(self, door: Access, clock: Clock, show: Show) -> None:
        self.door, self._show = door, show
        self.sessions = Sessions(door.keys, clock)
        self.tries = Tries(clock)

    def role_in(self, request: Request) -> Role:
        """By its session. One that is wrong is no try: a browser keeps sending the cookie of an earlier token."""
        return self.sessions.role_in(self._session_id(request))

    def refusal_of(self, request: Request, token: str) -> Response | None:
        """None admits, and sets ROLE. The right token is admitted whatever was tried before: it is too long to be
        guessed, and whoever sends wrong ones must not be able to lock its owner out."""
        role = self.door.keys().role_of(token)
        ROLE.set(role)
        if role is not Role.ANONYMOUS:
            return None
        client = client_of(request, self.door)
        if self.tries.are_too_many(client):
            answer = error_response(request, self._show, 429, WAIT)
            answer.headers["Retry-After"] = "60"
            return answer
        if not is_led_here(request):
            self.tries.add(client)
        return unauthorized(request, self._show, WRONG)

    def welcome(self, request: Request, target: str) -> Response:
        """A session for whoever was admitted, in the place of the one they had; and on to where they wanted to go.
        REQUIRES: a path of ours."""
        self.sessions.end(self._session_id(request))
        answer = RedirectResponse(target, 303)
        id = self.sessions.begin(ROLE.get())
        name, is_secure = cookie_name(request, self.door), self.door.is_behind_tls
        answer.set_cookie(name, id, int(SESSION_S), secure=is_secure, httponly=True, samesite="strict")
        return answer

    def farewell(self, request: Request) -> Response:
        self.sessions.end(self._session_id(request))
        answer = RedirectResponse("/door", 303)
        name, is_secure = cookie_name(request, self.door), self.door.is_behind_tls
        answer.delete_cookie(name, secure=is_secure, httponly=True, samesite="strict")
        return answer

    def _session_id(self, request: Request) -> str:
        return request.cookies.get(cookie_name(request, self.door), "")


class DoorParameters(msgspec.Struct, frozen=True):
    next: str = "/"


def router(entrance: Entrance, show: Show) -> Routes:
    routes = Routes()

    @routes.get("/door")
    def door(wanted: DoorParameters) -> Response:
        role = ROLE.get().name.lower()
        return show("door.html", next=same_site(wanted.next), role=role, is_open=entrance.door.is_open)

    @routes.post("/door")
    async def come_in(request: Request) -> Response:
        fields = await form_of(request, LONGEST_FORM, "A token is shorter than that.")
        refused = entrance.refusal_of(request, fields.get("token", "").strip())
        return refused or entrance.welcome(request, same_site(fields.get("next", "/")))

    @routes.post("/door/leave")
    def leave(request: Request) -> Response:
        return entrance.farewell(request)

    return routes
