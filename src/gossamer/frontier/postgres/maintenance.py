"""Changes to the shared frontier outside its crawlers: URLs are forgotten, or come from elsewhere."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import msgspec

from gossamer.base.tell import Says
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.postgres.presence import tally
from gossamer.frontier.postgres.settlement import MOST_COUNTED, insert_captures
from gossamer.frontier.postgres.sieve import MOST_AT_ONCE, Entering
from gossamer.frontier.priority import LAST, band_of
from gossamer.frontier.rows import HELD, HOWS, REASONS, text_of
from gossamer.frontier.transfer import (
    PARTS,
    FailureCopy,
    FrontierPart,
    HostCopy,
    QueueCopy,
    RobotsCopy,
    TemplateCopy,
    UrlCopy,
)
from gossamer.frontier.transfer import some as some_of
from gossamer.store import forgotten, rewrites, tallies
from gossamer.store.forgotten import Forgotten, ForgottenEntry
from gossamer.store.postgres.database import Connection, columns, numbers, storable
from gossamer.store.postgres.state import PostgresState, viewed
from gossamer.store.segments import StoredSegment
from gossamer.store.statements import State, StateWriter, load
from gossamer.values.capture import Kept
from gossamer.values.url import Url, id_of

_SQL = load("gossamer.frontier.postgres", "maintenance.sql")
_QUEUE = load("gossamer.frontier.postgres")
_ENCODER = msgspec.msgpack.Encoder()
_HOST = (
    "ids bands next_ats gaps troubles failing failing_since retired_ats retired_whys visits left_ats least_gaps rested "
    "broken spent linked_from"
)
_URL = "host_ids ids urls hows source_host_ids source_ids depths hops reasons failures settled_ats due_ats details"
TemplateOf = Callable[[str], str]
MOST_CAPTURES = 5_000
"""Added by one statement."""
SLOT = 0
"""Of the counters: no crawler's own."""


def block(connection: Connection, entries: Sequence[ForgottenEntry]) -> Forgotten:
    """Store what is to be forgotten, in a transaction of its own: no crawler adds such a URL from its end on. Returns
    all that is not done yet.

    It waits for transactions that add URLs, and they for it: each looks here after it has added some.
    """
    connection.execute(_SQL["addresses_locked"])
    with viewed(connection) as state:
        forgotten.put(state, entries)
        return forgotten.block_of([one for one in forgotten.every(state) if one.done_at is None])


def forget(connection: Connection, name: str, gone: Forgotten, template_of: TemplateOf) -> int:
    """Delete what `gone` names at one host; returns how many URLs were known. Visits to them that are in progress lose
    their leases, so that nothing of them can be settled. REQUIRES: `block` is committed."""
    host_id = find_host_id(connection, name)
    if host_id is None:
        return 0
    row = connection.execute(_SQL["host_to_forget"], {"host_id": host_id}).fetchone()
    assert row is not None
    is_leased, visiting, was_retired = row
    is_whole = name in gone.hosts
    known: dict[int, str] = dict(connection.execute(_SQL["urls_at"], {"host_id": host_id}).fetchall())
    ids = [number for number, url in known.items() if gone.has(Url(url))]
    moves = Counter({tallies.KNOWN: -len(ids), tallies.SETTLED: -len(ids)})
    if is_leased and (is_whole or visiting in ids):
        connection.execute(_SQL["fenced"], {"host_id": host_id})
        moves[tallies.LEASED] -= 1
    held = Counter[int]()
    for number, lane in connection.execute(_SQL["unqueued_for_good"], {"host_id": host_id, "ids": ids}).fetchall():
        moves.update({tallies.QUARANTINED if lane >= HELD else tallies.QUEUED: -1, tallies.SETTLED: 1})
        held.update([id_of(template_of(known[number]))] if lane >= HELD else [])
    ended = connection.execute(_SQL["urls_forgotten"], {"host_id": host_id, "ids": ids}).fetchall()
    moves.subtract(f"{tallies.REASON}{reason}" for (reason,) in ended if reason is not None)
    rows = [(host_id, number, -amount) for number, amount in sorted(held.items())]
    if rows:
        connection.execute(_QUEUE["template_held"], columns("host_ids ids amounts", rows))
        connection.execute(_QUEUE["host_holds"], {"host_id": host_id, "more": -held.total()})
    _forget_templates(connection, host_id, known, ids, template_of)
    for statement in ("pasts_forgotten", "said_forgotten", "failures_forgotten"):
        connection.execute(_SQL[statement], {"host_id": host_id, "ids": ids})
    if is_whole:
        for statement in ("templates_of", "robots_of", "errands_of", "mail_of", "host_forgotten"):
            connection.execute(_SQL[statement], {"host_id": host_id})
        moves.update({tallies.HOSTS: -1, tallies.RETIRED: -int(was_retired)})
    tally(connection, SLOT, moves)
    return len(ids)


