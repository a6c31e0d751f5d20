"""Changes to the SQLite frontier outside a crawl.

URLs and hosts are forgotten, restored from the archive, or come from a cluster.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.tell import Says
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.known import find_host_id
from gossamer.frontier.rows import HELD, REASON_CODES, REASONS, text_of
from gossamer.frontier.sqlite.hosts import Quarantine
from gossamer.frontier.sqlite.sieve import (
    BUCKET_BITS,
    IncomingKeys,
    PageOffers,
    Row,
    merge_offers,
    merge_some,
    waiting_in,
)
from gossamer.frontier.transfer import PARTS, FailureCopy, HostCopy, QueueCopy, RobotsCopy, TemplateCopy, UrlCopy
from gossamer.frontier.transfer import some as some_of
from gossamer.store import tallies
from gossamer.store.forgotten import Forgotten
from gossamer.store.statements import State, StateWriter, load
from gossamer.values.capture import Kept
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url, id_of

_SQL = load("gossamer.frontier.sqlite", "maintenance.sql")
_ENCODER = msgspec.msgpack.Encoder()
_JOURNAL = msgspec.msgpack.Decoder(list[PageOffers])
_HEAP = msgspec.msgpack.Decoder(list[Row])
_OF_ADDRESS = (
    "queue_dropped",
    "ends_dropped",
    "revisits_dropped",
    "said_dropped",
    "failures_dropped",
    "addresses_dropped",
)


def forget(connection: State, block: Forgotten, template_of: Callable[[str], str]) -> int:
    """Delete everything that `block` names, queued, visited or only offered; returns how many URLs were known."""
    here = {number: name for name in sorted(block.at) if (number := find_host_id(connection, name)) is not None}
    forgotten = 0
    for host_id, name in here.items():
        forgotten += _forget_at(connection, host_id, name, block, template_of)
    _sift_journal(connection, block, {number for number, name in here.items() if name in block.hosts})
    for bucket in {host_id >> BUCKET_BITS for host_id in here}:
        _sift_heaps(connection, bucket, here, block)
    for host_id, name in here.items():
        if name in block.hosts:
            _forget_host(connection, host_id)
    return forgotten


def _forget_at(connection: State, host_id: int, name: str, block: Forgotten, template_of: Callable[[str], str]) -> int:
    known = {
        number: text_of(lane, name, rest) for number, lane, rest in connection.execute(_SQL["addresses_of"], (host_id,))
    }
    gone = {number: text for number, text in known.items() if block.has(Url(text))}
    places = dict(connection.execute(_SQL["places_of"], (host_id,)).fetchall())
    reasons = {number: REASONS[code].value for number, code in connection.execute(_SQL["reasons_of"], (host_id,))}
    held = [number for number in gone if places.get(number, 0) >= HELD]
    queued = sum(number in places for number in gone) - len(held)
    moves = Counter({tallies.KNOWN: -len(gone), tallies.QUEUED: -queued, tallies.QUARANTINED: -len(held)})
    moves[tallies.SETTLED] -= len(gone) - queued - len(held)
    moves.subtract(f"{tallies.REASON}{reasons[number]}" for number in gone if number in reasons)
    for statement in _OF_ADDRESS:
        connection.executemany(_SQL[statement], [(host_id, number) for number in gone])
    connection.executemany(_SQL["template_unheld"], [(host_id, id_of(template_of(gone[number]))) for number in held])
    connection.execute(_SQL["host_has_less"], (queued, len(held), host_id))
    connection.execute(_SQL["bucket_knows_less"], (len(gone), host_id >> BUCKET_BITS))
    tallies.add(connection, moves)
    return len(gone)


def _forget_host(connection: State, host_id: int) -> None:
    elsewhere = connection.execute(_SQL["errands_for"], (host_id,)).fetchall()
    connection.executemany(_SQL["host_has_no_errand"], elsewhere)
    for statement in ("errands_of_host", "robots_of_host", "templates_of_host"):
        connection.execute(_SQL[statement], (host_id,))
    (was_retired,) = connection.execute(_SQL["was_retired"], (host_id,)).fetchone()
    connection.execute(_SQL["host_dropped"], (host_id,))
    tallies.add(connection, {tallies.HOSTS: -1, tallies.RETIRED: -int(was_retired)})


def _sift_journal(connection: State, block: Forgotten, host_ids: set[int]) -> None:
    """Offers found on a forgotten host stay, but no longer say where they were found."""
    for number, amount, offers in connection.execute(_SQL["journal_rows"]).fetchall():
        before = _JOURNAL.decode(offers)
        after: list[PageOffers] = []
        for host_id, address_id, offered in before:
            kept = [offer for offer in offered if not block.has(offer.url)]
            after.append((None, None, kept) if host_id in host_ids else (host_id, address_id, kept))
        if after != before:
            lost = _amount(before) - _amount(after)
            connection.execute(_SQL["journal_kept"], (max(0, amount - lost), _ENCODER.encode(after), number))


def _amount(pages: Iterable[PageOffers]) -> int:
    return sum(len(offers) for _, _, offers in pages)


def _sift_heaps(connection: State, bucket: int, here: dict[int, str], block: Forgotten) -> None:
    for number, _, amount, offers in connection.execute(_SQL["heaps_of"], (bucket,)).fetchall():
        before = _HEAP.decode(zlib.decompress(offers))
        after = [
            row for row in before if row[0] not in here or not block.has(Url(text_of(row[2], here[row[0]], row[3])))
        ]
        lost = len(before) - len(after)
        if lost:
            packed = zlib.compress(_ENCODER.encode(after), 1)
            connection.execute(_SQL["heap_kept"], (amount - lost, packed, number))
            connection.execute(_SQL["bucket_waits_less"], (lost, bucket))


_ENDED = load("gossamer.frontier.sqlite")["ended"]
ASK_AGAIN = 429


def reason_of(status: int) -> Reason | None:
    """How a visit with that response ended; None: the page would have been requested again."""
    match status // 100:
        case 2:
            return Reason.FETCHED
        case 3:
            return Reason.UNCHANGED if status == 304 else Reason.MOVED
        case 4 if status != ASK_AGAIN:
            return Reason.GONE if status in (404, 410) else Reason.CLIENT_ERROR
        case _:
            return None


def enter_visited(connection: State, visited: Sequence[Kept], keys: IncomingKeys) -> None:
    """Add pages and how their visits ended, in the order of the visits."""
    offers = [Offer(kept.url, How.LINK) for kept in visited if kept.url != kept.url.robots]
    merge_offers(connection, [(None, None, offers)], keys)
    rows = []
    for kept in visited:
        reason = reason_of(kept.status)
        if kept.url != kept.url.robots and reason is not None:
            (row,) = keys.rows(connection, [Offer(kept.url, How.LINK)], None)
            rows.append((row[0], row[1], REASON_CODES[reason], 0, kept.fetched_at, None, None))
    connection.executemany(_ENDED, rows)


def enter_found(connection: State, offers: Iterable[Offer], keys: IncomingKeys) -> int:
    """Add URLs that pages link to, or seeds; returns how many were new."""
    return merge_offers(connection, [(None, None, list(offers))], keys)


def settle_restored(connection: State, rest_until: Instant) -> None:
    """Visited pages wait no longer, nothing is sent to any host until then, and the counters agree."""
    over = connection.execute(_SQL["waiting_ended"]).rowcount
    reasons = {f"{tallies.REASON}{REASONS[code].value}": n for code, n in connection.execute(_SQL["reasons"])}
    tallies.add(connection, {tallies.QUEUED: -over, tallies.SETTLED: over, **reasons})
    connection.execute(_SQL["hosts_rest"], (rest_until,))


# What another frontier knew.


class FrontierIntake:
    """Fills a database that has no hosts yet. Each call is inside a transaction of the caller; hosts come first."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def hosts(self, connection: State, some: Sequence[HostCopy]) -> None:
        connection.executemany(_SQL["host"], [(*one, max(0, one.visits - 1)) for one in some])

    def read_ids(self, connection: State) -> None:
        """Call it after the last host."""
        self._ids = dict(connection.execute(_SQL["host_ids"]).fetchall())

    def urls(self, connection: State, some: Sequence[UrlCopy]) -> None:
        keyed = [((self._ids[one.host], one.id), one) for one in some]
        rows = [
            (*key, *one[2:5], self._ids.get(one.source_host or ""), one.source_id, one.depth, one.hops)
            for key, one in keyed
        ]
        connection.executemany(_SQL["address"], rows)
        ended = [(*key, *one[9:14]) for key, one in keyed if one.reason is not None]
        connection.executemany(_SQL["ended"], ended)
        connection.executemany(_SQL["past"], [(*key, one.past) for key, one in keyed if one.past is not None])
        said = [(*key, one.changed_at, one.every_s) for key, one in keyed if one.changed_at or one.every_s]
        connection.executemany(_SQL["said"], said)

    def queue(self, connection: State, some: Sequence[QueueCopy]) -> None:
        rows = [(self._ids[one.host], one.lane, one.later_at, one.priority, one.sequence, one.id) for one in some]
        connection.executemany(_SQL["waits"], rows)

    def failures(self, connection: State, some: Sequence[FailureCopy]) -> None:
        connection.executemany(_SQL["failure"], [(self._ids[one.host], *one[1:]) for one in some])

    def templates(self, connection: State, some: Sequence[TemplateCopy]) -> None:
        connection.executemany(_SQL["template"], [(self._ids[one.host], *one[1:]) for one in some])

    def robots(self, connection: State, some: Sequence[RobotsCopy]) -> None:
        rows = [(self._ids[one.host], one.lane, one.robots.expires_at, _ENCODER.encode(one.robots)) for one in some]
        connection.executemany(_SQL["robots"], rows)
        delays = [(one.robots.crawl_delay_s, self._ids[one.host]) for one in some if one.robots.crawl_delay_s]
        connection.executemany(_SQL["delay"], delays)

    def finish(self, connection: State, rest_until: Instant) -> None:
        """Nothing is sent to any host before that instant, and the counters agree."""
        connection.execute(_SQL["hosts_counted"], (rest_until,))
        connection.execute(_SQL["buckets"], (BUCKET_BITS,))
        connection.execute(_SQL["sequence"])
        known, queued, held, hosts, retired = connection.execute(_SQL["counted"]).fetchone()
        reasons = {f"{tallies.REASON}{REASONS[code].value}": n for code, n in connection.execute(_SQL["reasons"])}
        moves = {
            tallies.KNOWN: known,
            tallies.QUEUED: queued,
            tallies.QUARANTINED: held,
            tallies.SETTLED: known - queued - held,
            tallies.HOSTS: hosts,
            tallies.RETIRED: retired,
        }
        tallies.add(connection, moves | reasons)


