"""Links from other hosts count also for an address that waits already, in a shared crawl. See `raising`."""

from collections.abc import Callable, Iterable

from gossamer.frontier.postgres.sieve import Met
from gossamer.frontier.priority import band_of
from gossamer.frontier.sqlite.hosts import name_in
from gossamer.frontier.sqlite.links_in import HEAD, MOST_RAISED, raised
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.link import How, Offer

_SQL = load("gossamer.frontier.postgres")

Key = tuple[int, int]
"""Host id and id of an address."""


def linked_of(known: Iterable[tuple[Key, Met]]) -> dict[Key, Offer]:
    """Of addresses that were known those that were met on another host."""
    found: dict[Key, Offer] = {}
    for key, met in known:
        scheme, _, name, _ = met.offer.url.text.split("/", 3)
        if met.source is not None and met.source != name_in(scheme, name) and len(found) < MOST_RAISED:
            found[key] = met.offer
    return found


def raise_linked(connection: Connection, linked: dict[Key, Offer], nudge: Callable[[Offer], int] | None) -> int:
    """To be called last in a transaction: it locks hosts, waits for none, and whoever waits for them waits shortly.
    A host that another crawler is busy with is passed over, and so is the address that is out. Says how many moved."""
    if not linked:
        return 0
    hosts = {"hosts": sorted({host_id for host_id, _ in linked})}
    visiting: dict[int, int | None] = dict(connection.execute(_SQL["hosts_still"], hosts).fetchall())
    given = {"hosts": list(visiting), "ids": [address_id for _, address_id in linked], "head": HEAD}
    moved = []
    for host_id, lane, priority, sequence, address_id, how, depth in connection.execute(
        _SQL["heads"], given
    ).fetchall():
        offer = linked.get((host_id, address_id))
        if offer is not None and address_id != visiting[host_id]:
            better = raised(priority, How(how), depth, nudge(offer) if nudge is not None else 0)
            if better < priority:
                moved.append((host_id, lane, priority, sequence, better))
    if moved:
        names = ("host_ids", "lanes", "priorities", "sequences", "betters")
        columns = dict(zip(names, map(list, zip(*moved, strict=True)), strict=True))
        connection.execute(_SQL["raised"], columns)
        best: dict[int, int] = {}
        for host_id, *_, better in moved:
            best[host_id] = min(band_of(better), best.get(host_id, band_of(better)))
        connection.execute(_SQL["hosts_raised"], {"host_ids": list(best), "bands": list(best.values())})
    return len(moved)
