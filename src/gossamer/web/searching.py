"""The search page, and the same as JSON and CSV; suggestions for what one types; why a page was found."""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.clock import SECOND, Instant
from gossamer.errors import QueryRefused
from gossamer.index.copies import Copy
from gossamer.index.explaining import Explanation
from gossamer.search.answer import Answer
from gossamer.values.query import MOST_HITS
from gossamer.values.url import url_of
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.faults import fault
from gossamer.web.rooms import WebRooms, numbers_of, state_of
from gossamer.web.search_address import GROUPS, PER_PAGE, Asked, asked, query_of, with_open_end
from gossamer.web.search_facets import chips_of
from gossamer.web.search_shown import STALE_S, carried, plain, shown_answer
from gossamer.web.search_table import as_csv
from gossamer.web.showing import Show

FACETS = (*(group.name for group in GROUPS), "date")
MOST_SUGGESTIONS, EACH, CONSIDERED = 8, 3, 30
LONGEST_BEGINNING = 200
NOTHING_ASKED = "Say what to look for: /search.json?q=words"
NOT_FOUND_SO = "That page is not in the index."
PLACES = {
    "title": "in its title",
    "headings": "in headings or bold",
    "content": "in its text",
    "rest": "beside its text",
    "address": "in its address",
    "anchors": "in links from other sites",
}


class Pulse(NamedTuple):
    at: Instant
    numbers: dict[str, float]
    state: str


class Way(NamedTuple):
    text: str
    words: str


WAYS = (
    Way("tropical fish", "pages with both words, in any of their forms"),
    Way('"tropical fish"', "the words side by side, as they stand"),
    Way("fish -soup", "without this word"),
    Way("harb*", "whatever begins so; harbor~ finds near spellings"),
    Way("title:harbour", "in the title; also heading:, text:, anchor: and url:"),
    Way("type:Person", "pages that state facts about a person; -type:Person about none"),
    Way("ontology:schema", "with facts in this vocabulary; property:schema:author with this property"),
    Way("site:example.org", "on this host, or one below it"),
    Way("lang:de", "in this language"),
    Way("since:2026-01-01 sort:newest", "fetched since that day, the newest first"),
)


class Suggestion(msgspec.Struct, frozen=True):
    text: str
    kind: str
    """What it is: title, name or word."""
    count: int
    """Pages that have it; 0 when nobody counted."""


class Suggestions(msgspec.Struct, frozen=True):
    suggestions: tuple[Suggestion, ...]
    """Best first."""


class Copies(msgspec.Struct, frozen=True):
    copies: tuple[Copy, ...]
    """Pages with one text, in the order of their addresses; at most 100."""


Question = Annotated[Asked, Depends(asked)]
Limit = Annotated[int, Query(ge=1, le=MOST_HITS)]


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes, pulse = APIRouter(), pulse_of(rooms)

    @routes.get("/", response_class=HTMLResponse)
    def search(asked: Question) -> Response:
        answer, error = found(rooms, asked)
        meant, answer = unfinished(rooms, asked, answer)
        page = values(rooms, pulse(), meant, answer, error) | {"words": asked.words}
        return show("search.html", 400 if error else 200, **page)

    @routes.get("/search.json", responses=answers_with(Answer))
    def search_json(request: Request, asked: Question, limit: Limit = PER_PAGE) -> Response:
        answer, error = found(rooms, asked, limit)
        return fault(request, show, 400, error or NOTHING_ASKED) if answer is None else json_answer(answer)

    @routes.get("/search.csv", responses=answers_with(str, media_type="text/csv"))
    def search_csv(request: Request, asked: Question, limit: Limit = MOST_HITS) -> Response:
        answer, error = found(rooms, asked, limit)
        if answer is None:
            return fault(request, show, 400, error or NOTHING_ASKED)
        return Response(as_csv(answer.hits), media_type="text/csv; charset=utf-8")

    @routes.get("/suggest.json", responses=answers_with(Suggestions))
    def suggest(q: Annotated[str, Query(max_length=1000)] = "") -> Response:
        return json_answer(suggestions_for(rooms, q))

    @routes.get("/search/why", response_class=HTMLResponse)
    def why(request: Request, asked: Question, url: str = "") -> Response:
        reasons = reasons_of(rooms, asked, url)
        if isinstance(reasons, str):
            return fault(request, show, 400, reasons)
        return show("search_why.html", asked=asked, url=url, reasons=reasons, places=PLACES)

    @routes.get("/search/why.json", responses=answers_with(Explanation))
    def why_json(request: Request, asked: Question, url: str = "") -> Response:
        reasons = reasons_of(rooms, asked, url)
        return fault(request, show, 400, reasons) if isinstance(reasons, str) else json_answer(reasons)

    @routes.get("/search/copies", response_class=HTMLResponse)
    def copies(request: Request, url: str = "") -> Response:
        alike = copies_of(rooms, url)
        if not alike:
            return fault(request, show, 404, NOT_FOUND_SO)
        return show("search_copies.html", url=url, copies=alike)

    @routes.get("/search/copies.json", responses=answers_with(Copies))
    def copies_json(request: Request, url: str = "") -> Response:
        alike = copies_of(rooms, url)
        return json_answer(Copies(tuple(alike))) if alike else fault(request, show, 404, NOT_FOUND_SO)

    return routes


