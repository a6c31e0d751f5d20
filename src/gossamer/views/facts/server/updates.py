"""The texts of SPARQL updates.

Every term in them was serialised by pyoxigraph, or is an IRI of our own making.

Pages are replaced by one request of three operations and more, which the server carries out in order and as a whole:
two delete what is stored of the pages, if it is older; one a page inserts the new facts, if nothing is stored. So
replays and older captures are harmless in any order, and two captures of a page are never mixed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode, Quad, Store

from gossamer.base.clock import in_words
from gossamer.values.messages import PageFacts
from gossamer.views.facts.server.terms import in_sparql, literal_in_sparql
from gossamer.views.facts.sources import DATE_TIME, FETCHED_AT, INTEGER, PROVENANCE, VERSION, graph_name
from gossamer.views.facts.store import quads_of

WRITERS = "urn:gossamer:writers"
"""The graph with the position of each writer in its spool."""
POSITION = "urn:gossamer:position"
MOST_PAGES, MOST_BYTES = 500, 4 << 20
"""In one request; a single page may have more bytes. Less costs more: measured with 20 facts a page, the server takes
1.4 ms a page with 100 pages a request and 1.0 ms with 500."""


_PROVENANCE = NamedNode(PROVENANCE)


class PageInsert(NamedTuple):
    page: PageFacts
    graph: str
    text: str
    """The operation that inserts it."""


def version_of(page: PageFacts) -> str:
    """What decides which of two captures of a page is stored: the greater one, as a literal."""
    if page.version is not None:
        return f'"{page.version}"^^<{INTEGER}>'
    return f'"{in_words(page.fetched_at)}"^^<{DATE_TIME}>'


def version_property(page: PageFacts) -> str:
    """Under which it is stored. All pages of a collection have the same."""
    return FETCHED_AT if page.version is None else VERSION


def page_insert(page: PageFacts) -> PageInsert:
    """Raises SyntaxError when the facts are not N-Triples.

    The guard has exactly one solution, or none. Numbers and dates are spelled as the embedded store returns them.
    """
    name = graph_name(page.url)
    quads = quads_of(name, page)
    if b"^^<" in page.facts:
        quads = list(_as_stored(quads))
    own, about = list[str](), list[str]()
    for quad in quads:
        place = about if quad.graph_name == _PROVENANCE else own
        place.append(f"{in_sparql(quad.subject)} {in_sparql(quad.predicate)} {in_sparql(quad.object)}")
    return PageInsert(
        page,
        name,
        f"INSERT {{ GRAPH <{name}> {{ {' . '.join(own)} }} GRAPH <{PROVENANCE}> {{ {' . '.join(about)} }} }} "
        f"WHERE {{ FILTER NOT EXISTS {{ GRAPH <{PROVENANCE}> {{ <{name}> <{FETCHED_AT}> ?stored }} }} }}",
    )


def _as_stored(quads: Iterable[Quad]) -> Iterator[Quad]:
    store = Store()
    store.extend(quads)
    return iter(store)


def replacement(pages: Sequence[PageInsert], replaces_same: bool) -> str:
    """Replace these pages, where the stored version is older; or, if `replaces_same`, is the same."""
    versions = [(one.graph, version_of(one.page)) for one in pages]
    deletes = _deletes(versions, version_property(pages[0].page), "<=" if replaces_same else "<")
    return " ;\n".join([*deletes, *(one.text for one in pages)])


def burial(graphs: Sequence[str], version: int) -> str:
    """Delete these pages of a cluster, where the stored version is older than this one."""
    return " ;\n".join(_deletes([(graph, f'"{version}"^^<{INTEGER}>') for graph in graphs], VERSION, "<"))


def _deletes(new: Sequence[tuple[str, str]], property: str, comparison: str) -> tuple[str, str]:
    versions = " ".join(f"(<{graph}> {version})" for graph, version in new)
    older = (
        f"VALUES (?page ?new) {{ {versions} }} GRAPH <{PROVENANCE}> {{ ?page <{property}> ?stored }} "
        f"FILTER(?stored {comparison} ?new)"
    )
    return (
        f"DELETE {{ GRAPH ?page {{ ?s ?p ?o }} }} WHERE {{ {older} GRAPH ?page {{ ?s ?p ?o }} }}",
        f"DELETE {{ GRAPH <{PROVENANCE}> {{ ?page ?p ?o }} }} "
        f"WHERE {{ {older} GRAPH <{PROVENANCE}> {{ ?page ?p ?o }} }}",
    )


def removal(graphs: Iterable[str]) -> str:
    """Delete these pages: their facts, then their provenance."""
    return " ;\n".join(
        f"DROP SILENT GRAPH <{name}> ; DELETE WHERE {{ GRAPH <{PROVENANCE}> {{ <{name}> ?p ?o }} }}" for name in graphs
    )


def positioned(writer: str, position: bytes) -> str:
    kept = literal_in_sparql(Literal(position.decode()))
    return f"{forgotten(writer)} ;\nINSERT DATA {{ GRAPH <{WRITERS}> {{ <{writer}> <{POSITION}> {kept} }} }}"


def forgotten(writer: str) -> str:
    return f"DELETE WHERE {{ GRAPH <{WRITERS}> {{ <{writer}> ?p ?o }} }}"


def requests(pages: Iterable[PageInsert]) -> Iterator[list[PageInsert]]:
    """As many pages as one request takes."""
    some, size = list[PageInsert](), 0
    for one in pages:
        if some and (len(some) == MOST_PAGES or size + len(one.text) > MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(one)
        size += len(one.text)
    if some:
        yield some
