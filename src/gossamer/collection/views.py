"""The views of a collection, opened for reading: words, links and facts."""

from contextlib import closing
from pathlib import Path

from gossamer.base.clock import SECOND, Clock
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, ViewDamaged
from gossamer.base.tell import silent
from gossamer.extract.vocabularies import LONGEST_OWN, Vocabularies, bundled, with_own
from gossamer.monitor.control import Control
from gossamer.search.find import REFRESH_S, Search
from gossamer.store import tallies
from gossamer.store.directory import LINKS, VOCABULARY, Directory
from gossamer.store.state import open_state
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.sparql import FactFiles, QueryLimits, QueryPool
from gossamer.views.links.reader import LinksReader
from gossamer.views.words.place import words_reader
from gossamer.views.words.reader import WordsReader

FRESH_S = 30.0
WAIT_S = 5.0


def refuse_missing(directory: Directory, outside: Outside, *views: Path) -> None:
    """Raises ViewDamaged if a view is missing although there are pages and no indexer is about to make it."""
    missing = [path for path in views if not path.exists() or (path.is_dir() and not outside.files.names(path))]
    if not missing or not directory.is_begun:
        return
    with closing(open_state(directory)) as state, Control(directory.control, outside.clock) as control:
        if not tallies.counts(state).pages or is_indexing(control, outside):
            return
    raise ViewDamaged(missing[0], "it is missing")


def query_pool(directory: Directory, outside: Outside, limits: QueryLimits) -> QueryPool:
    """SPARQL workers over the newest checkpoint."""
    facts = FactFiles(
        lambda: directory.checkpoints, lambda: directory.graph / SOURCES, vocabulary=directory.root / VOCABULARY
    )
    return QueryPool(facts, limits, outside.files, outside.processes, outside.clock, silent)


async def freshen(directory: Directory, outside: Outside) -> None:
    """Request a checkpoint if the newest is old and an indexer runs; wait long only if there is none at all."""
    clock = outside.clock
    present = newest(outside.files, directory.checkpoints)
    if present is not None and clock.now() - present.as_of < FRESH_S * SECOND:
        return
    with Control(directory.control, clock) as control:
        if not is_indexing(control, outside):
            return
        number = control.ask("checkpoint")
        until = clock.elapsed_s() + (WAIT_S if present is None else 1.0)
        while not control.is_done(number) and clock.elapsed_s() < until:
            await clock.sleep(0.1)


def is_indexing(control: Control, outside: Outside) -> bool:
    return any(beat.name == "indexer" and outside.processes.is_alive(beat.pid) for beat in control.beats())


def search_of(directory: Directory, clock: Clock, refresh_s: float = REFRESH_S) -> Search:
    """Words and links of a collection; once `rebuild` has replaced them, the next refresh opens the new ones."""
    at = directory.views_folder

    def vocabularies() -> Vocabularies:
        """With the user's own relations, if their file is readable; SPARQL reports what is wrong with it."""
        path = directory.root / VOCABULARY
        try:
            return with_own(path.read_bytes()[: LONGEST_OWN + 1]) if path.is_file() else bundled()
        except (ConfigError, OSError):
            return bundled()

    def moved() -> tuple[WordsReader, LinksReader] | None:
        nonlocal at
        if (there := directory.views_folder) == at:
            return None
        at = there
        return words_reader(directory, clock, vocabularies), LinksReader(there / LINKS)

    return Search(
        words_reader(directory, clock, vocabularies),
        LinksReader(at / LINKS),
        clock,
        refresh_s,
        moved,
        lambda: refuse_lost_views(directory),
    )


def refuse_lost_views(directory: Directory) -> None:
    """Raises ViewDamaged if there are pages but no folder for an index, which every writer makes first, or no links
    next to the index."""
    lost = next((path for path in (directory.index, directory.links) if not path.exists()), None)
    is_begun = lost == directory.links and not any(directory.index.iterdir())
    if lost is None or is_begun or not directory.is_begun:
        return
    with closing(open_state(directory)) as state:
        if tallies.counts(state).pages:
            raise ViewDamaged(lost, "it is missing")
