"""Answer one SPARQL query, in a killable worker that has no network and writes nothing."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, QueryBoolean, QuerySolutions, Store, Triple

from gossamer.base.clock import Instant
from gossamer.base.errors import ConfigError, QueryRefused, ViewDamaged
from gossamer.extract.origins import FactOrigin, text_of
from gossamer.extract.vocabularies import Kind, Vocabularies, canonical, with_own
from gossamer.views.facts import results
from gossamer.views.facts.checkpoints import format_mismatch, seal_mismatch
from gossamer.views.facts.inference import TYPE, IsStated, Widened, widened
from gossamer.views.facts.query_text import Canonical, canonical_query, explained, inspect, refuse_remote, tokens_of
from gossamer.views.facts.sources import CAPTURE, PATH, PROVENANCE, SPELLING, SYNTAX, SourcesReader

Term = NamedNode | BlankNode | Literal | Triple
Functions = dict[NamedNode, Callable[..., Term | None]]

IS_A = NamedNode("urn:gossamer:is-a")
"""A function in queries: whether a class equals another or is a subclass, `urn:gossamer:is-a(?type, schema:Place)`."""
SPECIALISES = NamedNode("urn:gossamer:specialises")
"""The same for properties."""


class SparqlQuestion(msgspec.Struct, frozen=True):
    checkpoint: str
    """The folder to read; empty while there is none, which is a store without facts."""
    query: str
    accept: str
    most_rows: int
    most_bytes: int
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    sources: str = ""
    """The database of where each fact is on its page; empty for none."""
    has_inference: bool = False
    """Whether it also finds what follows from the vocabularies, see `inference`."""
    vocabulary: bytes = b""
    """The user's own class and property relations, as Turtle."""
    has_exact_names: bool = False
    """Whether names match only as they are spelled in the query, without variants."""


class SparqlResult(msgspec.Struct, frozen=True, tag=True):
    media_type: str
    body: bytes
    truncated: bool
    """The limit on rows or bytes cut the answer."""
    as_of: Instant = 0
    """The facts are those of this moment; the pool knows it, and not the worker."""
    query: str = ""
    """As it ran, where inference or canonical names changed it."""
    notes: tuple[str, ...] = ()
    """What inference added, where it does not apply, and strings that look like names."""


class SparqlRefused(msgspec.Struct, frozen=True, tag=True):
    words: str


class CheckpointGone(msgspec.Struct, frozen=True, tag=True):
    """The checkpoint was deleted; ask again with a newer one."""


class CheckpointDamaged(msgspec.Struct, frozen=True, tag=True):
    """The checkpoint exists but cannot be read."""

    words: str


class SourcesUnreadable(msgspec.Struct, frozen=True, tag=True):
    """The query asks where facts are on their pages, and that database cannot be read."""

    words: str


Reply = SparqlResult | SparqlRefused | CheckpointGone | CheckpointDamaged | SourcesUnreadable

_questions = msgspec.msgpack.Decoder(SparqlQuestion)
_replies = msgspec.msgpack.Encoder()
_opened: dict[str, Store] = {}
"""The one store this process has open, by folder: opening one costs more than most queries."""
_CAPTURE, _PROVENANCE = NamedNode(CAPTURE), NamedNode(PROVENANCE)
_readers: dict[str, SourcesReader] = {}
_stated: dict[tuple[Kind, str], bool] = {}
"""Whether any fact of the open store uses a class or property."""


def job(payload: bytes) -> bytes:
    return _replies.encode(_reply(_questions.decode(payload)))


def _reply(question: SparqlQuestion) -> Reply:
    try:
        inspect(question.query)
        try:
            return _answer(_store(question.checkpoint), question)
        except (OSError, RuntimeError) as trouble:  # RuntimeError means corruption
            _opened.clear()
            return CheckpointDamaged(str(trouble)) if Path(question.checkpoint).is_dir() else CheckpointGone()
        finally:
            for reader in _readers.values():
                reader.close()
    except (QueryRefused, ConfigError) as refused:
        return SparqlRefused(str(refused))
    except SyntaxError as trouble:
        return SparqlRefused(explained(question.query, str(trouble)))


def _store(folder: str) -> Store:
    if folder not in _opened:
        _opened.clear()
        _stated.clear()
        if folder and (why := format_mismatch(Path(folder)) or seal_mismatch(Path(folder))):
            raise OSError(why)
        _opened[folder] = Store.read_only(folder) if folder else Store()
    return _opened[folder]


