"""Settling in a shared database: what became of visits, written down in one transaction by whoever still holds them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.base.errors import GossamerError
from gossamer.frontier.api import FrontierRules
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
from gossamer.frontier.settlement import HostBefore, host_after, page_moves
from gossamer.store import tallies
from gossamer.store.postgres import captures
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.history import encoded
from gossamer.values.link import LISTS
from gossamer.values.outcome import HELD, PAGE_ERRORS
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url, id_of
from gossamer.values.visit import Settled, TemplateTally, VisitKind, Yield

_SQL = load("gossamer.frontier.postgres")
_BANDS = [band_of(priority) for priority in range(LOWEST + 1)]
Pair = tuple[Settled, SharedLease]


class LeaseLost(GossamerError):
    """Hosts of these visits have gone to another crawler, because this one was not heard of for too long.

    Nothing of the settlement was written. The visits are made again by whoever holds the hosts now.
    """

    def __init__(self, urls: Sequence[Url]) -> None:
        named = ", ".join(url.text for url in urls[:3]) + (" ..." if len(urls) > 3 else "")
        super().__init__(f"{len(urls)} visits are no longer ours to settle: {named}; they will be made again")
        self.urls = tuple(urls)


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
    retired_at: Instant | None
    retired_why: str | None
    visits: int
    left_at: Instant | None
    least_gap: int | None
    rested: int
    broken: int
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
        over = [pair for pair in pages if pair[0].due_at is None]
        again = [pair for pair in pages if pair[0].due_at is not None]
        if over:
            self.connection.execute(_SQL["unqueued"], _places(over))
        if again:
            given = {
                **_places(again),
                "due_ats": [max(1, self._due_at(*pair) or 0) for pair in again],
                "next_priorities": [priority_after(settled, lease.priority) for settled, lease in again],
                "are_last": [settled.reason in PAGE_ERRORS for settled, _ in again],
                "most": MOST_AT_ONCE,
            }
            self.connection.execute(_SQL["queued_later"], given)
        given = {
            "host_ids": [lease.host_id for _, lease in pages],
            "ids": [lease.address_id for _, lease in pages],
            "reasons": [settled.reason.value for settled, _ in pages],
            "details": [plain(settled.detail) or None for settled, _ in pages],
            "failures": [failures_of(settled) for settled, _ in pages],
            "settled_ats": [self._ended_at(*pair) for pair in pages],
            "due_ats": [self._due_at(*pair) for pair in pages],
        }
        self._keep_failures([lease for _, lease in pages if lease.last_reason in FAILED])
        self.connection.execute(_SQL["addresses_settled"], given)
        self._keep_pasts(pages)
        for settled, lease in pages:
            if settled.respelt is not None:
                key = {"host_id": lease.host_id, "id": lease.address_id, "url": settled.respelt.text}
                self.connection.execute(_SQL["respelt"], key)
        return page_moves(pages)

    def _keep_failures(self, leases: Sequence[SharedLease]) -> None:
        """How each ended before, which is overwritten now."""
        if leases:
            given = {
                "host_ids": [lease.host_id for lease in leases],
                "ids": [lease.address_id for lease in leases],
                "most": MOST_FAILURES,
            }
            self.connection.execute(_SQL["failures_kept"], given)
            self.connection.execute(_SQL["failures_thinned"], given)

    def _keep_pasts(self, pages: Sequence[Pair]) -> None:
        rows = [(lease.host_id, lease.address_id, encoded(one.past)) for one, lease in pages if one.past is not None]
        if rows:
            given = dict(zip(("host_ids", "ids", "pasts"), map(list, zip(*rows, strict=True)), strict=True))
            self.connection.execute(_SQL["pasts_kept"], given)

    def note_said(self, done: Sequence[Pair], key_of: Callable[[str], int]) -> None:
        """What the lists among them say of the pages of their own hosts."""
        lists = [pair for pair in done if pair[0].offers and pair[0].offers[0].how in LISTS]
        found = [(lease.host_id, one.offers, one.visit.url.host.name) for one, lease in lists]
        rows = [(host_id, *row) for host_id, offers, host in found for row in said_rows(offers, host, key_of)]
        if rows:
            names = ("host_ids", "ids", "changed_ats", "every_s")
            self.connection.execute(_SQL["said"], dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    def _settle_robots(self, settled: Settled, lease: SharedLease, entering: Entering) -> dict[str, int]:
        robots = settled.robots
        assert robots is not None, "checked by the caller"
        self.rulebook.keep(self.connection, lease.lane_host_id, lease.lane, self.moment.robots_shared(robots))
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
            give_up(self.connection, self.worker_id, lane, settled.reason, plain(settled.detail), now)
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
        fetched, fruitful, held, quarantined_at = row
        judge, template_of = self.rules.judge_template, self.rules.template_of
        if quarantined_at is not None or judge is None or template_of is None:
            return {}
        host = self._hosts[lease.host_id]
        if not judge(TemplateTally(host.name, yielded.template, fetched, fruitful, fetched + held)):
            return {}
        return hold_back(self.connection, host.id, None, yielded.template, template_of, self.moment.at)[1]

    def _settle_hosts(self, done: Sequence[Pair]) -> dict[str, int]:
        given: dict[str, object] = {"hosts": [lease.host_id for _, lease in done]}
        delays: dict[int, float] = dict(self.connection.execute(_SQL["delays"], given).fetchall())
        rows = [self._host_row(settled, lease, delays.get(lease.host_id)) for settled, lease in done]
        names = (
            "hosts", "next_ats", "gaps", "troubles", "failing", "failing_since", "retired_at", "retired_why", "visits",
            "left_at", "least_gap", "rested", "broken", "spent", "is_over",
        )  # fmt: skip
        given = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        was_retired = {lease.host_id for _, lease in done if self._hosts[lease.host_id].retired_at is not None}
        self.connection.execute(_SQL["hosts_settled"], {**given, "last": LAST, "bands": _BANDS})
        return {tallies.RETIRED: sum(1 for row in rows if row[6] is not None and row[0] not in was_retired)}

    def _host_row(self, settled: Settled, lease: SharedLease, delay_s: float | None) -> tuple[object, ...]:
        """The parameters of hosts_settled: when the host is free again, how it stands, and the ledger."""
        host, ended_at = self._hosts[lease.host_id], self._ended_at(settled, lease)
        before = HostBefore(lease.was_free_at, host.left_at, host.troubles, host.failing, host.failing_since)
        draw = self.rules.chance.random()
        after = host_after(self.rules.politeness, before, settled, lease.taken_at, ended_at, delay_s, draw)
        retired = (host.retired_at, host.retired_why)
        if after.retired_why is not None and host.retired_at is None:
            retired = (self.moment.at, after.retired_why)
        visits, spent, least = host.visits + after.is_touched, host.spent + after.spent, host.least_gap
        if after.rested is not None:
            least = after.rested if least is None else min(least, after.rested)
        ledger = (visits, after.left_at, least, host.rested + (after.rested or 0), host.broken + after.is_broken)
        is_over = is_over_budget(self.rules.budget, visits, spent / SECOND, host.linked_from)
        return host.id, *after[:5], *retired, *ledger, spent, is_over

    def _ended_at(self, settled: Settled, lease: SharedLease) -> Instant:
        return self.moment.ended_at(settled.done_at, lease.since_s)

    def _due_at(self, settled: Settled, lease: SharedLease) -> Instant | None:
        if settled.due_at is None:
            return None
        return self._ended_at(settled, lease) + settled.due_at - settled.done_at


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


def failures_of(settled: Settled) -> int:
    return min(failures_after(settled), 32_767)


def plain(text: str) -> str:
    """What the web said, as a text that PostgreSQL takes: it has no NUL and no half of a pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _places(pairs: Sequence[Pair]) -> dict[str, list[object]]:
    return {
        "host_ids": [lease.host_id for _, lease in pairs],
        "lanes": [lease.lane for _, lease in pairs],
        "priorities": [lease.priority for _, lease in pairs],
        "sequences": [lease.sequence for _, lease in pairs],
    }
