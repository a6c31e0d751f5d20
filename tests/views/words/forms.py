"""The two forms of the index, for suites that both must pass: tantivy in a folder, and OpenSearch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.services import opensearch

from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import Tell, silent
from gossamer.extract.vocabularies import Vocabularies, bundled
from gossamer.store.service import Service
from gossamer.views.words.opensearch.index import remove
from gossamer.views.words.opensearch.searcher import ServiceSearcher
from gossamer.views.words.opensearch.writer import ServiceWriter, WriterIdentity
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

NAMES = ("tantivy", "opensearch")
TANTIVY_ONLY = "tantivy_only"


class SettledWriter(ServiceWriter):
    """Its commits are in the index when they return, as those of tantivy are."""

    def commit(self, position: bytes = b"") -> None:
        super().commit(position)
        self.settle()


class TantivyForm:
    name = "tantivy"

    def writer(self, folder: Path, tell: Tell = silent) -> Any:
        return IndexWriter(folder, DiskFiles(), tell)

    def searcher(self, folder: Path, vocabularies: Callable[[], Vocabularies] = bundled) -> Any:
        return Searcher(folder, vocabularies)

    def close(self) -> None: ...


class OpenSearchForm:
    name = "opensearch"

    def __init__(self) -> None:
        self.address = opensearch.server()
        self.folders: set[Path] = set()

    def service(self, tell: Tell = silent) -> Service:
        return Service("views.words", self.address, SystemClock(), tell)

    def writer(self, folder: Path, tell: Tell = silent) -> Any:
        self.folders.add(folder)
        return SettledWriter(self.service(tell), WriterIdentity(opensearch.index_for(folder), "tests"), tell)

    def searcher(self, folder: Path, vocabularies: Callable[[], Vocabularies] = bundled) -> Any:
        return ServiceSearcher(self.service(), opensearch.index_for(folder), vocabularies=vocabularies)

    def close(self) -> None:
        for folder in self.folders:
            remove(self.service(), opensearch.index_for(folder))


Form = TantivyForm | OpenSearchForm


@contextmanager
def form_of(request: pytest.FixtureRequest) -> Iterator[Form]:
    """The form that `request.param` names. Tests marked `tantivy_only` are about its files."""
    if request.param == "opensearch" and request.node.get_closest_marker(TANTIVY_ONLY):
        pytest.skip("about the files of tantivy")
    form: Form = TantivyForm() if request.param == "tantivy" else OpenSearchForm()
    yield form
    form.close()
