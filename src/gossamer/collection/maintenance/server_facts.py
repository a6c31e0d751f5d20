"""Facts on a SPARQL server, for the commands that maintain a collection: forget, rebuild and verify.

One dataset belongs to one collection: what is in it and not in the archive is taken for what the archive has lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from gossamer.base.clock import Instant
from gossamer.base.environment import Outside
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.indexer.updates import position_in
from gossamer.spool.frames import SpoolPosition
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.values.url import Url, id_of
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.writer import writer_in
from gossamer.views.facts.sources import PageSources, Sources, graph_name


def unarchived(server: SparqlServer, directory: Directory) -> Iterator[str]:
    """The graphs of pages that the archive has no capture of."""
    kept = {id_of(graph_name(one.url)) for one in captures.every_capture(lambda: open_state(directory))}
    return (graph for graph in server.pages() if id_of(graph) not in kept)


def complete_rebuild(server: SparqlServer, before: Directory, made: Directory, files: Files) -> int:
    """Remove what the new views lack, and the position of the old ones; returns how many pages were removed.

    REQUIRES: every page of the archive was sent again.
    """
    gone = list(unarchived(server, made))
    server.remove(gone)
    if (writer := writer_in(before.graph, files)) and writer != writer_in(made.graph, files):
        server.forget_writer(writer)
    return len(gone)


def remove_pages(server: SparqlServer, directory: Directory, urls: Sequence[Url], outside: Outside, tell: Tell) -> None:
    """Their facts, and where these were on the pages. Raises ServiceLost, with nothing half done that a second run
    would not do again."""
    graphs = [graph_name(url) for url in urls]
    server.remove(graphs)
    sources = Sources(directory.graph, outside.files)
    sources.open(is_new=True)
    with closing(sources):
        sources.put([PageSources(graph, 0, b"") for graph in graphs])
    tell("graph.removed", pages=len(graphs))


def position_on(server: SparqlServer, directory: Directory, files: Files) -> SpoolPosition:
    """How far the writer of these views is."""
    writer = writer_in(directory.graph, files)
    return position_in(server.position(writer)) if writer else SpoolPosition()


def held_on(server: SparqlServer, urls: Sequence[Url]) -> Mapping[int, Instant]:
    """By id, when the facts of those of these pages that it has were fetched."""
    found = server.fetched([graph_name(url) for url in urls])
    return {url.id: found[name] for url in urls if (name := graph_name(url)) in found}
