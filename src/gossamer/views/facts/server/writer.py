"""The writer of facts to a SPARQL server: a keeper for the indexer, on a thread of its own.

While the server is gone it waits, without end, and the pages wait in the spool: words and links continue. The origins
of facts (`sources.db`) stay with the collection, in the folder where the embedded store would be.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.store.service import ServiceLost, ServiceRefused
from gossamer.values.messages import PageFacts
from gossamer.views.facts.checkpoints import FORMAT
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.fitness import refuse_unfit
from gossamer.views.facts.server.updates import MOST_PAGES, PageInsert, page_insert, positioned, replacement, requests
from gossamer.views.facts.sources import OURS, PageSources, Sources, graph_name

ON_SERVER = b"server"
"""The content of the file `format` in the graph's folder: an embedded store found there is removed, and would be made
again from the archive."""
WRITER = "writer"
"""The file with our name on the server."""
SETTINGS_WRONG = frozenset({401, 403, 404, 405})
"""Statuses that say nothing about the update: the address, the password or the rights are wrong."""


def is_on_server(folder: Path, files: Files) -> bool:
    return files.size(folder / FORMAT) is not None and files.read(folder / FORMAT) == ON_SERVER


def writer_in(folder: Path, files: Files) -> str:
    """The IRI under which the writer of this folder stores its position; empty if there is none."""
    path = folder / WRITER
    return OURS + "writer:" + files.read(path).decode("ascii", "replace") if files.size(path) is not None else ""


def prepare_folder(folder: Path, checkpoints: Path, files: Files) -> str:
    """Make it one for facts on a server, without the copies that an embedded store has left; returns our writer."""
    if not is_on_server(folder, files):
        for path in (folder, checkpoints):
            files.remove(path)
        files.make_folder(folder)
        files.write(folder / FORMAT, ON_SERVER)
    if not writer_in(folder, files):
        files.write(folder / WRITER, random_token(16).encode())
    return writer_in(folder, files)


class ServerFacts:
    """A `FactsKeeper`. At most one commit is in progress, and the next one waits for it; the first is a test of the
    server, and until it is done the position is unknown, and empty.

    REQUIRES: one thread calls it.
    """

    waits_apart = True

    def __init__(
        self,
        server: SparqlServer,
        writer: str,
        sources: Sources | None,
        tell: Tell,
        is_stopping: Callable[[], bool],
        replaces_same: bool = False,
    ) -> None:
        """`writer`: its IRI, as `prepare_folder` returns it. `sources`: None if the caller keeps them. `replaces_same`:
        captures that are stored already are stored again, for a rebuild."""
        self._server, self._writer, self._sources, self._tell = server, writer, sources, tell
        self._is_stopping, self._replaces_same = is_stopping, replaces_same
        self.refused: dict[str, str] = {}
        self._position = b""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="facts")
        self._in_progress: Future[bytes] | None = None

    def open(self) -> None:
        """Begin to test the server, as often as it takes until it answers."""
        self._in_progress = self._thread.submit(self._begin)

    def close(self) -> None:
        self._thread.shutdown()
        if self._sources is not None:
            self._sources.close()

    @property
    def trouble(self) -> str:
        """Since when the server has not answered; empty while it answers."""
        return self._server.trouble

    @property
    def position(self) -> bytes:
        if self._in_progress is not None and self._in_progress.done():
            self.settle()
        return self._position

    @property
    def is_busy(self) -> bool:
        return self._in_progress is not None and not self._in_progress.done()

    def commit(self, position: bytes, pages: list[PageFacts]) -> None:
        self.settle()
        self._in_progress = self._thread.submit(self._commit, position, pages)

    def settle(self) -> None:
        commit, self._in_progress = self._in_progress, None
        if commit is not None:
            self._position = commit.result()

    def make_checkpoint(self) -> None:
        """Readers ask the server, so it only waits for the commit in progress; from any thread."""
        self._thread.submit(lambda: None).result()

    def _begin(self) -> bytes:
        def begin() -> bytes:
            refuse_unfit(self._server, self._writer.rpartition(":")[2])
            return self._server.position(self._writer)

        position = self._server.until_done(begin, self._is_stopping)
        if self._sources is not None:
            self._sources.open(is_new=not position)
        return position

    def _commit(self, position: bytes, pages: list[PageFacts]) -> bytes:
        put, self.refused = 0, {}
        for start in range(0, len(pages), MOST_PAGES):
            for some in requests(self._inserts(pages[start : start + MOST_PAGES])):
                if self._sources is not None:
                    self._sources.put([PageSources(one.graph, one.page.capture_id, one.page.sources) for one in some])
                put += self._put(some)
        pages.clear()
        if position != self._position:
            self._server.until_done(lambda: self._server.update(positioned(self._writer, position)), self._is_stopping)
        if put:
            self._tell("graph.committed", pages=put)
        return position

    def _inserts(self, pages: Sequence[PageFacts]) -> Iterator[PageInsert]:
        """The newest capture of each page that the server does not have yet; without those that are no N-Triples."""
        newest: dict[str, PageFacts] = {}
        for page in pages:
            name = graph_name(page.url)
            if name not in newest or newest[name].order <= page.order:
                newest[name] = page
        by_version = any(page.version is not None for page in newest.values())
        known = self._server.versions if by_version else self._server.fetched
        stored = self._server.until_done(lambda: known(newest), self._is_stopping)
        for name, page in newest.items():
            order = stored.get(name)
            if order is None or order < page.order or (order == page.order and self._replaces_same):
                try:
                    yield page_insert(page)
                except SyntaxError as trouble:
                    self._skip(page, str(trouble))

    def _put(self, pages: Sequence[PageInsert]) -> int:
        """How many were replaced. What the server refuses is sent in halves, until it is known which page it is."""
        text = replacement(pages, self._replaces_same)
        try:
            self._server.until_done(lambda: self._server.update(text), self._is_stopping)
            return len(pages)
        except ServiceRefused as refused:
            if refused.status in SETTINGS_WRONG:
                raise
            why = str(refused)
        if len(pages) > 1:
            middle = len(pages) // 2
            return self._put(pages[:middle]) + self._put(pages[middle:])
        self._server.until_done(self._refuse_trouble, self._is_stopping)
        self._skip(pages[0].page, why)
        return 0

    def _refuse_trouble(self) -> None:
        """Raises ServiceLost while the server refuses everything, as it does when its disk is full."""
        try:
            refuse_unfit(self._server, self._writer.rpartition(":")[2])
        except ConfigError as trouble:
            raise ServiceLost(str(trouble)) from trouble

    def _skip(self, page: PageFacts, why: str) -> None:
        self.refused[page.url.text] = why
        self._tell("graph.page-skipped", url=page.url.text, capture=page.capture_id, why=why)
