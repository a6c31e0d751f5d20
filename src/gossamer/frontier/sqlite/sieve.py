"""The sieve: offers are appended to a journal and merged in bulk, sorted.

URLs are keyed by hash, so each new one falls on a random page of a large tree. Inserted one by one they would rewrite
the tree again and again; sorted and merged by the thousand they walk through it once. (Mercator and BUbiNG do the same
with files.) While few are known the whole journal is merged at once. Later it is split into heaps, one for each range
of hosts, and a heap is merged when it is large compared with what is known there: that bounds what is written for each
new URL, however many are known.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

import msgspec

from gossamer.frontier.known import name_of
from gossamer.frontier.priority import (
    HEAD,
    MOST_RAISED,
    band_of,
    linked_by,
    priority_of,
    raised,
    with_links,
)
from gossamer.frontier.rows import HELD, HOW_CODES, HOWS, UrlKeys, name_in, next_id, text_of
from gossamer.frontier.sqlite.hosts import Quarantine, host_id_of
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.link import Offer

# Links from other hosts also count for a URL that already waits: it moves towards the head of its lane.
# The queue has no index by URL, so only the head of a lane is searched. A few places make no difference to URLs far
# behind; when one comes near the head, the next link that is seen counts.

Linked = tuple[int, int, int, int, int, int]
"""A known URL found on another host: host id, id, lane, and the how, depth and priority it was found with this time."""


def raise_linked(connection: State, leased: Collection[int]) -> None:
    """REQUIRES: the table `incoming` is filled, known URLs included. `leased`: the sequence numbers of leased visits;
    their rows stay where they are."""
    wanted: dict[tuple[int, int], dict[int, Linked]] = defaultdict(dict)
    for row in connection.execute(_SQL["incoming_linked"], (MOST_RAISED,)):
        wanted[row[0], row[2]][row[1]] = row
    for (host_id, lane), linked in wanted.items():
        _raise_in(connection, host_id, lane, linked, leased)


def _raise_in(connection: State, host_id: int, lane: int, linked: dict[int, Linked], leased: Collection[int]) -> None:
    head: Iterable[tuple[int, int, int]] = connection.execute(_SQL["head_of_lane"], (host_id, lane, HEAD)).fetchall()
    best: int | None = None
    for priority, sequence, address_id in head:
        if address_id not in linked or sequence in leased:
            continue
        how, depth = connection.execute(_SQL["address_origin"], (host_id, address_id)).fetchone()
        _, _, _, found_how, found_depth, found_priority = linked[address_id]
        moved_by_rules = found_priority - priority_of(HOWS[found_how], found_depth)
        better = raised(priority, HOWS[how], depth, moved_by_rules)
        if better < priority:
            connection.execute(_SQL["raised"], (better, host_id, lane, priority, sequence))
            best = better if best is None else min(best, better)
    if best is not None:
        connection.execute(_SQL["host_raised"], (band_of(best), host_id))


# The merge itself: sorted URLs into the table `addresses` and the queue, in SQL, inside one transaction.

BUCKET_BITS = 10
"""A bucket is 2^10 consecutive host ids."""


def merge_sorted(
    connection: State,
    incoming: Sequence[tuple[object, ...]],
    links: Mapping[int, int],
    keys: UrlKeys,
    leased: Collection[int] = (),
) -> tuple[int, list[tuple[int, int, str]]]:
    """Add URLs, sorted by host id and id. Returns how many were new, and the held ones among them: host id, lane, text.

    `links` are counters of the other hosts that link to a host. Of URLs with the same id texts are compared, by `keys`.
    `leased` are the sequence numbers of leased visits.
    """
    connection.execute(_SQL["incoming_table"])
    connection.executemany(_SQL["incoming"], incoming)
    if links:
        raise_linked(connection, leased)
    connection.execute(_SQL["known_dropped"])
    (amount,) = connection.execute(_SQL["incoming_amount"]).fetchone()
    if connection.execute(_SQL["entered"]).rowcount != amount:
        _enter_collided(connection, keys)
    sequence = next_sequence(connection, len(incoming))
    connection.execute(_SQL["queued"], (sequence,))
    got = connection.execute(_SQL["incoming_by_host"]).fetchall()
    rows = [(due, held, lanes, band_of(best), host_id) for host_id, due, held, lanes, best in got]
    connection.executemany(_SQL["host_got"], rows)
    connection.executemany(_SQL["host_linked"], [(bits, host_id) for host_id, bits in links.items()])
    due = sum(row[0] for row in rows)
    held = sum(row[1] for row in rows)
    known = Counter[int]()
    for host_id, new, kept, _, _ in got:
        known[host_id >> BUCKET_BITS] += new + kept
    connection.executemany(_SQL["bucket_known"], list(known.items()))
    tallies.add(connection, {tallies.KNOWN: due + held, tallies.QUEUED: due, tallies.QUARANTINED: held})
    kept_back = connection.execute(_SQL["incoming_held"]).fetchall() if held else []
    connection.execute(_SQL["incoming_emptied"])
    return due + held, kept_back


def next_sequence(connection: State, amount: int) -> int:
    """Reserve so many numbers that no row of the queue has had; returns the first."""
    (first,) = connection.execute(_SQL["meta"], ("sequence",)).fetchone()
    connection.execute(_SQL["meta_set"], ("sequence", first + amount))
    return int(first)


def _enter_collided(connection: State, keys: UrlKeys) -> None:
    """URLs whose id another text has: another spelling of the same URL is known. A different URL takes the next free
    id, or has done so before."""
    for row_id, host_id, taken, lane, rest in connection.execute(_SQL["collided"]).fetchall():
        name = name_of(connection, host_id)
        wanted = keys.text(text_of(lane, name, rest))
        number = taken
        while (row := connection.execute(_SQL["address_at"], (host_id, number)).fetchone()) and wanted != keys.text(
            text_of(row[0], name, row[1])
        ):
            number = next_id(number)
        if row is None:
            connection.execute(_SQL["incoming_renumbered"], (number, row_id))
            connection.execute(_SQL["entered_one"], (row_id,))
        else:
            connection.execute(_SQL["incoming_removed"], (row_id,))


_SQL = load("gossamer.frontier.sqlite", "sieve.sql")
_ENCODER = msgspec.msgpack.Encoder()

PageOffers = tuple[int | None, int | None, list[Offer]]
"""Host id and id of a page, and the offers found on it; None: each offer says where it was found."""
_JOURNAL = msgspec.msgpack.Decoder(list[PageOffers])

DENSE = 3
"""A heap is merged when it is at least one part in so many of what is known there: some ten new rows for each page of
the tree that is written."""
MOST_BUCKETS = 4
"""Heaps merged in one go."""
MOST_MERGED = 200_000
"""Offers merged at one time; they are held in memory."""


@dataclass(frozen=True, slots=True)
class Sieve:
    """When the journal is merged."""

    journal_most: int = 20_000
    """Offers that may wait in the journal; with so many, the next `take` merges them or moves them to heaps."""
    merge_every_s: float = 1.0
    """Merge this often, and at once when there is nothing else to do: a host whose known pages are all visited waits
    for what was found there, however much other hosts have to offer."""
    slower_per: int = 500_000
    """The time between such merges grows by itself with every so many known URLs."""


Row = tuple[int, int, int, str, int, int | None, int | None, int, int, int]
"""An offer with its keys: host id, id, lane, text, how, source's host id (if another), source's id, depth, hops,
priority. The heaps on disk hold these."""
_HEAP = msgspec.msgpack.Decoder(list[Row])


class Waiting(NamedTuple):
    """Offers that are not merged yet, and how many URLs are known."""

    journalled: int = 0
    repeats: int = 0
    """Links from other hosts to URLs seen before, also in the journal: they bring nothing new."""
    heaped: int = 0
    known: int = 0

    @property
    def offers(self) -> int:
        return self.journalled + self.heaped

    def and_more(self, fresh: int, repeats: int) -> "Waiting":
        return Waiting(self.journalled + fresh, self.repeats + repeats, self.heaped, self.known)


@dataclass(slots=True)
class IncomingKeys:
    """How the keys of offers are made, in one transaction. `nudge`: what the user's rules add to a priority."""

    keys: UrlKeys
    nudge: Callable[[Offer], int] | None = None
    quarantine: Quarantine | None = None
    leased: frozenset[int] = frozenset()
    """Sequence numbers of leased visits: their rows of the queue must not move."""
    _host_ids: dict[str, int] = field(default_factory=dict)

    def rows(self, connection: State, offers: Iterable[Offer], source: tuple[int, int | None] | None) -> Iterator[Row]:
        """Offers found on one page. `source`: its host's id and its own; None: each offer says where it was found."""
        identity, url_id, nudge, host_ids = self.keys.identity, self.keys.url_id, self.nudge, self._host_ids
        at = None if source is None else source[0]
        for offer in offers:
            text = offer.url.text
            scheme, _, name, rest = text.split("/", 3)
            if scheme != "https:" and scheme != "http:":
                name = name_in(scheme, name)
            host_id = host_ids.get(name)
            if host_id is None:
                host_id = host_ids[name] = host_id_of(connection, name)
            number = url_id(text if identity is None else identity(text))
            priority = priority_of(offer.how, offer.depth, offer.hint, nudge(offer) if nudge else 0)
            yield (
                host_id,
                number,
                int(scheme == "https:"),
                rest,
                HOW_CODES[offer.how],
                at if at != host_id else None,
                offer.source_id if source is None else source[1],
                offer.depth,
                offer.hops,
                priority,
            )


