"""Every page that a query finds, however many: for exports. What is held at one time does not grow with their number.

One snapshot answers from the first page to the last, so that a commit meanwhile neither repeats a page nor skips one.
"""

from collections.abc import Iterator

import tantivy

from gossamer.values.query import DEEPEST_HIT, Query
from gossamer.views.words.cards import WITH_WORDS, card_in, entry_at
from gossamer.views.words.query import Asking
from gossamer.views.words.schema import Card
from gossamer.views.words.searcher import FEW
from gossamer.views.words.snapshot import Snapshot, count

STEP = 5_000
"""Pages whose places are held at one time, beyond DEEPEST_HIT of them."""


def walked(snapshot: Snapshot, query: Query) -> Iterator[tuple[Card, str]]:
    """Cards and texts. In the order that is asked for while there are at most DEEPEST_HIT, else in that of their ids.
    Copies of one text each come. All pages there are for an empty query."""
    wanted, total = _wanted(snapshot, query)
    is_ordered = total <= DEEPEST_HIT and not query.is_empty
    for place in _ordered(snapshot, query, wanted) if is_ordered else _by_id(snapshot, wanted):
        entry = entry_at(snapshot, place)
        if entry is not None and (card := card_in(entry)) is not None:
            yield card, entry.get_first("content") or ""


def _wanted(snapshot: Snapshot, query: Query) -> tuple[tantivy.Query, int]:
    """What a search of the same words would find."""
    if query.is_empty:
        return WITH_WORDS, snapshot.pages
    asking = Asking(snapshot, query)
    wanted = asking.all_words()
    total = count(snapshot.searcher, wanted)
    if len(asking.parts) > 1 and total < FEW and (query.sort == "best" or not total):
        wanted = asking.some_words()
        total = count(snapshot.searcher, wanted)
    return wanted, total


def _ordered(snapshot: Snapshot, query: Query, wanted: tantivy.Query) -> Iterator[tantivy.DocAddress]:
    if query.sort == "best" and query.wanted:
        hits = snapshot.best(wanted, DEEPEST_HIT)
    else:
        hits = [(0.0, place) for _, place in snapshot.newest(wanted, DEEPEST_HIT, query.sort == "oldest")]
    return iter([place for _, place in hits])


def _by_id(snapshot: Snapshot, wanted: tantivy.Query) -> Iterator[tantivy.DocAddress]:
    """A step goes on behind the last id of the one before: no page has another's."""
    narrowed = wanted
    while True:
        hits = snapshot.searcher.search(
            narrowed, limit=STEP, count=False, order_by_field="url_id", order=tantivy.Order.Asc
        ).hits
        for _, place in hits:
            yield place
        if len(hits) < STEP:
            return
        behind = tantivy.Query.range_query(
            snapshot.schema, "url_id", tantivy.FieldType.Integer, lower_bound=hits[-1][0], include_lower=False
        )
        narrowed = tantivy.Query.boolean_query([(tantivy.Occur.Must, wanted), (tantivy.Occur.Must, behind)])
