"""The captures of a collection read again in worker processes.

Timelines, differences, pages at a moment.
"""

import asyncio
import hashlib
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import TypeVar

import msgspec

from gossamer import __version__
from gossamer.archive.reader import read_capture
from gossamer.archive.versions import CaptureVersion, Timeline, in_force, kinds_of, seen_again, until, version_of
from gossamer.base.clock import Instant, from_words, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ArchiveDamaged, GossamerError, WorkerLost
from gossamer.base.tasks import OnDemand
from gossamer.base.tell import Tell, silent
from gossamer.collection.directory import read_state
from gossamer.config.settings import Settings
from gossamer.fetch.tika import TikaServer
from gossamer.plugins.code import recalled, reopened
from gossamer.recrawl.change import compared
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.values import messages
from gossamer.values.capture import VANISHED, Kept
from gossamer.values.history import Change, Prints
from gossamer.values.url import Host, Url
from gossamer.workers.jobs import VERSIONS, asked_twice, job_for, reader_pool
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MIB

MOST_VERSIONS = 500
AT_ONCE = 16
MOST_BYTES = 32 * MIB
"""Captures in memory at one time, and their bytes; a single one may be larger."""
MOST_REMEMBERED = 10_000
MOST_AGAIN = 500
"""Fetches that found nothing new, in a timeline."""
NO_BODY = "only its headers were kept"
DAMAGED = "the archive is damaged there: `gossamer verify` says what to do"
TOO_MUCH = "these two versions cannot be compared within the limits that keep this machine safe"
READ_BY = ("reader/reading.py", "parse", "extract")

Call = Callable[[bytes], Awaitable[bytes]]
T = TypeVar("T")


class Gist(msgspec.Struct, frozen=True):
    """What a timeline needs of a capture; small enough to cache."""

    prints: Prints | None = None
    title: str = ""
    fact_count: int | None = None
    note: str = ""


def version_readers(directory: Directory, settings: Settings, outside: Outside, count: int = 0) -> Pool:
    """`count` workers; 0: as many as a crawl has."""
    settings = replace(settings, readers=replace(settings.readers, count=count or settings.readers.count))
    return reader_pool(settings, outside, silent, job_for(recalled(directory.root, outside.files), VERSIONS))


def page_readers(directory: Directory, settings: Settings, outside: Outside, tell: Tell = silent) -> Pool:
    """Workers that read captures as the crawl did, with its plug-ins."""
    return reader_pool(settings, outside, tell, job_for(reopened(directory.root, outside.files)))


async def read_by(readers: Pool, job: messages.ReadJob, tika: TikaServer | None = None) -> messages.ReadDone:
    """The capture read by a worker, in two tries. Raises WorkerLost."""
    answer = await asked_twice(partial(readers.ask, messages.parts_of(job)))
    done = msgspec.msgpack.decode(answer.body, type=messages.ReadDone)
    converted = await tika.convert(job.capture, done) if tika is not None and job.task == "read" else b""
    return await read_by(readers, msgspec.structs.replace(job, converted=converted)) if converted else done


@asynccontextmanager
async def past_of(
    directory: Directory, settings: Settings, outside: Outside, count: int = 0
) -> AsyncIterator["HistoryReader"]:
    """Its workers start when there is something to read."""
    readers = OnDemand(lambda: version_readers(directory, settings, outside, count))

    async def call(payload: bytes) -> bytes:
        return await (await readers.get()).call(payload)

    try:
        yield HistoryReader(directory, outside, settings.agent, call)
    finally:
        await readers.close()


