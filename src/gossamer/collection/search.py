"""Search over a collection's present views, whichever those are by then."""

from contextlib import closing

from gossamer.base.clock import Clock
from gossamer.base.errors import ConfigError, ViewDamaged
from gossamer.extract.vocabularies import LONGEST_OWN, Vocabularies, bundled, with_own
from gossamer.search.find import REFRESH_S, Search
from gossamer.store import tallies
from gossamer.store.directory import INDEX, LINKS, VOCABULARY, Directory
from gossamer.store.state import open_state
from gossamer.views.links.reader import LinksReader
from gossamer.views.words.searcher import Searcher


def search_of(directory: Directory, clock: Clock, refresh_s: float = REFRESH_S) -> Search:
    """Words and links of a collection; when `rebuild` has replaced them, of the new views from the next look on."""
    at = directory.views_folder

    def vocabularies() -> Vocabularies:
        """With the user's own relations, if their file can be read; SPARQL says what is wrong with one that cannot."""
        path = directory.root / VOCABULARY
        try:
            return with_own(path.read_bytes()[: LONGEST_OWN + 1]) if path.is_file() else bundled()
        except (ConfigError, OSError):
            return bundled()

    def moved() -> tuple[Searcher, LinksReader] | None:
        nonlocal at
        if (there := directory.views_folder) == at:
            return None
        at = there
        return Searcher(there / INDEX, vocabularies), LinksReader(there / LINKS)

    return Search(
        Searcher(at / INDEX, vocabularies),
        LinksReader(at / LINKS),
        clock,
        refresh_s,
        moved,
        lambda: refuse_lost_views(directory),
    )


def refuse_lost_views(directory: Directory) -> None:
    """Raises ViewDamaged when there are pages, and no folder for an index, which every writer makes first, or no links
    beside the index."""
    lost = next((path for path in (directory.index, directory.links) if not path.exists()), None)
    is_begun = lost == directory.links and not any(directory.index.iterdir())
    if lost is None or is_begun or not directory.is_begun:
        return
    with closing(open_state(directory)) as state:
        if tallies.counts(state).pages:
            raise ViewDamaged(lost, "it is missing")
