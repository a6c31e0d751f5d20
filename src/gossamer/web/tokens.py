"""Who is asking: nobody in particular, a reader, or the administrator; and how often a wrong token was tried."""

import hmac
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from ipaddress import ip_address

from gossamer.clock import SECOND, Clock, Instant

SESSION_S = 7 * 24 * 3600.0
"""How long a browser stays signed in."""
WINDOW_S = 60.0
MOST_WRONG = 10
"""Wrong tokens from one address in a window of time."""
MOST_WRONG_IN_ALL = 100
"""From all addresses together. A try from this machine is not counted here, so that strangers cannot lock its owner
out."""


class Role(IntEnum):
    ANONYMOUS = 0
    USER = 1
    ADMIN = 2


ROLE: ContextVar[Role] = ContextVar("gossamer.web.role", default=Role.ANONYMOUS)
"""Of whoever the current answer is for. Set anew by the Gate for each request; threads that answer one get a copy."""


def may_change() -> bool:
    return ROLE.get() is Role.ADMIN


@dataclass(frozen=True, slots=True)
class Keys:
    """The two tokens. One that is empty opens nothing."""

    admin: str = ""
    reader: str = ""

    def role_of(self, token: str) -> Role:
        """Compared in constant time, and with both whatever the first says."""
        is_admin, is_reader = _same(token, self.admin), _same(token, self.reader)
        return Role.ADMIN if is_admin else Role.USER if is_reader else Role.ANONYMOUS

    def session(self, role: Role, now: Instant) -> str:
        """For a cookie: it runs out, and does not tell the token to other servers on this host, which are sent our
        cookies whatever their port (RFC 6265, 8.5)."""
        claim = f"{role.name.lower()}.{int(now // SECOND + SESSION_S)}"
        return f"{claim}.{self._signed(role, claim)}"

    def role_in(self, session: str, now: Instant) -> Role:
        name, _, rest = session.partition(".")
        until, _, signature = rest.partition(".")
        role = {"admin": Role.ADMIN, "user": Role.USER}.get(name)
        if role is None or not (until.isascii() and until.isdigit()) or len(until) > 15:
            return Role.ANONYMOUS
        if not _same(signature, self._signed(role, f"{name}.{until}")) or now >= int(until) * SECOND:
            return Role.ANONYMOUS
        return role

    def _signed(self, role: Role, claim: str) -> str:
        """Empty without a token: nothing equals it. A new token ends every session the old one began."""
        key = self.admin if role is Role.ADMIN else self.reader
        return hmac.digest(key.encode(), claim.encode(), sha256).hex() if key else ""


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode()) and bool(right)


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in, and how."""

    keys: Keys = Keys()
    is_open: bool = True
    """Reading needs no token."""
    is_public: bool = False
    """Scripts of other sites may read too (CORS). REQUIRES: is_open."""
    is_behind_tls: bool = False
    """People come by HTTPS, to a proxy on this machine that speaks to us."""


class Tries:
    """Wrong tokens of the current window. What it remembers is bounded by MOST_WRONG_IN_ALL and this machine."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_s = clock.elapsed_s()
        self._wrong: dict[str, int] = {}
        self._from_afar = 0

    def are_too_many(self, client: str) -> bool:
        self._move_on()
        is_flood = self._from_afar >= MOST_WRONG_IN_ALL and not is_near(client)
        return is_flood or self._wrong.get(client, 0) >= MOST_WRONG

    def add(self, client: str) -> None:
        self._move_on()
        self._wrong[client] = self._wrong.get(client, 0) + 1
        self._from_afar += not is_near(client)

    def _move_on(self) -> None:
        now_s = self._clock.elapsed_s()
        if now_s - self._since_s >= WINDOW_S:
            self._since_s, self._wrong, self._from_afar = now_s, {}, 0


def is_near(client: str) -> bool:
    """On this machine."""
    try:
        return ip_address(client.partition("%")[0]).is_loopback
    except ValueError:
        return False
