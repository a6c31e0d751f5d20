"""The facts of many pages at a time, into the graph, together with how far that is."""

from pathlib import Path

from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.values.page_facts import PageFacts
from gossamer.views.facts.store import POSITION, Graph


class FactsHere:
    """Keeps facts in a graph that this process has open, before `commit` returns.

    The position lies in the store's folder, and is lost with it. REQUIRES: the graph is open.
    """

    is_busy = False

    def __init__(self, graph: Graph, folder: Path, files: Files, tell: Tell) -> None:
        self._graph, self._path, self._files, self._tell = graph, folder / POSITION, files, tell
        self._position: bytes | None = None

    @property
    def position(self) -> bytes:
        if self._position is None:  # not asked for yet
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
        """Nothing is ever under way."""