class HistoryReader:
    def __init__(self, directory: Directory, outside: Outside, agent: str, call: Call) -> None:
        self._directory, self._outside, self._agent, self._call = directory, outside, agent, call
        self._gists: dict[int, Gist] = {}

    def versions(self, url: Url) -> list[Kept]:
        """Oldest first."""
        return read_state(self._directory, lambda state: captures.versions(state, url)[::-1], [])

    async def said(self, kept: Kept) -> messages.ReadVersion | str:
        """What a capture says, or why it cannot be read."""
        done = await self._asked(kept, "read")
        return done if isinstance(done, str) else done.version or NO_BODY

    async def body(self, kept: Kept) -> bytes | None:
        """As received, without content coding; None if it was not stored or cannot be read."""
        done = await self._asked(kept, "body")
        return None if isinstance(done, str) else done.body

    async def timeline(self, url: Url, most: int = MOST_VERSIONS) -> Timeline:
        """The newest `most` versions, each compared with the last one before that could be read."""
        everything = await asyncio.to_thread(self.versions, url)
        start = max(0, len(everything) - most)
        before = [kept for kept in everything[:start] if 200 <= kept.status < 300][-1:]  # to compare the first with
        shown = [*before, *everything[start:]]
        versions = _compared(shown, await self._all_gists(shown), start + 1 - len(before))
        again: list[Instant] = await asyncio.to_thread(
            read_state, self._directory, lambda state: seen_again(state, url), []
        )
        marked = gone_and_back(counted_again(versions, again)[len(before) :], everything[:start])
        first = everything[start].fetched_at if everything else 0
        later = [in_words(at) for at in again if at >= first]
        return Timeline(url.text, marked, start, later[-MOST_AGAIN:])

    async def difference(self, before: Kept, after: Kept) -> messages.Difference:
        """Raises GossamerError, saying why, when they cannot be compared."""
        first, second = [await self.said(kept) for kept in (before, after)]
        if isinstance(first, str) or isinstance(second, str):
            which, why = (before, first) if isinstance(first, str) else (after, second)
            raise GossamerError(f"the version of {in_words(which.fetched_at)} cannot be compared: {why}")
        try:
            job = messages.HistoryJob("compare", before=first, after=second)
            done = messages.VERSIONS_DONE.decode(await self._call(messages.VERSIONS_JOBS.encode(job)))
        except WorkerLost as lost:
            raise GossamerError(TOO_MUCH) from lost
        assert done.difference is not None
        return done.difference

    def in_force(self, at: Instant, host: Host | None, most: int) -> tuple[list[list[Kept]], int]:
        """For each page of that moment (at most `most` of them) the responses that may have been in force, and the
        number of pages."""
        found: list[list[Kept]] = []
        count = 0
        with closing(open_state(self._directory)) as state:
            for versions in until(state, at, host):
                if held := in_force(versions):
                    count += 1
                    found += [held] if count <= most else []
        return found, count

    async def said_by(self, versions: Sequence[Kept]) -> messages.ReadVersion | str:
        """What the version in force says: the page itself, or a newer response that asked not to be indexed, so that it
        states nothing. REQUIRES: the last of them is a page."""
        for kept in versions[:-1]:
            said = await self.said(kept)
            if isinstance(said, messages.ReadVersion) and not said.may_index:
                return said
        return await self.said(versions[-1])

    async def _asked(self, kept: Kept, task: str) -> messages.HistoryDone | str:
        try:
            capture = await asyncio.to_thread(read_capture, self._outside.files, self._directory.archive, kept.place)
            if capture is None:
                return NO_BODY
            job = messages.HistoryJob("body" if task == "body" else "read", capture, self._agent)
            payload = messages.VERSIONS_JOBS.encode(job)
            return messages.VERSIONS_DONE.decode(await asked_twice(lambda: self._call(payload)))
        except ArchiveDamaged:
            return DAMAGED
        except WorkerLost as lost:
            return f"reading it failed ({lost.why})"

    async def _all_gists(self, shown: Sequence[Kept]) -> list[Gist]:
        found: list[Gist] = []
        for batch in batches(shown, lambda kept: kept.size):
            found += await asyncio.gather(*(self._gist(kept) for kept in batch))
        return found

    async def _gist(self, kept: Kept) -> Gist:
        if not 200 <= kept.status < 300:
            return Gist(note=f"answered {kept.status}")
        known = self._gists.get(kept.capture_id)
        if known is None:
            said = await self.said(kept)
            if isinstance(said, str):
                known = Gist(note=said)
            elif not said.is_readable:
                known = Gist(Prints(said.prints.body), note="no text")
            else:
                known = Gist(said.prints, said.title, said.fact_count)
            while len(self._gists) >= MOST_REMEMBERED:
                self._gists.pop(next(iter(self._gists)))
            self._gists[kept.capture_id] = known
        return known


def batches(
    items: Iterable[T], size_of: Callable[[T], int], most: int = AT_ONCE, most_bytes: int = MOST_BYTES
) -> Iterator[list[T]]:
    """In order, as many at a time as may be in memory together; a larger item is a batch of its own."""
    batch: list[T] = []
    size = 0
    for item in items:
        if batch and (len(batch) == most or size + size_of(item) > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += size_of(item)
    if batch:
        yield batch


def _compared(shown: Sequence[Kept], gists: Sequence[Gist], first_number: int) -> list[CaptureVersion]:
    found: list[CaptureVersion] = []
    last: tuple[Kept, Prints] | None = None
    for number, (kept, gist) in enumerate(zip(shown, gists, strict=True), first_number):
        changes = None
        if last is not None and gist.prints is not None:
            changes = () if last[0].digest == kept.digest else kinds_of(compared(last[1], gist.prints) | Change.BYTES)
        if gist.prints is not None:
            last = kept, gist.prints
        version = version_of(kept, number, gist.note)
        found.append(msgspec.structs.replace(version, changes=changes, title=gist.title, fact_count=gist.fact_count))
    return found


def gone_and_back(versions: Sequence[CaptureVersion], earlier: Sequence[Kept] = ()) -> list[CaptureVersion]:
    """Marks the versions at which the page disappeared and reappeared. `earlier`: the versions before these."""
    was_page = any(kept.is_page for kept in earlier)
    decisive = (kept.status in VANISHED for kept in reversed(earlier) if kept.is_page or kept.status in VANISHED)
    is_gone = was_page and next(decisive, False)
    found = []
    for one in versions:
        if one.status in VANISHED and was_page:
            one, is_gone = msgspec.structs.replace(one, is_gone=True), True
        elif one.is_page:
            one, was_page, is_gone = msgspec.structs.replace(one, is_back=is_gone), True, False
        found.append(one)
    return found


def counted_again(versions: Sequence[CaptureVersion], again: Sequence[Instant]) -> list[CaptureVersion]:
    """Sets how often each version was found unchanged before the next one."""
    starts = [from_words(one.fetched_at) for one in versions]
    counts = [0] * len(starts)
    for at in again:
        if place := bisect_right(starts, at):
            counts[place - 1] += 1
    return [msgspec.structs.replace(one, seen_again=count) for one, count in zip(versions, counts, strict=True)]


def extractor() -> str:
    """The program's version and a digest of the code that reads pages: if they are equal, so are the facts."""
    ours = resources.files("gossamer")
    digest = hashlib.blake2b(digest_size=6)
    for name in READ_BY:
        place = ours / name
        files = [place] if place.is_file() else sorted(place.iterdir(), key=lambda one: one.name)
        for file in files:
            if file.is_file() and file.name.endswith(".py"):
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return f"gossamer {__version__} ({digest.hexdigest()})"
