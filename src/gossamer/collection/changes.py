"""Changes to a collection: made directly, or requested from the running crawl.

They are made directly if no process writes to the collection.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from enum import Enum, auto

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy, GossamerError
from gossamer.base.tell import Says, silent, unheard
from gossamer.collection.cluster.intake import seeds_offered
from gossamer.collection.directory import locked, read_state
from gossamer.config.settings import Settings
from gossamer.crawler.commands import idle_frontier
from gossamer.crawler.seeds import WANTS_CONTACT, admitted, checked_seeds
from gossamer.fetch.dns import real_network
from gossamer.frontier import reports
from gossamer.frontier.api import Frontier
from gossamer.frontier.known import ended
from gossamer.frontier.rows import UrlKeys
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import REINSTATE, RELEASE, REQUEUE, RETIRE, SEED, Control
from gossamer.rules.canonical import identity_of, stripped
from gossamer.rules.scope import Reach
from gossamer.store import forgotten
from gossamer.store.directory import Directory
from gossamer.store.options import config_of
from gossamer.store.state import choose_database, is_cluster, open_database, open_snapshot, open_state
from gossamer.values.format import counted
from gossamer.values.outcome import Denied
from gossamer.values.url import Url
from gossamer.values.visit import EndedGroup, Selection

MOST_SEEDS = 10_000
SEEDS_PATIENCE_S = 10.0
FILL_IN = "is public, and site owners must be able to reach you: say in Contact how"
ALL = "all"
KEYS = UrlKeys(identity_of)
PATIENCE_S, LOOK_S = 30.0, 0.1
SILENT_S = 2.0
"""A caller that waits longer gets a message."""
BY_HAND = "by hand"
VERBS = {"retire": RETIRE, "reinstate": REINSTATE, "release": RELEASE}
DONE = {"retire": "is retired: nothing is fetched there", "reinstate": "is crawled again", "release": "is released"}
UNDONE = {
    "retire": "is already retired",
    "reinstate": "is not retired",
    "release": "nothing is quarantined by that pattern",
}


class FetchedBy(Enum):
    RUNNING_CRAWL = auto()
    NEXT_CRAWL = auto()


def fetch_again(directory: Directory, outside: Outside, urls: Sequence[str], says: Says = unheard) -> FetchedBy:
    """Raises ConfigError for a URL that was never fetched, saying what to do."""
    selection = Selection() if ALL in urls else Selection(urls=tuple([stripped(url) for url in checked_seeds(urls)]))
    found = groups_in(directory, selection)
    known = sum(one.urls for one in found)
    if not known or known < len(selection.urls):
        raise ConfigError(
            "not every URL named with --again was fetched before; add a new one as a seed: gossamer crawl URL"
        )
    try:
        with locked(directory, outside, "crawl"):
            by = FetchedBy.RUNNING_CRAWL if is_cluster(directory) else FetchedBy.NEXT_CRAWL
    except DirectoryBusy:
        by = FetchedBy.RUNNING_CRAWL
    asyncio.run(queue_again(directory, outside, selection))
    if by is FetchedBy.RUNNING_CRAWL:
        who = "nodes fetch" if is_cluster(directory) else "the running crawl fetches"
        says(f"{who} {counted(known, 'URL')} again, politely")
    return by


def groups_in(directory: Directory, selection: Selection) -> list[EndedGroup]:
    """How the URLs of a selection ended, by outcome."""
    with closing(open_snapshot(directory)) as state:
        return ended(state, selection, KEYS)


@asynccontextmanager
async def _frontier_of(directory: Directory, outside: Outside, command: str) -> AsyncIterator[Frontier]:
    """Raises DirectoryBusy while a crawl runs."""
    with locked(directory, outside, command):
        async with (
            open_database(directory, outside.clock, silent) as database,
            idle_frontier(database, config_of(directory.root).settings, outside) as frontier,
        ):
            yield frontier


async def queue_again(directory: Directory, outside: Outside, selection: Selection) -> int:
    """Queue URLs again; returns how many."""
    try:
        async with _frontier_of(directory, outside, "retry") as frontier:
            return await frontier.requeue(selection)
    except DirectoryBusy:
        chosen = {"reasons": sorted(selection.reasons), "host": selection.host}
        urls = [url.text for url in selection.urls]
        with control_of(directory, outside.clock) as control:
            number = control.ask(REQUEUE, urls=urls, **chosen)
            if not await is_done_in(PATIENCE_S, control, number, outside.clock):
                raise GossamerError(NO_RESPONSE) from None
        return sum(one.urls for one in groups_in(directory, selection))


async def change_host(
    directory: Directory, outside: Outside, action: str, name: str, words: str, says: Says = unheard
) -> str:
    """The result, in words. `words`: why a host is retired, or the pattern that is released."""
    try:
        async with _frontier_of(directory, outside, "hosts") as frontier:
            done = await _change(frontier, action, name, words)
    except DirectoryBusy:
        return await _request_host_change(directory, outside, action, name, words, says)
    if not done:
        raise GossamerError(f"{name} is not known, or {UNDONE[action]}")
    return f"{name} {DONE[action]}"


async def _change(frontier: Frontier, action: str, name: str, words: str) -> bool:
    match action:
        case "retire":
            return await frontier.retire(name, words)
        case "reinstate":
            return await frontier.reinstate(name)
        case _:
            return await frontier.release(name, words) > 0


async def _request_host_change(
    directory: Directory, outside: Outside, action: str, name: str, words: str, says: Says
) -> str:
    """The crawl does it between two fetches; the result is read from the state."""
    args = {"retire": {"why": words}, "release": {"pattern": words}}.get(action, {})
    with control_of(directory, outside.clock) as control:
        number = control.ask(VERBS[action], host=name, **args)
        if not await is_done_in(SILENT_S, control, number, outside.clock):
            says(f"the running crawl is busy: waiting for it, up to {PATIENCE_S:g} s")
            if not await is_done_in(PATIENCE_S - SILENT_S, control, number, outside.clock):
                raise GossamerError(NO_RESPONSE)
    with closing(open_state(directory)) as state:
        host = reports.host_state(state, name)
    if host is None:
        raise GossamerError(f"{name} is not known to this crawl")
    held = f", with {counted(host.held, 'URL')} quarantined" if host.held else ""
    return f"{name} is {'retired' if host.retired_at is not None else 'active'} now{held}"


NO_RESPONSE = f"the running crawl has not responded in {PATIENCE_S:g} s; it will, if it is alive"


async def is_done_in(
    seconds: float, control: Control, number: int, clock: Clock, is_alive: Callable[[], bool] = lambda: True
) -> bool:
    """Whether the running crawl has done what was requested, within so many seconds."""
    give_up_s = clock.elapsed_s() + seconds
    while not control.is_done(number):
        if clock.elapsed_s() > give_up_s or not is_alive():
            return False
        await clock.sleep(LOOK_S)
    return True


class SeedsTaken(msgspec.Struct, frozen=True):
    taken: int
    left_out: tuple[str, ...] = ()
    """Why each of the others was omitted, in words."""


@dataclass(frozen=True, slots=True)
class SeedIntake:
    """Adds seeds to a collection, with or without a running crawl. REQUIRES: `control` is open."""

    directory: Directory
    settings: Callable[[], Settings]
    outside: Outside
    control: Control
    is_crawling: Callable[[], bool]

    async def add(self, texts: Sequence[str], reach: str, contact: str) -> SeedsTaken:
        """Raises GossamerError if they can neither be added nor passed to the running crawl."""
        if len(texts) > MOST_SEEDS:
            raise ConfigError(f"These are more than {MOST_SEEDS:,} URLs. Add them in parts.")
        if reach not in tuple(Reach):
            raise ConfigError(f"There is no scope {reach!r}.")
        found, left_out = self._not_forgotten(*seeds_in(texts))
        settings = self.settings()
        allowed, refused = await fetchable(found, replace(settings, contact=contact or settings.contact), self.outside)
        if allowed:
            await self._add(allowed, reach)
        return SeedsTaken(len(allowed), (*left_out, *refused))

    def _not_forgotten(self, found: Sequence[Url], left_out: Sequence[str]) -> tuple[list[Url], list[str]]:
        """What was to be forgotten is no seed, and its name is not stored again."""
        block = read_state(self.directory, forgotten.block, forgotten.NOTHING)
        verdicts = [(url, block.judge(url)) for url in found]
        refused = [verdict.rule for _, verdict in verdicts if isinstance(verdict, Denied)]
        return [url for url, verdict in verdicts if not isinstance(verdict, Denied)], [*left_out, *refused]

    async def _add(self, seeds: Sequence[Url], reach: str) -> None:
        """Directly while no process writes, else by a request to the running crawl."""
        give_up_s, number = self.outside.clock.elapsed_s() + SEEDS_PATIENCE_S, None
        is_shared = is_cluster(self.directory)  # any process may offer seeds there, while nodes crawl
        while self.outside.clock.elapsed_s() < give_up_s:
            if not is_shared and self.is_crawling():
                number = number or self.control.ask(SEED, urls=[url.text for url in seeds], reach=reach)
                if self.control.is_done(number):
                    return
            else:
                try:
                    await self._offer(seeds, reach)
                    return
                except DirectoryBusy:
                    number = None  # a crawl that starts ignores earlier requests
            await self.outside.clock.sleep(LOOK_S)
        raise GossamerError("The collection is busy, and the seeds could not be added. Try again.")

    async def _offer(self, seeds: Sequence[Url], reach: str) -> None:
        settings, clock = self.settings(), self.outside.clock
        with locked(self.directory, self.outside, "seeds"):
            if not is_cluster(self.directory):
                choose_database(self.directory, settings.frontier.database, self.outside.files)
            async with open_database(self.directory, clock, silent) as database:
                await seeds_offered(database, seeds, reach, settings, self.outside)


def seeds_in(texts: Sequence[str]) -> tuple[list[Url], list[str]]:
    """Each URL once, and the errors of the others."""
    found, left_out = dict[Url, None](), []
    for text in texts:
        try:
            found[checked_seeds([text])[0]] = None
        except ConfigError as trouble:
            left_out.append(str(trouble))
    return list(found), left_out


async def fetchable(seeds: Sequence[Url], settings: Settings, outside: Outside) -> tuple[list[Url], list[str]]:
    """Those that may be fetched, and in words why the others may not. No connection is made; names may be resolved."""
    try:
        allowed, refused = await admitted(seeds, settings, real_network(outside).resolver)
    except ConfigError as trouble:
        allowed, refused = [], [line.strip() for line in str(trouble).splitlines() if not line.endswith(":")]
    return allowed, [words.replace(WANTS_CONTACT, FILL_IN) for words in refused]
