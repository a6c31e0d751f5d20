"""What a worker does for a query to a SPARQL server: it writes the query, and then the answer.

The worker is killable and has no network. Both parsers that see hostile text run in it: the engine's, which is
recursive, and that of the server's answer. Only the process that called it speaks to the server.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec
from pyoxigraph import (
    Literal,
    NamedNode,
    Quad,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Store,
    Triple,
    Variable,
    parse,
    parse_query_results,
)

from gossamer.base.errors import ConfigError, QueryRefused, ViewDamaged
from gossamer.extract.origins import FactOrigin, text_of
from gossamer.extract.vocabularies import Kind, canonical, with_own
from gossamer.views.facts import results
from gossamer.views.facts.inference import Widened
from gossamer.views.facts.query_job import (
    IS_A,
    SPECIALISES,
    Functions,
    SourcesUnreadable,
    SparqlQuestion,
    SparqlRefused,
    SparqlResult,
    Term,
    with_canonical_names,
    with_inference,
)
from gossamer.views.facts.query_text import explained, inspect
from gossamer.views.facts.server.query import ORIGINS, OriginColumn, ServerQuery, server_query
from gossamer.views.facts.server.terms import read_term
from gossamer.views.facts.sources import PATH, SPELLING, SYNTAX, SourcesReader

CUT_SHORT = "The server ended its answer too early: it ran out of time, or of memory. Ask for less."
T = TypeVar("T")
Row = tuple[Term | None, ...]
Stated = tuple[Kind, str]
"""A class or property."""


class Preparation(msgspec.Struct, frozen=True, tag=True):
    question: SparqlQuestion
    stated: tuple[Stated, ...] | None = None
    """The classes and properties that some fact has, of those that inference asks for; None: not known yet."""


class Prepared(msgspec.Struct, frozen=True, tag=True):
    """What to send to the server."""

    query: ServerQuery
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    graphs: tuple[str, ...]
    """Each must be a page with facts: also those that the query itself names."""
    ran: str = ""
    """The query before it was written for the server, where inference or canonical names changed it."""
    notes: tuple[str, ...] = ()


class InferenceNeeds(msgspec.Struct, frozen=True, tag=True):
    """Which of these some fact has must be known first."""

    candidates: tuple[Stated, ...]


class ServerAnswer(msgspec.Struct, frozen=True, tag=True):
    """The server's answer, to be written in the form that the client asks for."""

    question: SparqlQuestion
    prepared: Prepared
    body: bytes
    is_cut: bool
    """The body was longer than was read."""
    captures: dict[str, int] | None = None
    """The captures that the facts of pages are from; None: not known yet."""
    origins: dict[str, bytes] | None = None
    """Where the facts of these pages are, packed; None: the database of the question has them."""


class OriginsNeeded(msgspec.Struct, frozen=True, tag=True):
    """The captures of these pages must be known first."""

    pages: tuple[str, ...]


Order = Preparation | ServerAnswer
Reply = Prepared | InferenceNeeds | OriginsNeeded | SparqlResult | SparqlRefused | SourcesUnreadable

_orders = msgspec.msgpack.Decoder(Order)
_replies = msgspec.msgpack.Encoder()
_FUNCTIONS: Functions = {NamedNode(one): lambda *_: None for one in (*ORIGINS, IS_A.value, SPECIALISES.value)}
"""Their names, so that the engine can parse a query with them."""


def job(payload: bytes) -> bytes:
    order = _orders.decode(payload)
    return _replies.encode(_prepared(order) if isinstance(order, Preparation) else _written(order))


def _prepared(order: Preparation) -> Reply:
    question = order.question
    try:
        inspect(question.query)
        known = with_own(question.vocabulary)
        meant = with_canonical_names(question, _FUNCTIONS)
        _refuse_syntax(meant.query)
        asked, candidates = Widened(meant.query, ()), dict[Stated, None]()
        if question.has_inference:

            def is_stated(kind: Kind, iri: str) -> bool:
                candidates[kind, iri] = None
                return order.stated is not None and (kind, iri) in order.stated

            asked = with_inference(meant, known, is_stated, _FUNCTIONS, repeats_graph=True)
            if candidates and order.stated is None:
                return InferenceNeeds(tuple(candidates))
        spell = str if question.has_exact_names else canonical
        default = tuple([spell(one) for one in question.default_graphs])
        named = tuple([spell(one) for one in question.named_graphs])
        graphs = dict.fromkeys([*default, *named, *inspect(meant.query)])
        for name in graphs:
            _refuse_no_iri(name)
        found = server_query(asked.query, known, question.most_rows)
        ran = asked.query if asked.query != question.query else ""
        return Prepared(found, default, named, tuple(graphs), ran, (*meant.notes, *asked.notes))
    except (QueryRefused, ConfigError) as refused:
        return SparqlRefused(str(refused))
    except SyntaxError as trouble:
        return SparqlRefused(explained(question.query, str(trouble)))


