"""Sign-in: a token starts a session. Programs send the token itself with each request."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.base.clock import Clock
from gossamer.web.access.tokens import ROLE, SESSION_S, Access, Role, Sessions, Tries, address_in, is_near
from gossamer.web.responses import Show, WebError
from gossamer.web.routes import Routes, form_of

WRONG = "This token is not valid, or no longer valid: it may have been replaced."
WAIT = "Too many wrong tokens from your IP address. Wait a minute, or use a valid one."
LONGEST_FORM = 8192
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="gossamer"'}


def same_site(target: str) -> str:
    """The target if it is a path on this site, else `/`. Browsers read `//x` and `/\\x` as other hosts, after dropping
    tabs and newlines (WHATWG URL, 4.4)."""
    is_path = target.startswith("/") and target[1:2] not in ("/", "\\")
    return target if is_path and target.isprintable() else "/"


def cookie_name(request: Request, door: Access) -> str:
    """With the port, as all servers on a host share cookies. Browsers accept a name with the prefix `__Host-` only from
    that host and over HTTPS (RFC 6265bis, 4.1.3)."""
    return f"{'__Host-' if door.is_behind_tls else ''}gossamer-{(request.scope.get('server') or ('', 0))[1]}"


def client_of(request: Request, door: Access) -> str:
    """The IP address of the client. X-Forwarded-For is only believed from a proxy on this machine, its last entry."""
    peer = request.client.host if request.client else ""
    if door.is_behind_tls and is_near(peer):
        forwarded = ",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
        return forwarded if address_in(forwarded) is not None else peer
    return peer


def is_of(origin: str, schemes: Sequence[str], host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:  # such as `http://[`
        return False
    return parts.scheme in schemes and parts.netloc.lower() == host


def is_from_another_site(request: Request) -> bool:
    """Whether another site's page caused the request, as far as the browser reports it. A link or image there with a
    wrong token does not count as an attempt of its visitor (FAULTS X14)."""
    origins = [request.headers.get(name) for name in ("origin", "referer")]
    host = request.headers.get("host", "").lower()
    is_foreign = any(one is not None and not is_of(one, ("http", "https"), host) for one in origins)
    return is_foreign or request.headers.get("sec-fetch-site") not in (None, "same-origin", "none")


class Entrance:
    """Checks tokens, counts wrong ones, and starts and ends sessions."""

    def __init__(self, door: Access, clock: Clock) -> None:
        self.door = door
        self.sessions = Sessions(door.keys, clock)
        self.tries = Tries(clock)

    def role_in(self, request: Request) -> Role:
        """The role of its session. A wrong one is not counted: browsers keep sending the cookie of an earlier token."""
        return self.sessions.role_in(self._session_id(request))

    def admit(self, request: Request, token: str) -> None:
        """Sets ROLE. Raises WebError if the token is not valid.

        A valid token is accepted after any number of wrong ones: it is too long to be guessed, and wrong ones sent by
        others must not lock its owner out.
        """
        role = self.door.keys().role_of(token)
        ROLE.set(role)
        if role is not Role.ANONYMOUS:
            return
        client = client_of(request, self.door)
        if self.tries.are_too_many(client):
            raise WebError(429, WAIT, {"Retry-After": "60"})
        if not is_from_another_site(request):
            self.tries.add(client)
        raise WebError(401, WRONG, CHALLENGE)

    def welcome(self, request: Request, target: str) -> Response:
        """Starts a session in place of an earlier one, and redirects to the target. REQUIRES: a path on this site."""
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
    def door(params: DoorParameters) -> Response:
        role = ROLE.get().name.lower()
        return show("door.html", next=same_site(params.next), role=role, is_open=entrance.door.is_open)

    @routes.post("/door")
    async def come_in(request: Request) -> Response:
        fields = await form_of(request, LONGEST_FORM, "A token is shorter than that.")
        entrance.admit(request, fields.get("token", "").strip())
        return entrance.welcome(request, same_site(fields.get("next", "/")))

    @routes.post("/door/leave")
    def leave(request: Request) -> Response:
        return entrance.farewell(request)

    return routes