async def copy_to_single(source: State, target: StateWriter, rest_until: Instant, says: Says) -> None:
    """Everything in `source` is written to a `state.db` without hosts. Nothing is sent to any host before that
    instant."""
    intake = FrontierIntake()
    for part in PARTS:
        done, write = 0, getattr(intake, part.name)
        for some in some_of(part.read(source)):
            await target.run(partial(write, some=some))
            done += len(some)
            says(f"copying {part.says}: {done:,}")
        if part.name == "hosts":
            await target.run(intake.read_ids)
    await target.run(partial(intake.finish, rest_until=rest_until))


async def merge_waiting(database: StateWriter, rules: FrontierRules) -> int:
    """Make known what was found and not merged yet, in a `state.db`; returns how many URLs were new. REQUIRES: the
    directory's lock."""
    new, is_left = 0, True
    while is_left:
        merged, is_left = await database.run(partial(_merge, rules=rules))
        new += merged
    return new


def _merge(connection: State, rules: FrontierRules) -> tuple[int, bool]:
    quarantine = Quarantine(rules.template_of) if rules.template_of is not None else None
    if quarantine is not None:
        quarantine.load(connection)
    waiting = waiting_in(connection)
    if not waiting.offers:
        return 0, False
    new, left = merge_some(connection, waiting, IncomingKeys(rules.keys, rules.nudge, quarantine))
    return new, left.offers > 0
