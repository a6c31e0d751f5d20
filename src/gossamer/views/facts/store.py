"""The live store of facts: one graph a page, replaced as a whole.

Measured with 20 facts a page: from some hundreds of pages a call, bulk loading costs half of small transactions.
`Store.load` would give blank nodes new labels, so a rebuilt store could not be compared with the old one.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store, Triple, parse

from gossamer.base.clock import Clock, Instant, from_words, in_words
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable, GossamerError, ViewDamaged, damage_named
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.values.messages import PageFacts
from gossamer.values.url import Url
from gossamer.views.facts import checkpoints, sources

POSITION = "position"
"""The file in the store's folder with its position in the spool."""
BULK_FACTS = 5_000
"""Facts from which on bulk loading costs less than a transaction."""
MOST_AT_ONCE = 200_000
"""Quads in one call: limits memory, and stays far below where the bulk loader would lose atomicity."""

_PROVENANCE = NamedNode(sources.PROVENANCE)
_FETCHED_AT = NamedNode(sources.FETCHED_AT)
_TERM = NamedNode("urn:gossamer:term")

_IRI = rb'<[A-Za-z][A-Za-z0-9+.-]*+:[^\x00-\x20<>"{}|^`\\]*+>'
_BLANK = rb"_:[A-Za-z0-9]++"
_LITERAL = rb'"[^"\\\n\r]*+(?:\\.[^"\\\n\r]*+)*+"(?:@[A-Za-z0-9-]++|\^\^%b)?' % _IRI
_PLAIN = re.compile(rb"(?:(?:%b|%b) %b (?:%b|%b|%b) \.\n)*+" % (_IRI, _BLANK, _IRI, _IRI, _BLANK, _LITERAL))
"""Facts as reader processes write them: one a line, with single spaces."""

_INSERT_BLANKS = """
INSERT { GRAPH ?g { ?s ?p ?o } }
WHERE { VALUES (?a ?p ?b ?g) { %s } BIND(<urn:gossamer:term>(?a) AS ?s) BIND(<urn:gossamer:term>(?b) AS ?o) }
"""

Term = NamedNode | BlankNode | Literal | Triple


