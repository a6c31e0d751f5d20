"""Which frontier a crawl has: the one that goes with the database of its state."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar, cast

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.forgotten import Forgotten
from gossamer.store.sqlite.database import Database
from gossamer.store.state import NO_DRIVER
from gossamer.store.statements import StateWriter

T = TypeVar("T")


def frontier_on(database: StateWriter, rules: FrontierRules, clock: Clock, tell: Tell) -> Frontier:
    if isinstance(database, Database):
        return SqliteFrontier(database, rules, clock, tell)
    try:
        from gossamer.frontier.postgres.frontier import PostgresFrontier
        from gossamer.frontier.postgres.presence import Stay
        from gossamer.store.postgres.state import PostgresState
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    state = cast(PostgresState, database)
    return PostgresFrontier(state.shared, rules, clock, tell, Stay(state.member, is_passing=state.is_passing))


class SharedMaintenance(NamedTuple):
    """What `frontier.postgres.maintenance` does, whose driver is an optional dependency."""

    block: Callable[..., Forgotten]
    forget: Callable[..., int]
    add_object: Callable[..., None]
    copy_to_shared: Callable[..., Awaitable[None]]


def shared_maintenance() -> SharedMaintenance:
    try:
        from gossamer.frontier.postgres.maintenance import add_object, block, copy_to_shared, forget
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    return SharedMaintenance(block, forget, add_object, copy_to_shared)


async def run_shared(database: StateWriter, work: Callable[[Any], T]) -> T:
    """`work` in one transaction on a connection to the shared database itself. REQUIRES: the state is there."""
    shared: Any = database
    done: T = await shared.shared.run(lambda connection, _: work(connection))
    return done
