"""What the web site's exports read from: handles of their own, closed when the reader has enough."""

from collections.abc import Generator, Iterator
from contextlib import closing

from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryUnusable
from gossamer.cli.ask.revisits import revisit_of, revisits_csv
from gossamer.collection.views import refuse_missing
from gossamer.frontier.reports import KnownUrl, LastVisit, every_known, every_remembered, every_visit
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.values.capture import Kept
from gossamer.values.query import Query
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.store import facts_of, opened, page_facts
from gossamer.views.links.reader import every_link
from gossamer.views.words.schema import Card
from gossamer.views.words.searcher import Searcher, walked
from gossamer.web.export_rooms import ExportedPage, Exports


def exports_of(directory: Directory, outside: Outside) -> Exports:
    def pages(query: Query, with_text: bool) -> Generator[ExportedPage, None, None]:
        searcher = Searcher(directory.index)
        searcher.open()
        try:
            for card, text in walked(searcher.snapshot, query):
                yield exported(card, text if with_text else "")
        finally:
            searcher.close()

    def facts(query: Query) -> Iterator[bytes]:
        checkpoint = newest(outside.files, directory.checkpoints)
        if checkpoint is None:
            refuse_missing(directory, outside, directory.checkpoints)
            raise DirectoryUnusable("no facts are ready yet")
        store = opened(checkpoint.folder)
        if query.is_empty:
            yield from page_facts(store)
            return
        with closing(pages(query, False)) as wanted:
            yield from facts_of(store, (Url(page.url) for page in wanted))

    def visits() -> Iterator[LastVisit]:
        return every_visit(lambda: open_state(directory))

    def known() -> Iterator[KnownUrl]:
        return every_known(lambda: open_state(directory))

    def come_again() -> Iterator[bytes]:
        return revisits_csv(map(revisit_of, every_remembered(lambda: open_state(directory))))

    def captured() -> Iterator[Kept]:
        return captures.every_capture(lambda: open_state(directory))

    return Exports(pages, facts, lambda: every_link(directory.links), visits, known, captured, come_again)


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
        text=text if card.may_cache else "",
        may_cache=card.may_cache,
    )