def journal(connection: State, found: Sequence[PageOffers], amount: int) -> None:
    """Append what was found on pages, inside the caller's transaction; `amount` of the offers may be new."""
    connection.execute(_SQL["journalled"], (amount, _ENCODER.encode(found)))


def waiting_in(connection: State) -> Waiting:
    (journalled,) = connection.execute(_SQL["journal_amount"]).fetchone()
    known, heaped = connection.execute(_SQL["buckets_amount"]).fetchone()
    return Waiting(journalled, 0, heaped, known)


def relieve(connection: State, waiting: Waiting, keys: IncomingKeys) -> tuple[int, Waiting]:
    """The journal is full: merge it, or move it to heaps and merge the dense ones. Returns how many were new."""
    if waiting.journalled * DENSE >= waiting.known:
        return merge_some(connection, waiting, keys)
    fill_heaps(connection, keys)
    new = 0
    for _ in range(MOST_BUCKETS):
        row = connection.execute(_SQL["bucket_dense"], (DENSE,)).fetchone()
        if row is None:
            break
        new += merge_bucket(connection, row[0], keys)
    return new, waiting_in(connection)


def merge_some(connection: State, waiting: Waiting, keys: IncomingKeys) -> tuple[int, Waiting]:
    """Merge the journal, or if it is empty the largest heap. Returns how many were new."""
    row = connection.execute(_SQL["bucket_full"]).fetchone() if not waiting.journalled else None
    if row is not None:
        new = merge_bucket(connection, row[0], keys)
    else:
        new = _merged(connection, _journal(connection, keys), keys)
    return new, waiting_in(connection)


