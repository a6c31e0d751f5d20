"""The facts of tests in both forms, embedded and on a SPARQL server, and what asks them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse
from tests.services import fuseki

from gossamer.base.clock import Instant, SystemClock
from gossamer.base.environment import real_outside
from gossamer.base.files import DiskFiles
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import Tell, silent
from gossamer.values.messages import PageFacts
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.queries import ServerQueries
from gossamer.views.facts.server.writer import ServerFacts, prepare_folder
from gossamer.views.facts.sources import Sources, graph_name
from gossamer.views.facts.sparql import FactFiles, FactQueries, QueryLimits, QueryPool
from gossamer.views.facts.store import Graph, LocalFacts, facts_of, page_facts

FORMS = ["embedded", "server"]
ADDRESS = "server"
"""The file with the address of the server that has the facts."""


class Keeper:
    """Stores facts, and says what is stored."""

    def __init__(self, keeper: LocalFacts | ServerFacts, graph: Graph | SparqlServer) -> None:
        self._keeper, self._graph = keeper, graph

    def replace(self, *pages: PageFacts, position: bytes = b"{}") -> None:
        self._keeper.commit(position, list(pages))
        self._keeper.settle()

    def remove(self, url: Url) -> None:
        if isinstance(self._graph, Graph):
            self._graph.remove(url)
        else:
            self._graph.remove([graph_name(url)])

    def fetched_at(self, url: Url) -> Instant | None:
        if isinstance(self._graph, Graph):
            return self._graph.fetched_at(url)
        return self._graph.fetched([graph_name(url)]).get(graph_name(url))

    def facts(self, *urls: Url) -> list[str]:
        """Of these pages, or of all, as sorted lines of N-Quads."""
        if isinstance(self._graph, Graph):
            pieces = facts_of(self._graph.store, urls) if urls else page_facts(self._graph.store)
        else:
            pieces = self._graph.facts_of(urls) if urls else self._graph.page_facts()
        return sorted(b"".join(pieces).decode().split("\n")[:-1])

    def canonical(self) -> set[str]:
        return self.canonical_of("\n".join(self.facts()))

    @staticmethod
    def canonical_of(quads: str) -> set[str]:
        found = Dataset(parse(quads.encode(), RdfFormat.N_QUADS))
        found.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
        return {str(quad) for quad in found}


@contextmanager
def keeper(form: str, folder: Path, tell: Tell = silent, replaces_same: bool = False) -> Iterator[Keeper]:
    """A keeper of facts, empty at first."""
    files = DiskFiles()
    if form == "embedded":
        with Graph(folder / "live", files, SystemClock(), tell) as graph:
            yield Keeper(LocalFacts(graph, folder / "live", files, tell), graph)
        return
    server = fuseki.server().opened()
    with writer(server, folder, tell, replaces_same) as facts:
        yield Keeper(facts, server)
    server.close()


@contextmanager
def writer(
    server: SparqlServer, folder: Path, tell: Tell = silent, replaces_same: bool = False
) -> Iterator[ServerFacts]:
    name = prepare_folder(folder / "live", folder / "checkpoints", DiskFiles())
    facts = ServerFacts(server, name, Sources(folder / "live", DiskFiles()), tell, lambda: False, replaces_same)
    facts.open()
    try:
        facts.settle()
        yield facts
    finally:
        facts.close()


@contextmanager
def stored(form: str, folder: Path, pages: Sequence[PageFacts]) -> Iterator[Path]:
    """A folder from which `opened_queries` asks for the facts of these pages."""
    with keeper(form, folder) as facts:
        facts.replace(*pages)
        if isinstance(facts._graph, Graph):
            Checkpoints(folder / "checkpoints", DiskFiles(), SystemClock(), silent).make(facts._graph)
        else:
            (folder / ADDRESS).write_text(fuseki._server().query)
        yield folder


def opened_queries(folder: Path, limits: QueryLimits, vocabulary: Path | None = None) -> FactQueries:
    facts = FactFiles(lambda: folder / "checkpoints", vocabulary=vocabulary)
    if (folder / ADDRESS).exists():
        server = SparqlServer((folder / ADDRESS).read_text(), "", SystemClock(), silent)
        return ServerQueries(server, facts, limits, real_outside())
    return QueryPool(facts, limits, DiskFiles(), SystemProcesses(), SystemClock(), silent)
