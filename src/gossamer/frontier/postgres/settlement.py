"""Settling in a shared database.

The results of visits, stored in one transaction if they are still held.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import FrontierRules, LeaseLost
from gossamer.frontier.politeness import MOST_FAILURES
from gossamer.frontier.postgres.hosts import SharedRulebook, hold_back, templates_seen
from gossamer.frontier.postgres.leases import SharedLease, give_up
from gossamer.frontier.postgres.presence import SharedMoment, tally
from gossamer.frontier.postgres.sieve import MOST_AT_ONCE, Entering, SourcedOffer
from gossamer.frontier.priority import LAST, LOWEST, band_of, is_over_budget
from gossamer.frontier.rows import said_rows
from gossamer.frontier.settlement import HostBefore, captures_of, host_after, is_trap, lane_end, page_rows
from gossamer.store import tallies
from gossamer.store.captures import moment_key, row_of
from gossamer.store.postgres.database import Connection, columns
from gossamer.store.postgres.state import viewed
from gossamer.store.segments import settle_segments
from gossamer.store.state import CLUSTER
from gossamer.store.statements import load
from gossamer.values.capture import Kept
from gossamer.values.link import LISTS
from gossamer.values.robots import RobotsState
from gossamer.values.url import id_of
from gossamer.values.visit import Settled, VisitKind

_SQL = load("gossamer.frontier.postgres")
_CAPTURES = load("gossamer.frontier.postgres", "captures.sql")
_BANDS = [band_of(priority) for priority in range(LOWEST + 1)]
MOST_COUNTED = 32_767
"""Failures of a URL, as a smallint."""
Pair = tuple[Settled, SharedLease]


class SharedHostRow(NamedTuple):
    """A row of hosts_held."""

    id: int
    name: str
    worker_id: int | None
    lease: int
    is_leased: bool
    troubles: int
    failing: int
    failing_since: Instant | None
    is_retired: bool
    visits: int
    left_at: Instant | None
    spent: int
    linked_from: int


@dataclass(slots=True)
class SharedSettle:
    """One `settle`, inside its transaction."""

    connection: Connection
    worker_id: int
    rulebook: SharedRulebook
    rules: FrontierRules
    moment: SharedMoment
    _hosts: dict[int, SharedHostRow] = field(default_factory=dict)

    def hold(self, leases: Sequence[SharedLease]) -> bool:
        """Lock the hosts and check that we still hold each. False: an earlier try of this was committed after all.

        A lease number that the host no longer has belongs to a crawler that was taken for dead.
        """
        given = {"hosts": [lease.host_id for lease in leases]}
        self._hosts = {row[0]: SharedHostRow._make(row) for row in self.connection.execute(_SQL["hosts_held"], given)}
        lost, done = [], 0
        for lease in leases:
            row = self._hosts.get(lease.host_id)  # None: it was forgotten
            is_ours = row is not None and row.worker_id == self.worker_id and row.lease == lease.token
            is_leased = row is not None and row.is_leased
            if is_ours and not is_leased and self.moment.may_be_done:
                done += 1
            elif not is_ours or not is_leased:
                lost.append(lease.visit.url)
        if lost:
            raise LeaseLost(lost)
        return done == 0

    def settle(self, done: Sequence[Pair], entering: Entering) -> None:
        """REQUIRES: `hold` returned True; at most one visit a host; offers have been entered before."""
        moves = Counter({tallies.LEASED: -len(done)})
        moves.update(self._settle_pages(done))
        for settled, lease in done:
            if settled.visit.kind is VisitKind.ROBOTS:
                moves.update(self._settle_robots(settled, lease, entering))
        moves.update(self._learn([pair for pair in done if pair[0].visit.kind is not VisitKind.ROBOTS]))
        moves.update(self._settle_hosts(done))
        moves.update(insert_captures(self.connection, *captures_of(done)))
        tally(self.connection, self.worker_id, moves)

    def _settle_pages(self, done: Sequence[Pair]) -> Counter[str]:
        rows = page_rows(done)
        again = [(*one.place, one.due_at, one.priority, one.is_last) for one in rows.requeued]
        ends = [
            (*one[:2], one.reason.value, one.detail, min(one.failures, MOST_COUNTED), one.done_at, one.due_at)
            for one in rows.ends
        ]
        place = "host_ids lanes priorities sequences"
        self._execute("unqueued", place, rows.removed)
        self._execute("queued_later", f"{place} due_ats next_priorities are_last", again, most=MOST_AT_ONCE)
        self._execute("failures_kept", "host_ids ids", rows.failed)
        self._execute("failures_thinned", "host_ids ids", rows.failed, most=MOST_FAILURES)
        self._execute("addresses_settled", "host_ids ids reasons details failures settled_ats due_ats", ends)
        self._execute("pasts_kept", "host_ids ids pasts", rows.pasts)
        self._execute("respelt", "urls host_ids ids", [(url.text, *key) for url, *key in rows.respelt])
        return rows.moves

    def _execute(self, statement: str, names: str, rows: Sequence[Iterable[object]], **more: object) -> None:
        if rows:
            self.connection.execute(_SQL[statement], {**columns(names, rows), **more})

    def note_said(self, done: Sequence[Pair], key_of: Callable[[str], int]) -> None:
        """Store what the lists among them say about pages of their own hosts."""
        lists = [pair for pair in done if pair[0].offers and pair[0].offers[0].how in LISTS]
        found = [(lease.host_id, one.offers, one.visit.url.host.name) for one, lease in lists]
        rows = [(host_id, *row) for host_id, offers, host in found for row in said_rows(offers, host, key_of)]
        self._execute("said", "host_ids ids changed_ats every_s", rows)

    def _settle_robots(self, settled: Settled, lease: SharedLease, entering: Entering) -> dict[str, int]:
        robots, lane = settled.robots, (lease.lane_host_id, lease.lane)
        assert robots is not None, "checked by the caller"
        self.rulebook.keep(self.connection, *lane, robots)
        mailed = {lease.lane_host_id}
        new_hosts = 0
        origin = {"for_host_id": lease.lane_host_id, "for_lane": lease.lane}
        if lease.is_errand:
            self.connection.execute(_SQL["errand_done"], {"host_id": lease.host_id, **origin})
        if robots.state is RobotsState.PENDING and robots.ask is not None:
            ids, new_hosts = entering.host_ids([robots.ask.host.name])
            (at_host_id,) = ids.values()
            self.connection.execute(_SQL["errand_added"], {"host_id": at_host_id, **origin, "url": robots.ask.text})
            mailed.add(at_host_id)
        if end := lane_end(settled, robots, self.rules.politeness.robots_tries):
            give_up(self.connection, self.worker_id, lane, *end, self.moment.at)
        entering.mail(mailed - {lease.host_id})
        return {tallies.HOSTS: new_hosts}

    def _learn(self, done: Sequence[Pair]) -> Counter[str]:
        """Count what pages brought for their templates; a template found barren is quarantined."""
        moves = Counter[str]()
        brought = [(lease.host_id, one.yielded) for one, lease in done if one.yielded is not None]
        rows = [(host_id, id_of(one.template), one.template, 1, int(one.is_fruitful)) for host_id, one in brought]
        template_of = self.rules.template_of
        for host_id, template, fetched, fruitful, since in templates_seen(self.connection, rows):
            name, learned = self._hosts[host_id].name, (fetched, fruitful, since)
            if template_of is not None and is_trap(self.rules.judge_template, name, template, learned):
                moves.update(hold_back(self.connection, host_id, None, template, template_of, self.moment.at)[1])
        return moves

    def _settle_hosts(self, done: Sequence[Pair]) -> dict[str, int]:
        given = {"hosts": [lease.host_id for _, lease in done]}
        delays: dict[int, float] = dict(self.connection.execute(_SQL["delays"], given).fetchall())
        rows, retired = [], 0
        for settled, lease in done:
            host = self._hosts[lease.host_id]
            before = HostBefore(lease.was_free_at, host.left_at, host.troubles, host.failing, host.failing_since)
            delay_s, draw = delays.get(host.id), self.rules.chance.random()
            politeness, taken_at = self.rules.politeness, lease.taken_at
            after = host_after(politeness, before, settled, taken_at, settled.done_at, delay_s, draw)
            retired += after.retired_why is not None and not host.is_retired
            visits, spent_s = host.visits + after.is_touched, (host.spent + after.spent) / SECOND
            rows.append((host.id, *after, is_over_budget(self.rules.budget, visits, spent_s, host.linked_from)))
        names = "hosts next_ats gaps troubles failing failing_since retired_why"
        names += " are_touched spent left_at rested are_broken are_over"
        self._execute("hosts_settled", names, rows, now=self.moment.at, last=LAST, bands=_BANDS)
        return {tallies.RETIRED: retired}


def with_leads(done: Sequence[Pair], new: Iterable[SourcedOffer]) -> list[Pair]:
    """The same, where each page that was revisited remembers how many new pages it led to."""
    many = Counter(found.offer.source_id for found in new)
    pairs: list[Pair] = []
    for settled, lease in done:
        if settled.past is not None and settled.visit.past is not None and (led := many[settled.visit.url.id]):
            settled = msgspec.structs.replace(settled, past=settled.past.led(led))
        pairs.append((settled, lease))
    return pairs


# Captures enter the catalogue many at a time; `store.captures` does it for a single crawl.

_COLUMNS = (
    "host_ids url_ids fetched_ats capture_ids urls volume_ids numbers offsets lengths statuses media_types digests "
    "sizes are_pages refers_ats charsets charsets_from are_unread"
)


def insert_captures(connection: Connection, kept: Sequence[Kept], withdrawing: Sequence[Kept]) -> dict[str, int]:
    """Add captures, inside the caller's transaction; returns how the counters move. Adding one again changes nothing.

    `withdrawing`: those of them that remove their page from the views.
    """
    if not kept:
        return {}
    names = sorted({one.place.volume for one in kept})
    _settle_segments(connection, names)
    volume_ids = {name: _volume_id(connection, name) for name in names}
    pages = [one for one in kept if one.is_page]
    distinct = {one.url.text: moment_key(one)[:3] for one in pages}
    held = _count(connection, "held", "host_ids url_ids urls", distinct.values())
    # PostgreSQL has no text with a NUL in it
    plain = [msgspec.structs.replace(one, media_type=one.media_type.replace("\0", "\ufffd")) for one in kept]
    rows = [row_of(one, volume_ids[one.place.volume]) for one in plain]
    fresh = connection.execute(_CAPTURES["insert"], columns(_COLUMNS, rows)).rowcount
    moment = "host_ids url_ids urls ats"
    restored = _count(connection, "restored", moment, map(moment_key, pages))
    withdrawn = _count(connection, "withdrawn", moment, map(moment_key, withdrawing))
    return {tallies.CAPTURES: fresh, tallies.PAGES: len(distinct) - held + restored - withdrawn}


def _settle_segments(connection: Connection, names: Sequence[str]) -> None:
    """In a cluster. Raises SegmentLost when a segment is no longer there to be settled."""
    (is_cluster,) = connection.execute(_CAPTURES["is_cluster"], {"owner": CLUSTER}).fetchone() or (False,)
    if is_cluster:
        with viewed(connection) as state:
            settle_segments(state, names)


def _count(connection: Connection, statement: str, names: str, rows: Iterable[Iterable[object]]) -> int:
    """How many rows it changed, or for `held`, counted."""
    given = list(rows)
    if not given:
        return 0
    done = connection.execute(_CAPTURES[statement], columns(names, given))
    row = done.fetchone() if statement == "held" else None
    return row[0] if row else done.rowcount


def _volume_id(connection: Connection, name: str) -> int:
    given = {"volume": name}
    row = connection.execute(_CAPTURES["volume"], given).fetchone()
    row = row or connection.execute(_CAPTURES["volume_added"], given).fetchone()
    row = row or connection.execute(_CAPTURES["volume"], given).fetchone()
    assert row is not None
    return int(row[0])
