"""Commands to a crawl from another terminal or the web page: read once a second, and carried out."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gossamer.base.environment import Outside
from gossamer.base.errors import DiskFull
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.config.slices import budget, politeness
from gossamer.crawler.admission import Admission
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.frontier.choice import frontier_on
from gossamer.frontier.rows import UrlKeys
from gossamer.monitor.control import REINSTATE, RELEASE, REQUEUE, RETIRE, SEED, ClusterMarks, Command, Control
from gossamer.rules.canonical import identity_of
from gossamer.rules.learned.traps import template_of
from gossamer.rules.scope import Reach
from gossamer.store.statements import StateWriter
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Selection


def idle_rules(settings: Settings, outside: Outside) -> FrontierRules:
    return FrontierRules(
        politeness(settings),
        may_enter=lambda _: True,  # seeds are always accepted
        keys=UrlKeys(identity_of),
        template_of=lambda text: template_of(Url(text)),
        budget=budget(settings),
        chance=outside.chance,
    )


def idle_frontier(database: StateWriter, settings: Settings, outside: Outside) -> Frontier:
    """The frontier while nothing crawls, to steer it. REQUIRES: the directory's lock is held."""
    return frontier_on(database, idle_rules(settings, outside), outside.clock, silent)


async def change_hosts(commands: Sequence[Command], frontier: Frontier) -> list[int]:
    """Carry out the commands on hosts. Returns the ids of those that are done."""
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
"""Store seeds with a reach, if there are any; returns all seeds."""


async def remember_none(_seeds: Sequence[Url], _reach: str) -> list[tuple[Url, Reach]]:
    return []


@dataclass(slots=True)
class Steering:
    """Carries out commands to a running crawl, and reloads rules that were edited."""

    frontier: Frontier
    control: Control
    ruling: Admission
    stop: asyncio.Event
    remember: Remember = remember_none
    rejudge: Callable[[], None] = lambda: None
    """Called when rules or seeds have changed: what they refused is judged again in the background."""
    _paused: bool = False
    _marks: ClusterMarks | None = None
    """As followed so far."""

    def is_paused(self) -> bool:
        """While it is, nothing is taken; fetches in progress are finished and kept."""
        return self._paused

    async def run_commands(self) -> None:
        """Carry out the commands since the last call, and reload the rules if they were edited."""
        asked = await asyncio.to_thread(self.control.pending, CRAWLER)
        done = [command.id for command in asked if self._done(command)]
        for command in asked:
            with contextlib.suppress(DiskFull):  # it stays, and is carried out when there is room
                done += await change_hosts([command], self.frontier)
                done += [command.id] if await self._seeds_added(command) or await self._requeued(command) else []
        for number in done:
            await asyncio.to_thread(self.control.done, number)
        if any(command.verb == "stop" for command in asked):
            self.stop.set()  # last: the caller gets its response before the crawl is gone
        marks = await asyncio.to_thread(self.control.marks)
        has_changed = marks is not None and await self._followed(marks)
        if marks is None or self._marks is None or marks.documents != self._marks.documents:
            has_changed = await asyncio.to_thread(self.ruling.reload) or has_changed
        self._marks = marks
        if has_changed:
            self.frontier.set_rules(self.ruling.may_enter, self.ruling.nudge)
            self.rejudge()

    async def _followed(self, marks: ClusterMarks) -> bool:
        """Pause and continue with the cluster, and take the seeds that were added through others; whether there are."""
        self._paused = marks.is_paused
        if self._marks is not None and marks.seeds == self._marks.seeds:
            return False
        reaches = await self.remember([], "")
        if list(reaches) == list(self.ruling.reaches):
            return False
        self.ruling.take_seeds(reaches)
        return True

    def _done(self, command: Command) -> bool:
        match command.verb:
            case "pause":
                self._paused = True
            case "resume":
                self._paused = False
            case verb:
                return verb == "stop"
        return True

    async def _requeued(self, command: Command) -> bool:
        """Queue URLs again: those named, or all with certain outcomes."""
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

    async def _seeds_added(self, command: Command) -> bool:
        """Add seeds. They are stored first, so that a crash loses none."""
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
