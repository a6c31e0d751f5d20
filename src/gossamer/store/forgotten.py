"""URLs and hosts that a user asked to forget: they are not accepted again until that is allowed."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.base.clock import Instant
from gossamer.rules.canonical import identity_of
from gossamer.store.options import stored_seeds
from gossamer.store.statements import State, load
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import OTHER, Url

_SQL = load("gossamer.store", "forgotten.sql")


class Forgotten(msgspec.Struct, frozen=True):
    """What the user had erased: whole hosts by name, and pages by key, in every scheme and spelling."""

    hosts: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.pages)

    def has(self, url: Url) -> bool:
        if not self.hosts and not self.pages:
            return False
        return url.host.name in self.hosts or (bool(self.pages) and key_of(url.text) in self.pages)

    @property
    def at(self) -> frozenset[str]:
        """The names of all hosts concerned."""
        return self.hosts | {host_in(key) for key in self.pages}

    def judge(self, url: Url) -> Allowed | Denied:
        if not self.has(url):
            return Allowed()
        what = url.host.name if url.host.name in self.hosts else url.text
        return Denied(f"{what} was forgotten on request; `gossamer forget --allow {what}` takes that back")


NOTHING = Forgotten()


def forgotten_of(hosts: Iterable[str], addresses: Iterable[str]) -> Forgotten:
    """`NOTHING` itself if both are empty: every link is checked, and most crawls have forgotten nothing."""
    found = Forgotten(frozenset(hosts), frozenset(map(key_of, addresses)))
    return found if found else NOTHING


def is_like(name: str, host: str) -> bool:
    """Whether someone who named `host` may also have meant this one: another port, a subdomain, or a difference in
    `www.` only."""
    here, wanted = _bare(name), _bare(host).removeprefix("www.")
    return name != host and (here == wanted or here.endswith("." + wanted))


def _bare(name: str) -> str:
    """Without its scheme and port."""
    name = name.rpartition(OTHER)[2]
    return name.partition("]")[0] if name.startswith("[") else name.partition(":")[0]


def host_in(key: str) -> str:
    """REQUIRES: the result of `key_of`; keys of non-web schemes begin with the scheme."""
    return Url(key if key.partition("/")[0].endswith(":") else f"https://{key}").host.name


def key_of(text: str) -> str:
    """The URL without its scheme, if that is http or https. REQUIRES: the text of a `Url`."""
    key = identity_of(text)
    return key.partition("://")[2] if key.startswith(("http://", "https://")) else key


class ForgottenEntry(msgspec.Struct, frozen=True):
    name: str
    """A host's name, or a URL."""
    is_host: bool
    asked_at: Instant
    done_at: Instant | None = None
    """When all of it was deleted; None: that has begun, but is not complete."""


def put(connection: State, entries: Iterable[ForgottenEntry]) -> None:
    """Inside the caller's transaction; seeds among them are removed too."""
    asked = list(entries)
    connection.executemany(_SQL["put"], [(one.name, one.is_host, one.asked_at) for one in asked])
    block = block_of(asked)
    gone = [(url.text,) for url, _ in stored_seeds(connection) if block.has(url)]
    connection.executemany(_SQL["unseeded"], gone)


def every(connection: State) -> list[ForgottenEntry]:
    return [ForgottenEntry(name, bool(is_host), *ats) for name, is_host, *ats in connection.execute(_SQL["all"])]


def done(connection: State, at: Instant) -> None:
    connection.execute(_SQL["done"], (at,))


def allow(connection: State, entry: ForgottenEntry) -> bool:
    """Returns whether it was there. A URL is found in any spelling."""
    wanted = key_of(entry.name) if not entry.is_host else entry.name
    names = [
        (one.name,)
        for one in every(connection)
        if one.is_host is entry.is_host and (one.name if one.is_host else key_of(one.name)) == wanted
    ]
    return bool(connection.executemany(_SQL["allowed"], names).rowcount > 0) if names else False


def block(connection: State) -> Forgotten:
    """What is not accepted."""
    return block_of(every(connection))


def block_of(entries: Iterable[ForgottenEntry]) -> Forgotten:
    asked = list(entries)
    return forgotten_of([one.name for one in asked if one.is_host], [one.name for one in asked if not one.is_host])


BUSY_S = 10.0


def scrub(path: Path) -> None:
    """Rewrite the whole database and empty its journal: deleted data stays in a file until something is written over
    it. REQUIRES: no other process writes to it.

    A reader that holds an old state keeps the journal until it closes; deleted data then stays in it until the next
    writer closes the database.
    """
    with closing(sqlite3.connect(path, BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
