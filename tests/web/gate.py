"""Requests to the Gate without a socket: from any IP address, at any time, with any headers."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp
from tests.web.site import Answer

from gossamer.base.tell import silent
from gossamer.web.access.guard import Gate
from gossamer.web.access.login import Entrance, router
from gossamer.web.access.tokens import ROLE, Access, AccessTokens
from gossamer.web.app import show_errors
from gossamer.web.responses import make_show

KEYS = AccessTokens("admin-" + "a" * 40, "reader-" + "r" * 40)
BEARER = {"admin": f"Bearer {KEYS.admin}", "user": f"Bearer {KEYS.reader}"}
PORT = 8642
COOKIE = f"gossamer-{PORT}"


@dataclass(frozen=True)
class GateAnswer(Answer):
    @property
    def cookie(self) -> str:
        """The session it sets."""
        return self.headers.get("set-cookie", "").partition(";")[0].partition("=")[2]


async def role_of_client(scope: Any, receive: Any, send: Any) -> None:
    """A page that shows the role of the client."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": ROLE.get().name.lower().encode()})


def gate_of(
    clock: Any, *, inner: ASGIApp = role_of_client, names: tuple[str, ...] = ("127.0.0.1",), **access: Any
) -> Gate:
    show = make_show()
    return Gate(inner, names, show, Entrance(Access(**{"keys": lambda: KEYS} | access), clock))


def site_of(gate: Gate) -> Gate:
    """The same gate, in front of the sign-in page."""
    login = router(gate._entrance, make_show())
    site = Starlette(routes=[*login.for_starlette(), Mount("/", role_of_client)])
    show_errors(site, make_show(), silent)
    gate._inner = site
    return gate


async def ask(
    app: ASGIApp,
    target: str,
    method: str = "GET",
    body: bytes = b"",
    client: str = "127.0.0.1",
    accept: str = "*/*",
    **fields: str,
) -> GateAnswer:
    """Header names with `_` for `-`."""
    path, _, query = target.partition("?")
    given = {
        "host": f"127.0.0.1:{PORT}",
        "accept": accept,
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    if body:
        given.setdefault("content-length", str(len(body)))
    scope = {
        "type": "http", "method": method, "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": (client, 50_000), "server": ("127.0.0.1", PORT), "http_version": "1.1",
    }  # fmt: skip
    exchange = _Exchange(body)
    await app(scope, exchange.receive, exchange.send)
    start = next(one for one in exchange.sent if one["type"] == "http.response.start")
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return GateAnswer(start["status"], headers, b"".join(one.get("body", b"") for one in exchange.sent))


@dataclass
class _Exchange:
    body: bytes
    sent: list[Any] = field(default_factory=list)
    is_read: bool = False

    async def receive(self) -> dict[str, Any]:
        if self.is_read:
            return {"type": "http.disconnect"}
        self.is_read = True
        return {"type": "http.request", "body": self.body, "more_body": False}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
