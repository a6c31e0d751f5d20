"""Tokens, roles and sessions, and the count of wrong tokens from each client."""

import hmac
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from gossamer.base.clock import Clock
from gossamer.base.environment import random_token
from gossamer.base.files import Files
from gossamer.store.directory import Directory

WINDOW_S = 60.0
MOST_WRONG = 10
"""Wrong tokens from one source within WINDOW_S."""
MOST_SOURCES = 10_000
"""Remembered at one time; the one with the oldest window is forgotten first."""
IPV6_SOURCE = 64
"""Bits of an IPv6 address that identify a source: one customer has all addresses of a network (RFC 6177)."""


class Role(IntEnum):
    ANONYMOUS = 0
    USER = 1
    ADMIN = 2


ROLE: ContextVar[Role] = ContextVar("gossamer.web.role", default=Role.ANONYMOUS)
"""The role of the current client. The Gate sets it for each request; a thread that handles one gets a copy."""


def may_change() -> bool:
    return ROLE.get() is Role.ADMIN


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """The two tokens. An empty one grants nothing."""

    admin: str = ""
    reader: str = ""

    def role_of(self, token: str) -> Role:
        """Compares in constant time, and always with both."""
        is_admin, is_reader = _same(token, self.admin), _same(token, self.reader)
        return Role.ADMIN if is_admin else Role.USER if is_reader else Role.ANONYMOUS


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode()) and bool(right)


@dataclass(frozen=True, slots=True)
class Access:
    """The access rules of the site."""

    keys: Callable[[], AccessTokens] = AccessTokens
    """The valid tokens. A change of a token file takes effect at once."""
    is_open: bool = True
    """Reading requires no token."""
    is_public: bool = False
    """Scripts of other sites may read too (CORS). REQUIRES: is_open."""
    is_behind_tls: bool = False
    """People connect by HTTPS to a proxy on this machine."""


class Tries:
    """The number of wrong tokens from each source, in a window that begins with the first one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._wrong)

    def are_too_many(self, client: str) -> bool:
        since_s, count = self._wrong.get(source_of(client), (0.0, 0))
        return count >= MOST_WRONG and self._clock.elapsed_s() - since_s < WINDOW_S

    def add(self, client: str) -> None:
        source, now_s = source_of(client), self._clock.elapsed_s()
        since_s, count = self._wrong.pop(source, (now_s, 0))
        if now_s - since_s >= WINDOW_S:
            since_s, count = now_s, 0
        if len(self._wrong) >= MOST_SOURCES:
            self._wrong.pop(next(iter(self._wrong)))
        self._wrong[source] = (since_s, min(count + 1, MOST_WRONG))


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """None if it is none. An IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) becomes the IPv4 address."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def source_of(client: str) -> str:
    """The unit for counting wrong tokens: an IPv4 address, or the network of an IPv6 address."""
    address = address_in(client)
    if isinstance(address, IPv6Address) and not address.is_loopback:
        return str(ip_network((address, IPV6_SOURCE), strict=False))
    return str(address or client)


def is_near(client: str) -> bool:
    """On this machine."""
    address = address_in(client)
    return address is not None and address.is_loopback


SESSION_S = 7 * 24 * 3600.0
"""Seconds that a browser stays signed in."""
MOST_SESSIONS = 1_000
"""At one time; the oldest ends when there are more."""


@dataclass(frozen=True, slots=True)
class Session:
    role: Role
    until_s: float
    """By the monotonic clock, so that setting the system time does not end or extend a session."""


class Sessions:
    """Sessions by the digest of their id, so that the time of a lookup reveals nothing about an id."""

    def __init__(self, keys: Callable[[], AccessTokens], clock: Clock, draw: Callable[[], str] = random_token) -> None:
        self._keys, self._clock, self._draw = keys, clock, draw
        self._begun_with = keys()
        self._known: dict[bytes, Session] = {}

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, role: Role) -> str:
        """The id for a cookie. It is random, so that the token stays hidden from other servers on this host, which also
        receive our cookies (RFC 6265, 8.5)."""
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


ADMIN, READER = "token", "reader-token"
SHORTEST = 16
"""A shorter one is not ours, and could be guessed."""


def keys_of(
    directory: Directory, files: Files, *, are_new: bool = False, draw: Callable[[], str] = random_token
) -> AccessTokens:
    """The tokens in the data directory. Missing ones are created; with `are_new` both are replaced."""
    return AccessTokens(
        admin=_token(directory.root / ADMIN, files, are_new, draw),
        reader=_token(directory.root / READER, files, are_new, draw),
    )


def kept_keys(directory: Directory, files: Files) -> AccessTokens:
    """The tokens in the data directory. A missing, unreadable, incomplete or too short file gives an empty token, which
    grants nothing."""
    return AccessTokens(admin=_kept(directory.root / ADMIN, files), reader=_kept(directory.root / READER, files))


def _token(path: Path, files: Files, is_new: bool, draw: Callable[[], str]) -> str:
    if not is_new and (kept := _kept(path, files)):
        return kept
    token = draw()
    files.write(path, f"{token}\n".encode())
    return token


def _kept(path: Path, files: Files) -> str:
    try:
        kept = files.read(path, length=200).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return kept if len(kept) >= SHORTEST and kept.isprintable() else ""
