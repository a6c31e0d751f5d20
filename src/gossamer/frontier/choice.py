"""Which frontier a crawl has: the one that goes with the database of its state."""

from typing import Any, cast

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.config.slices import Politeness
from gossamer.frontier.api import Frontier, MayEnter
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.database import Database
from gossamer.store.state import NO_DRIVER
from gossamer.store.statements import StateWriter


def frontier_on(
    database: StateWriter, politeness: Politeness, clock: Clock, tell: Tell, may_enter: MayEnter, **more: Any
) -> Frontier:
    """`more`: what both frontiers are given by name. Use it in an `async with`."""
    if isinstance(database, Database):
        return SqliteFrontier(database, politeness, clock, tell, may_enter, **more)
    try:
        from gossamer.frontier.postgres.frontier import PostgresFrontier
        from gossamer.frontier.postgres.hosts import Stay
        from gossamer.store.postgres.state import PostgresState
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    state = cast(PostgresState, database)
    return PostgresFrontier(state.shared, politeness, clock, tell, may_enter, Stay(state.owner), **more)
