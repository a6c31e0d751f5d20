"""The terms in use in a collection, for the pages on vocabularies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Lock

from gossamer.base.clock import SECOND, Clock
from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryUnusable, ViewDamaged
from gossamer.collection.search import refuse_lost_views
from gossamer.collection.views import SparqlAsk
from gossamer.store.directory import Directory
from gossamer.views.words.facets import findable, in_use
from gossamer.views.words.searcher import Searcher
from gossamer.web.entities.vocabulary_counts import FactCounter
from gossamer.web.entities.vocabulary_rooms import TermsInUse, VocabularyRooms

FRESH_S = 5.0
MOST_TERMS = 5_000
"""Of each kind. Vocabularies people share have far fewer; beyond are names that a site makes up for each page."""


class TermCounter:
    """Usable before there is an index, and from several threads."""

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory, self._clock = directory, clock
        self._turn = Lock()
        self._last = TermsInUse()

    def count(self) -> TermsInUse:
        with self._turn:
            now = self._clock.now()
            if not 0 <= now - self._last.as_of < FRESH_S * SECOND:
                self._last = self._counted(now)
            return self._last

    def _counted(self, now: int) -> TermsInUse:
        searcher = Searcher(self._directory.index)
        try:
            searcher.open()
        except ViewDamaged:
            raise
        except DirectoryUnusable:
            refuse_lost_views(self._directory)
            return TermsInUse(as_of=now)
        snapshot = searcher.snapshot
        found = in_use(snapshot, MOST_TERMS)
        classes, properties, vocabularies = found["types"], found["properties"], found["ontologies"]
        is_cut = max(len(classes), len(properties), len(vocabularies)) >= MOST_TERMS
        pages = findable(snapshot)
        searcher.close()
        return TermsInUse(classes, properties, vocabularies, pages, now, is_cut)


@asynccontextmanager
async def vocabulary_rooms(directory: Directory, outside: Outside, ask: SparqlAsk) -> AsyncIterator[VocabularyRooms]:
    async with FactCounter(ask, outside.clock) as counter:
        yield VocabularyRooms(TermCounter(directory, outside.clock).count, counter.latest)
