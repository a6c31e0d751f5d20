"""All facts, out of the store: as N-Quads, and as one number that is equal for equal facts."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import xxhash
from pyoxigraph import Literal, NamedNode, Quad, Store

from gossamer.base.clock import Instant, from_words
from gossamer.base.errors import ViewDamaged, damage_named
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import unlike_format, unlike_seal, view_of
from gossamer.views.facts.names import FETCHED_AT, PROVENANCE, graph_name

PIECE = 1 << 16
_PROVENANCE = NamedNode(PROVENANCE)
_FETCHED_AT = NamedNode(FETCHED_AT)


def opened(folder: Path) -> Store:
    """A checkpoint, or a live store whose owner has ended, to read from."""
    with damage_named(view_of(folder), OSError, RuntimeError):
        if why := unlike_format(folder) or unlike_seal(folder):
            raise ViewDamaged(view_of(folder), why)
        return Store.read_only(str(folder))


def held_at(store: Store, url: Url) -> Instant | None:
    """When the facts held of a page were fetched; None when it is not here."""
    found = next(store.quads_for_pattern(NamedNode(graph_name(url)), _FETCHED_AT, None, _PROVENANCE), None)
    return from_words(found.object.value) if found is not None and isinstance(found.object, Literal) else None


def page_facts(store: Store) -> Iterator[bytes]:
    """The facts of every page as N-Quads, in pieces of many lines; the graph of each line is the page."""
    every = store.quads_for_pattern(None, None, None, None)
    return _pieces(quad for quad in every if quad.graph_name != _PROVENANCE)


def facts_of(store: Store, pages: Iterable[Url]) -> Iterator[bytes]:
    """The same of these pages alone, one after the other."""
    graphs = (NamedNode(graph_name(page)) for page in pages)
    return _pieces(quad for graph in graphs for quad in store.quads_for_pattern(None, None, None, graph))


def _pieces(quads: Iterable[Quad]) -> Iterator[bytes]:
    lines: list[str] = []
    size = 0
    for quad in quads:
        lines.append(line := _line(quad))
        size += len(line)
        if size >= PIECE:
            yield "".join(lines).encode()
            lines, size = [], 0
    if lines:
        yield "".join(lines).encode()


def digest(store: Store) -> str:
    """Equal for equal sets of quads, whatever their order; provenance included. For comparing, not against forgers."""
    total = count = 0
    for quad in store.quads_for_pattern(None, None, None, None):
        total += xxhash.xxh3_128_intdigest(_line(quad).encode())
        count += 1
    return f"{total % (1 << 128):032x}-{count}"


def _line(quad: Quad) -> str:
    return f"{quad} .\n"
