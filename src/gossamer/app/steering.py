"""What people ask of a running crawl from another terminal or the web page: heard at each beat, done at once."""

import asyncio
from dataclasses import dataclass

from gossamer.app.obeying import obey
from gossamer.app.ruling import Ruling
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.monitor.control import Command, Control

CRAWLER = "crawler"


@dataclass(slots=True)
class Steering:
    frontier: SqliteFrontier
    control: Control
    ruling: Ruling
    stop: asyncio.Event | None
    _paused: bool = False

    def is_paused(self) -> bool:
        """While it is, nothing new is taken; what is under way is finished and kept."""
        return self._paused

    async def heed(self) -> None:
        """Carry out what was asked since the last time, and take up rules that were edited."""
        asked = await asyncio.to_thread(self.control.pending, CRAWLER)
        done = await obey(asked, self.frontier)
        done += [command.id for command in asked if self._done(command)]
        for number in done:
            await asyncio.to_thread(self.control.done, number)
        if self.stop is not None and any(command.verb == "stop" for command in asked):
            self.stop.set()  # last: whoever asked for it is told before the crawl is gone
        if await asyncio.to_thread(self.ruling.reload):
            self.frontier.set_rules(self.ruling.may_enter, self.ruling.nudge)

    def _done(self, command: Command) -> bool:
        match command.verb:
            case "pause":
                self._paused = True
            case "resume":
                self._paused = False
            case verb:
                return verb == "stop" and self.stop is not None
        return True