def _answer(store: Store, question: SparqlQuestion) -> Reply:
    known = with_own(question.vocabulary)
    errors: list[str] = []
    functions = _functions(store, question.sources, errors) | _relations(known)
    meant = with_canonical_names(question, functions)
    spell = str if question.has_exact_names else canonical
    default: list[NamedNode | BlankNode | DefaultGraph] = [_page(store, spell(one)) for one in question.default_graphs]
    named: list[NamedNode | BlankNode] = [_page(store, spell(one)) for one in question.named_graphs]
    named_in_query = inspect(meant.query)
    for name in named_in_query:
        _page(store, name)
    has_dataset = bool(default or named or named_in_query)
    asked = Widened(meant.query, ())
    if question.has_inference:
        asked = with_inference(meant, known, _is_stated_in(store), functions)
    answer = store.query(
        asked.query,
        use_default_graph_as_union=not has_dataset,
        default_graph=default if default or named else None,
        named_graphs=named if default or named else None,
        custom_functions=functions,
    )
    if isinstance(answer, QueryBoolean):
        media_type = results.media_type_for(question.accept, results.ROWS)
        body, cut = results.write_truth(answer, media_type)
    elif isinstance(answer, QuerySolutions):
        media_type = results.media_type_for(question.accept, results.ROWS)
        body, cut = results.write_rows(answer, media_type, question.most_rows, question.most_bytes)
    else:
        media_type = results.media_type_for(question.accept, results.TRIPLES)
        body, cut = results.write_triples(answer, media_type, question.most_rows, question.most_bytes)
    if errors:
        return SourcesUnreadable(errors[0])
    ran = asked.query if asked.query != question.query else ""
    return SparqlResult(media_type, body, cut, query=ran, notes=(*meant.notes, *asked.notes))


def with_canonical_names(question: SparqlQuestion, functions: Functions) -> Canonical:
    """Raises SyntaxError."""
    if question.has_exact_names:
        return Canonical(question.query, ())
    meant = canonical_query(question.query)
    if meant.query != question.query or question.has_inference:
        Store().query(question.query, custom_functions=functions)  # so that an error message quotes the user's own text
    return meant


def with_inference(
    meant: Canonical, known: Vocabularies, is_stated: IsStated, functions: Functions, repeats_graph: bool = False
) -> Widened:
    """Raises QueryRefused."""
    asked = widened(meant.query, known, is_stated, repeats_graph)
    refuse_remote(tokens_of(asked.query))  # check what will run
    try:
        Store().query(asked.query, custom_functions=functions)
    except SyntaxError:
        raise QueryRefused("This query is too complex for inference; run it without.") from None
    return asked


def _is_stated_in(store: Store) -> IsStated:
    def is_stated(kind: Kind, iri: str) -> bool:
        if (kind, iri) not in _stated:
            term = NamedNode(iri)
            found = store.quads_for_pattern(None, NamedNode(TYPE), term) if kind == "class" else None
            found = store.quads_for_pattern(None, term, None) if found is None else found
            _stated[kind, iri] = next(found, None) is not None
        return _stated[kind, iri]

    return is_stated


def _relations(known: Vocabularies) -> Functions:
    """Functions on the vocabularies, for FILTER. Unbound (which FILTER takes for false) unless both terms are IRIs."""
    is_so: dict[tuple[Kind, str, str], Literal] = {}

    def compared(kind: Kind, terms: tuple[Term, ...]) -> Literal | None:
        match terms:
            case (NamedNode() as narrow, NamedNode() as wide):
                key = (kind, narrow.value, wide.value)
                if key not in is_so:
                    is_so[key] = Literal(known.is_a(narrow.value, wide.value, kind))
                return is_so[key]
        return None

    return {
        IS_A: lambda *terms: compared("class", terms),
        SPECIALISES: lambda *terms: compared("property", terms),
    }


def _functions(store: Store, path: str, errors: list[str]) -> Functions:
    """Functions on where a fact comes from; unbound where that is not known for the capture the facts are from.

    The database's errors are added to `errors`: to the engine, an exception in a function means unbound too."""
    if path not in _readers:
        _readers.clear()
        _readers[path] = SourcesReader(Path(path))
    reader = _readers[path]

    def source(graph: Term, subject: Term, predicate: Term, object_: Term) -> FactOrigin | None:
        if not isinstance(graph, NamedNode) or isinstance(subject, Literal) or not isinstance(predicate, NamedNode):
            return None
        if not path or Quad(subject, predicate, object_, graph) not in store:  # only stored facts, no invented ones
            return None
        capture = next(store.quads_for_pattern(graph, _CAPTURE, None, _PROVENANCE), None)
        if capture is None or not isinstance(capture.object, Literal):
            return None
        try:
            record = reader.record_of(graph.value, int(capture.object.value))
        except ViewDamaged as damage:
            errors.append(damage.why)
            return None
        parts = [text_of(part) for part in (subject, predicate, object_) if not isinstance(part, Triple)]
        return record.of(" ".join(parts).encode()) if record is not None and len(parts) == 3 else None

    def function(text_of_origin: Callable[[FactOrigin], str | None]) -> Callable[..., Literal | None]:
        def text_of_terms(*terms: Term) -> Literal | None:
            found = source(*terms) if len(terms) == 4 else None
            text = text_of_origin(found) if found is not None else None
            return None if text is None else Literal(text)

        return text_of_terms

    return {
        NamedNode(SYNTAX): function(lambda origin: " ".join(origin.syntaxes)),
        NamedNode(PATH): function(lambda origin: origin.path),
        NamedNode(SPELLING): function(lambda origin: origin.spelling or None),
    }


def _page(store: Store, name: str) -> NamedNode:
    """A graph of this collection; nothing is ever fetched for a query."""
    try:
        graph = NamedNode(name)
    except ValueError:
        raise QueryRefused(f"<{name}> is not an absolute IRI, which FROM needs.") from None
    if not store.contains_named_graph(graph):
        raise QueryRefused(f"<{name}> is not a page with facts in this collection; no other graph can be queried.")
    return graph
