"""Settling in a shared database: what became of visits, written down in one transaction by whoever still holds them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import FrontierRules, LeaseLost
from gossamer.frontier.leases import is_given_up
from gossamer.frontier.politeness import (
    FAILED,
    MOST_FAILURES,
    failures_after,
)
from gossamer.frontier.postgres.hosts import SharedRulebook, hold_back
from gossamer.frontier.postgres.leases import SharedLease, give_up, give_up_unread
from gossamer.frontier.postgres.presence import SharedMoment, tally
from gossamer.frontier.postgres.sieve import MOST_AT_ONCE, Entering, SourcedOffer
from gossamer.frontier.priority import LAST, LOWEST, band_of, is_over_budget, priority_after
from gossamer.frontier.rows import parts_of, said_rows
from gossamer.frontier.settlement import HostBefore, host_after, is_trap, page_moves
from gossamer.store import tallies
from gossamer.store.postgres import captures
from gossamer.store.postgres.database import Connection, columns
from gossamer.store.statements import load
from gossamer.values.history import encoded
from gossamer.values.link import LISTS
from gossamer.values.outcome import HELD, PAGE_ERRORS
from gossamer.values.robots import RobotsState
from gossamer.values.url import id_of
from gossamer.values.visit import Settled, VisitKind, Yield

_SQL = load("gossamer.frontier.postgres")
_BANDS = [band_of(priority) for priority in range(LOWEST + 1)]
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
        """Lock the hosts and make sure that we still hold each. False: an earlier try of this was committed after all.

        A lease number that the host no longer has belongs to a crawler that was taken for dead.
        """
        given = {"hosts": [lease.host_id for lease in leases]}
        self._hosts = {row[0]: SharedHostRow._make(row) for row in self.connection.execute(_SQL["hosts_held"], given)}
        lost, done = [], 0
        for lease in leases:
            row = self._hosts[lease.host_id]
            is_ours = row.worker_id == self.worker_id and row.lease == lease.token
            if is_ours and not row.is_leased and self.moment.may_be_done:
                done += 1
            elif not is_ours or not row.is_leased:
                lost.append(lease.visit.url)
        if lost:
            raise LeaseLost(lost)
        return done == 0

    def settle(self, done: Sequence[Pair], entering: Entering) -> None:
        """REQUIRES: `hold` said True; there is at most one a host; offers have been entered before."""
        pages = [pair for pair in done if pair[0].visit.kind is VisitKind.PAGE]
        moves = Counter({tallies.LEASED: -len(done)})
        moves.update(self._settle_pages(pages))
        for settled, lease in done:
            if settled.visit.kind is VisitKind.ROBOTS:
                moves.update(self._settle_robots(settled, lease, entering))
        for settled, lease in pages:
            if settled.yielded is not None:
                moves.update(self._learn(lease, settled.yielded, entering))
        moves.update(self._settle_hosts(done))
        kept = [one.kept for one, _ in done if one.kept is not None]
        withdrawing = [one.kept for one, _ in done if one.withdraws and one.kept is not None]
        moves.update(captures.insert(self.connection, kept, withdrawing))
        tally(self.connection, self.worker_id, moves)

    def _settle_pages(self, pages: Sequence[Pair]) -> Counter[str]:
        if not pages:
            return Counter()
        over, again = [], []
        for one, lease in pages:
            place = (lease.host_id, lease.lane, lease.priority, lease.sequence)
            if one.due_at is None:
                over.append(place)
            else:
                is_last = one.reason in PAGE_ERRORS
                again.append((*place, max(1, one.due_at), priority_after(one, lease.priority), is_last))
        names = "host_ids lanes priorities sequences"
        self._execute("unqueued", names, over)
        self._execute("queued_later", f"{names} due_ats next_priorities are_last", again, most=MOST_AT_ONCE)
        failed = [(lease.host_id, lease.address_id) for _, lease in pages if lease.last_reason in FAILED]
        self._execute("failures_kept", "host_ids ids", failed)
        self._execute("failures_thinned", "host_ids ids", failed, most=MOST_FAILURES)
        ends = [(lease.host_id, lease.address_id, *_end(one)) for one, lease in pages]
        self._execute("addresses_settled", "host_ids ids reasons details failures settled_ats due_ats", ends)
        pasts = [(lease.host_id, lease.address_id, encoded(one.past)) for one, lease in pages if one.past is not None]
        self._execute("pasts_kept", "host_ids ids pasts", pasts)
        respelt = [(lease.host_id, lease.address_id, one.respelt.text) for one, lease in pages if one.respelt]
        self._execute("respelt", "host_ids ids urls", respelt)
        return page_moves(pages)

    def _execute(self, statement: str, names: str, rows: Sequence[Iterable[object]], **more: object) -> None:
        if rows:
            self.connection.execute(_SQL[statement], {**columns(names, rows), **more})

    def note_said(self, done: Sequence[Pair], key_of: Callable[[str], int]) -> None:
        """What the lists among them say of the pages of their own hosts."""
        lists = [pair for pair in done if pair[0].offers and pair[0].offers[0].how in LISTS]
        found = [(lease.host_id, one.offers, one.visit.url.host.name) for one, lease in lists]
        rows = [(host_id, *row) for host_id, offers, host in found for row in said_rows(offers, host, key_of)]
        self._execute("said", "host_ids ids changed_ats every_s", rows)

    def _settle_robots(self, settled: Settled, lease: SharedLease, entering: Entering) -> dict[str, int]:
        robots = settled.robots
        assert robots is not None, "checked by the caller"
        self.rulebook.keep(self.connection, lease.lane_host_id, lease.lane, robots)
        mailed = {lease.lane_host_id}
        new_hosts = 0
        if lease.is_errand:
            key = {"host_id": lease.host_id, "for_host_id": lease.lane_host_id, "for_lane": lease.lane}
            self.connection.execute(_SQL["errand_done"], key)
        if robots.state is RobotsState.PENDING and robots.ask is not None:
            ids, new_hosts = entering.host_ids([robots.ask.host.name])
            (at_host_id,) = ids.values()
            key = {"host_id": at_host_id, "for_host_id": lease.lane_host_id, "for_lane": lease.lane}
            self.connection.execute(_SQL["errand_added"], {**key, "url": robots.ask.text})
            mailed.add(at_host_id)
        lane, now = (lease.lane_host_id, lease.lane), self.moment.at
        if settled.reason in HELD:
            give_up(self.connection, self.worker_id, lane, settled.reason, settled.detail, now)
        elif is_given_up(robots, self.rules.politeness.robots_tries):
            name = parts_of(f"{robots.origin}/")[1]
            give_up_unread(self.connection, self.worker_id, lane, name, robots.failures, now)
        entering.mail(mailed - {lease.host_id})
        return {tallies.HOSTS: new_hosts}

    def _learn(self, lease: SharedLease, yielded: Yield, entering: Entering) -> dict[str, int]:
        """Count what a page brought under its template; a template found barren goes into quarantine."""
        key = {"host_id": lease.host_id, "id": id_of(yielded.template)}
        given = {**key, "template": yielded.template, "fetched": 1, "fruitful": int(yielded.is_fruitful)}
        row = self.connection.execute(_SQL["template_seen"], given).fetchone()
        assert row is not None
        template_of, host = self.rules.template_of, self._hosts[lease.host_id]
        if template_of is None or not is_trap(self.rules.judge_template, host.name, yielded.template, row):
            return {}
        return hold_back(self.connection, host.id, None, yielded.template, template_of, self.moment.at)[1]

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


def _end(settled: Settled) -> tuple[object, ...]:
    failures = min(failures_after(settled), 32_767)
    return settled.reason.value, settled.detail or None, failures, settled.done_at, settled.due_at


def having_led(done: Sequence[Pair], new: Sequence[SourcedOffer]) -> list[Pair]:
    """The same, each page with how many new ones its visit led to, when that was not its first."""
    many = Counter(met.offer.source_id for met in new)
    found: list[Pair] = []
    for settled, lease in done:
        led = many[settled.visit.url.id] if settled.past is not None and settled.visit.past is not None else 0
        if led and settled.past is not None:
            settled = msgspec.structs.replace(settled, past=settled.past.led(led))
        found.append((settled, lease))
    return found