class Graph:
    """`with Graph(...) as graph:`. REQUIRES: one process (a second is refused) with one writing thread. Checkpoints may
    be made from another thread, since a page is replaced in one transaction.

    When `replace` returns, its facts survive a crash of the process; after `sync` also one of the machine.
    """

    def __init__(self, folder: Path, files: Files, clock: Clock, tell: Tell) -> None:
        self._folder = folder
        self._files = files
        self._clock = clock
        self._tell = tell
        self._opened: Store | None = None
        self._sources = sources.Sources(folder, files)
        self.changes = 0
        """Grows with every write; the same number means nothing has changed."""

    def __enter__(self) -> "Graph":
        self._prepare_folder()
        try:
            self._opened = Store(self._folder)
        except (OSError, RuntimeError) as trouble:  # RuntimeError means corruption
            if "/LOCK:" in str(trouble):
                raise DirectoryBusy(f"another process is writing the facts in {self._folder}") from trouble
            raise ViewDamaged(self._folder, trouble) from trouble
        try:
            self._sources.open(is_new=self.is_empty())
        except GossamerError:
            self._opened = None
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._sources.close()
        self._opened = None  # the last reference: the store closes

    def _prepare_folder(self) -> None:
        """A store of an older format becomes an empty one without a position: it is refilled from the archive."""
        mark = self._folder / checkpoints.FORMAT
        self._files.make_folder(self._folder)
        found = self._files.read(mark) if self._files.size(mark) is not None else b""
        if found.isdigit() and int(found) > int(checkpoints.VERSION):
            raise DirectoryUnusable(f"{self._folder} was made by a newer Gossamer; upgrade, or delete it to rebuild it")
        if found != checkpoints.VERSION:
            if self._files.names(self._folder):
                self._tell("graph.outdated", folder=str(self._folder))
                self._files.remove(self._folder)
                self._files.make_folder(self._folder)
            self._files.write(mark, checkpoints.VERSION)
        if name := checkpoints.truncated_manifest(self._folder, self._files):  # the store would open, with fewer facts
            raise ViewDamaged(self._folder, f"{name} is shorter than it was")

    @property
    def store(self) -> Store:
        assert self._opened is not None, "the graph is not open"
        return self._opened

    def replace(self, pages: Sequence[PageFacts]) -> int:
        """Replace the facts of these pages, each atomically, and return how many were replaced.

        An older capture never replaces a newer one. A page whose facts are not N-Triples stays as it was, with an
        event.
        """
        with damage_named(self._folder, RuntimeError):  # means corruption
            return self._replace(pages)

    def _replace(self, pages: Sequence[PageFacts]) -> int:
        newer = self._newer(pages)
        self._sources.put([sources.PageSources(name, page.capture_id, page.sources) for name, page, _ in newer])
        put = sum(map(self._insert, _in_groups([(name, page) for name, page, is_known in newer if not is_known])))
        for name, page, is_known in newer:
            if is_known and (quads := self._quads(name, page)):
                self._swap(name, quads)
                put += 1
        self.changes += put
        return put

    def _newer(self, pages: Sequence[PageFacts]) -> list[tuple[str, PageFacts, bool]]:
        """By graph name, the newest capture of each page that is newer than the stored one; whether one is stored."""
        newest: dict[str, PageFacts] = {}
        for page in pages:
            name = sources.graph_name(page.url)
            if name not in newest or newest[name].fetched_at <= page.fetched_at:
                newest[name] = page
        stored = [(name, page, fetched_at(self.store, name)) for name, page in newest.items()]
        return [(name, page, at is not None) for name, page, at in stored if at is None or at < page.fetched_at]

    def remove(self, url: Url) -> None:
        """Delete the page: its facts and their provenance."""
        self._sources.put([sources.PageSources(sources.graph_name(url), 0, b"")])
        self.store.update(_dropped(sources.graph_name(url)))
        self.changes += 1

    def fetched_at(self, url: Url) -> Instant | None:
        """When the page's stored facts were fetched; None when it has none."""
        return fetched_at(self.store, sources.graph_name(url))

    def is_empty(self) -> bool:
        return not self.store

    def sync(self) -> None:
        self.store.flush()

    def copy_to(self, folder: Path) -> None:
        """Copy the store for other processes to read, by hard links where possible; save digests of both."""
        self.store.backup(folder)
        checkpoints.write_digests(self._folder, folder, self._files)
        self._files.write(folder / checkpoints.FORMAT, checkpoints.VERSION)
        self.copy_position(folder)

    def copy_position(self, folder: Path) -> None:
        """Copy the position into a copy of the store."""
        if self._files.size(self._folder / POSITION) is not None:
            self._files.write(folder / POSITION, self._files.read(self._folder / POSITION))

    def _quads(self, name: str, page: PageFacts) -> list[Quad]:
        """Empty when its facts are not N-Triples; any other page has at least its provenance."""
        try:
            return quads_of(name, page)
        except SyntaxError as trouble:
            self._tell("graph.page-skipped", url=page.url.text, capture=page.capture_id, why=str(trouble))
            return []

    def _insert(self, pages: Sequence[tuple[str, PageFacts]]) -> int:
        """Add new pages in one step, and return how many. Quads are made while the store takes them, one page at a
        time, which costs less than making all of them first."""
        put = 0

        def quads() -> Iterator[list[Quad]]:
            nonlocal put
            for name, page in pages:
                found = self._quads(name, page)
                put += bool(found)
                yield found

        is_much = sum(_facts_in(page) for _, page in pages) >= BULK_FACTS
        (self.store.bulk_extend if is_much else self.store.extend)(chain.from_iterable(quads()))
        return put

    def _swap(self, name: str, quads: list[Quad]) -> None:
        """Replace the graph in one update, which is one transaction."""
        marker = "urn:gossamer:blank:"
        while any(marker in str(quad) for quad in quads):
            marker += "-"

        def term(given: Term) -> Term:
            if isinstance(given, NamedNode) and given.value.startswith(marker):
                return BlankNode(given.value.removeprefix(marker))
            return given

        update = "; ".join([_dropped(name), *_inserted(quads, marker)])
        self.store.update(update, custom_functions={_TERM: term})


def _in_groups(pages: Sequence[tuple[str, PageFacts]]) -> Iterator[list[tuple[str, PageFacts]]]:
    """As many pages as the store may take in one call."""
    group, facts = list[tuple[str, PageFacts]](), 0
    for name, page in pages:
        group.append((name, page))
        facts += _facts_in(page)
        if facts >= MOST_AT_ONCE:
            yield group
            group, facts = [], 0
    if group:
        yield group


def _facts_in(page: PageFacts) -> int:
    return page.facts.count(b"\n") + 2


