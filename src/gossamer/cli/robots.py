"""`gossamer robots`: what a robots.txt says to an agent, and which addresses it lets through, each with its line."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Network, Outside, real_outside
from gossamer.base.errors import ConfigError, WorkerLost
from gossamer.base.tell import silent
from gossamer.cli.robots_report import RobotsHop, RobotsReport, Tested, as_json, show
from gossamer.collection.single_page import NOWHERE, AllowAddress, Config, Contact, Delay, Manners, in_words
from gossamer.config.settings import Settings
from gossamer.config.slices import fetch_settings, politeness, robots_keeping
from gossamer.crawler.seeds import admitted, checked_seeds
from gossamer.fetch.client import Client
from gossamer.fetch.dns import real_network
from gossamer.fetch.robots import entry_of, entry_read
from gossamer.frontier.politeness import free_at, gap_s
from gossamer.rules.robots import RobotsSurvey, explain
from gossamer.rules.robots_parser import MOST_BYTES
from gossamer.values.messages import SurveyJob
from gossamer.values.outcome import Allowed, Fetched, Outcome
from gossamer.values.robots import Naming, Robots, RobotsState
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Visit, VisitKind
from gossamer.workers.jobs import SURVEY
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

FINE, DENIED, UNREAD = 0, 1, 2
_ENCODER = msgspec.msgpack.Encoder()
_SURVEY = msgspec.msgpack.Decoder(RobotsSurvey)


def robots(
    where: Annotated[
        str,
        Parameter(allow_leading_hyphen=True, help="A file, a URL of the site, or - for standard input."),
    ],
    *,
    agent: Annotated[
        str | None, Parameter(help="The crawler whose rules are shown, by name; gossamer's own if not given.")
    ] = None,
    test: Annotated[
        tuple[str, ...],
        Parameter(consume_multiple=True, help="URLs or paths to test. May list several, and be repeated."),
    ] = (),
    matching: Annotated[
        Naming,
        Parameter(
            help="How agents are matched: by name as a crawl does, by token exactly as in RFC 9309 and Google's "
            "parser does, or loosely as older crawlers do."
        ),
    ] = "name",
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
    contact: Contact = None,
    allow_address: AllowAddress = (),
    delay: Delay = None,
    config: Config = None,
) -> int:
    outside = real_outside()
    settings = Manners(contact, allow_address, delay, config).settings()
    reader = RobotsReader(agent or settings.agent, matching, outside)
    is_address = "://" in where
    base = checked_seeds([where])[0] if is_address else Url(NOWHERE)
    wanted = tested_urls(test, base, is_address)
    if is_address:
        found = asyncio.run(looked_up(base, reader, settings, real_network(outside), outside.clock))
    else:
        found = asyncio.run(looked_at(where, body_of(where, outside), reader, outside.clock))
    tests = [judged(url, found.robots) for url in wanted]
    if json:
        print(msgspec.json.format(msgspec.json.encode(as_json(found, tests))).decode())
    else:
        show(found, tests, Console())
    return exit_code(found, tests)


def tested_urls(texts: Sequence[str], base: Url, is_address: bool) -> list[Url]:
    """What is to be judged. Raises ConfigError for what a robots.txt of that site says nothing about."""
    found = []
    for text in texts:
        url = url_of(text) if "://" in text else url_of(text, base) if text.startswith("/") else None
        if url is None:
            raise ConfigError(f"--test {text}: give a URL such as https://example.org/page, or a path such as /page")
        if is_address and url.origin != base.origin:
            raise ConfigError(
                f"--test {text}: {base.robots} does not apply to {url.origin}; use that site's robots.txt"
            )
        found.append(url)
    return found


def judged(url: Url, entry: Robots) -> Tested:
    explained = explain(url, entry)
    name = url.target if url.text.startswith(NOWHERE) else url.text
    return Tested(name, isinstance(explained.verdict, Allowed), explained)


def exit_code(found: RobotsReport, tests: Sequence[Tested]) -> int:
    if tests:
        return FINE if all(one.is_allowed for one in tests) else DENIED
    return UNREAD if found.robots.state is RobotsState.UNREACHABLE else FINE


def body_of(where: str, outside: Outside) -> bytes:
    if where == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        return outside.files.read(Path(where), 0, MOST_BYTES + 1)
    except OSError as trouble:
        why = (trouble.strerror or str(trouble)).lower()
        raise ConfigError(f"{where} cannot be read: {why}. A URL starts with http:// or https://") from None


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
        client = Client(fetch_settings(settings), network.resolver, network.dialer, clock, silent)
        await opened.enter_async_context(client)
        return await RobotsFetch(client.fetch, reader, settings, clock).to_end(url)


@dataclass(slots=True)
class RobotsFetch:
    """From a robots.txt along its redirects. `fetch` is the client's."""

    fetch: Callable[[Url, VisitKind], Awaitable[Outcome]]
    reader: RobotsReader
    settings: Settings
    clock: Clock
    _left_at: dict[str, Instant] = field(default_factory=dict)

    async def to_end(self, url: Url) -> RobotsReport:
        entry: Robots | None = None
        ask: Url | None = url.robots
        asked: list[RobotsHop] = []
        survey, size = None, 0
        while ask is not None:
            visit = Visit(ask, VisitKind.ROBOTS, self.clock.now(), robots=entry)
            outcome = await self._visit(ask)
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

    async def _visit(self, url: Url) -> Outcome:
        """Waits for the host's gap first, when it was asked before."""
        host = url.host.name
        if host in self._left_at:
            due_at = free_at(self._left_at[host], gap_s(politeness(self.settings), None), None)
            await self.clock.sleep(max(0.0, (due_at - self.clock.now()) / SECOND))
        outcome = await self.fetch(url, VisitKind.ROBOTS)
        self._left_at[host] = self.clock.now()
        return outcome
