"""Where the links of a collection are: in the database `links.db`, or on a cluster next to its words."""

from collections.abc import Callable, Iterator

from gossamer.base.clock import Clock
from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.store.directory import Directory
from gossamer.store.state import is_cluster
from gossamer.values.link import Link
from gossamer.views.links.opensearch import LINKS_FORM, ServiceLinks
from gossamer.views.links.reader import Links, LinksReader, Runs, every_link
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.opensearch.writer import ServiceWriter, WriterIdentity
from gossamer.views.words.place import WordsPlace, cluster_owner, service_place

SUFFIX = "-links"
"""Of the name of the index, after that of the words."""


def links_reader(directory: Directory, clock: Clock, runs: Runs | None = None) -> Links:
    """Not open yet. `runs`: a cache that readers of the same database share."""
    if not is_cluster(directory):
        return LinksReader(directory.links, runs)
    place = links_place(directory)
    return ServiceLinks(place.service(clock, silent), place.index)


def links_writer(
    directory: Directory, files: Files, clock: Clock, tell: Tell, is_stopping: Callable[[], bool] = lambda: False
) -> LinksWriter | ServiceWriter:
    """Not open yet."""
    if not is_cluster(directory):
        return LinksWriter(directory.links, files, tell)
    place = links_place(directory)
    identity = WriterIdentity(place.index, cluster_owner(directory))
    return ServiceWriter(place.service(clock, tell), identity, tell, LINKS_FORM, is_stopping)


def links_place(directory: Directory) -> WordsPlace:
    """REQUIRES: a cluster."""
    words = service_place(directory)
    return WordsPlace(words.address, words.index + SUFFIX)


def every_link_of(directory: Directory, clock: Clock) -> Iterator[tuple[str, tuple[Link, ...]]]:
    """Each linking page with its links in page order."""
    if not is_cluster(directory):
        return every_link(directory.links)
    place = links_place(directory)
    return ServiceLinks(place.service(clock, silent), place.index).every_link()