def _forget_templates(
    connection: Connection, host_id: int, known: Mapping[int, str], gone: Sequence[int], template_of: TemplateOf
) -> None:
    """Those that no other URL has: they may be a URL themselves."""
    going = set(gone)
    wanted = {template_of(known[number]) for number in gone}
    left = {template_of(url) for number, url in known.items() if wanted and number not in going}
    ids = [id_of(template) for template in wanted - left]
    connection.execute(_SQL["templates_forgotten"], {"host_id": host_id, "ids": ids})


def add_object(
    connection: Connection, name: str, size: int, added: Sequence[StoredSegment], kept: Sequence[Kept]
) -> None:
    """A new object of the archive, with segments that were captured elsewhere, and earlier than now."""
    with viewed(connection) as state:
        rewrites.add_object(state, name, size, added)
    ordered = sorted(kept, key=lambda one: one.fetched_at)
    for start in range(0, len(ordered), MOST_CAPTURES):
        some = ordered[start : start + MOST_CAPTURES]
        tally(connection, SLOT, insert_captures(connection, some, ()))
    with viewed(connection) as state:
        rewrites.order_versions(state, [one.name for one in added])


class SharedIntake:
    """What another frontier knew (`frontier/transfer.py`). Each call is one transaction of the caller, who gives hosts
    before URLs, and URLs before what waits.

    Everything may be written again: what is known here from a later visit stays."""

    def __init__(self, rules: FrontierRules) -> None:
        self._rules = rules

    def hosts(self, connection: Connection, some: Sequence[HostCopy]) -> None:
        ids = self._ids(connection, [one.name for one in some])
        retired = {number for (number,) in connection.execute(_SQL["hosts_retired"], {"ids": numbers(ids.values())})}
        rows = [(ids[one.name], *one[1:]) for one in sorted(some, key=lambda one: ids[one.name])]
        kept = connection.execute(_SQL["hosts_kept"], {**columns(_HOST, rows), "last": LAST}).fetchall()
        more = sum(is_retired and number not in retired for number, is_retired in kept)
        tally(connection, SLOT, {tallies.RETIRED: more})

    def urls(self, connection: Connection, some: Sequence[UrlCopy]) -> None:
        ids = self._ids(connection, [one.host for one in some] + [one.source_host for one in some if one.source_host])
        keyed = [((ids[one.host], one.id), one) for one in some]
        moves = self._unqueued(connection, [(*key, one.settled_at) for key, one in keyed if one.settled_at is not None])
        rows = [_address(key, one, ids) for key, one in keyed]
        fresh = set()
        for host_id, number, is_new, before, now in connection.execute(_SQL["known_urls"], columns(_URL, rows)):
            fresh.add((host_id, number))
            moves.update({tallies.KNOWN: int(is_new), tallies.SETTLED: int(is_new)})
            moves.update({f"{tallies.REASON}{now}": 1} if now else {})
            moves.subtract({f"{tallies.REASON}{before}": 1} if before else {})
        said = [(*key, one.changed_at, one.every_s) for key, one in keyed if one.changed_at or one.every_s]
        _execute(connection, "said_before", "host_ids ids changed_ats every_s", said)
        pasts = [(*key, one.past) for key, one in keyed if one.past is not None and key in fresh]
        if pasts:
            connection.execute(_QUEUE["pasts_kept"], columns("host_ids ids pasts", pasts))
        tally(connection, SLOT, moves)

    def queue(self, connection: Connection, some: Sequence[QueueCopy]) -> None:
        ids = self._ids(connection, [one.host for one in some])
        (number,) = connection.execute(_QUEUE["offer_number"]).fetchone() or (0,)
        first = number * MOST_AT_ONCE
        order = sorted(range(len(some)), key=lambda place: some[place].sequence)
        sequences = {place: first + turn for turn, place in enumerate(order)}
        rows = [
            (ids[one.host], one.lane, one.later_at, one.priority, sequences[place], one.id, one.settled_at)
            for place, one in enumerate(some)
        ]
        names = "host_ids lanes later_ats priorities sequences ids settled_ats"
        entered = connection.execute(_SQL["queued_as_before"], columns(names, rows)).fetchall()
        bands: dict[int, int | None] = {}
        held = Counter[int]()
        for host_id, lane, priority in entered:
            best = bands.setdefault(host_id, None)
            if lane >= HELD:
                held[host_id] += 1
            else:
                bands[host_id] = band_of(priority) if best is None else min(best, band_of(priority))
        if bands:
            letters = {"hosts": numbers(bands), "linked": numbers([0] * len(bands)), "bands": numbers(bands.values())}
            connection.execute(_QUEUE["mailed"], {**letters, "held": numbers([held[one] for one in bands])})
        waiting = held.total()
        due = len(entered) - waiting
        moves = {tallies.QUEUED: due, tallies.QUARANTINED: waiting, tallies.SETTLED: -len(entered)}
        tally(connection, SLOT, moves)

    def failures(self, connection: Connection, some: Sequence[FailureCopy]) -> None:
        ids = self._ids(connection, [one.host for one in some])
        rows = [
            (ids[one.host], one.id, one.at, REASONS[one.reason].value, storable(one.detail or "") or None)
            for one in some
        ]
        _execute(connection, "failed_before", "host_ids ids ats reasons details", rows)

    def templates(self, connection: Connection, some: Sequence[TemplateCopy]) -> None:
        ids = self._ids(connection, [one.host for one in some])
        rows = [(ids[one.host], one.id, storable(one.template), *one[3:]) for one in some]
        _execute(connection, "templates_kept", "host_ids ids templates fetched fruitful held quarantined_ats", rows)

    def robots(self, connection: Connection, some: Sequence[RobotsCopy]) -> None:
        ids = self._ids(connection, [one.host for one in some])
        rows = [
            (ids[one.host], one.lane, one.robots.crawl_delay_s or None, _ENCODER.encode(one.robots)) for one in some
        ]
        _execute(connection, "robots_kept_before", "host_ids lanes delays entries", rows)

    def _ids(self, connection: Connection, names: Iterable[str]) -> dict[str, int]:
        ids, new = Entering(connection, self._rules).host_ids(dict.fromkeys(names))
        tally(connection, SLOT, {tallies.HOSTS: new})
        return ids

    def _unqueued(self, connection: Connection, ended: Sequence[tuple[int, int, int]]) -> Counter[str]:
        """URLs that wait here, but were visited later elsewhere."""
        moves = Counter[str]()
        if not ended:
            return moves
        given = columns("host_ids ids settled_ats", ended)
        gone = connection.execute(_SQL["superseded"], given).fetchall()
        for _, _, lane in gone:
            moves.update({tallies.QUARANTINED if lane >= HELD else tallies.QUEUED: -1, tallies.SETTLED: 1})
        _execute(connection, "unqueued_again", "host_ids ids", [row[:2] for row in gone])
        return moves


