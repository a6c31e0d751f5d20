"""Everything there is, streamed: pages, facts, links and visits, in formats other programs read."""

from collections.abc import Callable, Mapping
from functools import partial

from starlette.responses import Response

from gossamer.collection import tables
from gossamer.collection.exports import Exports
from gossamer.collection.tables import Lines, in_pieces, pages_jsonl
from gossamer.values.query import Query
from gossamer.web.responses import Show
from gossamer.web.routes import Routes, answers_with
from gossamer.web.search.address import SearchParameters, query_of
from gossamer.web.site import WebSite
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream

JSON_LINES, CSV, N_QUADS = "application/jsonl", "text/csv", "application/n-quads"


def router(site: WebSite, show: Show) -> Routes:
    del show
    collection = site.collection
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    def all_of(pieces: Callable[[Exports], Lines], kind: str, name: str) -> Response:
        return Stream(lambda: in_pieces(pieces(collection.exports)), kind, name, slots)

    def pages_found(
        wanted: SearchParameters, pieces: Callable[[Exports, Query], Lines], kind: str, name: str
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
        return pages_found(wanted, lambda of, query: tables.pages_csv(of.pages(query)), CSV, "pages.csv")

    @routes.get("/export/facts.nq", answers_with(str, N_QUADS), "Facts as N-Quads")
    def facts(wanted: SearchParameters) -> Response:
        """Every fact of every page, or of those that a search with the same parameters finds; the graph of each line
        is the page that states it."""
        return pages_found(wanted, lambda of, query: of.facts(query), N_QUADS, "facts.nq")

    for name, (summary, words, pieces) in TABLES.items():
        add_table(routes, name, summary, words, partial(all_of, pieces, CSV, name))
    return routes


def add_table(routes: Routes, name: str, summary: str, words: str, answer: Callable[[], Response]) -> None:
    """One that nothing narrows."""

    def table() -> Response:
        return answer()

    table.__doc__ = words
    routes.get(f"/export/{name}", answers_with(str, CSV), summary)(table)


TABLES: Mapping[str, tuple[str, str, Callable[[Exports], Lines]]] = {
    "links.csv": (
        "Links as CSV",
        "Every link that was found, with its text.",
        lambda exports: tables.links_csv(exports.links()),
    ),
    "visits.csv": (
        "Fetches as CSV",
        "Every URL that was fetched, and the outcome of its last fetch.",
        lambda exports: tables.visits_csv(exports.visits()),
    ),
    "addresses.csv": (
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
"""Name, summary and description of each table, and where its lines come from."""