def _refuse_syntax(query: str) -> None:
    """Raises SyntaxError, and QueryRefused for an unknown function."""
    try:
        Store().query(query, custom_functions=_FUNCTIONS)
    except RuntimeError as trouble:
        raise QueryRefused(str(trouble)) from None


def _refuse_no_iri(name: str) -> None:
    try:
        NamedNode(name)
    except ValueError:
        raise QueryRefused(f"<{name}> is not an absolute IRI, which FROM needs.") from None


def _written(order: ServerAnswer) -> Reply:
    question, prepared = order.question, order.prepared
    limits = question.most_rows, question.most_bytes
    offered = results.TRIPLES if prepared.query.form == "triples" else results.ROWS
    media_type = results.media_type_for(question.accept, offered)
    try:
        if prepared.query.form == "triples":
            triples = (_read_triple(triple) for triple in _until_cut(parse(order.body, RdfFormat.N_TRIPLES), order))
            body, is_cut = results.write_triples(triples, media_type, *limits)
        else:
            answer = parse_query_results(order.body, format=QueryResultsFormat.JSON)
            if isinstance(answer, QueryBoolean):
                body, is_cut = results.write_truth(answer, media_type)
            else:
                with closing(ServerRows(answer, order)) as rows:
                    if unknown := rows.pages_without_capture():
                        return OriginsNeeded(tuple(unknown))
                    body, is_cut = results.write_rows(rows, media_type, *limits)
    except SyntaxError:
        return SparqlRefused(CUT_SHORT)
    except QueryRefused as refused:
        return SparqlRefused(str(refused))
    except ViewDamaged as damage:
        return SourcesUnreadable(damage.why)
    return SparqlResult(media_type, body, is_cut or order.is_cut, query=prepared.ran, notes=prepared.notes)


def _until_cut(parts: Iterable[T], order: ServerAnswer) -> Iterator[T]:
    """Those before the place where we stopped reading. Raises SyntaxError if the server stopped writing instead."""
    try:
        yield from parts
    except SyntaxError:
        if not order.is_cut:
            raise


def _read_triple(given: Quad) -> Triple:
    return Triple(read_term(given.subject), given.predicate, read_term(given.object))  # type: ignore[arg-type]


class ServerRows:
    """The rows of the server's answer, with the columns that are computed here. `close` it."""

    def __init__(self, answer: QuerySolutions, order: ServerAnswer) -> None:
        query, question = order.prepared.query, order.question
        names = [variable.value for variable in answer.variables]
        self._place_of = {name: place for place, name in enumerate(names)}
        self._shown = [place for place, name in enumerate(names) if name not in query.helpers]
        self._columns, self._captures = query.columns, order.captures
        self._sources = SourcesReader(Path(question.sources), order.origins)
        rows = (tuple([None if term is None else read_term(term) for term in row]) for row in _until_cut(answer, order))
        self._rows: Iterable[Row] = list(islice(rows, question.most_rows + 1)) if self._columns else rows
        shown = [names[place] for place in self._shown]
        for column in self._columns:
            shown.insert(column.place, column.name)
        self.variables = [Variable(name) for name in shown]

    def close(self) -> None:
        self._sources.close()

    def pages_without_capture(self) -> list[str]:
        if not self._columns or self._captures is not None:
            return []
        pages = (self._value(column.arguments[0], row) for row in self._rows for column in self._columns)
        return list(dict.fromkeys(page.value for page in pages if isinstance(page, NamedNode)))

    def __iter__(self) -> Iterator[list[Term | None]]:
        for row in self._rows:
            found = [row[place] for place in self._shown]
            for column in self._columns:
                found.insert(column.place, self._origin(column, row))
            yield found

    def _value(self, argument: str, row: Row) -> Term | None:
        if not argument.startswith("?"):
            return _constant(argument)
        place = self._place_of.get(argument[1:])
        return None if place is None else row[place]

    def _origin(self, column: OriginColumn, row: Row) -> Literal | None:
        """Unbound where that is not known for the capture that the facts are from."""
        page, *terms = (self._value(argument, row) for argument in column.arguments)
        capture = (self._captures or {}).get(page.value) if isinstance(page, NamedNode) else None
        if capture is None or any(term is None or isinstance(term, Triple) for term in terms):
            return None
        assert isinstance(page, NamedNode)
        record = self._sources.record_of(page.value, capture)
        parts = [text_of(term) for term in terms if term is not None and not isinstance(term, Triple)]
        found = record.of(" ".join(parts).encode()) if record is not None else None
        text = None if found is None else _TEXTS[column.function](found)
        return None if text is None else Literal(text)


_TEXTS: dict[str, Callable[[FactOrigin], str | None]] = {
    SYNTAX: lambda origin: " ".join(origin.syntaxes),
    PATH: lambda origin: origin.path,
    SPELLING: lambda origin: origin.spelling or None,
}


def _constant(text: str) -> Term:
    """A term that was written as N-Triples."""
    quad: Quad = next(parse(f"<urn:s> <urn:p> {text} .", RdfFormat.N_TRIPLES))
    return quad.object
