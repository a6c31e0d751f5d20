"""Everything there is, streamed: pages, facts, links and visits, in formats other programs read."""

from collections.abc import Callable, Generator, Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from gossamer.base.clock import in_words
from gossamer.base.errors import QueryRefused
from gossamer.frontier.reports import KnownUrl, LastVisit
from gossamer.values.capture import Kept
from gossamer.values.format import csv_line, json_bytes
from gossamer.values.link import Link
from gossamer.values.query import Query
from gossamer.web.export_rooms import ExportedPage, Exports
from gossamer.web.responses import Show, answers_with, fault
from gossamer.web.rooms import WebRooms
from gossamer.web.search.address import SearchAddress, query_of
from gossamer.web.search.parameters import asked
from gossamer.web.streams import MOST_EXPORTS, PIECE, Slots, Stream

JSON_LINES, CSV, N_QUADS = "application/jsonl", "text/csv", "application/n-quads"
PAGE_COLUMNS = ("url", "site", "title", "description", "language", "fetched_at", "fact_count", "types", "syntaxes")
LINK_COLUMNS = ("from", "to", "text")
VISIT_COLUMNS = ("url", "outcome", "detail", "ended_at", "due_at", "how", "depth", "redirects", "failures")
KNOWN_COLUMNS = ("url", "outcome", "how", "depth")
CAPTURE_COLUMNS = ("url", "fetched_at", "status", "media_type", "size", "is_page", "same_as", "volume", "number")
Bytes = Generator[bytes, None, None]
NOT_HERE = "There is nothing to export yet."
FULL = "Too many exports are running. Please try again in a minute."
RETRY_AFTER_S = "60"


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter(prefix="/export", tags=["exports"])
    slots = Slots(MOST_EXPORTS)

    def all_of(request: Request, pieces: Callable[[Exports], Bytes], kind: str, name: str) -> Response:
        exports = rooms.exports
        if exports is None:
            return fault(request, show, 404, NOT_HERE)
        return Stream(lambda: pieces(exports), kind, name, slots, full(request, show))

    def pages_found(
        request: Request, wanted: SearchAddress, pieces: Callable[[Exports, Query], Bytes], *of: str
    ) -> Response:
        try:
            query = query_of(wanted)
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}".capitalize() + ".")
        return all_of(request, lambda exports: pieces(exports, query), *of)

    @routes.get("/pages.jsonl", responses=answers_with(str, media_type=JSON_LINES), summary="Pages as JSON lines")
    def jsonl(request: Request, wanted: Annotated[SearchAddress, Depends(asked)]) -> Response:
        """One JSON object per line, with the page's text. Without parameters all pages; with those of a search every
        matching page, including copies of one text: ranked up to 10,000 pages, unordered when there are more."""
        return pages_found(
            request, wanted, lambda exports, query: pages_jsonl(exports.pages(query, True)), JSON_LINES, "pages.jsonl"
        )

    @routes.get("/pages.csv", responses=answers_with(str, media_type=CSV), summary="Pages as CSV")
    def pages(request: Request, wanted: Annotated[SearchAddress, Depends(asked)]) -> Response:
        """Like pages.jsonl, without the texts. Several types or syntaxes share one cell, separated by spaces."""
        return pages_found(
            request, wanted, lambda exports, query: pages_csv(exports.pages(query, False)), CSV, "pages.csv"
        )

    @routes.get("/facts.nq", responses=answers_with(str, media_type=N_QUADS), summary="Facts as N-Quads")
    def facts(request: Request, wanted: Annotated[SearchAddress, Depends(asked)]) -> Response:
        """Every fact of every page, or of those that a search with the same parameters finds; the graph of each line
        is the page that states it."""
        return pages_found(request, wanted, lambda exports, query: drawn(exports.facts(query)), N_QUADS, "facts.nq")

    add_tables(routes, all_of)
    return routes


