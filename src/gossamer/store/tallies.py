"""Counters that change in the transaction that changes what they count.

So ten million rows are never counted.
"""

from collections.abc import Mapping

from gossamer.store.statements import State, load
from gossamer.values.visit import Counts

KNOWN = "known"
QUEUED = "queued"
LEASED = "leased"
SETTLED = "settled"
HOSTS = "hosts"
CAPTURES = "captures"
PAGES = "pages"
QUARANTINED = "quarantined"
RETIRED = "retired"
REASON = "reason:"
"""With a reason code after it: the URLs whose last visit ended so."""

_SQL = load("gossamer.store", "tallies.sql")


def add(connection: State, moves: Mapping[str, int]) -> None:
    """Inside the caller's transaction."""
    connection.executemany(_SQL["add"], [move for move in moves.items() if move[1]])


def counts(connection: State) -> Counts:
    """The state of a crawl in numbers."""
    numbers: dict[str, int] = dict(connection.execute(_SQL["all"]).fetchall())
    plain = {name: numbers.get(name, 0) for name in Counts.__struct_fields__ if name != "by_reason"}
    by_reason = {name[len(REASON) :]: n for name, n in sorted(numbers.items()) if name.startswith(REASON) and n}
    return Counts(**plain, by_reason=by_reason)
