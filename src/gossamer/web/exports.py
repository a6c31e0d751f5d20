"""Everything there is, streamed: pages, facts, links and visits, in formats other programs read."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial

from starlette.responses import Response

from gossamer.base.clock import Instant, in_words
from gossamer.frontier.reports import KnownUrl, LastVisit
from gossamer.values.capture import Kept
from gossamer.values.format import csv_line, json_bytes
from gossamer.values.link import Link
from gossamer.values.query import Query
from gossamer.web.export_rooms import ExportedPage, Exports
from gossamer.web.responses import Show, WebError
from gossamer.web.rooms import WebRooms
from gossamer.web.routes import Routes, answers_with
from gossamer.web.search.address import SearchParameters, query_of
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream, drawn

JSON_LINES, CSV, N_QUADS = "application/jsonl", "text/csv", "application/n-quads"
PAGE_COLUMNS = ("url", "site", "title", "description", "language", "fetched_at", "fact_count", "types", "syntaxes")
LINK_COLUMNS = ("from", "to", "text")
VISIT_COLUMNS = ("url", "outcome", "detail", "ended_at", "due_at", "how", "depth", "redirects", "failures")
KNOWN_COLUMNS = ("url", "outcome", "how", "depth")
CAPTURE_COLUMNS = ("url", "fetched_at", "status", "media_type", "size", "is_page", "same_as", "volume", "number")
Bytes = Generator[bytes, None, None]
NOT_HERE = "There is nothing to export yet."


def router(rooms: WebRooms, show: Show) -> Routes:
    del show
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    def all_of(pieces: Callable[[Exports], Bytes], kind: str, name: str) -> Response:
        exports = rooms.exports
        if exports is None:
            raise WebError(404, NOT_HERE)
        return Stream(lambda: pieces(exports), kind, name, slots)

    def pages_found(
        wanted: SearchParameters, pieces: Callable[[Exports, Query], Bytes], kind: str, name: str
    ) -> Response:
        query = query_of(wanted.address())
        return all_of(lambda exports: pieces(exports, query), kind, name)

    @routes.get("/export/pages.jsonl", answers_with(str, JSON_LINES), "Pages as JSON lines")
    def jsonl(wanted: SearchParameters) -> Response:
        """One JSON object per line, with the page's text. Without parameters all pages; with those of a search every
        matching page, including copies of one text: ranked up to 10,000 pages, unordered when there are more."""
        return pages_found(wanted, lambda of, query: pages_jsonl(of.pages(query, True)), JSON_LINES, "pages.jsonl")

    @routes.get("/export/pages.csv", answers_with(str, CSV), "Pages as CSV")
    def pages(wanted: SearchParameters) -> Response:
        """Like pages.jsonl, without the texts. Several types or syntaxes share one cell, separated by spaces."""
        return pages_found(wanted, lambda of, query: pages_csv(of.pages(query, False)), CSV, "pages.csv")

    @routes.get("/export/facts.nq", answers_with(str, N_QUADS), "Facts as N-Quads")
    def facts(wanted: SearchParameters) -> Response:
        """Every fact of every page, or of those that a search with the same parameters finds; the graph of each line
        is the page that states it."""
        return pages_found(wanted, lambda of, query: drawn(of.facts(query)), N_QUADS, "facts.nq")

    for name, (summary, words, pieces) in TABLES.items():
        add_table(routes, name, summary, words, partial(all_of, pieces, CSV, name))
    return routes


def add_table(routes: Routes, name: str, summary: str, words: str, answer: Callable[[], Response]) -> None:
    """One that nothing narrows."""

    def table() -> Response:
        return answer()

    table.__doc__ = words
    routes.get(f"/export/{name}", answers_with(str, CSV), summary)(table)


def pages_jsonl(pages: Iterator[ExportedPage]) -> Bytes:
    return drawn(json_bytes(page) + b"\n" for page in pages)


def pages_csv(pages: Iterator[ExportedPage]) -> Bytes:
    return _table(
        PAGE_COLUMNS,
        (
            (page.url, page.site, page.title, page.description, page.language, in_words(page.fetched_at),
             page.fact_count, " ".join(page.types), " ".join(page.syntaxes))
            for page in pages
        ),
    )  # fmt: skip


def links_csv(links: Iterator[tuple[str, tuple[Link, ...]]]) -> Bytes:
    return _table(LINK_COLUMNS, ((source, link.url.text, link.text) for source, found in links for link in found))


def visits_csv(visits: Iterator[LastVisit]) -> Bytes:
    return _table(
        VISIT_COLUMNS,
        (
            (one.url, one.reason.value, one.detail, in_words(one.settled_at), _moment(one.due_at), one.how.value,
             one.depth, one.hops, one.failures)
            for one in visits
        ),
    )  # fmt: skip


def known_csv(known: Iterator[KnownUrl]) -> Bytes:
    return _table(
        KNOWN_COLUMNS,
        ((one.url, one.reason.value if one.reason is not None else "", one.how.value, one.depth) for one in known),
    )


def captures_csv(captures: Iterator[Kept]) -> Bytes:
    return _table(
        CAPTURE_COLUMNS,
        (
            (one.url.text, in_words(one.fetched_at), one.status, one.media_type, one.size,
             "yes" if one.is_page else "no", _moment(one.refers_at), one.place.volume, one.place.number)
            for one in captures
        ),
    )  # fmt: skip


def _table(columns: Sequence[str], rows: Iterator[Sequence[object]]) -> Bytes:
    def lines() -> Bytes:
        yield csv_line(columns)
        yield from map(csv_line, rows)

    return drawn(lines())


def _moment(at: Instant | None) -> str:
    return in_words(at) if at is not None else ""


TABLES: Mapping[str, tuple[str, str, Callable[[Exports], Bytes]]] = {
    "links.csv": (
        "Links as CSV",
        "Every link that was found, with its text.",
        lambda exports: links_csv(exports.links()),
    ),
    "visits.csv": (
        "Fetches as CSV",
        "Every URL that was fetched, and the outcome of its last fetch.",
        lambda exports: visits_csv(exports.visits()),
    ),
    "addresses.csv": (
        "Known URLs as CSV",
        "Every accepted URL: `outcome` is the outcome of its last fetch; it is empty for those that were not fetched "
        "yet, because they are waiting or quarantined.",
        lambda exports: known_csv(exports.known()),
    ),
    "captures.csv": (
        "Captures as CSV",
        "Every response in the archive, every version, in storage order. `same_as`: fetch time of the capture whose "
        "body this one shares, so that it is stored once.",
        lambda exports: captures_csv(exports.captures()),
    ),
    "revisits.csv": (
        "Pages due for a revisit, as CSV",
        "Every page that is revisited: when its next fetch is due and why, when it was last found changed, and how "
        "many fetches in a row found it gone.",
        lambda exports: drawn(exports.revisits()),
    ),
}
"""Name, summary and description of each table, and where its lines come from."""
