"""A search answered whole, from the question to the bytes that are sent: by the web process itself, or by another one
that has nothing else to do. Nothing of the web framework is loaded by this."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import jinja2
import msgspec

from gossamer.base.clock import Instant, in_words
from gossamer.base.errors import QueryRefused
from gossamer.search.find import Hit, SearchAnswer
from gossamer.values.format import csv_line, json_bytes
from gossamer.values.query import Query
from gossamer.views.words.dictionary import Completion
from gossamer.web.render import sentence
from gossamer.web.search.address import GROUPS, PER_PAGE, SearchAddress, query_of, with_open_end
from gossamer.web.search.results import STALE_S, carried, chips_of, plain, shown_answer

FACETS = (*(group.name for group in GROUPS), "date")
MOST_SUGGESTIONS, EACH, CONSIDERED = 8, 3, 30
LONGEST_BEGINNING = 200
UNAVAILABLE = 503
NOTHING_ASKED = "Missing search terms: /search.json?q=words"

Kind = Literal["page", "json", "csv", "suggest"]
Suggest = Callable[[str, int], Sequence[Completion]]


class Find(Protocol):
    """`facets`: names of filters to count the matching pages by. Raises QueryRefused."""

    def __call__(self, query: Query, facets: Sequence[str] = ()) -> SearchAnswer: ...


class CrawlPulse(NamedTuple):
    at: Instant
    numbers: dict[str, float]
    state: str


NO_PULSE = CrawlPulse(0, {"pages": 0, "queued": 0, "hosts": 0}, "at rest")


class WayOut(NamedTuple):
    text: str
    words: str


WAYS = (
    WayOut("tropical fish", "pages with both words, in any of their forms"),
    WayOut('"tropical fish"', "this exact phrase"),
    WayOut("fish -soup", "exclude a word; -soup alone finds every page without it"),
    WayOut("harb*", "words that start with harb; harbor~ finds similar spellings"),
    WayOut("title:harbour", "in the title; also heading:, text:, anchor: and url:"),
    WayOut("type:Person", "pages with facts about a person; -type:Person for pages without"),
    WayOut("ontology:schema", "with facts in this vocabulary; property:schema:author with this property"),
    WayOut("site:example.org", "on this host or its subdomains"),
    WayOut("lang:de", "in this language"),
    WayOut("since:2026-01-01 sort:newest", "fetched since that day, newest first"),
)


class SearchSuggestion(msgspec.Struct, frozen=True):
    text: str
    kind: str
    """What it is: title, name or word."""
    count: int
    """Pages that have it; 0 when nobody counted."""


class SearchSuggestions(msgspec.Struct, frozen=True):
    suggestions: tuple[SearchSuggestion, ...]
    """Best first."""


class SearchQuestion(msgspec.Struct, frozen=True, array_like=True):
    """What is asked, and all that its answer needs beside the index."""

    kind: Kind
    asked: SearchAddress
    """For suggestions its words are the beginning of some."""
    limit: int = PER_PAGE
    pulse: CrawlPulse | None = None
    """For pages, which say how the crawl goes."""


class Reply(msgspec.Struct, frozen=True, array_like=True):
    body: bytes
    status: int = 200
    refused: str = ""
    """What is wrong with the question, in words; then there is no body."""
    is_full: bool = False
    """As many results as were asked for: there may be more."""


@dataclass(frozen=True, slots=True)
class Answering:
    find: Find
    is_found: Callable[[Query], bool]
    suggest: Suggest
    templates: jinja2.Environment
    examples: tuple[str, ...] = ()
    """Questions that the page proposes before anything was asked."""

    def __call__(self, question: SearchQuestion) -> Reply:
        if question.kind == "suggest":
            return Reply(msgspec.json.encode(suggestions_for(self.suggest, question.asked.words)))
        if question.kind == "page":
            return self._page(question.asked, question.pulse or NO_PULSE)
        is_table = question.kind == "csv"
        answer, error = found(self.find, question.asked, question.limit, () if is_table else FACETS)
        if answer is None:
            return Reply(b"", 400, error or NOTHING_ASKED)
        is_full = len(answer.hits) == question.limit
        return Reply(as_csv(answer.hits) if is_table else json_bytes(answer), is_full=is_full)

    def sorry(self, question: SearchQuestion, words: str) -> Reply:
        """For a question that nobody could answer, through no fault of its own: who sees the page keeps it."""
        if question.kind != "page":
            return Reply(b"", UNAVAILABLE, words)
        shown = values(self.examples, question.pulse or NO_PULSE, question.asked, None, words)
        page = self.templates.get_template("search.html").render(shown | {"words": question.asked.words})
        return Reply(page.encode(), UNAVAILABLE)

    def _page(self, asked: SearchAddress, pulse: CrawlPulse) -> Reply:
        answer, error = found(self.find, asked)
        meant, answer = unfinished(self.find, self.is_found, asked, answer)
        shown = values(self.examples, pulse, meant, answer, error) | {"words": asked.words}
        page = self.templates.get_template("search.html").render(shown)
        return Reply(page.encode(), 400 if error else 200)


def found(
    find: Find, asked: SearchAddress, limit: int = PER_PAGE, facets: Sequence[str] = FACETS
) -> tuple[SearchAnswer | None, str]:
    """The answer, or what is wrong with the question; neither when nothing was asked."""
    if asked.is_empty:
        return None, ""
    try:
        return find(query_of(asked, limit), facets), ""
    except QueryRefused as trouble:
        return None, sentence(trouble)


def unfinished(
    find: Find, is_found: Callable[[Query], bool], asked: SearchAddress, answer: SearchAnswer | None
) -> tuple[SearchAddress, SearchAnswer | None]:
    """Results come while one types: when no page has all the words, the last may not be finished yet. The question that
    was then answered (`harb*` for `harb`) is the one that every link of the page goes on from."""
    if answer is None or answer.with_all_words or asked.start or (longer := with_open_end(asked)) is None:
        return asked, answer
    query = query_of(longer)
    if not is_found(query):  # most often: the word is whole, and on no page
        return asked, answer
    finished = find(query, FACETS)
    return (longer, finished) if finished.with_all_words else (asked, answer)


def values(
    examples: tuple[str, ...], pulse: CrawlPulse, asked: SearchAddress, answer: SearchAnswer | None, error: str
) -> dict[str, object]:
    told: dict[str, object] = {
        "asked": asked,
        "parameters": asked.parameters,
        "answer": answer,
        "error": error,
        "numbers": pulse.numbers,
        "state": pulse.state,
        "is_stale": pulse.state == "running" and pulse.numbers.get("lag_s", 0.0) > STALE_S,
        "suggestions": examples,
        "ways": WAYS,
        "chips": chips_of(asked) if answer else [],
        "plain": plain(asked),
        "carried": carried(asked, "q"),
        "undated": carried(asked, "since", "until"),
        "hits": [],
    }
    return told | shown_answer(asked, answer) if answer else told


def suggestions_for(suggest: Suggest, text: str) -> SearchSuggestions:
    """Some of each kind: words go on with the question, names and titles end it. None for what is too long to be the
    beginning of anything."""
    if not text.strip() or len(text) > LONGEST_BEGINNING:
        return SearchSuggestions(())
    found = suggest(text, CONSIDERED)
    few = {kind: [one for one in found if one.kind == kind][:EACH] for kind in ("word", "name")}
    titles = [one for one in found if one.kind == "title"]
    chosen = [*few["word"], *few["name"], *titles][:MOST_SUGGESTIONS]
    return SearchSuggestions(tuple(SearchSuggestion(one.text, one.kind, one.count) for one in chosen))


COLUMNS = (
    "url", "title", "site", "language", "fetched_at", "types", "syntaxes", "facts", "copies", "linked_from", "score",
    "snippet",
)  # fmt: skip
HEAD = csv_line(COLUMNS)


def as_csv(hits: Iterable[Hit]) -> bytes:
    """Several types or syntaxes stand in one cell, a space between them: no IRI holds one."""
    return b"".join([HEAD, *[csv_line(csv_cells(hit)) for hit in hits]])


def cut_line(rows: int, why: str) -> bytes:
    """The last line of a table that is not whole: no address, and why in the place of the title."""
    return csv_line(["", f"cut after {rows:,} results: {why}", *[""] * (len(COLUMNS) - 2)])


def csv_cells(hit: Hit) -> list[str | int]:
    texts = (hit.url, hit.title, hit.site, hit.language, in_words(hit.fetched_at))
    numbers = (hit.fact_count, hit.copies, hit.linked_from)
    lists = (" ".join(hit.types), " ".join(hit.syntaxes))
    return [*texts, *lists, *numbers, f"{hit.score:.4f}", "".join(piece.text for piece in hit.snippet)]
