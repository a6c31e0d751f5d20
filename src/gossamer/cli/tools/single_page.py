"""One page from a file, from standard input, or from the web, fetched as a crawl would fetch it.

Fetching obeys the same rules with the same code: the guarded client, robots.txt at every hop, the contact, the gap
between two requests to one host. Nothing is stored.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from urllib.parse import quote

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Network, Outside, real_outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.tell import silent
from gossamer.config.settings import WANTED, Settings
from gossamer.config.slices import fetch_settings, politeness, robots_keeping
from gossamer.crawler.journey import refusal, within_chain
from gossamer.crawler.seeds import admitted, checked_seeds
from gossamer.crawler.settlement import detail_of
from gossamer.fetch.answer import entry_of
from gossamer.fetch.client import Client
from gossamer.fetch.dns import real_network
from gossamer.fetch.pool import Connections
from gossamer.frontier.politeness import free_at, gap_s
from gossamer.parse.coding import decode
from gossamer.parse.html.tree import LARGEST
from gossamer.parse.sniff import essence, media_type_of
from gossamer.plugins.code import INDEX, contexts_in
from gossamer.reader.reading import UNREADABLE, done
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadJob
from gossamer.values.outcome import IN_WORDS, Fetched, Moved, Outcome, Refused, capture_of, reason_of
from gossamer.values.robots import ParsedRobots, Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

NOWHERE = "https://page.invalid/"
"""The base of a file's relative URLs if none is given; no such host can exist (RFC 2606, 2)."""
BY_SUFFIX = {
    **dict.fromkeys((".html", ".htm"), "text/html"),
    **dict.fromkeys((".xhtml", ".xht"), "application/xhtml+xml"),
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
}
_PAGES = (*WANTED, "image/svg+xml")


class NotRead(GossamerError):
    """The page could not be read; the message says why."""


@dataclass(frozen=True, slots=True)
class OnePage:
    name: str
    """As the user named it."""
    body: bytes
    url: str
    media_type: str


def own_contexts(folder: Path) -> dict[str, bytes]:
    """Raises ConfigError, also when there is no index in the folder."""
    if not (folder / INDEX).is_file():
        raise ConfigError(f'--contexts {folder}: there is no {INDEX}. Write one, with lines such as "URL" = "FILE"')
    return contexts_in(folder)


def page_of(target: str, base: str | None, media_type: str | None, settings: Callable[[], Settings]) -> OnePage:
    """A file, `-`, or a URL. `base` and `media_type` override what is detected; `settings` are for a URL."""
    outside = real_outside()
    if "://" in target:
        (url,) = checked_seeds([target])
        page = asyncio.run(page_at(url, settings(), real_network(outside), outside))
        return replace(page, url=base or page.url, media_type=media_type or page.media_type)
    if target == "-":
        body = sys.stdin.buffer.read(LARGEST + 1)
        return OnePage("-", body, base or NOWHERE, media_type or kind_of("", body))
    return page_in(Path(target), outside, base or NOWHERE + quote(Path(target).name), media_type)


def page_in(path: Path, outside: Outside, url: str, media_type: str | None = None) -> OnePage:
    try:
        body = outside.files.read(path, 0, LARGEST + 1)
    except OSError as trouble:
        raise NotRead(f"{path} cannot be read: {(trouble.strerror or str(trouble)).lower()}") from None
    return OnePage(str(path), body, url, media_type or kind_of(path.name, body))


def kind_of(name: str, body: bytes) -> str:
    """By the suffix of the name, else by the bytes; text without any markup counts as HTML."""
    known = BY_SUFFIX.get(PurePath(name).suffix.lower()) or media_type_of(None, body)
    return "text/html" if known == "text/plain" else known


