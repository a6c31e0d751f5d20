"""Search over a collection's present views, whichever those are by then."""

from gossamer.app.directory import INDEX, LINKS, Directory
from gossamer.clock import Clock
from gossamer.index.searcher import Searcher
from gossamer.links.reader import LinksReader
from gossamer.search.find import REFRESH_S, Search


def search_of(directory: Directory, clock: Clock, refresh_s: float = REFRESH_S) -> Search:
    """Words and links of a collection; when `rebuild` has replaced them, of the new views from the next look on."""
    at = directory.views_folder

    def moved() -> tuple[Searcher, LinksReader] | None:
        nonlocal at
        if (there := directory.views_folder) == at:
            return None
        at = there
        return Searcher(there / INDEX), LinksReader(there / LINKS)

    return Search(Searcher(at / INDEX), LinksReader(at / LINKS), clock, refresh_s, moved)
