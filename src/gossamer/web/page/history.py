"""The versions of a page as a timeline, and the difference between two of them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from gossamer.archive.versions import CaptureVersion, Timeline, version_of
from gossamer.base.clock import Instant, from_words
from gossamer.base.errors import GossamerError
from gossamer.collection.collection import Collection
from gossamer.values.capture import Kept
from gossamer.values.format import counted
from gossamer.values.messages import Difference, ReadVersion
from gossamer.values.url import Url
from gossamer.web.page.copy import INVALID_TIME, NO_VERSION
from gossamer.web.page.known import PageJson, chosen, gathered, instant_of
from gossamer.web.responses import WebError
from gossamer.web.routes import Routes, UrlParameters

MOST_VERSIONS = 100
PATIENCE_S = 4.0
"""Versions read by then are shown and cached, so the next request gets further."""
COMPARING_S = 10.0
TOO_SLOW = "comparing them takes too long right now; try again in a minute"
NOT_YET = "not compared yet"
WITHHELD = "the site asks not to show copies of this page, so versions of it are not compared here"
UNKNOWN = "No copy of that URL was stored."
WIDTH, EDGE = 600, 14
"""The width of the chart and the margin at both ends of its line, in its own units."""
LOOKS = {
    "gone": ("bad", "gone"),
    "back": ("good", "back"),
    "first": ("idle", "first seen"),
    "same": ("idle", "unchanged"),
    "bytes": ("idle", "bytes only"),
    "text": ("calm", "text changed"),
    "facts": ("calm", "facts changed"),
    "note": ("warn", ""),
}
"""The style and text of a badge."""


class PageHistory(msgspec.Struct, frozen=True):
    timeline: Timeline
    difference: Difference | None = None
    """If two versions were requested."""
    trouble: str = ""
    """Why they could not be compared."""


class VersionDot(msgspec.Struct, frozen=True):
    """A version in the chart."""

    x: int
    kind: str
    words: str


class HistoryParameters(UrlParameters, frozen=True):
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")


def router(collection: Collection) -> Routes:
    routes = Routes()

    @routes.get("/page/versions.json", "The versions of a page")
    async def versions_json(params: HistoryParameters) -> PageHistory:
        known = await run_in_threadpool(gathered, collection, params.url)
        if known is None or not known.versions:
            raise WebError(404, UNKNOWN)
        return await history_of(collection, Url(known.url), params.since, params.until)

    return routes


async def history_of(collection: Collection, url: Url, since: str, until: str) -> PageHistory:
    """Raises WebError."""
    try:
        moments = instant_of(since), instant_of(until)
    except ValueError:
        raise WebError(400, INVALID_TIME) from None
    versions = await run_in_threadpool(collection.versions, url)
    pair = two_of(versions, *moments) if since or until else None
    if pair is None and (since or until):
        raise WebError(404, NO_VERSION)
    timeline = await timeline_of(collection, url, versions)
    if pair is None:
        return PageHistory(timeline)
    try:
        async with asyncio.timeout(COMPARING_S):
            return PageHistory(timeline, await compared(collection, *pair))
    except GossamerError as trouble:
        return PageHistory(timeline, trouble=str(trouble))
    except TimeoutError:
        return PageHistory(timeline, trouble=TOO_SLOW)


async def compared(collection: Collection, before: Kept, after: Kept) -> Difference:
    """Raises GossamerError, in words for a person, when two versions cannot be compared."""
    for kept in (before, after):
        said = await collection.past.said(kept)
        if isinstance(said, ReadVersion) and not said.may_cache:
            raise GossamerError(WITHHELD)
    return await collection.past.difference(before, after)


async def timeline_of(collection: Collection, url: Url, versions: Sequence[Kept]) -> Timeline:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await collection.past.timeline(url, MOST_VERSIONS)
    except TimeoutError:
        shown = versions[:MOST_VERSIONS][::-1]
        earlier = len(versions) - len(shown)
        plain = [version_of(kept, number, NOT_YET) for number, kept in enumerate(shown, earlier + 1)]
        return Timeline(url.text, plain, earlier)


def two_of(versions: Sequence[Kept], since: Instant | None, until: Instant | None) -> tuple[Kept, Kept] | None:
    """The versions at two instants, the older first. Without `since`, the successful one before `until`.

    REQUIRES: `versions` newest first.
    """
    after = chosen(versions, until)
    if after is None:
        return None
    if since is not None:
        before = chosen(versions, since)
    else:
        before = chosen([kept for kept in versions if 200 <= kept.status < 300], after.fetched_at - 1)
    if before is None:
        return None
    return (before, after) if before.fetched_at <= after.fetched_at else (after, before)


def timeline_values(known: PageJson, history: PageHistory) -> dict[str, Any]:
    """The values of page_versions.html."""
    line = history.timeline
    return {
        "history": history,
        "dots": dots_of(line),
        "ticks": ticks_of(line),
        "summary": summary_of(line) if line.versions else "",
        "badges_of": badges_of,
        "is_late": any(version.note == NOT_YET for version in line.versions),
        "places": {one.fetched_at: f"{one.volume} at {one.offset:,}" for one in known.versions},
    }


def badges_of(version: CaptureVersion) -> list[tuple[str, str]]:
    if version.is_gone:
        return [LOOKS["gone"], (LOOKS["note"][0], version.note)] if version.note else [LOOKS["gone"]]
    return [LOOKS["back"], *change_of(version)] if version.is_back else change_of(version)


def change_of(version: CaptureVersion) -> list[tuple[str, str]]:
    if version.changes is None:
        return [(LOOKS["note"][0], version.note)] if version.note else [LOOKS["first"]]
    strong = [LOOKS[name] for name in version.changes if name != "bytes"]
    return strong or [LOOKS["bytes" if version.changes else "same"]]


def positions(timeline: Timeline, times: Iterable[str]) -> list[int]:
    """The times on a line from the first version to the last; empty if those are the same."""
    if not timeline.versions:
        return []
    first, last = (from_words(timeline.versions[at].fetched_at) for at in (0, -1))
    places = [(from_words(at) - first) / (last - first) for at in times] if last > first else []
    return [EDGE + round(place * (WIDTH - 2 * EDGE)) for place in places]


def dots_of(timeline: Timeline) -> list[VersionDot]:
    """Empty if the first version is the last."""
    xs = positions(timeline, [version.fetched_at for version in timeline.versions])
    return [
        VersionDot(
            x,
            _kind(version),
            f"{version.fetched_at[:16].replace('T', ' ')}: {', '.join(word for _, word in badges_of(version))}",
        )
        for x, version in zip(xs, timeline.versions if xs else (), strict=True)
    ]


def ticks_of(timeline: Timeline) -> list[int]:
    """Positions of the fetches that found no change, each once."""
    return sorted({x for x in positions(timeline, timeline.seen_again) if EDGE <= x <= WIDTH - EDGE})


def _kind(version: CaptureVersion) -> str:
    if version.is_gone:
        return "trouble"
    if version.note == NOT_YET:
        return "same"
    if version.changes is None:
        return "trouble" if version.note else "first"
    return "changed" if {"text", "facts"} & set(version.changes) else "same"


def summary_of(timeline: Timeline) -> str:
    """The chart in a sentence, for screen readers."""
    changed = sum(_kind(version) == "changed" for version in timeline.versions)
    first, last = timeline.versions[0].fetched_at[:10], timeline.versions[-1].fetched_at[:10]
    times = "once" if changed == 1 else f"{changed} times"
    gone = sum(version.is_gone for version in timeline.versions)
    words = f"{counted(len(timeline.versions), 'version')} from {first} to {last}; text or facts changed {times}"
    return f"{words}; gone {'once' if gone == 1 else f'{gone} times'}" if gone else words