async def page_at(url: Url, settings: Settings, network: Network, outside: Outside) -> OnePage:
    """Raises ConfigError if it must not be fetched at all, NotRead if it could not be fetched."""
    await admitted([url], settings, network.resolver)
    limits = replace(fetch_settings(settings), wanted=_PAGES)
    async with Client(Connections(limits, network, outside.clock, silent)) as client:
        outcome = await Walk(client.fetch, settings, outside.clock).to_end(url)
    if not isinstance(outcome, Fetched):
        raise NotRead(f"{url} cannot be read: {in_words(outcome)}")
    capture = outcome.capture
    decoded = decode(capture.body, capture.joined("content-encoding"), LARGEST)
    if decoded.problem in UNREADABLE:
        raise NotRead(f"{url} cannot be read: its content coding is broken or unknown")
    return OnePage(url.text, decoded.body, capture.url.text, _media_type(capture, decoded.body))


def in_words(outcome: Outcome) -> str:
    detail = detail_of(outcome)
    return IN_WORDS[reason_of(outcome)] + (f" ({detail})" if detail else "")


def _media_type(capture: Capture, body: bytes) -> str:
    """The header with its charset, if the bytes are of that type."""
    header = capture.header("content-type") or ""
    found = media_type_of(header, body)
    return header if essence(header) == found else found


ReadRobots = Callable[[Url, Outcome], Awaitable[ParsedRobots | None]]
"""Parses the response to a request for a robots.txt; None: there is nothing to parse."""


@dataclass(slots=True)
class Walk:
    """Follows redirects from a URL; each hop is checked against the rules again. `fetch` is the client's."""

    fetch: Callable[[Url, VisitKind], Awaitable[Outcome]]
    settings: Settings
    clock: Clock
    _left_at: dict[str, Instant] = field(default_factory=dict)
    _robots: dict[str, tuple[Robots, Outcome]] = field(default_factory=dict)
    """By origin: its robots.txt, and how the last request for it ended."""

    async def to_end(self, url: Url) -> Outcome:
        hops = 0
        while True:
            if url.origin not in self._robots:
                self._robots[url.origin] = await self.robots_of(url, self._parsed)
            robots, ended = self._robots[url.origin]
            visit = Visit(url, VisitKind.PAGE, self.clock.now(), hops=hops, robots=robots)
            refused = refusal(visit)
            if refused is not None and robots.state is RobotsState.UNREACHABLE:
                return Refused(refused.reason, in_words(ended))
            outcome = within_chain(visit, refused or await self._fetched(url, VisitKind.PAGE, robots.crawl_delay_s))
            if not isinstance(outcome, Moved):
                return outcome
            url, hops = outcome.to, hops + 1

    async def robots_of(self, url: Url, read: ReadRobots) -> tuple[Robots, Outcome]:
        """The robots.txt of a URL's origin, redirects followed, and how the last request for it ended."""
        entry, ask = None, url.robots
        while True:
            visit = Visit(ask, VisitKind.ROBOTS, self.clock.now(), robots=entry)
            outcome = await self._fetched(ask, VisitKind.ROBOTS)
            parsed = await read(ask, outcome)
            entry = entry_of(visit, outcome, parsed, self.clock.now(), robots_keeping(self.settings))
            if entry.state is not RobotsState.PENDING or entry.ask is None:
                return entry, outcome
            ask = entry.ask

    async def _parsed(self, _: Url, outcome: Outcome) -> ParsedRobots | None:
        if not isinstance(outcome, Fetched):
            return None
        return done(ReadJob(outcome.capture, "robots", agent=self.settings.agent)).robots

    async def _fetched(self, url: Url, kind: VisitKind, crawl_delay_s: float | None = None) -> Outcome:
        """Waits for the host's gap first, and starts the next one."""
        clock, host = self.clock, url.host.name
        gap = gap_s(politeness(self.settings), crawl_delay_s)
        if host in self._left_at:
            await clock.sleep(max(0.0, (free_at(self._left_at[host], gap, None) - clock.now()) / SECOND))
        outcome = await self.fetch(url, kind)
        if capture_of(outcome) is not None:
            self._left_at[host] = clock.now()
        return outcome
