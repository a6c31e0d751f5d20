"""Moves everything that a frontier knows from `state.db` to PostgreSQL, or back."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from gossamer.base.clock import Instant
from gossamer.base.tell import Says
from gossamer.frontier import transfer
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.choice import run_shared, shared_maintenance
from gossamer.frontier.rows import HELD, text_of
from gossamer.frontier.sqlite.hosts import Quarantine
from gossamer.frontier.sqlite.maintenance import FrontierIntake
from gossamer.frontier.sqlite.sieve import IncomingKeys, merge_some, waiting_in
from gossamer.store.forgotten import Forgotten
from gossamer.store.statements import State, StateWriter
from gossamer.values.url import Url


class _Part(NamedTuple):
    name: str
    """Of the method that writes it."""
    says: str
    read: Callable[[State], Iterator[Any]]


PARTS = (
    _Part("hosts", "hosts", transfer.hosts_of),
    _Part("urls", "known URLs", transfer.urls_of),
    _Part("queue", "waiting URLs", transfer.queue_of),
    _Part("failures", "earlier failures", transfer.failures_of),
    _Part("templates", "templates of URLs", transfer.templates_of),
    _Part("robots", "robots.txt files", transfer.robots_of),
)
"""In the order in which they are written."""


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


async def copy_to_shared(
    source: State, target: StateWriter, rules: FrontierRules, without: Forgotten, says: Says
) -> None:
    """Everything in `source` is known to the shared frontier of `target` too; what that knows from later visits stays.
    It may be done again, and crawlers may run. REQUIRES: nothing in `source` waits to be merged."""
    intake = shared_maintenance().SharedIntake(rules)
    gone: set[tuple[str, int]] = set()

    def is_wanted(part: _Part, row: Any) -> bool:
        host = row.name if part.name == "hosts" else row.host
        if host not in without.at:
            return True
        if part.name == "urls" and without.has(Url(text_of(row.lane % HELD, row.host, row.text))):
            gone.add((row.host, row.id))
        return host not in without.hosts and (part.name == "hosts" or (row.host, getattr(row, "id", 0)) not in gone)

    for part in PARTS:
        done, write = 0, getattr(intake, part.name)
        for some in transfer.some(row for row in part.read(source) if is_wanted(part, row)):
            await run_shared(target, partial(write, some=some))
            done += len(some)
            says(f"copying {part.says}: {done:,}")


async def copy_to_single(source: State, target: StateWriter, rest_until: Instant, says: Says) -> None:
    """Everything in `source` is written to a `state.db` without hosts. Nothing is sent to any host before that
    instant."""
    intake = FrontierIntake()
    for part in PARTS:
        done, write = 0, getattr(intake, part.name)
        for some in transfer.some(part.read(source)):
            await target.run(partial(write, some=some))
            done += len(some)
            says(f"copying {part.says}: {done:,}")
        if part.name == "hosts":
            await target.run(intake.read_ids)
    await target.run(partial(intake.finish, rest_until=rest_until))
