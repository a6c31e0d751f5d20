"""One robots.txt, from a file or fetched as a crawl fetches it, and what it says to one agent."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.environment import Network, Outside
from gossamer.base.errors import ConfigError, WorkerLost
from gossamer.base.tell import silent
from gossamer.collection.single_page import NOWHERE, Walk, in_words
from gossamer.config.settings import Settings
from gossamer.config.slices import fetch_settings, robots_keeping
from gossamer.crawler.seeds import admitted
from gossamer.fetch.answer import entry_of, entry_read
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.rules.robots import RobotsNotice, RobotsSurvey
from gossamer.values.messages import SurveyJob
from gossamer.values.outcome import Fetched, Outcome
from gossamer.values.robots import Naming, Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind
from gossamer.workers.jobs import SURVEY
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

_ENCODER = msgspec.msgpack.Encoder()
_SURVEY = msgspec.msgpack.Decoder(RobotsSurvey)


@dataclass(frozen=True, slots=True)
class RobotsHop:
    """One hop."""

    url: str
    outcome: str


@dataclass(frozen=True, slots=True)
class RobotsReport:
    """A robots.txt that was looked at."""

    name: str
    agent: str
    robots: Robots
    oddities: tuple[RobotsNotice, ...] = ()
    asked: tuple[RobotsHop, ...] = ()
    """Where it was asked for, in order; nothing for a file."""
    size: int = 0


@dataclass(frozen=True, slots=True)
class RobotsReader:
    """Reads a robots.txt for one agent, in a worker process."""

    agent: str
    naming: Naming
    outside: Outside

    async def read(self, body: bytes, codings: str = "") -> RobotsSurvey:
        """Raises WorkerLost when no worker could."""
        outside = self.outside
        async with Pool(SURVEY, 1, Limits(), outside.processes, outside.clock, silent) as pool:
            payload = _ENCODER.encode(SurveyJob(body, self.agent, self.naming, codings))
            return _SURVEY.decode(await pool.call(payload))


async def looked_at(name: str, body: bytes, reader: RobotsReader, clock: Clock) -> RobotsReport:
    """A file, as if it had just been read from some site."""
    try:
        survey = await reader.read(body)
    except WorkerLost as trouble:
        raise ConfigError(f"{name} cannot be read: {trouble}") from None
    now = clock.now()
    entry = entry_read(Url(NOWHERE).origin, survey.parsed, now, now)
    return RobotsReport(name, reader.agent, entry, survey.oddities, size=len(body))


async def looked_up(url: Url, reader: RobotsReader, settings: Settings, network: Network, clock: Clock) -> RobotsReport:
    """The robots.txt of the address's origin, fetched as a crawl fetches it, its redirects followed."""
    await admitted([url], settings, network.resolver)
    async with AsyncExitStack() as opened:
        client = Client(Connections(fetch_settings(settings), network, clock, silent))
        await opened.enter_async_context(client)
        return await RobotsFetch(client.fetch, reader, settings, clock).to_end(url)


@dataclass(slots=True)
class RobotsFetch:
    """From a robots.txt along its redirects. `fetch` is the client's."""

    fetch: Callable[[Url, VisitKind], Awaitable[Outcome]]
    reader: RobotsReader
    settings: Settings
    clock: Clock

    async def to_end(self, url: Url) -> RobotsReport:
        entry: Robots | None = None
        ask: Url | None = url.robots
        asked: list[RobotsHop] = []
        survey, size = None, 0
        walk = Walk(self.fetch, self.settings, self.clock)
        while ask is not None:
            visit = Visit(ask, VisitKind.ROBOTS, self.clock.now(), robots=entry)
            outcome = await walk.visit(ask, VisitKind.ROBOTS)
            words = in_words(outcome)
            if isinstance(outcome, Fetched):
                survey, words = await self._read(outcome)
                size = len(outcome.capture.body)
            asked.append(RobotsHop(ask.text, words))
            parsed = survey.parsed if survey else None
            entry = entry_of(visit, outcome, parsed, self.clock.now(), robots_keeping(self.settings))
            ask = entry.ask if entry.state is RobotsState.PENDING else None
        assert entry is not None
        return RobotsReport(
            url.robots.text, self.reader.agent, entry, survey.oddities if survey else (), tuple(asked), size
        )

    async def _read(self, outcome: Fetched) -> tuple[RobotsSurvey | None, str]:
        capture = outcome.capture
        try:
            return await self.reader.read(capture.body, capture.joined("content-encoding") or ""), "read"
        except WorkerLost as trouble:
            return None, f"fetched, but it cannot be read: {trouble}"
