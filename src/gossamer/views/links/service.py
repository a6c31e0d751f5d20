"""The links of a cluster, in an index of the service that has its words."""

from collections.abc import Callable

from gossamer.base.clock import Clock
from gossamer.base.tell import Tell, silent
from gossamer.store.directory import Directory
from gossamer.views.links.opensearch import LINKS_FORM, ServiceLinks
from gossamer.views.words.opensearch.writer import ServiceWriter, WriterIdentity
from gossamer.views.words.place import WordsPlace, cluster_owner, service_place

SUFFIX = "-links"
"""Of the name of the index, after that of the words."""


def service_reader(directory: Directory, clock: Clock) -> ServiceLinks:
    """Not open yet."""
    place = links_place(directory)
    return ServiceLinks(place.service(clock, silent), place.index)


def service_writer(
    directory: Directory, clock: Clock, tell: Tell, is_stopping: Callable[[], bool] = lambda: False
) -> ServiceWriter:
    """Not open yet."""
    place = links_place(directory)
    identity = WriterIdentity(place.index, cluster_owner(directory))
    return ServiceWriter(place.service(clock, tell), identity, tell, LINKS_FORM, is_stopping)


def links_place(directory: Directory) -> WordsPlace:
    """REQUIRES: a cluster."""
    words = service_place(directory)
    return WordsPlace(words.address, words.index + SUFFIX)
