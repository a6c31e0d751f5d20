"""The stored copy of a page, served in a sandbox, and the original of a document as a download.

`parse.safe_copy` says what is removed from a copy.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import islice
from urllib.parse import unquote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from gossamer.archive.reader import read_capture
from gossamer.base.errors import ArchiveDamaged, QueryTooLong, WorkerLost
from gossamer.collection.collection import Collection
from gossamer.values.capture import Kept
from gossamer.values.document import FORMAT_OF, suffix_of, type_by_name
from gossamer.values.format import counted
from gossamer.values.messages import CopyJob
from gossamer.values.url import Url, id_of, url_of
from gossamer.web.names import page_href
from gossamer.web.page.known import chosen, instant_of
from gossamer.web.responses import Show, error_response
from gossamer.web.routes import Routes, UrlParameters
from gossamer.web.site import WebSite
from gossamer.web.streams import Slots, unless_disconnected

MOST_AT_ONCE = 2
"""Copies rendered at one time: each holds a whole stored response in memory, and there is one worker."""
MOST_WAITING = 32
MOST_MARKS = 2_000
LONGEST_NAME = 100
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
POLICY = (
    "sandbox allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
"""An origin of its own, no scripts, no forms, nothing loaded. A click on a link may navigate, and every link in a copy
leads to our own page about its target."""
NO_VERSION = "No copy of that URL was stored at that time."
INVALID_TIME = "Invalid time: write it as 2026-11-15T08:30:00Z."
NO_BODY = "Only the headers of that response were stored, not its body."
WITHHELD = "The site asks not to show a copy of this page (noarchive)."
NO_TEXT = "The stored copy is not text, so it is not shown here."
NO_COPY = "The copy could not be rendered within this server's resource limits."
TOO_MANY = "Too many copies are being rendered. Please try again in a few seconds."
NO_DOCUMENT = "Only documents such as PDF and office files can be downloaded; other pages are shown as a copy."
DAMAGED = (
    "This capture is damaged in the archive. `gossamer verify` can repair it from a backup; other versions are intact."
)


Make = Callable[[WebSite, Kept], Awaitable[bytes | str]]
"""The bytes to respond with, or why there are none."""


class CopyParameters(UrlParameters, frozen=True):
    at: str = ""


def router(site: WebSite, show: Show) -> Routes:
    routes = Routes()
    turns = CopyTurns()

    async def answer(
        request: Request, params: CopyParameters, make: Make, headers_of: Callable[[Kept], dict[str, str]]
    ) -> Response:
        """What `make` makes of the version that is asked for, or why there is none."""
        try:
            moment = instant_of(params.at)
        except ValueError:
            return refused(request, show, 400, INVALID_TIME)
        url = url_of(params.url.strip())
        versions = await run_in_threadpool(site.collection.versions, url) if url is not None else ()
        kept = chosen(versions, moment)
        if kept is None:
            return refused(request, show, 404, NO_VERSION)
        try:
            made = await unless_disconnected(request, turns.take(lambda: make(site, kept)))
        except QueryTooLong:
            return refused(request, show, 503, TOO_MANY)
        if isinstance(made, str):
            return refused(request, show, 404, made)
        return Response(made, headers=headers_of(kept))

    @routes.get("/page/cached")
    async def cached(request: Request, params: CopyParameters) -> Response:
        return await answer(request, params, copy_of, copy_headers)

    @routes.get("/page/original")
    async def original(request: Request, params: CopyParameters) -> Response:
        return await answer(request, params, original_of, download_headers)

    return routes


def copy_headers(_: Kept) -> dict[str, str]:
    return {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY}


def download_headers(kept: Kept) -> dict[str, str]:
    """A download, never shown by the browser under our name: its content is not ours."""
    name = NOT_IN_NAMES.sub("_", unquote(kept.url.text.partition("?")[0].rpartition("/")[2]))[-LONGEST_NAME:].lstrip(
        "._-"
    )
    if type_by_name(name) != FORMAT_OF.get(kept.media_type):
        name = f"{name or 'document'}{suffix_of(kept.media_type)}"
    is_known = kept.media_type in FORMAT_OF and not kept.media_type.startswith("text/")
    return {
        "Content-Type": kept.media_type if is_known else "application/octet-stream",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }


class CopyTurns:
    """Limits how many copies are rendered at one time; a waiting request holds nothing yet."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MOST_AT_ONCE)
        self._waiting = Slots(MOST_WAITING)

    async def take(self, make: Callable[[], Awaitable[bytes | str]]) -> bytes | str:
        """Raises QueryTooLong if too many requests wait."""
        if not self._waiting.take():
            raise QueryTooLong(TOO_MANY)
        try:
            await self._free.acquire()
        finally:
            self._waiting.give_back()
        try:
            return await make()
        finally:
            self._free.release()


async def original_of(site: WebSite, kept: Kept) -> bytes | str:
    """A document's bytes as its site sent them, or why they are not offered."""
    try:
        job = await run_in_threadpool(job_of, site.collection, kept, is_original=True)
        if job is None:
            return NO_BODY
        found = await site.collection.original(job)
        return found.html or NO_DOCUMENT if found.may_show else WITHHELD
    except WorkerLost:
        return NO_COPY
    except ArchiveDamaged as trouble:
        site.tell("web.unreadable", path="/page/original", why=str(trouble))
        return DAMAGED


async def copy_of(site: WebSite, kept: Kept) -> bytes | str:
    """The copy, or why there is none."""
    try:
        job = await run_in_threadpool(job_of, site.collection, kept)
        if job is None:
            return NO_BODY
        html = await site.collection.safe_copy(job)
        return WITHHELD if html is None else html or NO_TEXT
    except WorkerLost:
        return NO_COPY
    except ArchiveDamaged as trouble:
        site.tell("web.unreadable", path="/page/cached", why=str(trouble))
        return DAMAGED


def job_of(collection: Collection, kept: Kept, is_original: bool = False) -> bytes | None:
    """A capture and the places of its facts, packed for the worker; None if its body was not stored."""
    capture = read_capture(collection.outside.files, collection.directory.archive, kept.place)
    if capture is None:
        return None
    marks: dict[str, tuple[str, str, str]] = {}
    if not is_original:
        places = islice(collection.fact_places(kept).items(), MOST_MARKS)
        marks = {path: _mark(kept.url, path, times) for path, times in places}
    return msgspec.msgpack.encode(CopyJob(capture, marks, collection.settings.agent, is_original))


def _mark(url: Url, path: str, times: int) -> tuple[str, str, str]:
    place = place_of(path)
    href = f"{page_href(url.text)}&show=copy&fact={place}#at-{place}"
    return f"gossamer-{place}", href, f"{counted(times, 'fact')} stated here"


def place_of(path: str) -> str:
    """A short name for an element of a page, shared by the list of facts and the copy."""
    return f"{id_of(path) & (1 << 64) - 1:016x}" if path else ""


def refused(request: Request, show: Show, status: int, words: str) -> Response:
    """In a frame, a bare message instead of a page of ours."""
    if request.headers.get("sec-fetch-dest") != "iframe":
        return error_response(request, show, status, words)
    answer = show("page_uncopied.html", status, words=words)
    answer.headers["Content-Security-Policy"] = POLICY
    return answer
