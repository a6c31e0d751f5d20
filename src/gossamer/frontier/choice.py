"""Which frontier a crawl has: the one that goes with the database of its state."""

from typing import cast

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.database import Database
from gossamer.store.state import NO_DRIVER
from gossamer.store.statements import StateWriter


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