def merge_offers(connection: State, found: Iterable[PageOffers], keys: IncomingKeys) -> int:
    """Add offers at once, without the journal; returns how many were new."""
    return _merged(connection, _rows(connection, found, keys), keys)


def fill_heaps(connection: State, keys: IncomingKeys) -> None:
    """Empty the journal into the heaps of its hosts' buckets."""
    by_bucket: dict[int, list[Row]] = {}
    for row in _journal(connection, keys):
        by_bucket.setdefault(row[0] >> BUCKET_BITS, []).append(row)
    for bucket, part in sorted(by_bucket.items()):
        packed = zlib.compress(_ENCODER.encode(part), 1)
        connection.execute(_SQL["heaped"], (bucket, len(part), packed))
        connection.execute(_SQL["bucket_waiting"], (bucket, len(part)))


def merge_bucket(connection: State, bucket: int, keys: IncomingKeys) -> int:
    """Empty one heap, or the oldest part of a very large one; returns how many URLs were new."""
    rows: list[Row] = []
    taken: list[tuple[int]] = []
    for number, packed in connection.execute(_SQL["heap_rows"], (bucket,)):
        rows += _HEAP.decode(zlib.decompress(packed))
        taken.append((number,))
        if len(rows) >= MOST_MERGED:
            break
    connection.executemany(_SQL["heap_removed"], taken)
    connection.execute(_SQL["bucket_waiting"], (bucket, -len(rows)))
    return _merged(connection, rows, keys)


def _rows(connection: State, found: Iterable[PageOffers], keys: IncomingKeys) -> list[Row]:
    rows: list[Row] = []
    for host_id, address_id, offers in found:
        rows += keys.rows(connection, offers, None if host_id is None else (host_id, address_id))
    return rows


def _journal(connection: State, keys: IncomingKeys) -> list[Row]:
    """Empty the journal."""
    packed = connection.execute(_SQL["journal_rows"]).fetchall()
    rows = _rows(connection, (one for (offers,) in packed for one in _JOURNAL.decode(offers)), keys)
    connection.execute(_SQL["journal_emptied"])
    return rows


def _merged(connection: State, rows: Iterable[Row], keys: IncomingKeys) -> int:
    """Merge each URL once, as it was found nearest to its seed, with the other hosts that were seen linking to it."""
    nearest: dict[tuple[int, int, str], Row] = {}
    others: dict[tuple[int, int, str], set[int]] = {}
    links: dict[int, set[int]] = {}
    for row in rows:
        key = (row[0], row[1], row[3])
        earlier = nearest.setdefault(key, row)
        if row[7] < earlier[7]:
            nearest[key] = row  # it keeps its place among them, which is that of the first
        source = row[5]
        if source is not None:
            others.setdefault(key, set()).add(source)
            links.setdefault(row[0], set()).add(source)
    incoming, quarantine = [], keys.quarantine
    for place, (key, row) in enumerate(nearest.items()):
        priority = with_links(row[9], len(others[key])) if key in others else row[9]
        is_held = quarantine is not None and quarantine.is_held(row[0], row[2], row[3])
        incoming.append((*row[:9], priority, row[2] + HELD if is_held else row[2], place))
    incoming.sort(key=itemgetter(0, 1))  # of two spellings of one URL the first stays first
    counters = {host_id: linked_by(map(str, sources)) for host_id, sources in links.items()}
    new, held = merge_sorted(connection, incoming, counters, keys.keys, keys.leased)
    if quarantine is not None and held:
        quarantine.count(connection, held)
    return new
