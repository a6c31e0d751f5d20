"""Routes of the search: results as a page, JSON and CSV; suggestions; why a page was found; copies."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from gossamer.base.clock import SECOND
from gossamer.base.errors import WorkerLost
from gossamer.search.find import SearchAnswer
from gossamer.values.query import DEEPEST_HIT, MOST_HITS
from gossamer.values.url import url_of
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.searcher import SameText
from gossamer.web.render import make_templates
from gossamer.web.responses import Show, WebError
from gossamer.web.routes import CSV, JSON, Routes, UrlParameters, answers_with
from gossamer.web.search.answer import (
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
from gossamer.web.search.state import PER_PAGE, SearchParameters, SearchState, query_of
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
MEDIA_TYPES: dict[Kind, str] = {"page": "text/html", "json": JSON, "csv": CSV, "suggest": JSON}


class SearchDispatcher:
    """Has searches answered by a search process, or by a thread of this process if there is none."""

    def __init__(self, site: WebSite) -> None:
        self._site = site
        index = site.collection.index
        self._answering = Answering(index.find, index.is_found, index.suggest, make_templates(), site.suggestions)
        self._pulse: CrawlPulse | None = None
        self._is_refreshing = False

    async def answer(self, kind: Kind, search: SearchState, limit: int = PER_PAGE) -> Response:
        began_s = self._site.collection.outside.clock.elapsed_s()
        question = SearchQuestion(kind, search, limit, await self._pulse_now() if kind == "page" else None)
        reply = await self._reply(question)
        if reply.refused:
            raise WebError(reply.status, reply.refused)
        took_ms = 1000 * (self._site.collection.outside.clock.elapsed_s() - began_s)
        headers = {"Server-Timing": f"search;dur={took_ms:.1f}"}  # including the time in the queue
        if reply.status == UNAVAILABLE:
            headers["Retry-After"] = RETRY_AFTER_S
        return Response(reply.body, reply.status, headers, MEDIA_TYPES[kind])

    async def table(self, search: SearchState) -> Response:
        """Results as CSV, some at a time, up to the deepest one; the last line says if there are more."""
        first = await self._reply(SearchQuestion("csv", search, MOST_HITS))
        if first.refused:
            raise WebError(first.status, first.refused)
        headers = {"Content-Disposition": 'attachment; filename="results.csv"'}
        return StreamingResponse(self._rows(search, first), headers=headers, media_type=MEDIA_TYPES["csv"])

    async def _rows(self, search: SearchState, reply: Reply) -> AsyncIterator[bytes]:
        yield reply.body
        start = search.start
        while reply.is_full:
            start += MOST_HITS
            rows = start - search.start
            if start + MOST_HITS > DEEPEST_HIT:
                yield cut_line(rows, "/export/pages.csv with the same parameters has every matching page")
                return
            reply = await self._reply(SearchQuestion("csv", replace(search, start=start), MOST_HITS))
            if reply.refused:
                yield cut_line(rows, reply.refused)
                return
            yield reply.body.removeprefix(HEAD)

    async def _reply(self, question: SearchQuestion) -> Reply:
        try:
            reply = None if question.search.is_empty else await self._site.search_elsewhere(question)
        except WorkerLost as lost:
            self._site.tell("web.search-lost", kind=question.kind, why=str(lost))
            return self._answering.unavailable(question, LOST.get(lost.why, DIED))
        return reply if reply is not None else await run_in_threadpool(self._answering, question)

    async def _pulse_now(self) -> CrawlPulse:
        """The state of the crawl, read at most once a second as results come with every letter typed; requests that
        arrive while it is read get the last one."""
        last, now = self._pulse, self._site.collection.outside.clock.now()
        if last is not None and (self._is_refreshing or 0 <= now - last.at < SECOND):
            return last
        self._is_refreshing = True
        try:
            collection = self._site.collection
            numbers, state = await run_in_threadpool(lambda: (numbers_of(collection), state_of(collection)))
        finally:
            self._is_refreshing = False
        self._pulse = CrawlPulse(now, numbers, state)
        return self._pulse


LONGEST_TYPED = 1_000
"""Characters of a query to complete."""
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
    """Pages with the same text, in the order of their URLs; at most 100."""


class SearchJsonParameters(SearchParameters, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] = PER_PAGE


class SearchCsvParameters(SearchParameters, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] | None = None


class SearchWhyParameters(SearchParameters, frozen=True):
    url: str = ""


class SuggestParameters(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=LONGEST_TYPED)] = ""


def router(site: WebSite, show: Show) -> Routes:
    routes, searches, index = Routes(), SearchDispatcher(site), site.collection.index

    @routes.get("/")
    async def search(params: SearchParameters) -> Response:
        return await searches.answer("page", params.state())

    @routes.get("/search.json", "Search", answers_with(SearchAnswer))
    async def search_json(params: SearchJsonParameters) -> Response:
        return await searches.answer("json", params.state(), params.limit)

    @routes.get("/search.csv", "Search results as CSV", answers_with(str, CSV))
    async def search_csv(params: SearchCsvParameters) -> Response:
        """All results as CSV, one line for pages with the same text (`copies` says how many), or as many as `limit`
        says. Beyond the 10,000th it ends with a line that says so; /export/pages.csv has every matching page."""
        if params.limit is None:
            return await searches.table(params.state())
        return await searches.answer("csv", params.state(), params.limit)

    @routes.get("/suggest.json", "Suggestions for the beginning of a query", answers_with(SearchSuggestions))
    async def suggest(params: SuggestParameters) -> Response:
        return await searches.answer("suggest", SearchState(params.q))

    @routes.get("/search/why.json", "Why a page was found, and why it is ranked there")
    def why_json(params: SearchWhyParameters) -> Explanation:
        url, search = url_of(params.url.strip()), params.state()
        if url is None or search.is_empty:
            raise WebError(400, "Which page, and which words? Open this page from the search results.")
        reasons = index.explain(query_of(search), url)
        if reasons is None:
            raise WebError(400, NOT_IN_INDEX)
        return reasons

    @routes.get("/search/why")
    def why(params: SearchWhyParameters) -> Response:
        reasons = why_json(params)
        return show("search_why.html", search=params.state(), url=params.url, reasons=reasons, places=PLACES)

    @routes.get("/search/copies.json", "Pages with the same text")
    def copies_json(params: UrlParameters) -> CopiesAnswer:
        url = url_of(params.url.strip())
        if url is None or not (found := index.copies(url)):
            raise WebError(404, NOT_IN_INDEX)
        return CopiesAnswer(tuple(found))

    @routes.get("/search/copies")
    def copies(params: UrlParameters) -> Response:
        return show("search_copies.html", url=params.url, copies=copies_json(params).copies)

    return routes
