"""The views of a collection, opened for reading: words, links and facts."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from gossamer.base.clock import SECOND, Clock
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, ViewDamaged
from gossamer.base.tell import silent
from gossamer.extract.vocabularies import LONGEST_OWN, Vocabularies, bundled, with_own
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import Control, is_running
from gossamer.search.find import REFRESH_S, Search
from gossamer.store import tallies
from gossamer.store.directory import VOCABULARY, Directory
from gossamer.store.documents import DocumentCopies
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster, open_state
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.origins import origin_records
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.queries import ServerQueries
from gossamer.views.facts.server.writer import is_on_server
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.sparql import FactFiles, FactQueries, QueryLimits, QueryPool
from gossamer.views.links.place import links_reader
from gossamer.views.links.reader import Links
from gossamer.views.words.place import words_reader
from gossamer.views.words.reader import WordsReader

FRESH_S = 30.0
WAIT_S = 5.0
STARTING_S = 60.0
ELSEWHERE = (
    "the facts of {path} are on a SPARQL server, and the setting views.facts names none: set it as for the crawl (see "
    "`gossamer config show`), or crawl without it to have an embedded store made from the archive"
)


def refuse_missing(directory: Directory, outside: Outside, *views: Path) -> None:
    """Raises ViewDamaged if a view is missing although there are pages and no indexer is about to make it. Those of a
    cluster are in services."""
    if is_cluster(directory):
        return
    missing = [path for path in views if not path.exists() or (path.is_dir() and not outside.files.names(path))]
    if not missing or not directory.is_begun:
        return
    with closing(open_state(directory)) as state, control_of(directory, outside.clock) as control:
        if not tallies.counts(state).pages or is_indexing(control, outside) or is_starting(control, outside.clock):
            return
    raise ViewDamaged(missing[0], "it is missing")


def facts_server(directory: Directory, outside: Outside) -> SparqlServer | None:
    """The server that has the facts, if the settings name one; `close` it."""
    views = config_of(directory.root).settings.views
    if not views.facts and is_on_server(directory.graph, outside.files):
        raise ConfigError(ELSEWHERE.format(path=directory.root))
    return SparqlServer(views.facts, views.facts_update, outside.clock, silent) if views.facts else None


def fact_queries(directory: Directory, outside: Outside, limits: QueryLimits) -> FactQueries:
    """SPARQL over the newest checkpoint, or on the server that has the facts."""
    facts = FactFiles(
        lambda: directory.checkpoints,
        lambda: directory.graph / SOURCES,
        partial(origins_of, directory) if is_cluster(directory) else None,
        vocabulary=directory.root / VOCABULARY,
    )
    if (server := facts_server(directory, outside)) is not None:
        return ServerQueries(server, facts, limits, outside)
    return QueryPool(facts, limits, outside.files, outside.processes, outside.clock, silent)


def origins_on(directory: Directory, captures: Mapping[str, int]) -> Mapping[str, bytes] | None:
    """Where the facts of pages are, packed, if these are on a cluster; else its own database has that."""
    return origins_of(directory, captures) if is_cluster(directory) else None


def origins_of(directory: Directory, captures: Mapping[str, int]) -> Mapping[str, bytes]:
    with closing(open_state(directory)) as state:
        return origin_records(state, captures)


async def freshen(directory: Directory, outside: Outside) -> None:
    """Request a checkpoint if the newest is old and an indexer runs; wait long only if there is none at all. With facts
    on a server, a request makes the indexer send what it has; the indexers of a cluster do that by themselves."""
    if is_cluster(directory):
        return
    clock = outside.clock
    present = newest(outside.files, directory.checkpoints)
    if present is not None and clock.now() - present.as_of < FRESH_S * SECOND:
        return
    with control_of(directory, clock) as control:
        if control.is_shared or not is_indexing(control, outside):  # the indexers of a cluster send what they have
            return
        number = control.ask("checkpoint")
        has_facts = present is not None or is_on_server(directory.graph, outside.files)
        until = clock.elapsed_s() + (1.0 if has_facts else WAIT_S)
        while not control.is_done(number) and clock.elapsed_s() < until:
            await clock.sleep(0.1)


def is_indexing(control: Control, outside: Outside) -> bool:
    return any(beat.name == "indexer" and is_running(beat, outside) for beat in control.beats())


def is_starting(control: Control, clock: Clock) -> bool:
    """Whether a crawl has begun so recently that its first pages may be stored before its indexer has made a view."""
    now = clock.now()
    return any(
        one.process in ("crawler", "indexer") and one.state != "ended" and now - one.since_at < STARTING_S * SECOND
        for one in control.vitals()
    )


def search_of(directory: Directory, clock: Clock, refresh_s: float = REFRESH_S) -> Search:
    """Words and links of a collection; once `rebuild` has replaced them, the next refresh opens the new ones."""
    at, documents = directory.views_folder, DocumentCopies(directory, clock)
    is_shared = is_cluster(directory)

    def vocabularies() -> Vocabularies:
        """With the user's own relations, if their file is readable; SPARQL reports what is wrong with it."""
        path = directory.root / VOCABULARY
        try:
            return with_own(path.read_bytes()[: LONGEST_OWN + 1]) if path.is_file() else bundled()
        except (ConfigError, OSError):
            return bundled()

    def moved() -> tuple[WordsReader, Links] | None:
        nonlocal at
        if is_shared:
            documents.refresh()
            return None
        if (there := directory.views_folder) == at:
            return None
        at = there
        return words_reader(directory, clock, vocabularies), links_reader(directory, clock)

    return Search(
        words_reader(directory, clock, vocabularies),
        links_reader(directory, clock),
        clock,
        refresh_s,
        moved,
        lambda: refuse_lost_views(directory, clock),
    )


def refuse_lost_views(directory: Directory, clock: Clock) -> None:
    """Raises ViewDamaged if there are pages but no folder for an index, which every writer makes first, or no links
    next to the index. Those of a cluster are in services."""
    if is_cluster(directory) or not directory.is_begun:
        return
    lost = next((path for path in (directory.index, directory.links) if not path.exists()), None)
    if lost is None or (lost == directory.links and not any(directory.index.iterdir())):
        return
    with closing(open_state(directory)) as state, control_of(directory, clock) as control:
        if tallies.counts(state).pages and not is_starting(control, clock):
            raise ViewDamaged(lost, "it is missing")
