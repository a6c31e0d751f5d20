"""Fetching by protocols other than HTTP: the user's own, one for each scheme. See docs/extending.md.

A protocol only sends and receives. Which host is dialled, the guard, and the limits on time and size are decided here;
robots.txt, gaps and the archive are the same for all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec
from multidict import CIMultiDict, CIMultiDictProxy

from gossamer.fetch.answer import UNVERIFIED, JudgeType, ResponseHead, limit_of, outcome_of, type_refusal
from gossamer.fetch.pool import Connections, Streams, plain
from gossamer.values.capture import Capture, Truncated
from gossamer.values.outcome import Failed, Outcome, Reason, Refused
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind


class Answer(msgspec.Struct, frozen=True):
    """The response in the terms of HTTP, the only ones that the rest of the program knows."""

    body: bytes = b""
    media_type: str = ""
    status: int = 200
    """404: no such page; 301 with `location`: it has moved; 503: try again later."""
    location: str = ""


Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""A new connection to the host of the URL, and to no other; with TLS if the protocol says so."""


class OtherProtocol(Protocol):
    """Real ones are written by users; tests/fetch/test_protocols.py has one."""

    port: int
    """The default one."""
    with_tls: bool
    has_robots: bool
    """Whether hosts may have a /robots.txt, which is then fetched by this protocol. If not, everything is allowed."""

    async def fetch(self, url: str, dial: Dial, most_bytes: int) -> Answer:
        """Fetch one URL. The body is cut after `most_bytes`. OSError, EOFError or ValueError: it failed."""


BROKEN = "the connection was lost"
NO_ANSWER = "the code for this protocol returned no Answer"
FAULTY = "the code for this protocol failed; the log says how"
TROUBLES: tuple[tuple[type[Exception], str], ...] = (
    (EOFError, "the response ended too early"),
    (ValueError, "the response is invalid"),
)
"""What a protocol may raise, for people; its own message is in the log. The first match counts."""
Protocols = Mapping[str, OtherProtocol]


class _NotDialled(OSError):
    """Carries the reason why there is no connection through the protocol's own code."""

    def __init__(self, why: Refused | Failed) -> None:
        super().__init__(why.detail)
        self.why = why


class OtherExchange:
    """One request by such a protocol. Used once."""

    def __init__(self, url: Url, kind: VisitKind, protocol: OtherProtocol, connections: Connections) -> None:
        self._url, self._kind, self._protocol, self._connections = url, kind, protocol, connections
        self._settings, self._clock, self._tell = connections.settings, connections.clock, connections.tell
        self._opened: list[Streams] = []
        self._at, self._begun_s = self._clock.now(), self._clock.elapsed_s()

    async def run(self, judge_type: JudgeType, depth: int) -> Outcome:
        if self._kind is VisitKind.ROBOTS and not self._protocol.has_robots:
            return Failed(Reason.CLIENT_ERROR, f"{self._url.scheme} has no robots.txt")
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                answer = await self._fetched()
        except TimeoutError:
            return Failed(Reason.TIMEOUT, f"no answer within {self._settings.timeout_s:g} s (fetch.timeout_s)")
        except _NotDialled as trouble:
            return trouble.why
        except OSError as trouble:
            self._tell("protocol.disconnected", scheme=self._url.scheme, url=self._url.text, trouble=str(trouble)[:200])
            return Failed(Reason.DISCONNECTED, f"{BROKEN}: {plain(trouble)}" if trouble.errno else BROKEN)
        finally:
            for streams in self._opened:
                streams.writer.transport.abort()
        return self._outcome(answer, judge_type, depth) if isinstance(answer, Answer) else answer

    async def _fetched(self) -> Answer | Failed:
        limit = limit_of(self._kind, 200, "", self._settings)
        try:
            answer = await self._protocol.fetch(self._url.text, self._dial, limit)
        except OSError:
            raise
        except Exception as trouble:  # noqa: BLE001 - the user's code runs here
            words = f"{type(trouble).__name__}: {trouble}"[:200]
            self._tell("protocol.failed", scheme=self._url.scheme, url=self._url.text, trouble=words)
            return Failed(Reason.PROTOCOL, next((says for kind, says in TROUBLES if isinstance(trouble, kind)), FAULTY))
        return answer if isinstance(answer, Answer) else Failed(Reason.PROTOCOL, NO_ANSWER)

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(self._settings.connect_s):
                found = await self._connections.streams(self._url, self._protocol.with_tls)
        except TimeoutError:
            found = Failed(Reason.CONNECT, f"no connection within {self._settings.connect_s:g} s")
        if not isinstance(found, Streams):
            raise _NotDialled(found)
        self._opened.append(found)
        return found.reader, found.writer

    def _outcome(self, answer: Answer, judge_type: JudgeType, depth: int) -> Outcome:
        if not 200 <= answer.status <= 599:
            return Failed(Reason.PROTOCOL, f"status {answer.status}")
        fields = [("Content-Type", answer.media_type)] if answer.media_type else []
        fields += [("Location", answer.location)] if answer.location else []
        head = ResponseHead(CIMultiDictProxy(CIMultiDict(fields)))
        if self._kind is VisitKind.PAGE and 200 <= answer.status < 300:
            if no := type_refusal(
                self._url, head.media_type, depth, self._settings.wanted, judge_type, self._settings.wanted_by_name
            ):
                return no
        limit = limit_of(self._kind, answer.status, head.media_type, self._settings)
        last = self._opened[-1] if self._opened else None
        capture = Capture(
            url=self._url,
            fetched_at=self._at,
            status=answer.status,
            reason=self._url.scheme,
            headers=tuple(fields),
            body=answer.body[:limit],
            address=last.address if last else "",
            truncated=Truncated.LENGTH if len(answer.body) > limit else None,
            took_s=max(0.0, self._clock.elapsed_s() - self._begun_s),
            distrust=last.distrust if last else "",
        )
        return outcome_of(capture, head, (UNVERIFIED,) if capture.distrust else (), self._clock.now())