def add_tables(routes: APIRouter, all_of: Callable[[Request, Callable[[Exports], Bytes], str, str], Response]) -> None:
    """Those that nothing narrows."""

    @routes.get("/links.csv", responses=answers_with(str, media_type=CSV), summary="Links as CSV")
    def links(request: Request) -> Response:
        """Every link that was found, with its text."""
        return all_of(request, lambda exports: links_csv(exports.links()), CSV, "links.csv")

    @routes.get("/visits.csv", responses=answers_with(str, media_type=CSV), summary="Fetches as CSV")
    def visits(request: Request) -> Response:
        """Every URL that was fetched, and the outcome of its last fetch."""
        return all_of(request, lambda exports: visits_csv(exports.visits()), CSV, "visits.csv")

    @routes.get("/addresses.csv", responses=answers_with(str, media_type=CSV), summary="Known URLs as CSV")
    def known(request: Request) -> Response:
        """Every accepted URL: `outcome` is the outcome of its last fetch; it is empty for those that were not
        fetched yet, because they are waiting or quarantined."""
        return all_of(request, lambda exports: known_csv(exports.known()), CSV, "addresses.csv")

    @routes.get("/captures.csv", responses=answers_with(str, media_type=CSV), summary="Captures as CSV")
    def captures(request: Request) -> Response:
        """Every response in the archive, every version, in storage order. `same_as`: fetch time of the capture whose
        body this one shares, so that it is stored once."""
        return all_of(request, lambda exports: captures_csv(exports.captures()), CSV, "captures.csv")

    @routes.get("/revisits.csv", responses=answers_with(str, media_type=CSV), summary="Pages due for a revisit, as CSV")
    def revisits(request: Request) -> Response:
        """Every page that is revisited: when its next fetch is due and why, when it was last found changed,
        and how many fetches in a row found it gone."""
        return all_of(request, lambda exports: drawn(exports.revisits()), CSV, "revisits.csv")


def full(request: Request, show: Show) -> Response:
    """The answer while no slot is free."""
    answer = fault(request, show, 503, FULL)
    answer.headers["Retry-After"] = RETRY_AFTER_S
    return answer


def drawn(pieces: Iterator[bytes]) -> Bytes:
    """As pieces of a size worth sending; closing it closes where they come from."""
    gathered: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            gathered.append(piece)
            size += len(piece)
            if size >= PIECE:
                yield b"".join(gathered)
                gathered, size = [], 0
        if gathered:
            yield b"".join(gathered)
    finally:
        if isinstance(pieces, Generator):
            pieces.close()


def pages_jsonl(pages: Iterator[ExportedPage]) -> Bytes:
    return drawn(json_bytes(page) + b"\n" for page in pages)


def pages_csv(pages: Iterator[ExportedPage]) -> Bytes:
    def lines() -> Bytes:
        yield csv_line(PAGE_COLUMNS)
        for page in pages:
            yield csv_line(
                (
                    page.url,
                    page.site,
                    page.title,
                    page.description,
                    page.language,
                    in_words(page.fetched_at),
                    page.fact_count,
                    " ".join(page.types),
                    " ".join(page.syntaxes),
                )
            )

    return drawn(lines())


def links_csv(links: Iterator[tuple[str, tuple[Link, ...]]]) -> Bytes:
    def lines() -> Bytes:
        yield csv_line(LINK_COLUMNS)
        for source, targets in links:
            yield b"".join(csv_line((source, link.url.text, link.text)) for link in targets)

    return drawn(lines())


def visits_csv(visits: Iterator[LastVisit]) -> Bytes:
    def lines() -> Bytes:
        yield csv_line(VISIT_COLUMNS)
        for one in visits:
            ended, due = in_words(one.settled_at), in_words(one.due_at) if one.due_at is not None else ""
            yield csv_line(
                (one.url, one.reason.value, one.detail, ended, due, one.how.value, one.depth, one.hops, one.failures)
            )

    return drawn(lines())


def known_csv(known: Iterator[KnownUrl]) -> Bytes:
    def lines() -> Bytes:
        yield csv_line(KNOWN_COLUMNS)
        for one in known:
            yield csv_line((one.url, one.reason.value if one.reason is not None else "", one.how.value, one.depth))

    return drawn(lines())


def captures_csv(captures: Iterator[Kept]) -> Bytes:
    def lines() -> Bytes:
        yield csv_line(CAPTURE_COLUMNS)
        for one in captures:
            fetched, same_as = in_words(one.fetched_at), in_words(one.refers_at) if one.refers_at is not None else ""
            is_page = "yes" if one.is_page else "no"
            of_answer = (one.url.text, fetched, one.status, one.media_type, one.size, is_page, same_as)
            yield csv_line((*of_answer, one.place.volume, one.place.number))

    return drawn(lines())
