"""Sessions of people who signed in with a token. They live in the server's memory: signing out ends one at once, and
a restart, or a change of either token, ends all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from gossamer.base.chance import unguessable
from gossamer.base.clock import Clock
from gossamer.web.access.tokens import AccessTokens, Role

SESSION_S = 7 * 24 * 3600.0
"""How long a browser stays signed in."""
MOST_SESSIONS = 1_000
"""At one time; the oldest ends when there are more."""


@dataclass(frozen=True, slots=True)
class Session:
    role: Role
    until_s: float
    """By the clock that only goes forward: setting the system's time ends or lengthens no session."""


class Sessions:
    """By the digest of their ids: looking one up takes the same time however much of an id was guessed."""

    def __init__(self, keys: Callable[[], AccessTokens], clock: Clock, draw: Callable[[], str] = unguessable) -> None:
        self._keys, self._clock, self._draw = keys, clock, draw
        self._begun_with = keys()
        self._known: dict[bytes, Session] = {}

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, role: Role) -> str:
        """The id, for a cookie. It is random: it does not tell the token to other servers on this host, which are
        sent our cookies whatever their port (RFC 6265, 8.5)."""
        self._forget_outdated()
        while len(self._known) >= MOST_SESSIONS:
            self._known.pop(next(iter(self._known)))
        id = self._draw()
        self._known[_digest(id)] = Session(role, self._clock.elapsed_s() + SESSION_S)
        return id

    def role_in(self, id: str) -> Role:
        if not id or not self._known:
            return Role.ANONYMOUS
        self._forget_outdated()
        found = self._known.get(_digest(id))
        return found.role if found is not None else Role.ANONYMOUS

    def end(self, id: str) -> None:
        self._known.pop(_digest(id), None)

    def _forget_outdated(self) -> None:
        if (keys := self._keys()) != self._begun_with:
            self._begun_with = keys
            self._known.clear()
        now_s = self._clock.elapsed_s()
        while self._known and (oldest := next(iter(self._known))) and self._known[oldest].until_s <= now_s:
            self._known.pop(oldest)


def _digest(id: str) -> bytes:
    return sha256(id.encode("utf-8", "replace")).digest()
