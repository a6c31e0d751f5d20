"""HTTP to a service that holds a part of a collection: a search engine, or a SPARQL server.

Never for pages of the web: those go through `fetch`, whose guard refuses private IP addresses. The address of a service
is a setting, and may hold references to secrets (`base.secrets`), which are replaced when the service is opened.
"""

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from gossamer.base.clock import Clock, Instant, in_words
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.secrets import revealed
from gossamer.base.tell import Tell

T = TypeVar("T")
MIB = 1 << 20
PIECE = 1 << 16
CONNECT_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
AWAY = frozenset({429, 502, 503, 504})
"""A service that answers so may do what it is asked later."""
NO_CLIENT = "{} needs urllib3, which is not installed: pip install gossamer[services]"


class ServiceLost(GossamerError):
    """A service cannot be reached, or is too busy. Nothing acknowledged is lost; trying again may help."""


class ServiceRefused(GossamerError):
    """A service answers that it will not do what it was asked."""

    def __init__(self, message: str, status: int, body: bytes) -> None:
        super().__init__(message)
        self.status, self.body = status, body


class ServiceAnswer(NamedTuple):
    status: int
    media_type: str
    body: bytes


class Reachability:
    """Since when a service has not answered. For any number of threads."""

    def __init__(self, name: str, clock: Clock, tell: Tell) -> None:
        self.name = name
        self._clock, self._tell = clock, tell
        self._lost: tuple[Instant, str] | None = None
        self._turn = Lock()

    @property
    def trouble(self) -> str:
        """Since when it has not answered, and why, for people; empty while it answers."""
        lost = self._lost
        return f"{self.name}: no answer since {in_words(lost[0])[:19]}Z ({lost[1]}); trying again" if lost else ""

    def lost_by(self, why: str) -> ServiceLost:
        """The error to raise."""
        with self._turn:
            is_first = self._lost is None
            self._lost = self._lost or (self._clock.now(), why)
        if is_first:
            self._tell("service.lost", service=self.name, why=why)
        return ServiceLost(f"{self.name} does not answer ({why})")

    def note_answer(self) -> None:
        if self._lost is not None:
            with self._turn:
                self._lost = None
            self._tell("service.back", service=self.name)


class Service:
    """One service, for any number of threads. A connection is opened by the first request and kept for the next."""

    def __init__(self, setting: str, address: str, clock: Clock, tell: Tell, authorities: str | None = None) -> None:
        """`setting` names the service in messages: "views.facts". `authorities`: a PEM file of further certificate
        authorities. Raises ConfigError for an address that is no http(s) URL."""
        try:
            import urllib3
        except ImportError as missing:
            raise GossamerError(NO_CLIENT.format(setting)) from missing
        given = urlsplit(revealed(address, os.environ))
        if given.scheme not in ("http", "https") or not given.hostname:
            raise ConfigError(f'{setting} is not the URL of a service, such as "https://host.example:9200/"')
        host = f"[{given.hostname}]" if ":" in given.hostname else given.hostname
        port = f":{given.port}" if given.port else ""
        self.name = f"{setting} at {given.scheme}://{host}{port}{given.path.rstrip('/')}"
        self._base = f"{given.scheme}://{host}{port}"
        self.path = given.path.rstrip("/")
        self._http, self._clock = urllib3, clock
        self._headers = {"User-Agent": "gossamer"}
        if given.username is not None:
            login = f"{unquote(given.username)}:{unquote(given.password or '')}"
            self._headers |= urllib3.make_headers(basic_auth=login)
        context = ssl.create_default_context(cafile=authorities)
        self._pool = urllib3.PoolManager(maxsize=16, retries=False, ssl_context=context)
        self._reach = Reachability(self.name, clock, tell)

    def close(self) -> None:
        self._pool.clear()

    @property
    def trouble(self) -> str:
        """Since when it has not answered, and why, for people; empty while it answers."""
        return self._reach.trouble

    def ask(
        self,
        method: str,
        path: str = "",
        body: bytes | str = b"",
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = 30.0,
        most_bytes: int = 64 * MIB,
    ) -> ServiceAnswer:
        """One request to `path` below the service's address, and its whole answer. Raises ServiceLost, and
        ServiceRefused for a status of 400 and more or an answer of more than `most_bytes`."""
        with self.stream(method, path, body, headers=headers, timeout_s=timeout_s) as (answer, pieces):
            found, size = [], 0
            for piece in pieces:
                found.append(piece)
                size += len(piece)
                if size > most_bytes:
                    raise ServiceRefused(f"{self.name} answers with more than {most_bytes:,} bytes", answer.status, b"")
            return answer._replace(body=b"".join(found))

    @contextmanager
    def stream(
        self,
        method: str,
        path: str = "",
        body: bytes | str = b"",
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = 30.0,
    ) -> Iterator[tuple[ServiceAnswer, Iterator[bytes]]]:
        """The same, for an answer of any length: the iterator yields its body, decoded, in pieces. `timeout_s` is for
        the first byte, and for each further piece."""
        sent = body.encode() if isinstance(body, str) else body
        timeout = self._http.Timeout(connect=min(CONNECT_S, timeout_s), read=timeout_s)
        all_headers = self._headers | {"Accept-Encoding": "gzip"} | dict(headers)
        try:
            answer = self._pool.request(
                method, self._base + self.path + path, body=sent or None, headers=all_headers, timeout=timeout,
                preload_content=False, redirect=False,
            )  # fmt: skip
            try:
                if answer.status >= 300:
                    raise self._error(answer.status, answer.read(PIECE, decode_content=True))
                self._reach.note_answer()
                kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
                yield ServiceAnswer(answer.status, kind, b""), answer.stream(PIECE, decode_content=True)
            finally:
                answer.drain_conn() if answer.length_remaining == 0 else answer.close()
                answer.release_conn()
        except self._http.exceptions.HTTPError as trouble:
            raise self._reach.lost_by(reason_of(trouble)) from trouble

    def until_done(self, work: Callable[[], T], is_stopping: Callable[[], bool] = lambda: False) -> T:
        """`work`, again and again for as long as the service is gone; `trouble` says so meanwhile. Raises ServiceLost
        only when `is_stopping`. REQUIRES: `work` may be repeated, also when it was done."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return work()
            except ServiceLost:
                if is_stopping():
                    raise
                self._clock.pause(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _error(self, status: int, body: bytes) -> GossamerError:
        says = " ".join(body[:1000].decode("utf-8", "replace").split())
        if status in AWAY:
            return self._reach.lost_by(f"status {status}")
        self._reach.note_answer()
        return ServiceRefused(f"{self.name} refuses (status {status}): {says[:300]}", status, body)


def reason_of(trouble: Any) -> str:
    """What an error of urllib3 means, in a few words."""
    words = type(trouble).__name__.removesuffix("Error")
    known = {
        "NewConnection": "connection refused",
        "ConnectTimeout": "no connection in time",
        "ReadTimeout": "no answer in time",
        "NameResolution": "its name does not resolve",
        "SSL": "TLS fails",
        "Protocol": "the connection broke off",
        "IncompleteRead": "the connection broke off",
    }
    return known.get(words, words)