def found(rooms: WebRooms, asked: Asked, limit: int = PER_PAGE) -> tuple[Answer | None, str]:
    """The answer, or what is wrong with the question; neither when nothing was asked."""
    if asked.is_empty:
        return None, ""
    try:
        return rooms.find(query_of(asked, limit), FACETS), ""
    except QueryRefused as trouble:
        return None, sentence(trouble)


def unfinished(rooms: WebRooms, asked: Asked, answer: Answer | None) -> tuple[Asked, Answer | None]:
    """Results come while one types: when no page has all the words, the last may not be finished yet. The question that
    was then answered (`harb*` for `harb`) is the one that every link of the page goes on from."""
    if answer is None or answer.with_all_words or asked.start or (longer := with_open_end(asked)) is None:
        return asked, answer
    query = query_of(longer)
    if not rooms.searching.is_found(query):  # most often: the word is whole, and on no page
        return asked, answer
    found = rooms.find(query, FACETS)
    return (longer, found) if found.with_all_words else (asked, answer)


def sentence(trouble: QueryRefused) -> str:
    words = str(trouble)
    return f"{words[:1].upper()}{words[1:]}."


def pulse_of(rooms: WebRooms) -> Callable[[], Pulse]:
    """How the crawl goes, asked at most once a second: results come with every letter typed."""
    last: Pulse | None = None

    def pulse() -> Pulse:
        nonlocal last
        now = rooms.clock.now()
        if last is None or not 0 <= now - last.at < SECOND:
            last = Pulse(now, numbers_of(rooms), state_of(rooms))
        return last

    return pulse


def values(rooms: WebRooms, pulse: Pulse, asked: Asked, answer: Answer | None, error: str) -> dict[str, object]:
    told: dict[str, object] = {
        "asked": asked,
        "parameters": asked.parameters,
        "answer": answer,
        "error": error,
        "numbers": pulse.numbers,
        "state": pulse.state,
        "is_stale": pulse.state == "running" and pulse.numbers.get("lag_s", 0.0) > STALE_S,
        "suggestions": rooms.suggestions,
        "ways": WAYS,
        "chips": chips_of(asked) if answer else [],
        "plain": plain(asked),
        "carried": carried(asked, "q"),
        "undated": carried(asked, "since", "until"),
        "hits": [],
    }
    return told | shown_answer(asked, answer) if answer else told


def suggestions_for(rooms: WebRooms, text: str) -> Suggestions:
    """Some of each kind: words go on with the question, names and titles end it. None for what is too long to be the
    beginning of anything."""
    if not text.strip() or len(text) > LONGEST_BEGINNING:
        return Suggestions(())
    found = rooms.searching.suggest(text, CONSIDERED)
    few = {kind: [one for one in found if one.kind == kind][:EACH] for kind in ("word", "name")}
    titles = [one for one in found if one.kind == "title"]
    chosen = [*few["word"], *few["name"], *titles][:MOST_SUGGESTIONS]
    return Suggestions(tuple(Suggestion(one.text, one.kind, one.count) for one in chosen))


def reasons_of(rooms: WebRooms, asked: Asked, text: str) -> Explanation | str:
    """Or what is wrong, in words."""
    url = url_of(text.strip())
    if url is None or asked.is_empty:
        return "Which page, and which words? Come from the results of a search."
    try:
        return rooms.searching.explain(query_of(asked), url) or NOT_FOUND_SO
    except QueryRefused as trouble:
        return sentence(trouble)


def copies_of(rooms: WebRooms, text: str) -> Sequence[Copy]:
    url = url_of(text.strip())
    return rooms.searching.copies(url) if url is not None else ()
