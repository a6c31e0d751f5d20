"""The search page, and the same as JSON and CSV; suggestions for what one types; why a page was found."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from gossamer.base.clock import SECOND
from gossamer.base.errors import WorkerLost
from gossamer.collection.collection import Collection
from gossamer.search.find import SearchAnswer
from gossamer.values.query import DEEPEST_HIT, MOST_HITS
from gossamer.values.url import url_of
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.searcher import SameText
from gossamer.web.render import make_templates
from gossamer.web.responses import Show, WebError, json_answer
from gossamer.web.routes import JSON, Routes, answers_with
from gossamer.web.search.address import PER_PAGE, SearchAddress, SearchParameters, query_of
from gossamer.web.search.page import (
    HEAD,
    UNAVAILABLE,
    Answering,
    CrawlPulse,
    Kind,
    Reply,
    SearchQuestion,
    SearchSuggestions,
    cut_line,
)
from gossamer.web.site import WebSite, numbers_of, state_of

RETRY_AFTER_S = "5"
DIED = (
    "The search process crashed on this query, and so did the one tried next. Others are being started: "
    "try again in a moment, or change the query. See the server's terminal for details."
)
LOST = {
    "timeout": "This search exceeded the time limit and was stopped. Try fewer words, rarer words or a filter.",
    "closed": "The server is shutting down. Please try again when it is back.",
}
"""By the reason code of `WorkerLost`; DIED for all others."""
MEDIA_TYPES: dict[Kind, str] = {"page": "text/html", "json": JSON, "csv": "text/csv", "suggest": JSON}


class SearchDispatcher:
    """Has searches answered by a process that does nothing else, if there is one, or else on a thread of this one."""

    def __init__(self, site: WebSite) -> None:
        self._site = site
        index = site.collection.index
        self._answering = Answering(index.find, index.is_found, index.suggest, make_templates(), site.suggestions)
        self._status: CrawlPulse | None = None
        self._is_asking = False

    async def answer(self, kind: Kind, asked: SearchAddress, limit: int = PER_PAGE) -> Response:
        began_s = self._site.collection.outside.clock.elapsed_s()
        question = SearchQuestion(kind, asked, limit, await self._status_now() if kind == "page" else None)
        reply = await self._reply(question)
        if reply.refused:
            raise WebError(reply.status, reply.refused)
        took_ms = 1000 * (self._site.collection.outside.clock.elapsed_s() - began_s)
        headers = {"Server-Timing": f"search;dur={took_ms:.1f}"}  # its waiting for a turn included
        if reply.status == UNAVAILABLE:
            headers["Retry-After"] = RETRY_AFTER_S
        return Response(reply.body, reply.status, headers, MEDIA_TYPES[kind])

    async def table(self, asked: SearchAddress) -> Response:
        """All results as CSV, some at a time, up to the last one that can be paged to; a table that is cut says so in
        its last line."""
        first = await self._reply(SearchQuestion("csv", asked, MOST_HITS))
        if first.refused:
            raise WebError(first.status, first.refused)
        headers = {"Content-Disposition": 'attachment; filename="results.csv"'}
        return StreamingResponse(self._rows(asked, first), headers=headers, media_type=MEDIA_TYPES["csv"])

    async def _rows(self, asked: SearchAddress, reply: Reply) -> AsyncIterator[bytes]:
        yield reply.body
        start = asked.start
        while reply.is_full:
            start += MOST_HITS
            rows = start - asked.start
            if start + MOST_HITS > DEEPEST_HIT:
                yield cut_line(rows, "/export/pages.csv with the same parameters has every matching page")
                return
            reply = await self._reply(SearchQuestion("csv", replace(asked, start=start), MOST_HITS))
            if reply.refused:
                yield cut_line(rows, reply.refused)
                return
            yield reply.body.removeprefix(HEAD)

    async def _reply(self, question: SearchQuestion) -> Reply:
        try:
            reply = None if question.asked.is_empty else await self._site.search_elsewhere(question)
        except WorkerLost as lost:
            self._site.tell("web.search-lost", kind=question.kind, why=str(lost))
            return self._answering.sorry(question, LOST.get(lost.why, DIED))
        return reply if reply is not None else await run_in_threadpool(self._answering, question)

    async def _status_now(self) -> CrawlPulse:
        """How the crawl goes, asked at most once a second: results come with every letter typed. While one asks, the
        last one will do for the others."""
        last, now = self._status, self._site.collection.outside.clock.now()
        if last is not None and (self._is_asking or 0 <= now - last.at < SECOND):
            return last
        self._is_asking = True
        try:
            numbers, state = await run_in_threadpool(
                lambda: (numbers_of(self._site.collection), state_of(self._site.collection))
            )
        finally:
            self._is_asking = False
        self._status = CrawlPulse(now, numbers, state)
        return self._status


LONGEST_TYPED = 1_000
"""Characters that suggestions are asked for."""
NOT_IN_INDEX = "That page is not in the index."
PLACES = {
    "title": "in the title",
    "headings": "in headings or bold",
    "content": "in the text",
    "rest": "outside the main text",
    "address": "in the URL",
    "anchors": "in links from other sites",
}


class CopiesAnswer(msgspec.Struct, frozen=True):
    copies: tuple[SameText, ...]
    """Pages with one text, in the order of their addresses; at most 100."""


class SearchJsonParameters(SearchParameters, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] = PER_PAGE


class SearchCsvParameters(SearchParameters, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] | None = None


class SearchWhyParameters(SearchParameters, frozen=True):
    url: str = ""


class SuggestParameters(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=LONGEST_TYPED)] = ""


class CopiesParameters(msgspec.Struct, frozen=True):
    url: str = ""


def router(site: WebSite, show: Show) -> Routes:
    routes, searches = Routes(), SearchDispatcher(site)

    @routes.get("/")
    async def search(wanted: SearchParameters) -> Response:
        return await searches.answer("page", wanted.address())

    @routes.get("/search.json", answers_with(SearchAnswer), "Search")
    async def search_json(wanted: SearchJsonParameters) -> Response:
        return await searches.answer("json", wanted.address(), wanted.limit)

    @routes.get("/search.csv", answers_with(str, "text/csv"), "Search results as CSV")
    async def search_csv(wanted: SearchCsvParameters) -> Response:
        """All results as CSV, one line for pages with the same text (`copies` says how many), or as many as `limit`
        says. Beyond the 10,000th it ends with a line that says so; /export/pages.csv has every matching page."""
        if wanted.limit is None:
            return await searches.table(wanted.address())
        return await searches.answer("csv", wanted.address(), wanted.limit)

    @routes.get("/suggest.json", answers_with(SearchSuggestions), "Suggestions for the beginning of a query")
    async def suggest(wanted: SuggestParameters) -> Response:
        return await searches.answer("suggest", SearchAddress(wanted.q))

    @routes.get("/search/why")
    def why(wanted: SearchWhyParameters) -> Response:
        asked, reasons = wanted.address(), reasons_of(site.collection, wanted)
        return show("search_why.html", asked=asked, url=wanted.url, reasons=reasons, places=PLACES)

    @routes.get("/search/why.json", answers_with(Explanation), "Why a page was found, and why it is ranked there")
    def why_json(wanted: SearchWhyParameters) -> Response:
        return json_answer(reasons_of(site.collection, wanted))

    @routes.get("/search/copies")
    def copies(wanted: CopiesParameters) -> Response:
        return show("search_copies.html", url=wanted.url, copies=copies_of(site.collection, wanted.url))

    @routes.get("/search/copies.json", answers_with(CopiesAnswer), "Pages with the same text")
    def copies_json(wanted: CopiesParameters) -> Response:
        return json_answer(CopiesAnswer(tuple(copies_of(site.collection, wanted.url))))

    return routes


def reasons_of(collection: Collection, wanted: SearchWhyParameters) -> Explanation:
    """Raises WebError."""
    url, asked = url_of(wanted.url.strip()), wanted.address()
    if url is None or asked.is_empty:
        raise WebError(400, "Which page, and which words? Open this page from the search results.")
    reasons = collection.index.explain(query_of(asked), url)
    if reasons is None:
        raise WebError(400, NOT_IN_INDEX)
    return reasons


def copies_of(collection: Collection, text: str) -> Sequence[SameText]:
    """Raises WebError."""
    url = url_of(text.strip())
    if url is None or not (found := collection.index.copies(url)):
        raise WebError(404, NOT_IN_INDEX)
    return found
