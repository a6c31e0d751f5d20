"""What the web site's exports read from: handles of their own, closed when the reader has enough."""

from collections.abc import Iterator

import msgspec

from gossamer.app.directory import Directory
from gossamer.app.outside import Outside
from gossamer.errors import DirectoryUnusable
from gossamer.frontier.visits import LastVisit, every_visit
from gossamer.graph.checkpoints import newest
from gossamer.graph.export import opened, page_facts
from gossamer.index.schema import Card
from gossamer.index.searcher import Searcher
from gossamer.links.export import every_link
from gossamer.store.database import read_only
from gossamer.values.query import DEEPEST_HIT, MOST_HITS, Query
from gossamer.web.export_rooms import ExportedPage, Exports


def exports_of(directory: Directory, outside: Outside) -> Exports:
    def pages(query: Query, with_text: bool) -> Iterator[ExportedPage]:
        searcher = Searcher(directory.index)
        searcher.open()
        try:
            for card in cards_found(searcher, query):
                stored = searcher.stored(card.url) if with_text else None
                yield exported(card, stored.text if stored else "")
        finally:
            searcher.close()

    def facts() -> Iterator[bytes]:
        checkpoint = newest(outside.files, directory.checkpoints)
        if checkpoint is None:
            raise DirectoryUnusable("no facts are ready yet")
        yield from page_facts(opened(checkpoint.folder))

    def visits() -> Iterator[LastVisit]:
        return every_visit(lambda: read_only(directory.state))

    return Exports(pages, facts, lambda: every_link(directory.links), visits)


def cards_found(searcher: Searcher, query: Query) -> Iterator[Card]:
    """All there are for an empty query. A search is walked through page by page: it has an end."""
    if query.is_empty:
        yield from searcher.cards()
        return
    for start in range(0, DEEPEST_HIT, MOST_HITS):
        found = searcher.find(msgspec.structs.replace(query, offset=start, limit=MOST_HITS)).found
        for one in found:
            yield one.card
        if len(found) < MOST_HITS:
            return


def exported(card: Card, text: str) -> ExportedPage:
    return ExportedPage(
        url=card.url.text,
        site=card.url.host.name,
        title=card.title,
        description=card.description,
        language=card.language,
        fetched_at=card.fetched_at,
        fact_count=card.fact_count,
        types=card.types,
        syntaxes=card.syntaxes,
        text=text,
    )
