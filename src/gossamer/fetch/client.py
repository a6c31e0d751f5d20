"""The one client: a GET, an answer within limits, a typed outcome. Nothing else in the house asks the web anything."""

import asyncio
import re
from types import TracebackType
from typing import Self

from gossamer import __version__
from gossamer.base.errors import ConfigError
from gossamer.config.slices import Fetch
from gossamer.fetch.answer import limit_of
from gossamer.fetch.budget import CROWD, Budget
from gossamer.fetch.exchange import Exchange, JudgeType
from gossamer.fetch.pool import Connections
from gossamer.fetch.protocols import OtherExchange, Protocols
from gossamer.values.history import Validators
from gossamer.values.outcome import Outcome, Reason, Refused
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5"
CODINGS = "gzip, deflate, br, zstd"
_SENDABLE = re.compile(r"[!-~]+")
NO_VALIDATORS = Validators()


class Client:
    """`async with Client(...)`, then `fetch`. Never raises for the web's faults, follows nothing."""

    def __init__(
        self,
        connections: Connections,
        judge_type: JudgeType = lambda _url, _type, _depth: None,
        protocols: Protocols | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`judge_type` is asked when the headers of a page have arrived, for types that are collected at all.
        `protocols`: those of other schemes than http and https, by scheme. `budget`: what bodies are charged to; the
        caller releases a host's share once its answer is no longer in memory. None: nobody waits for room."""
        self._connections, self._judge_type, self._protocols = connections, judge_type, protocols or {}
        at_once = connections.settings.at_once
        self._room = asyncio.Semaphore(CROWD * at_once)
        self._budget = budget if budget is not None else Budget(at_once=at_once)
        self._is_released_here = budget is None
        self._fields = _fields(connections.settings)

    async def __aenter__(self) -> Self:
        self._connections.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.close()
        await asyncio.sleep(0)  # the transports close on the loop's next turn

    async def fetch(
        self, url: Url, kind: VisitKind = VisitKind.PAGE, depth: int = 0, validators: Validators = NO_VALIDATORS
    ) -> Outcome:
        """GET `url`, which is `depth` links from its seed: some rules for types ask that. A robots.txt may be of any
        media type, and only its first half mebibyte is taken. With `validators` the server may answer that nothing has
        changed."""
        if not _SENDABLE.fullmatch(url.text):
            return Refused(Reason.ADDRESS, "not a canonical address")
        try:
            async with self._room:
                return await self._asked(url, kind, depth, validators)
        finally:
            if self._is_released_here:
                self._budget.release(url.host.name)

    async def _asked(self, url: Url, kind: VisitKind, depth: int, validators: Validators) -> Outcome:
        if (protocol := self._protocols.get(url.scheme)) is not None:
            # How much of it comes is known only at the end.
            await self._budget.body(url.host.name, limit_of(kind, 200, "", self._connections.settings))
            return await OtherExchange(url, kind, protocol, self._connections).run(self._judge_type, depth)
        exchange = Exchange(url, kind, depth, self._connections, self._budget, self._judge_type)
        return await exchange.run(self._fields + conditions(validators), validators.etag)

    async def address_of(self, hostname: str) -> str | None:
        """The address that a visit to this name would dial first, from the same memory and past the same guard.

        None: it does not resolve, or must not be dialled. Never raises for what a name server does.
        """
        return await self._connections.address_of(hostname)


def user_agent(settings: Fetch) -> str:
    """Who we are and where to complain."""
    name = f"{settings.agent}/{__version__}"
    return f"{name} (+{settings.contact})" if settings.contact else name


def _fields(settings: Fetch) -> bytes:
    """All of a question that is the same every time. REQUIRES: the operator's words are one line of ASCII."""
    lines = (
        f"User-Agent: {user_agent(settings)}",
        f"Accept: {ACCEPT}",
        f"Accept-Encoding: {CODINGS}",
    )
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise ConfigError("agent and contact must be printable ASCII: they are sent in a header field")
    return "\r\n".join((*lines, "")).encode("ascii")


def conditions(validators: Validators) -> bytes:
    """The rest of a question, up to its end. Both are sent: a server that knows entity tags passes over the date
    (RFC 9110, 13.1.3). REQUIRES: they are as `answer.validators_of` gives them."""
    lines = []
    if validators.etag:
        lines.append(f"If-None-Match: {validators.etag}")
    if validators.last_modified:
        lines.append(f"If-Modified-Since: {validators.last_modified}")
    return "\r\n".join((*lines, "", "")).encode("ascii", "replace") if lines else b"\r\n"