def quads_of(name: str, page: PageFacts) -> list[Quad]:
    """The page's facts and provenance. Raises SyntaxError when the facts are not N-Triples.

    Adding the graph's name to the text saves two thirds of the cost of building quads one by one. Only for plain lines,
    so that an odd one (a comment, two facts, another graph) cannot get into a foreign graph. IRIs in plain lines are
    not validated again, which is most of the work: the reader process has checked them.
    """
    at, origins = in_words(page.fetched_at), sources.PROVENANCE
    about = (
        f'<{name}> <{sources.FETCHED_AT}> "{at}"^^<{sources.DATE_TIME}> <{origins}> .\n'
        f'<{name}> <{sources.CAPTURE}> "{page.capture_id}"^^<{sources.INTEGER}> <{origins}> .\n'
    ).encode()
    if page.version is not None:
        about += f'<{name}> <{sources.VERSION}> "{page.version}"^^<{sources.INTEGER}> <{origins}> .\n'.encode()
    if _PLAIN.fullmatch(page.facts) is not None:
        named = page.facts.replace(b" .\n", b" <%b> .\n" % name.encode())
        with contextlib.suppress(SyntaxError):  # an unknown escape, or no UTF-8: reported below
            return list(parse(named + about, RdfFormat.N_QUADS, lenient=True))
    graph = NamedNode(name)
    strict = parse(page.facts, RdfFormat.N_TRIPLES)
    quads = [Quad(quad.subject, quad.predicate, quad.object, graph) for quad in strict]
    return [*quads, *parse(about, RdfFormat.N_QUADS)]


def _dropped(name: str) -> str:
    return f"DROP SILENT GRAPH <{name}>; DELETE WHERE {{ GRAPH <{sources.PROVENANCE}> {{ <{name}> ?p ?o }} }}"


def _inserted(quads: list[Quad], marker: str) -> Iterator[str]:
    """SPARQL relabels blank nodes, so ours are passed as IRIs that begin with `marker`, and a function converts them
    back."""
    plain, rows = [], []
    for quad in quads:
        if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode):
            subject, object_ = _marked(quad.subject, marker), _marked(quad.object, marker)
            rows.append(f"({subject} {quad.predicate} {object_} {quad.graph_name})")
        else:
            plain.append(f"GRAPH {quad.graph_name} {{ {quad.subject} {quad.predicate} {quad.object} }}")
    yield f"INSERT DATA {{ {' '.join(plain)} }}"
    if rows:
        yield _INSERT_BLANKS % " ".join(rows)


def _marked(term: Term, marker: str) -> str:
    return f"<{marker}{term.value}>" if isinstance(term, BlankNode) else str(term)


# Reading all facts as N-Quads.

PIECE = 1 << 16


def opened(folder: Path) -> Store:
    """Open a checkpoint, or a live store whose owner has ended, for reading."""
    with damage_named(checkpoints.view_of(folder), OSError, RuntimeError):
        if why := checkpoints.format_mismatch(folder) or checkpoints.seal_mismatch(folder):
            raise ViewDamaged(checkpoints.view_of(folder), why)
        return Store.read_only(str(folder))


def fetched_at(store: Store, graph: str) -> Instant | None:
    """When the facts in a page's graph were fetched; None when there is no such graph."""
    found = next(store.quads_for_pattern(NamedNode(graph), _FETCHED_AT, None, _PROVENANCE), None)
    return from_words(found.object.value) if found is not None and isinstance(found.object, Literal) else None


def page_facts(store: Store) -> Iterator[bytes]:
    """The facts of every page as N-Quads, in pieces of many lines; the graph names the page."""
    every = store.quads_for_pattern(None, None, None, None)
    return _pieces(quad for quad in every if quad.graph_name != _PROVENANCE)


def facts_of(store: Store, pages: Iterable[Url]) -> Iterator[bytes]:
    """The same for these pages alone, one after the other."""
    graphs = (NamedNode(sources.graph_name(page)) for page in pages)
    return _pieces(quad for graph in graphs for quad in store.quads_for_pattern(None, None, None, graph))


def _pieces(quads: Iterable[Quad]) -> Iterator[bytes]:
    lines: list[str] = []
    size = 0
    for quad in quads:
        lines.append(line := f"{quad} .\n")
        size += len(line)
        if size >= PIECE:
            yield "".join(lines).encode()
            lines, size = [], 0
    if lines:
        yield "".join(lines).encode()


class LocalFacts:
    """Commits facts and the position in the spool to a graph that this process has open.

    The position is in the store's folder, and is lost with it. REQUIRES: the graph is open.
    """

    is_busy = waits_apart = False
    refused: Mapping[str, str] = MappingProxyType({})
    trouble = ""

    def __init__(self, graph: Graph, folder: Path, files: Files, tell: Tell) -> None:
        self._graph, self._path, self._files, self._tell = graph, folder / POSITION, files, tell
        self._position: bytes | None = None

    @property
    def position(self) -> bytes:
        if self._position is None:  # not read yet
            is_known = self._files.size(self._path) is not None and not self._graph.is_empty()
            self._position = self._files.read(self._path) if is_known else b""
        return self._position

    def commit(self, position: bytes, pages: list[PageFacts]) -> None:
        if pages:
            self._graph.replace(pages)
            self._graph.sync()
            self._tell("graph.committed", pages=len(pages))
        self._files.write(self._path, position)
        self._position = position

    def settle(self) -> None:
        """Nothing is ever in progress."""
