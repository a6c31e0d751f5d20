"""A frontier on PostgreSQL for the contract suite: the same folder always opens the same crawl."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.postgres_server import server

from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.testing import FakeClock
from gossamer.values.link import Offer


@asynccontextmanager
async def opened(
    folder: Path,
    clock: FakeClock,
    politeness: Politeness,
    may_enter: Callable[[Offer], bool],
    stops_cleanly: bool = True,
    **more: Any,
) -> AsyncIterator[Frontier]:
    """Skips the test when there is no server on this machine."""
    conninfo = server().conninfo_for(folder, waits_for_disk=False)
    from gossamer.frontier.postgres.frontier import PostgresFrontier
    from gossamer.frontier.postgres.presence import Stay
    from gossamer.store.postgres.database import SharedDatabase

    async with SharedDatabase(conninfo, clock, silent) as database:
        rules = FrontierRules(politeness, may_enter, **more)
        frontier = PostgresFrontier(database, rules, clock, silent, Stay("one"), lambda _: clock.now())
        await frontier.open()
        yield frontier
        if stops_cleanly:
            await frontier.close()
