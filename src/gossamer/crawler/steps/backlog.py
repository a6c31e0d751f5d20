"""How far the views of a cluster are behind: all nodes write their work, and any node's indexers do it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gossamer.base.clock import SECOND, Clock
from gossamer.base.tasks import background
from gossamer.store import segments
from gossamer.store.segments import ViewBacklog
from gossamer.store.statements import StateWriter
from gossamer.values.format import counted

LOOK_S = 2.0
TOO_FAR = float("inf")


class ClusterBacklog:
    """What each view still has to take, looked up every few seconds."""

    def __init__(self, database: StateWriter, clock: Clock, most_pages: int) -> None:
        """`most_pages`: fetching pauses while a view has more."""
        self._database, self._clock, self._most = database, clock, most_pages
        self.views: dict[str, ViewBacklog] = {}

    async def look(self) -> None:
        self.views = await self._database.read(segments.backlog)

    def lag_s(self, view: str) -> float:
        """How long its oldest page has been waiting, by this machine's clock."""
        found = self.views.get(view)
        return max(0.0, (self._clock.now() - found.oldest_at) / SECOND) if found is not None else 0.0

    def hold_s(self) -> float:
        """For the pace of the crawl: infinite while a view is too far behind."""
        return TOO_FAR if self.says else 0.0

    @property
    def says(self) -> str:
        """What the crawl waits for, in words; empty: for nothing."""
        for view, found in sorted(self.views.items()):
            if found.pages > self._most:
                return (
                    f"waiting for the indexers: the view {view} has {counted(found.pages, 'page')} still to take "
                    f"(views.backlog = {self._most:,})"
                )
        return ""


@asynccontextmanager
async def followed_backlog(
    backlog: ClusterBacklog | None, clock: Clock, wake: Callable[[], None]
) -> AsyncIterator[None]:
    """During the block it is kept up to date. `wake` is called when the crawl may continue. None: it is no cluster."""
    if backlog is None:
        yield
        return

    async def follow() -> None:
        while True:
            was_held = bool(backlog.says)
            await backlog.look()
            if was_held and not backlog.says:
                wake()
            await clock.sleep(LOOK_S)

    async with background(follow()) as following:
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])
