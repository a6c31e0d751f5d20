"""Pages leave the views as they stand, in seconds: nobody finds them any more. Their bytes lie on in parts that the
views have given up, until those are merged away, or all are made again."""

from collections.abc import Sequence

from gossamer.base.environment import Outside
from gossamer.base.tell import Tell
from gossamer.store.directory import Directory
from gossamer.values.page import empty_page_reading
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import Checkpoints, newest
from gossamer.views.facts.store import Graph
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.writer import IndexWriter


def remove_from_views(directory: Directory, urls: Sequence[Url], outside: Outside, tell: Tell) -> None:
    """REQUIRES: the indexer's lock, and that the views are up to date."""
    files, now = outside.files, outside.clock.now()
    words, links = IndexWriter(directory.index, files, tell), LinksWriter(directory.links, files, tell)
    with Graph(directory.graph, files, outside.clock, tell) as graph:
        words.open()
        links.open()
        try:
            for url in urls:
                graph.remove(url)
                words.remove(url)
            links.replace([empty_page_reading(url, 0, now) for url in urls])
            words.commit(words.position)
            links.commit(links.position)
            graph.sync()
        finally:
            words.close()
            links.close()
        Checkpoints(directory.checkpoints, files, outside.clock, tell).make(graph)
    present = newest(files, directory.checkpoints)
    for name in files.names(directory.checkpoints):
        if present is not None and name.startswith("facts-") and name != present.folder.name:
            files.remove(directory.checkpoints / name)
