"""`gossamer robots`: what a robots.txt says to an agent, and which URLs it allows.

Each verdict names the line that decides.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from gossamer.base.clock import Clock
from gossamer.base.environment import Network, Outside, real_outside
from gossamer.base.errors import ConfigError, WorkerLost
from gossamer.base.tell import silent
from gossamer.cli.flags import NO_FETCH_FLAGS, FetchFlags, Json
from gossamer.cli.output import console, plain
from gossamer.cli.tools.single_page import NOWHERE, Walk, in_words
from gossamer.config.settings import Settings
from gossamer.config.slices import fetch_settings
from gossamer.crawler.seeds import admitted, checked_seeds
from gossamer.fetch.answer import entry_read
from gossamer.fetch.client import Client
from gossamer.fetch.dns import real_network
from gossamer.fetch.pool import Connections
from gossamer.rules.robots import Explained, RobotsNotice, RobotsSurvey, explain
from gossamer.rules.robots import in_words as rule_in_words
from gossamer.rules.robots_parser import MOST_BYTES
from gossamer.values.format import as_json, counted
from gossamer.values.messages import SurveyJob
from gossamer.values.outcome import Allowed, Fetched, Outcome
from gossamer.values.robots import Naming, ParsedRobots, Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, url_of
from gossamer.workers.jobs import SURVEY
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

FINE, DENIED, UNREAD = 0, 1, 2
MOST_SHOWN = 50
"""Rules or sitemaps that are shown; JSON has them all."""
STATES = {
    RobotsState.READ: "read",
    RobotsState.MISSING: "there is none: everything may be fetched",
    RobotsState.UNREACHABLE: "it could not be read: nothing may be fetched for now",
    RobotsState.PENDING: "endless redirects",
}


@dataclass(frozen=True, slots=True)
class RobotsHop:
    """One request for a robots.txt."""

    url: str
    outcome: str


@dataclass(frozen=True, slots=True)
class RobotsReport:
    """What a robots.txt says to one agent."""

    name: str
    agent: str
    robots: Robots
    oddities: tuple[RobotsNotice, ...] = ()
    asked: tuple[RobotsHop, ...] = ()
    """The requests, in order; none for a file."""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Tested:
    url: str
    is_allowed: bool
    explained: Explained


def robots(
    where: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A file, a URL of the site, or - for standard input.")
    ],
    *,
    agent: Annotated[
        str | None, Parameter(help="The crawler whose rules are shown, by name; gossamer's own if not given.")
    ] = None,
    test: Annotated[
        tuple[str, ...],
        Parameter(consume_multiple=True, help="URLs or paths to test; several, or repeated."),
    ] = (),
    matching: Annotated[
        Naming,
        Parameter(
            help="How agents are matched: by name as a crawl does, by token exactly as in RFC 9309 and Google's "
            "parser does, or loosely as older crawlers do."
        ),
    ] = "name",
    json: Json = False,
    web: FetchFlags = NO_FETCH_FLAGS,
) -> int:
    outside = real_outside()
    settings = web.settings()
    reader = RobotsReader(agent or settings.agent, matching, outside)
    is_url = "://" in where
    base = checked_seeds([where])[0] if is_url else Url(NOWHERE)
    wanted = tested_urls(test, base, is_url)
    if is_url:
        found = asyncio.run(report_of_site(base, reader, settings, real_network(outside), outside.clock))
    else:
        found = asyncio.run(report_of_file(where, body_of(where, outside), reader, outside.clock))
    tests = [judged(url, found.robots) for url in wanted]
    if json:
        print(as_json(report_json(found, tests)))
    else:
        for line in [*lines_of(found), *map(_test_line, tests)]:
            console().print(line, soft_wrap=True)
    return exit_code(found, tests)


def tested_urls(texts: Sequence[str], base: Url, is_url: bool) -> list[Url]:
    """The URLs to test. Raises ConfigError for those that the robots.txt does not apply to."""
    found = []
    for text in texts:
        url = url_of(text) if "://" in text else url_of(text, base) if text.startswith("/") else None
        if url is None:
            raise ConfigError(f"--test {text}: give a URL such as https://example.org/page, or a path such as /page")
        if is_url and url.origin != base.origin:
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


def lines_of(found: RobotsReport) -> list[Text]:
    robots = found.robots
    size = f", {counted(found.size, 'byte')}" if robots.state is RobotsState.READ else ""
    lines = [Text.assemble((plain(found.name), "bold"), f": {STATES[robots.state]}{size}")]
    if len(found.asked) > 1 or robots.state is not RobotsState.READ:
        lines += [Text(f"  {plain(hop.url)}: {plain(hop.outcome)}") for hop in found.asked]
    if robots.state is not RobotsState.READ:
        return lines
    lines.append(Text(f"{plain(found.agent)}: {group_in_words(robots)}"))
    by_line = sorted(robots.rules, key=lambda rule: rule.line)
    lines += _cut(
        [Text(f"  line {one.line}: {'Allow' if one.allows else 'Disallow'}: {plain(one.pattern)}") for one in by_line]
    )
    if robots.crawl_delay_s is not None:
        lines.append(Text(f"crawl delay: {robots.crawl_delay_s:g} s"))
    if robots.recrawl_delay_s is not None:
        lines.append(Text(f"recrawl delay: {robots.recrawl_delay_s:g} s between two fetches of one page"))
    lines += _cut([Text(f"sitemap: {plain(sitemap)}") for sitemap in robots.sitemaps])
    if robots.signals:
        lines.append(Text("signals: " + plain(", ".join(f"{name}={value}" for name, value in robots.signals))))
    lines += [Text(f"{plain(name)}: {plain(value)}") for name, value in robots.extensions]
    return lines + [_notice_line(found.name, notice) for notice in found.oddities]


def group_in_words(robots: Robots) -> str:
    if not robots.group:
        return "no group applies: everything may be fetched"
    places = ", ".join(map(str, robots.group_lines))
    where = f" ({'line' if len(robots.group_lines) == 1 else 'lines'} {places})" if places else ""
    return f"the group of {plain(robots.group)}{where}, {counted(len(robots.rules), 'rule')}"


def _cut(lines: list[Text]) -> list[Text]:
    if len(lines) <= MOST_SHOWN:
        return lines
    return [*lines[:MOST_SHOWN], Text(f"  ... and {len(lines) - MOST_SHOWN:,} more: see --json", style="dim")]


def _notice_line(name: str, notice: RobotsNotice) -> Text:
    """In the format of compilers, so that editors can jump to the place."""
    where = f"{name}:{notice.line}" if notice.line is not None else name
    return Text.assemble((plain(where), "bold"), f": {plain(notice.says)}", (f" [{notice.kind}]", "dim"))


def _test_line(tested: Tested) -> Text:
    verdict = ("allowed    ", "green") if tested.is_allowed else ("not allowed", "bold red")
    return Text.assemble(verdict, f"  {plain(tested.url)}  ", (plain(tested.explained.because), "dim"))


def report_json(found: RobotsReport, tests: Sequence[Tested]) -> dict[str, object]:
    robots = found.robots
    return {
        "name": found.name,
        "state": robots.state.value,
        "asked": [{"url": hop.url, "outcome": hop.outcome} for hop in found.asked],
        "bytes": found.size,
        "agent": found.agent,
        "group": {"name": robots.group, "lines": robots.group_lines} if robots.group else None,
        "rules": [rule_json(rule) for rule in sorted(robots.rules, key=lambda rule: rule.line)],
        "crawl_delay_s": robots.crawl_delay_s,
        "recrawl_delay_s": robots.recrawl_delay_s,
        "sitemaps": robots.sitemaps,
        "signals": [{"name": name, "value": value} for name, value in robots.signals],
        "extensions": [{"name": name, "value": value} for name, value in robots.extensions],
        "flags": robots.flags,
        "oddities": found.oddities,
        "tests": [
            {
                "url": one.url,
                "allowed": one.is_allowed,
                "because": one.explained.because,
                "rule": rule_json(one.explained.rule) if one.explained.rule else None,
                "candidates": [rule_json(rule) for rule in one.explained.candidates],
            }
            for one in tests
        ],
    }


def rule_json(rule: RobotsRule) -> dict[str, object]:
    return {"line": rule.line, "allows": rule.allows, "pattern": rule.pattern, "says": rule_in_words(rule)}


@dataclass(frozen=True, slots=True)
class RobotsReader:
    """Parses a robots.txt for one agent, in a worker process."""

    agent: str
    naming: Naming
    outside: Outside

    async def read(self, body: bytes, codings: str = "") -> RobotsSurvey:
        """Raises WorkerLost when no worker could."""
        outside, job = self.outside, SurveyJob(body, self.agent, self.naming, codings)
        async with Pool(SURVEY, 1, Limits(), outside.processes, outside.clock, silent) as pool:
            return msgspec.msgpack.decode(await pool.call(msgspec.msgpack.encode(job)), type=RobotsSurvey)


async def report_of_file(name: str, body: bytes, reader: RobotsReader, clock: Clock) -> RobotsReport:
    """On a file, as if some site had just sent it."""
    try:
        survey = await reader.read(body)
    except WorkerLost as trouble:
        raise ConfigError(f"{name} cannot be read: {trouble}") from None
    now = clock.now()
    entry = entry_read(Url(NOWHERE).origin, survey.parsed, now, now)
    return RobotsReport(name, reader.agent, entry, survey.oddities, size=len(body))


async def report_of_site(
    url: Url, reader: RobotsReader, settings: Settings, network: Network, clock: Clock
) -> RobotsReport:
    """On the robots.txt of the URL's origin, fetched as a crawl fetches it, redirects followed."""
    await admitted([url], settings, network.resolver)
    async with Client(Connections(fetch_settings(settings), network, clock, silent)) as client:
        return await RobotsFetch(reader).report(url, Walk(client.fetch, settings, clock))


@dataclass(slots=True)
class RobotsFetch:
    """One robots.txt, its redirects followed, with every request noted."""

    reader: RobotsReader
    _hops: list[RobotsHop] = field(default_factory=list)
    _survey: RobotsSurvey | None = None
    _size: int = 0

    async def report(self, url: Url, walk: Walk) -> RobotsReport:
        entry, _ = await walk.robots_of(url, self._read)
        oddities = self._survey.oddities if self._survey else ()
        return RobotsReport(url.robots.text, self.reader.agent, entry, oddities, tuple(self._hops), self._size)

    async def _read(self, url: Url, outcome: Outcome) -> ParsedRobots | None:
        words = in_words(outcome)
        if isinstance(outcome, Fetched):
            capture = outcome.capture
            try:
                self._survey = await self.reader.read(capture.body, capture.joined("content-encoding") or "")
                words = "read"
            except WorkerLost as trouble:
                self._survey, words = None, f"fetched, but it cannot be read: {trouble}"
            self._size = len(capture.body)
        self._hops.append(RobotsHop(url.text, words))
        return self._survey.parsed if self._survey else None
