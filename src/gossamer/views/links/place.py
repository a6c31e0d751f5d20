"""Where the links of a collection are: in the database `links.db`, or on a cluster next to its words."""

from collections.abc import Iterator
from types import ModuleType

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.store.directory import Directory
from gossamer.store.service import NO_CLIENT
from gossamer.store.state import is_cluster
from gossamer.values.link import Link
from gossamer.views.links.reader import Links, LinksReader, Runs, every_link


def links_reader(directory: Directory, clock: Clock, runs: Runs | None = None) -> Links:
    """Not open yet. `runs`: a cache that readers of the same database share."""
    if not is_cluster(directory):
        return LinksReader(directory.links, runs)
    found: Links = on_service().service_reader(directory, clock)
    return found


def every_link_of(directory: Directory, clock: Clock) -> Iterator[tuple[str, tuple[Link, ...]]]:
    """Each linking page with its links in page order."""
    if not is_cluster(directory):
        yield from every_link(directory.links)
    else:
        yield from on_service().service_reader(directory, clock).every_link()


def on_service() -> ModuleType:
    """`views.links.service`, which loads the index of words too: `why` on a directory needs none of it."""
    try:
        from gossamer.views.links import service
    except ImportError as missing:
        raise GossamerError(NO_CLIENT.format("a cluster")) from missing
    return service
