"""Which frontier a crawl has: the one that goes with the database of its state."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, cast

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
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


def shared_maintenance() -> ModuleType:
    """`frontier.postgres.maintenance`, whose driver is an optional dependency."""
    try:
        from gossamer.frontier.postgres import maintenance
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    return maintenance


async def run_shared(database: StateWriter, work: Callable[[Any], T]) -> T:
    """`work` in one transaction on a connection to the shared database itself. REQUIRES: the state is there."""
    shared: Any = database
    done: T = await shared.shared.run(lambda connection, _: work(connection))
    return done
