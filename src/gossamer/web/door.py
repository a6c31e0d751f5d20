"""Coming in: a token becomes a session. Programs send the token itself, each time."""

from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from gossamer.clock import Clock
from gossamer.web.faults import fault
from gossamer.web.showing import Show
from gossamer.web.tokens import ROLE, SESSION_S, Door, Role, Tries

WRONG = "That token is not right, or no longer: a new one may be in use."
WAIT = "Too many wrong tokens have come from there. Wait a minute."
LONGEST_FORM = 8192


def same_site(target: str) -> str:
    """The target if it is a path of ours, else the first page. Browsers read `//x` and `/\\x` as other hosts, and drop
    tabs and line ends before they do (WHATWG URL, 4.4)."""
    is_path = target.startswith("/") and target[1:2] not in ("/", "\\")
    return target if is_path and target.isprintable() else "/"


def cookie_name(request: Request) -> str:
    """With the port: cookies are shared by all servers on one host."""
    return f"gossamer-{(request.scope.get('server') or ('', 0))[1]}"


def unauthorized(request: Request, show: Show, words: str) -> Response:
    answer = fault(request, show, 401, words)
    answer.headers["WWW-Authenticate"] = 'Bearer realm="gossamer"'
    return answer


class Entrance:
    """Where tokens are looked at."""

    def __init__(self, door: Door, clock: Clock, show: Show) -> None:
        self.door, self._clock, self._show = door, clock, show
        self._tries = Tries(clock)

    def role_in(self, request: Request) -> Role:
        """By its session. One that is wrong is no try: a browser keeps sending the cookie of an earlier token."""
        return self.door.keys.role_in(request.cookies.get(cookie_name(request), ""), self._clock.now())

    def refusal_of(self, request: Request, token: str) -> Response | None:
        """None admits, and sets ROLE."""
        client = request.client.host if request.client else ""
        if self._tries.are_too_many(client):
            answer = fault(request, self._show, 429, WAIT)
            answer.headers["Retry-After"] = "60"
            return answer
        role = self.door.keys.role_of(token)
        ROLE.set(role)
        if role is Role.ANONYMOUS:
            self._tries.add(client)
            return unauthorized(request, self._show, WRONG)
        return None

    def welcome(self, request: Request, target: str) -> Response:
        """A session for whoever was admitted, and on to where they wanted to go. REQUIRES: a path of ours."""
        answer = RedirectResponse(target, 303)
        session = self.door.keys.session(ROLE.get(), self._clock.now())
        answer.set_cookie(cookie_name(request), session, int(SESSION_S), httponly=True, samesite="strict")
        return answer


def router(entrance: Entrance, show: Show) -> APIRouter:
    routes = APIRouter(include_in_schema=False)

    @routes.get("/door", response_class=HTMLResponse)
    def door(next: str = "/") -> Response:
        return show("door.html", next=same_site(next), role=ROLE.get().name.lower(), is_open=entrance.door.is_open)

    @routes.post("/door")
    async def come_in(request: Request) -> Response:
        fields = await form_of(request)
        if fields is None:
            return fault(request, show, 413, "A token is shorter than that.")
        refused = entrance.refusal_of(request, fields.get("token", "").strip())
        return refused or entrance.welcome(request, same_site(fields.get("next", "/")))

    @routes.post("/door/leave")
    def leave(request: Request) -> Response:
        answer = RedirectResponse("/door", 303)
        answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
        return answer

    return routes


async def form_of(request: Request) -> dict[str, str] | None:
    """A small form as browsers send it; None when it is not small."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_FORM:
            return None
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))
