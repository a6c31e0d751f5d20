"""What the page view asks about addresses and hosts: copies out of the archive, `why`, and what became of links."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from gossamer.archive.reader import read_capture
from gossamer.base.environment import Outside
from gossamer.base.tell import silent
from gossamer.collection.views import refuse_missing
from gossamer.collection.why.answer import WhyQuery, crew_of, linked_from
from gossamer.collection.why.trail import Section, Trail, told, told_host
from gossamer.config.settings import Settings
from gossamer.crawler.rules_file import RulesFile
from gossamer.frontier.known import last_end
from gossamer.frontier.reports import host_ledger
from gossamer.plugins.filters import filters_to_ask
from gossamer.rules.canonical import identity_of
from gossamer.rules.user.rulebook import OwnFilter
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_snapshot
from gossamer.values.capture import Kept
from gossamer.values.format import as_json, counted
from gossamer.values.messages import COPIES, CopyJob
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.views.facts.names import graph_name
from gossamer.views.facts.sources import SOURCES, SourcesReader
from gossamer.views.words.searcher import WordCount
from gossamer.web.page.rooms import (
    HostWhy,
    PageRooms,
    Promise,
    TargetState,
    WhyAnswer,
    WhySection,
    anchor_in_copy,
    place_of,
)
from gossamer.workers.jobs import COPY
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

MOST_MARKS = 2_000
COPYING = Limits(wall_s=4.0, cpu_s=4.0, recycle_after=500)
CAPTURED = (Reason.FETCHED, Reason.UNCHANGED)
READ_FAILED = (Reason.READ_TIMEOUT, Reason.READ_CRASH, Reason.READ_MEMORY)
REFUSED = (
    Reason.ROBOTS,
    Reason.ROBOTS_UNREACHABLE,
    Reason.SCOPE,
    Reason.TOO_MANY_REDIRECTS,
    Reason.REDIRECT_OUT,
    Reason.ADDRESS,
    Reason.CONTACT,
    Reason.MEDIA_TYPE,
    Reason.FILTER,
    Reason.TRAP,
    Reason.RETIRED,
    Reason.FORGOTTEN,
)
GONE = (Reason.GONE, Reason.SOFT_404)
Words = Callable[[Url], Sequence[WordCount]]
T = TypeVar("T")


@asynccontextmanager
async def page_rooms(
    directory: Directory, settings: Settings, outside: Outside, words: Words
) -> AsyncIterator[PageRooms]:
    inquiry = Inquiry(directory, settings, outside)
    async with Pool(COPY, 1, COPYING, outside.processes, outside.clock, silent) as pool:

        async def copy(capture: bytes) -> bytes | None:
            made = COPIES.decode(await pool.call(capture))
            return made.html if made.may_show else None

        yield PageRooms(
            prepared=partial(prepared, directory, outside, settings.agent),
            copy=copy,
            why=inquiry.why,
            host=inquiry.host,
            states=inquiry.states,
            words=words,
        )


def prepared(directory: Directory, outside: Outside, agent: str, kept: Kept) -> bytes | None:
    """A kept answer, and where in it facts are stated, packed for the worker; None when its body was not kept."""
    capture = read_capture(outside.files, directory.archive, kept.place)
    if capture is None:
        return None
    sources = SourcesReader(directory.graph / SOURCES)
    with closing(sources):
        record = sources.record_of(graph_name(kept.url), kept.capture_id)
    if record is None:
        refuse_missing(directory, outside, directory.graph / SOURCES)
    places = list((record.places() if record is not None else {}).items())[:MOST_MARKS]
    marks = {path: _mark(kept.url, path, times) for path, times in places}
    return msgspec.msgpack.encode(CopyJob(capture, marks, agent))


def _mark(url: Url, path: str, times: int) -> tuple[str, str, str]:
    place = place_of(path)
    href = f"/page?url={quote(url.text, safe='')}&show=copy&fact={place}#at-{place}"
    return anchor_in_copy(place), href, f"{counted(times, 'fact')} stated here"


class Inquiry:
    """Each question opens and closes what it reads: pages are shown by several threads."""

    def __init__(self, directory: Directory, settings: Settings, outside: Outside) -> None:
        self._directory, self._settings, self._outside = directory, settings, outside
        self._own: tuple[OwnFilter, ...] | None = None

    def why(self, url: Url) -> WhyAnswer | None:
        """None while there is no collection."""
        return self._asked(lambda asking: _why_of(asking.trail(url.text)))

    def host(self, name: str) -> HostWhy | None:
        """REQUIRES: a host name as a Url has it."""

        def told_of(asking: WhyQuery) -> HostWhy:
            trail, entry = asking.host_trail(f"http://{name}/"), host_ledger(asking.state, name)
            promise = (
                Promise(entry.visits, entry.gap_s, entry.least_gap_s, entry.mean_gap_s, entry.broken)
                if entry is not None
                else None
            )
            return HostWhy(name, trail.host.is_known, _sections(told_host(trail)), promise, _plain(trail))

        return self._asked(told_of)

    def states(self, urls: Sequence[Url]) -> list[TargetState]:
        if not self._directory.is_begun:
            return ["unknown"] * len(urls)
        with closing(open_snapshot(self._directory)) as state:
            return [
                state_of(*last_end(state, url, identity_of), captures.latest(state, url) is not None) for url in urls
            ]

    def _asked(self, question: Callable[[WhyQuery], T]) -> T | None:
        directory, outside = self._directory, self._outside
        if not directory.is_begun:
            return None
        if self._own is None:
            self._own = filters_to_ask(self._settings.crawl.filters, directory.root)
        crew = crew_of(directory, outside)
        book = RulesFile(outside.files, directory.root, silent).book()
        with closing(open_snapshot(directory)) as state:
            links = partial(linked_from, directory)
            return question(WhyQuery(state, self._settings, crew, outside.dates.now(), book, self._own, links))


def state_of(is_known: bool, reason: Reason | None, is_captured: bool) -> TargetState:
    """In a word, for the target of a link."""
    if reason in REFUSED:
        return "refused"
    if reason is Reason.MOVED:
        return "moved"
    if reason in GONE:
        return "gone"
    if is_captured or reason in CAPTURED or reason in READ_FAILED:
        return "captured"
    if not is_known:
        return "unknown"
    return "waiting" if reason is None else "failed"


def _why_of(trail: Trail) -> WhyAnswer:
    reason = trail.ended.reason if trail.ended is not None else None
    return WhyAnswer(
        url=trail.url,
        is_known=trail.is_known,
        state=state_of(trail.is_known, reason, bool(trail.visits)),
        sections=_sections(told(trail)),
        trail=_plain(trail),
    )


def _sections(sections: Sequence[Section]) -> tuple[WhySection, ...]:
    return tuple([WhySection(heading, tuple(lines)) for heading, lines in sections])


def _plain(value: object) -> dict[str, Any]:
    """As the JSON of `gossamer why` has it."""
    told: dict[str, Any] = msgspec.json.decode(as_json(value))
    return told