def _address(key: tuple[int, int], one: UrlCopy, ids: dict[str, int]) -> tuple[object, ...]:
    """A row of known_urls. Here the host of the source is always stored, if there is a source."""
    source_host_id = ids[one.source_host] if one.source_host else key[0]
    reason = REASONS[one.reason].value if one.reason is not None else None
    return (
        *key,
        text_of(one.lane, one.host, one.text),
        HOWS[one.how].value,
        source_host_id if one.source_id is not None else None,
        one.source_id,
        one.depth,
        one.hops,
        reason,
        min(one.failures or 0, MOST_COUNTED),
        one.settled_at,
        one.due_at,
        None if one.detail is None else storable(one.detail),
    )


def _execute(connection: Connection, statement: str, names: str, rows: Sequence[Iterable[object]]) -> None:
    if rows:
        connection.execute(_SQL[statement], columns(names, rows))


async def copy_to_shared(
    source: State, target: StateWriter, rules: FrontierRules, without: Forgotten, says: Says
) -> None:
    """Everything in `source` is known to the shared frontier of `target` too; what that knows from later visits stays.
    It may be done again, and crawlers may run. REQUIRES: nothing in `source` waits to be merged."""
    database, intake = cast(PostgresState, target).shared, SharedIntake(rules)
    gone: set[tuple[str, int]] = set()

    def is_wanted(part: FrontierPart, row: Any) -> bool:
        host = row.name if part.name == "hosts" else row.host
        if host not in without.at:
            return True
        if part.name == "urls" and without.has(Url(text_of(row.lane % HELD, row.host, row.text))):
            gone.add((row.host, row.id))
        return host not in without.hosts and (part.name == "hosts" or (row.host, getattr(row, "id", 0)) not in gone)

    for part in PARTS:
        done, write = 0, getattr(intake, part.name)
        for some in some_of(row for row in part.read(source) if is_wanted(part, row)):
            await database.run(partial(_write, write, some))
            done += len(some)
            says(f"copying {part.says}: {done:,}")


def _write(write: Callable[..., None], some: Sequence[object], connection: Connection, _: bool) -> None:
    write(connection, some)
