"""The past, for the web site: one worker, started when somebody first asks for a time line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.collection.history.reader import past_of
from gossamer.config.settings import Settings
from gossamer.store.directory import Directory
from gossamer.values.capture import Kept
from gossamer.values.messages import Difference, ReadVersion
from gossamer.web.page.history_rooms import HistoryRooms

WITHHELD = "the site asks not to show copies of this page, so versions of it are not compared here"


@asynccontextmanager
async def history_rooms(directory: Directory, settings: Settings, outside: Outside) -> AsyncIterator[HistoryRooms]:
    async with past_of(directory, settings, outside, 1) as past:

        async def difference(before: Kept, after: Kept) -> Difference:
            for kept in (before, after):
                said = await past.said(kept)
                if isinstance(said, ReadVersion) and not said.may_cache:
                    raise GossamerError(WITHHELD)
            return await past.difference(before, after)

        yield HistoryRooms(past.timeline, difference)
