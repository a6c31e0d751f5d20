"""The past, for the web site: one worker, started when somebody first asks for a time line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.app.directory import Directory
from gossamer.app.history_past import past_of
from gossamer.app.outside import Outside
from gossamer.app.settings import Settings
from gossamer.web.page_history_rooms import HistoryRooms


@asynccontextmanager
async def history_rooms(directory: Directory, settings: Settings, outside: Outside) -> AsyncIterator[HistoryRooms]:
    async with past_of(directory, settings, outside, 1) as past:
        yield HistoryRooms(past.timeline, past.difference)
