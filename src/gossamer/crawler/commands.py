"""What people ask of a running crawl from another terminal or the web page: heard at each beat, done at once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gossamer.base.errors import DiskFull
from gossamer.crawler.admission import Admission
from gossamer.frontier.api import Frontier
from gossamer.monitor.control import REINSTATE, RELEASE, REQUEUE, RETIRE, SEED, Command, Control
from gossamer.rules.scope import Reach
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Selection


async def obey(commands: Sequence[Command], frontier: Frontier) -> list[int]:
    """Carry out what concerns hosts among the pending commands; says which are done and can be crossed out."""
    done = []
    for command in commands:
        host = str(command.args.get("host", ""))
        if command.verb == RETIRE:
            await frontier.retire(host, str(command.args.get("why", "")))
        elif command.verb == REINSTATE:
            await frontier.reinstate(host)
        elif command.verb == RELEASE:
            await frontier.release(host, str(command.args.get("pattern", "")))
        else:
            continue
        done.append(command.id)
    return done


CRAWLER = "crawler"
Remember = Callable[[Sequence[Url], str], Awaitable[list[tuple[Url, Reach]]]]
"""Enter seeds with a reach; every seed there is then."""


async def remember_none(_seeds: Sequence[Url], _reach: str) -> list[tuple[Url, Reach]]:
    return []


@dataclass(slots=True)
class Steering:
    frontier: Frontier
    control: Control
    ruling: Admission
    stop: asyncio.Event | None
    remember: Remember = remember_none
    rejudge: Callable[[], None] = lambda: None
    """The rules or the seeds are others now: what they refused is judged again, beside the crawl."""
    _paused: bool = False

    def is_paused(self) -> bool:
        """While it is, nothing new is taken; what is under way is finished and kept."""
        return self._paused

    async def heed(self) -> None:
        """Carry out what was asked since the last time, and take up rules that were edited."""
        asked = await asyncio.to_thread(self.control.pending, CRAWLER)
        done = [command.id for command in asked if self._done(command)]
        for command in asked:
            with contextlib.suppress(DiskFull):  # it stays where it is, and is carried out when there is room
                done += await obey([command], self.frontier)
                done += [command.id] if await self._sown(command) or await self._requeued(command) else []
        for number in done:
            await asyncio.to_thread(self.control.done, number)
        if self.stop is not None and any(command.verb == "stop" for command in asked):
            self.stop.set()  # last: whoever asked for it is told before the crawl is gone
        if await asyncio.to_thread(self.ruling.reload):
            self.frontier.set_rules(self.ruling.may_enter, self.ruling.nudge)
            self.rejudge()

    def _done(self, command: Command) -> bool:
        match command.verb:
            case "pause":
                self._paused = True
            case "resume":
                self._paused = False
            case verb:
                return verb == "stop" and self.stop is not None
        return True

    async def _requeued(self, command: Command) -> bool:
        """URLs wait again, those that were named or all that ended in some way."""
        if command.verb != REQUEUE:
            return False
        reasons, urls = command.args.get("reasons"), command.args.get("urls")
        selection = Selection(
            frozenset([Reason(one) for one in reasons if one in set(Reason)] if isinstance(reasons, list) else ()),
            str(command.args.get("host", "")),
            tuple([url for text in urls if (url := url_of(str(text)))] if isinstance(urls, list) else ()),
        )
        await self.frontier.requeue(selection)
        return True

    async def _sown(self, command: Command) -> bool:
        """New seeds join the crawl: they are remembered first, so that a crash loses none."""
        if command.verb != SEED:
            return False
        texts, reach = command.args.get("urls"), str(command.args.get("reach", Reach.HOST))
        seeds = [url for text in texts if (url := url_of(str(text)))] if isinstance(texts, list) else []
        if seeds and reach in tuple(Reach):
            self.ruling.take_seeds(await self.remember(seeds, reach))
            self.frontier.set_rules(self.ruling.may_enter, self.ruling.nudge)
            await self.frontier.offer([Offer(seed, How.SEED) for seed in seeds])
            await self.frontier.revive(seeds)
            self.rejudge()
        return True
