"""The versions of a page as a time line, and what changed between two of them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gossamer.archive.versions import CaptureVersion, Timeline
from gossamer.base.clock import Instant, from_words, in_words
from gossamer.base.errors import GossamerError
from gossamer.collection.collection import Collection
from gossamer.values.capture import Kept
from gossamer.values.messages import Difference, ReadVersion
from gossamer.values.url import Url
from gossamer.web.page.copy import NO_MOMENT, NO_VERSION
from gossamer.web.page.known import PageJson, chosen, gathered, instant_of
from gossamer.web.responses import Show, WebError, json_answer
from gossamer.web.routes import Routes, answers_with
from gossamer.web.site import WebSite

MOST_VERSIONS = 100
PATIENCE_S = 4.0
"""What is read by then is shown, and remembered: the next to ask gets further."""
COMPARING_S = 10.0
TOO_SLOW = "comparing them takes too long right now; try again in a minute"
NOT_YET = "not compared yet"
WITHHELD = "the site asks not to show copies of this page, so versions of it are not compared here"
UNKNOWN = "No copy of that URL was stored."
WIDTH, EDGE = 600, 14
"""Of the picture, and where its line begins and ends, in its own units."""
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
"""The look of a badge, and its word."""


class PageHistory(msgspec.Struct, frozen=True):
    timeline: Timeline
    difference: Difference | None = None
    """When two versions were named."""
    trouble: str = ""
    """Why they could not be compared."""


class Dot(msgspec.Struct, frozen=True):
    """A version in the picture."""

    x: int
    kind: str
    words: str


class HistoryParameters(msgspec.Struct, frozen=True):
    url: str = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")


def router(site: WebSite, show: Show) -> Routes:
    del show
    collection = site.collection
    routes = Routes()

    @routes.get("/page/versions.json", answers_with(PageHistory), "The versions of a page")
    async def versions_json(wanted: HistoryParameters) -> Response:
        known = await run_in_threadpool(gathered, collection, wanted.url)
        if known is None or not known.versions:
            raise WebError(404, UNKNOWN)
        return json_answer(await history_of(collection, Url(known.url), wanted.since, wanted.until))

    return routes


async def history_of(collection: Collection, url: Url, since: str, until: str) -> PageHistory:
    """Raises WebError."""
    try:
        moments = instant_of(since), instant_of(until)
    except ValueError:
        raise WebError(400, NO_MOMENT) from None
    versions = await run_in_threadpool(collection.versions, url)
    pair = two_of(versions, *moments) if since or until else None
    if pair is None and (since or until):
        raise WebError(404, NO_VERSION)
    timeline = await line_of(collection, url, versions)
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


async def line_of(collection: Collection, url: Url, versions: Sequence[Kept]) -> Timeline:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await collection.past.timeline(url, MOST_VERSIONS)
    except TimeoutError:
        shown = versions[:MOST_VERSIONS][::-1]
        earlier = len(versions) - len(shown)
        return Timeline(url.text, [_plain(kept, number) for number, kept in enumerate(shown, earlier + 1)], earlier)


def _plain(kept: Kept, number: int) -> CaptureVersion:
    at, note = in_words(kept.fetched_at), NOT_YET
    return CaptureVersion(
        number,
        at,
        kept.status,
        kept.media_type,
        kept.size,
        kept.is_page,
        note=note,
        charset=kept.charset,
        charset_from=kept.charset_from,
    )


def two_of(versions: Sequence[Kept], since: Instant | None, until: Instant | None) -> tuple[Kept, Kept] | None:
    """The versions of two moments, the older first; without the earlier one, the last before the later that was an
    answer worth comparing. REQUIRES: `versions` newest first."""
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


def drawing(known: PageJson, history: PageHistory) -> dict[str, Any]:
    """What the template is given."""
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


def dots_of(timeline: Timeline) -> list[Dot]:
    """Where each version stands on a line from the first to the last; none for a line without length."""
    instants = [from_words(version.fetched_at) for version in timeline.versions]
    if len(instants) < 2 or instants[0] == instants[-1]:
        return []
    span = instants[-1] - instants[0]
    return [
        Dot(
            EDGE + round((at - instants[0]) / span * (WIDTH - 2 * EDGE)),
            _kind(version),
            f"{version.fetched_at[:16].replace('T', ' ')}: {', '.join(word for _, word in badges_of(version))}",
        )
        for at, version in zip(instants, timeline.versions, strict=True)
    ]


def ticks_of(timeline: Timeline) -> list[int]:
    """Where on that line visits found nothing new; each place once."""
    instants = [from_words(version.fetched_at) for version in timeline.versions]
    if len(instants) < 2 or instants[0] == instants[-1]:
        return []
    span = instants[-1] - instants[0]
    places = [(from_words(at) - instants[0]) / span for at in timeline.seen_again]
    return sorted({EDGE + round(place * (WIDTH - 2 * EDGE)) for place in places if 0 <= place <= 1})


def _kind(version: CaptureVersion) -> str:
    if version.is_gone:
        return "trouble"
    if version.note == NOT_YET:
        return "same"
    if version.changes is None:
        return "trouble" if version.note else "first"
    return "changed" if {"text", "facts"} & set(version.changes) else "same"


def summary_of(timeline: Timeline) -> str:
    """The picture in a sentence."""
    changed = sum(_kind(version) == "changed" for version in timeline.versions)
    first, last = timeline.versions[0].fetched_at[:10], timeline.versions[-1].fetched_at[:10]
    times = "once" if changed == 1 else f"{changed} times"
    gone = sum(version.is_gone for version in timeline.versions)
    told = f"{len(timeline.versions)} versions from {first} to {last}; text or facts changed {times}"
    return f"{told}; gone {'once' if gone == 1 else f'{gone} times'}" if gone else told
