"""Exports of the whole collection as streams: pages, facts, links, fetches, captures."""

from collections.abc import Callable, Mapping
from functools import partial

from starlette.responses import Response

from gossamer.collection import tables
from gossamer.collection.exports import Exports
from gossamer.collection.tables import Lines, in_pieces, pages_jsonl
from gossamer.web.responses import Show
from gossamer.web.routes import CSV, Routes, answers_with
from gossamer.web.search.state import SearchParameters, query_of
from gossamer.web.site import WebSite
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream

JSON_LINES, N_QUADS = "application/jsonl", "application/n-quads"


def router(site: WebSite, _show: Show) -> Routes:
    collection = site.collection
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    def export(lines: Callable[[Exports], Lines], kind: str, name: str) -> Response:
        return Stream(lambda: in_pieces(lines(collection.exports)), kind, name, slots)

    @routes.get("/export/pages.jsonl", "Pages as JSON lines", answers_with(str, JSON_LINES))
    def jsonl(params: SearchParameters) -> Response:
        """One JSON object per line, with the page's text. Without parameters all pages; with those of a search every
        matching page, including copies of one text: ranked up to 10,000 pages, unordered when there are more."""
        query = query_of(params.state())
        return export(lambda exports: pages_jsonl(exports.pages(query, True)), JSON_LINES, "pages.jsonl")

    @routes.get("/export/pages.csv", "Pages as CSV", answers_with(str, CSV))
    def pages(params: SearchParameters) -> Response:
        """Like pages.jsonl, without the texts. Several types or syntaxes share one cell, separated by spaces."""
        query = query_of(params.state())
        return export(lambda exports: tables.pages_csv(exports.pages(query)), CSV, "pages.csv")

    @routes.get("/export/facts.nq", "Facts as N-Quads", answers_with(str, N_QUADS))
    def facts(params: SearchParameters) -> Response:
        """Every fact of every page, or of those that a search with the same parameters finds; the graph of each line
        is the page that states it."""
        query = query_of(params.state())
        return export(lambda exports: exports.facts(query), N_QUADS, "facts.nq")

    for name, (summary, words, lines) in TABLES.items():
        table = routes.get(f"/export/{name}", summary, answers_with(str, CSV), description=words)
        table(partial(export, lines, CSV, name))
    return routes


TABLES: Mapping[str, tuple[str, str, Callable[[Exports], Lines]]] = {
    "links.csv": (
        "Links as CSV",
        "Every link that was found, with its text.",
        lambda exports: tables.links_csv(exports.links()),
    ),
    "outcomes.csv": (
        "Outcomes as CSV",
        "Every URL that was fetched or refused, and its last outcome.",
        lambda exports: tables.visits_csv(exports.visits()),
    ),
    "urls.csv": (
        "Known URLs as CSV",
        "Every accepted URL: `outcome` is the outcome of its last fetch; it is empty for those that were not fetched "
        "yet, because they are waiting or quarantined.",
        lambda exports: tables.known_csv(exports.known()),
    ),
    "captures.csv": (
        "Captures as CSV",
        "Every response in the archive, every version, in storage order. `same_as`: fetch time of the capture whose "
        "body this one shares, so that it is stored once.",
        lambda exports: tables.captures_csv(exports.captures()),
    ),
    "revisits.csv": (
        "Pages due for a revisit, as CSV",
        "Every page that is revisited: when its next fetch is due and why, when it was last found changed, and how "
        "many fetches in a row found it gone.",
        lambda exports: tables.revisits_csv(exports.revisits()),
    ),
}
"""By file name: summary, description and source of the lines."""
