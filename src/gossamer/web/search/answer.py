"""A search from the question to the bytes of the response, in the web process or in a search process.

It imports nothing of the web framework, so that search processes need not load that.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import jinja2
import msgspec

from gossamer.base.clock import Instant, SystemClock, in_words
from gossamer.base.errors import GossamerError, QueryRefused
from gossamer.collection.views import search_of
from gossamer.extract.vocabularies import bundled
from gossamer.search.find import Hit, SearchAnswer
from gossamer.store.directory import Directory
from gossamer.values.format import csv_line, json_bytes
from gossamer.values.query import Query
from gossamer.views.words.dictionary import Completion
from gossamer.web.render import make_templates, sentence
from gossamer.web.search.results import STALE_S, carried, chips_of, results_view
from gossamer.web.search.state import GROUPS, PER_PAGE, SearchState, query_of, search_state, with_prefix

FACETS = (*(group.name for group in GROUPS), "date")
MOST_SUGGESTIONS, EACH, CONSIDERED = 8, 3, 30
LONGEST_BEGINNING = 200
UNAVAILABLE = 503
NOTHING_ASKED = "Missing search terms: /search.json?q=words"

Kind = Literal["page", "json", "csv", "suggest"]
Suggest = Callable[[str, int], Sequence[Completion]]


class Find(Protocol):
    """`facets`: the filters to count the matching pages by. Raises QueryRefused."""

    def __call__(self, query: Query, facets: Sequence[str] = ()) -> SearchAnswer: ...


class CrawlPulse(NamedTuple):
    at: Instant
    numbers: dict[str, float]
    state: str


NO_PULSE = CrawlPulse(0, {"pages": 0, "queued": 0, "hosts": 0}, "idle")


class SyntaxExample(NamedTuple):
    text: str
    words: str


SYNTAX = (
    SyntaxExample("tropical fish", "pages with both words, in any of their forms"),
    SyntaxExample('"tropical fish"', "this exact phrase"),
    SyntaxExample("fish -soup", "exclude a word; -soup alone finds every page without it"),
    SyntaxExample("harb*", "words that start with harb; harbor~ finds similar spellings"),
    SyntaxExample("title:harbour", "in the title; also heading:, text:, anchor: and url:"),
    SyntaxExample("type:Person", "pages with facts about a person; -type:Person for pages without"),
    SyntaxExample("ontology:schema", "with facts in this vocabulary; property:schema:author with this property"),
    SyntaxExample("site:example.org", "on this host or its subdomains"),
    SyntaxExample("lang:de", "in this language"),
    SyntaxExample("since:2026-01-01 sort:newest", "fetched since that day, newest first"),
)


class SearchSuggestion(msgspec.Struct, frozen=True):
    text: str
    kind: str
    """title, name or word"""
    count: int
    """Pages that have it; 0 if they were not counted."""


class SearchSuggestions(msgspec.Struct, frozen=True):
    suggestions: tuple[SearchSuggestion, ...]
    """Best first."""


class SearchQuestion(msgspec.Struct, frozen=True, array_like=True):
    """A search, and all that its answer needs apart from the index."""

    kind: Kind
    search: SearchState
    """For suggestions, its words are what was typed so far."""
    limit: int = PER_PAGE
    pulse: CrawlPulse | None = None
    """For pages, which show the state of the crawl."""


class Reply(msgspec.Struct, frozen=True, array_like=True):
    body: bytes
    status: int = 200
    refused: str = ""
    """What is wrong with the search, in words; there is no body then."""
    is_full: bool = False
    """It has as many results as the limit allows: there may be more."""


@dataclass(frozen=True, slots=True)
class Answering:
    find: Find
    is_found: Callable[[Query], bool]
    suggest: Suggest
    templates: jinja2.Environment
    examples: tuple[str, ...] = ()
    """Searches that the start page suggests."""

    def __call__(self, question: SearchQuestion) -> Reply:
        search = question.search
        match question.kind:
            case "suggest":
                return Reply(msgspec.json.encode(suggestions_for(self.suggest, search.words)))
            case "page":
                return self._page(search, question.pulse or NO_PULSE)
        is_table = question.kind == "csv"
        answer, error = self._found(search, question.limit, () if is_table else FACETS)
        if answer is None:
            return Reply(b"", 400, error or NOTHING_ASKED)
        is_full = len(answer.hits) == question.limit
        return Reply(as_csv(answer.hits) if is_table else json_bytes(answer), is_full=is_full)

    def unavailable(self, question: SearchQuestion, words: str) -> Reply:
        """The reply when no process could answer; the page keeps what was typed."""
        if question.kind != "page":
            return Reply(b"", UNAVAILABLE, words)
        page = self._render(question.search, question.search.words, question.pulse or NO_PULSE, None, words)
        return Reply(page, UNAVAILABLE)

    def _found(
        self, search: SearchState, limit: int = PER_PAGE, facets: Sequence[str] = FACETS
    ) -> tuple[SearchAnswer | None, str]:
        """The answer, or what is wrong with the search; neither if the search is empty."""
        if search.is_empty:
            return None, ""
        try:
            return self.find(query_of(search, limit), facets), ""
        except QueryRefused as trouble:
            return None, sentence(trouble)

    def _page(self, search: SearchState, pulse: CrawlPulse) -> Reply:
        answer, error = self._found(search)
        completed, answer = self._with_last_word_completed(search, answer)
        return Reply(self._render(completed, search.words, pulse, answer, error), 400 if error else 200)

    def _with_last_word_completed(
        self, search: SearchState, answer: SearchAnswer | None
    ) -> tuple[SearchState, SearchAnswer | None]:
        """Results appear while people type: if no page has all words, the last one may be incomplete.

        Then the search with a prefix (`harb*` for `harb`) is answered, and every link of the page starts from that one.
        """
        if answer is None or answer.with_all_words or search.start or (longer := with_prefix(search)) is None:
            return search, answer
        query = query_of(longer)
        if not self.is_found(query):  # the usual case: the word is complete, and on no page
            return search, answer
        completed = self.find(query, FACETS)
        return (longer, completed) if completed.with_all_words else (search, answer)

    def _render(
        self, search: SearchState, words: str, pulse: CrawlPulse, answer: SearchAnswer | None, error: str
    ) -> bytes:
        """`words` as typed; those of `search` may end in a prefix instead."""
        values: dict[str, object] = {
            "search": search,
            "words": words,
            "parameters": search.parameters,
            "answer": answer,
            "error": error,
            "numbers": pulse.numbers,
            "state": pulse.state,
            "is_stale": pulse.state == "running" and pulse.numbers.get("lag_s", 0.0) > STALE_S,
            "suggestions": self.examples,
            "syntax": SYNTAX,
            "chips": chips_of(search) if answer else [],
            "without_filters": SearchState(words=search.words, sort=search.sort).href,
            "carried": carried(search, "q"),
            "undated": carried(search, "since", "until"),
            "hits": [],
        }
        if answer:
            values |= results_view(search, answer)
        return self.templates.get_template("search.html").render(values).encode()


def suggestions_for(suggest: Suggest, text: str) -> SearchSuggestions:
    """Some of each kind: words, then names, then titles. None if the text is too long to be the beginning of one."""
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
    """Several types or syntaxes share a cell, separated by spaces, which no IRI contains."""
    return b"".join([HEAD, *[csv_line(csv_cells(hit)) for hit in hits]])


def cut_line(rows: int, why: str) -> bytes:
    """The last line of an incomplete table: no URL, and the reason in place of the title."""
    return csv_line(["", f"cut after {rows:,} results: {why}", *[""] * (len(COLUMNS) - 2)])


def csv_cells(hit: Hit) -> list[str | int]:
    texts = (hit.url, hit.title, hit.site, hit.language, in_words(hit.fetched_at))
    lists = (" ".join(hit.types), " ".join(hit.syntaxes))
    snippet = "".join(piece.text for piece in hit.snippet)
    return [*texts, *lists, hit.fact_count, hit.copies, hit.linked_from, f"{hit.score:.4f}", snippet]


RENEW = b""
"""The payload without a question: reopen the index. It is sent to one process after the other, every second in which
there was a question, so that no question waits for it."""
IDLE_S = 3.0
"""If no RENEW came for so long, because there were no questions, the next question reopens the index first."""
WARM_UP = ("th* in*", "an* type:Thing")
"""Searches that a new process runs for itself. The first question would otherwise wait a third of a second in a large
collection for templates, files and links that are loaded when first needed."""
TROUBLE = (GossamerError, OSError, ValueError)
"""The views cannot be read: neither the question nor the process is to blame."""
NO_ANSWER = b""
_question = msgspec.msgpack.Decoder(SearchQuestion)
_reply = msgspec.msgpack.Encoder()


def search_in(directory: str) -> Callable[[bytes], bytes]:
    """The job of a search process for the collection in this directory: a question in, its reply out."""
    search = search_of(Directory(Path(directory)), SystemClock(), IDLE_S)
    answering = Answering(search.find, search.is_found, search.suggest, make_templates())
    bundled()
    with contextlib.suppress(*TROUBLE):  # the first question reports it
        if search.renew():
            for words in WARM_UP:
                answering(SearchQuestion("page", search_state(words, {}, {})))

    def job(payload: bytes) -> bytes:
        question = _question.decode(payload) if payload != RENEW else None
        try:
            if question is not None:
                return _reply.encode(answering(question))
            search.renew()
        except TROUBLE:  # the web process then searches itself, and reports what is wrong
            pass
        return NO_ANSWER

    return job
