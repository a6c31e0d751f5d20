"""Control of a crawl: start, pause, stop; changes of its seeds, rules and hosts.

The crawl runs as a child process.
"""

import asyncio
import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy, GossamerError
from gossamer.base.processes import Child
from gossamer.base.tell import silent
from gossamer.collection.changes import BY_HAND, SeedIntake, SeedsTaken, change_host, fetchable, is_done_in, queue_again
from gossamer.collection.directory import read_state
from gossamer.collection.state import RulesPreview, rules_effect
from gossamer.config.load import FILE_NAME
from gossamer.config.settings import Settings
from gossamer.crawler.damage import DAMAGED
from gossamer.crawler.rules_file import RulesFile
from gossamer.crawler.seeds import checked_seeds
from gossamer.frontier.known import known
from gossamer.monitor.control import Control, running_processes
from gossamer.monitor.system import status_of
from gossamer.rules.canonical import stripped
from gossamer.rules.scope import Reach
from gossamer.rules.user.rulebook import NO_RULES, Problems, load_rules
from gossamer.store.directory import LOG_NAME, Directory, holder_in_words
from gossamer.store.directory import NAME as LOCK_NAME
from gossamer.store.options import config_of, stored_in, stored_seeds
from gossamer.store.state import is_cluster, open_state
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Selection

MODULE = "gossamer.cli.crawl_child"
FETCHABLE = frozenset(Reason) - {Reason.FORGOTTEN}
"""Outcomes after which a page may be fetched again."""
LOOK_S = 0.1
PATIENCE_S = 10.0
STATE_S = 2.5
FIRST_BEAT_S = 12.0
"""How long the caller that starts a crawl waits for its first heartbeat."""
END_S = 15.0
"""How long a crawl may take to end with the server; a clean stop takes less than ten seconds."""
STILL_STARTING = "The crawl has been started, but has not responded yet: this machine is busy."
NO_CRAWLERS = (
    "No node of this cluster crawls now. Start one on any machine: gossamer node ADDRESS --roles crawl. The cluster is "
    "not paused, so it begins at once."
)
PAUSED = (
    "All crawlers of the cluster pause, also those that start later: nothing new is fetched. To stop a node, drain it."
)
MOST_SEEDS_SHOWN = 200
LOG_LINES, LOG_TAIL = 12, 8192
HOLDER = re.compile(r"pid (\d+) \(([^)]*)\)")
ENDS = {
    0: "The crawl has ended: nothing is left to fetch.",
    1: "The crawl has ended without a single page.",
    DAMAGED: "The crawl has ended because the archive is damaged: `gossamer verify` says what to do.",
    130: "The crawl was stopped. Starting it again continues from here.",
}
Verb = Literal["pause", "resume", "stop"]
HostAction = Literal["retire", "reinstate", "release", "exclude"]


class Crawler(msgspec.Struct, frozen=True):
    """The crawl that runs, or the last one."""

    is_alive: bool = False
    """A crawler works on this collection, no matter who started it."""
    is_starting: bool = False
    """This page started one, and it has not reported yet."""
    is_stopping: bool = False
    """It was asked from here to stop, and has not yet."""
    is_ours: bool = False
    """This server started it, and ends it when it ends itself."""
    holder: str = ""
    """The process that writes to the collection, what it does, and since when; empty if none does."""
    ended: str = ""
    """How the crawler started from here ended, in words; empty if none has."""
    has_failed: bool = False
    log: tuple[str, ...] = ()
    """The last lines it wrote."""
    waits: str = ""
    """What it waits for while idle, until when and why."""


class Seed(msgspec.Struct, frozen=True):
    url: str
    reach: str


class CrawlState(msgspec.Struct, frozen=True):
    crawler: Crawler = Crawler()
    seeds: tuple[Seed, ...] = ()
    seed_count: int = 0
    """Of all; only the first are listed."""
    contact: str = ""
    """How site owners can reach the operator; without it public sites are not fetched."""
    reach: str = Reach.HOST
    """How far links are followed from a new seed by default."""
    rules: int = 0


class RuleError(msgspec.Struct, frozen=True):
    """A line that is no valid rule."""

    line: int
    column: int
    says: str
    text: str


class RuleSet(msgspec.Struct, frozen=True):
    text: str = ""
    mark: str = ""
    """Digest of the text: saving names the digest of what was edited, so that no change is overwritten unseen."""
    before: str | None = None
    """The rules before the last save."""
    wrong: tuple[RuleError, ...] = ()


class RulesChanged(GossamerError):
    """The rules were changed by someone else in the meantime."""


@dataclass(slots=True)
class CrawlControl:
    """Controls the crawl of one collection. REQUIRES: `control` is open."""

    directory: Directory
    given: Settings
    outside: Outside
    control: Control
    _child: Child | None = None
    _contact: str = ""
    _stopping: int | None = None
    """The process that was asked to stop."""
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _searching: threading.Lock = field(default_factory=threading.Lock)
    _threads: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(2))
    """How many of the few web threads may search the queue or wait to do so, as any client may ask for it."""

    def settings(self) -> Settings:
        """As in the file now, if there is one: it may have been edited since the server started."""
        file = self.directory.root / FILE_NAME
        is_set = file.is_file() or bool(stored_in(self.directory.root))
        found = config_of(self.directory.root).settings if is_set else self.given
        return found if found.contact or not self._contact else replace(found, contact=self._contact)

    def state(self) -> CrawlState:
        known, settings = self._seeds(), self.settings()
        shown = tuple(Seed(url.text, reach) for url, reach in known[:MOST_SEEDS_SHOWN])
        found = load_rules(self.rules_file().text())
        number = 0 if isinstance(found, Problems) else len(found.rules)
        return CrawlState(self.crawler(), shown, len(known), settings.contact or "", settings.crawl.scope, number)

    def _seeds(self) -> list[tuple[Url, str]]:
        return read_state(self.directory, stored_seeds, [])

    def crawler(self) -> Crawler:
        pid, child = self.crawler_pid(), self._child
        code = child.exit_code() if child is not None else None
        is_ours = child is not None and code is None
        living = {pid, child.pid if is_ours and child is not None else None} - {None}
        log = self._log() if child is not None else ()
        return Crawler(
            is_alive=pid is not None,
            is_starting=is_ours and pid is None and child is not None and child.pid != self._stopping,
            is_stopping=self._stopping in living,
            is_ours=is_ours,
            holder=self._holder(),
            ended=self._ended(code, log) if code is not None and pid is None else "",
            has_failed=code not in (None, 0, 130),
            log=log,
            waits=self._waits(),
        )

    def crawler_pid(self) -> int | None:
        """Of a running crawl."""
        found = self._beat()
        return None if found is None else int(str(found["pid"]))

    def _waits(self) -> str:
        found = self._beat()
        waits = found.get("waits") if found is not None else None
        return str(waits.get("says", "")) if isinstance(waits, dict) else ""

    def _beat(self) -> dict[str, object] | None:
        alive = running_processes(self.control.beats(), self.outside)
        return next((one for one in alive if one["name"] == "crawler"), None)

    def is_crawling(self) -> bool:
        return self.crawler_pid() is not None

    async def start(self, contact: str) -> str:
        if self.control.is_shared:
            return await self._resume_cluster()
        async with self._starting:
            self._contact = contact.strip() or self._contact
            await self._may_start()
            arguments = [str(self.directory.root), self.settings().contact or ""]
            child = self._child = self.outside.processes.start(MODULE, arguments)
            give_up_s = self.outside.clock.elapsed_s() + FIRST_BEAT_S
            while self.crawler_pid() != child.pid and self.outside.clock.elapsed_s() < give_up_s:
                if (code := child.exit_code()) is not None:
                    said = self._ended(code, self._log())
                    if code in (0, 130):
                        return said
                    raise GossamerError(said)
                await self.outside.clock.sleep(LOOK_S)
        return "The crawl has started." if self.crawler_pid() == child.pid else STILL_STARTING

    async def _may_start(self) -> None:
        if is_cluster(self.directory):
            raise ConfigError("The nodes of a cluster crawl: start one with `gossamer node ADDRESS` on any machine.")
        if self.is_crawling() or (self._child is not None and self._child.exit_code() is None):
            raise DirectoryBusy("A crawl is running already.")
        files, clock = self.outside.files, self.outside.clock
        words = holder_in_words(self.outside.processes.own_pid(), "web", str(clock.now()))
        files.make_folder(self.directory.root)
        found = files.lock(self.directory.root / LOCK_NAME, words)
        if isinstance(found, str):
            raise DirectoryBusy(f"The collection is being written by {found}. Wait for it, or stop it first.")
        found.release()
        seeds = [url for url, _ in self._seeds()]
        if not seeds:
            raise ConfigError("There are no seed URLs. Add one first.")
        allowed, left_out = await fetchable(seeds, self.settings(), self.outside)
        if not allowed:
            raise ConfigError("None of the seeds can be fetched: " + "; ".join(left_out))

    async def _resume_cluster(self) -> str:
        await asyncio.to_thread(self.control.ask, "resume")
        if not self.is_crawling():
            raise GossamerError(NO_CRAWLERS)
        return "All crawlers of the cluster continue."

    async def ask(self, verb: Verb) -> str:
        if self.control.is_shared:  # a state of the cluster: also crawlers that start later follow it
            await asyncio.to_thread(self.control.ask, verb)
            await self._until_paused(verb != "resume")
            return "All crawlers of the cluster continue." if verb == "resume" else PAUSED
        pid = self.crawler_pid()
        if pid is None:
            raise GossamerError("No crawl is running.")
        if not await is_done_in(PATIENCE_S, self.control, self.control.ask(verb), self.outside.clock, self.is_crawling):
            raise GossamerError("The crawl has not responded yet. It will, if it is alive.")
        if verb == "stop":
            self._stopping = pid
            return "The crawl is stopping: fetches in progress are finished and stored."
        await self._until_paused(verb == "pause")
        return "The crawl is paused: nothing new is fetched." if verb == "pause" else "The crawl has resumed."

    async def _until_paused(self, is_wanted: bool) -> None:
        """Until all crawlers that are alive say so, or for a moment."""
        wanted, give_up_s = "paused" if is_wanted else "", self.outside.clock.elapsed_s() + STATE_S
        while self._states() - {wanted} and self.outside.clock.elapsed_s() < give_up_s:
            await self.outside.clock.sleep(LOOK_S)

    def _states(self) -> set[str]:
        now = self.outside.clock.now()
        every = [one for one in self.control.vitals() if one.process == "crawler" and one.state != "ended"]
        return {one.state for one in every if not self.control.is_shared or status_of(one, now).is_alive}

    def rules_file(self) -> RulesFile:
        return RulesFile(self.outside.files, self.directory.root, silent)

    def rules(self) -> RuleSet:
        file = self.rules_file()
        text = file.text()
        return RuleSet(text, mark_of(text), file.before(), errors_in(text))

    def effect(self, text: str, seconds: float) -> RulesPreview:
        """The effect of saving these rules, searched for at most so many seconds, by one caller at a time: it reads the
        whole queue. REQUIRES: they are valid."""
        then = load_rules(text)
        assert not isinstance(then, Problems), "the caller has checked them"
        if not self.directory.is_begun:
            return RulesPreview(0, is_whole=True)
        now = load_rules(self.rules_file().text())
        with self.turn_to_search(), closing(open_state(self.directory)) as state:
            known = [(url, Reach(reach)) for url, reach in stored_seeds(state)]
            before = NO_RULES if isinstance(now, Problems) else now.for_seeds(known)
            *_, found = rules_effect(state, before, then.for_seeds(known), seconds, self.outside.clock)
        return found

    @contextmanager
    def turn_to_search(self) -> Iterator[None]:
        with ExitStack() as acquired:
            for turn, timeout_s in ((self._threads, 0.0), (self._searching, PATIENCE_S)):
                if not turn.acquire(timeout=timeout_s):
                    raise GossamerError("the queue is being searched by other requests")
                acquired.callback(turn.release)
            yield

    async def save_rules(self, text: str, mark: str) -> str:
        file, text = self.rules_file(), text.replace("\r\n", "\n").rstrip()
        if mark != mark_of(file.text()):
            raise RulesChanged("The rules were changed in the meantime, here or on the command line.")
        await asyncio.to_thread(file.save, text + "\n" if text else "")
        return "The rules are saved." + (" The crawl applies them now." if self.is_crawling() else "")

    async def undo_rules(self) -> str:
        if not await asyncio.to_thread(self.rules_file().undo):
            raise GossamerError("There is nothing to undo.")
        return "The rules are as they were before the last change."

    async def add_seeds(self, texts: Sequence[str], reach: str, contact: str) -> SeedsTaken:
        """Checked, stored and offered, with or without a running crawl."""
        intake = SeedIntake(self.directory, self.settings, self.outside, self.control, self.is_crawling)
        return await intake.add(texts, reach, contact)

    async def change_host(self, action: HostAction, host: str, words: str) -> str:
        name = checked_seeds([host])[0].host.name
        if action == "exclude":
            await asyncio.to_thread(self.rules_file().add, f'exclude host = "{name}"')
            return f"{name} is excluded from now on by a new rule."
        try:
            return await change_host(self.directory, self.outside, action, name, words or BY_HAND)
        except DirectoryBusy:
            raise GossamerError("another process is writing to the collection; try again when it has ended") from None

    async def fetch_again(self, text: str) -> str:
        url = stripped(checked_seeds([text])[0])
        try:
            moved = await queue_again(self.directory, self.outside, Selection(FETCHABLE, urls=(url,)))
        except DirectoryBusy:
            raise GossamerError("another process is writing to the collection; try again when it has ended") from None
        if not moved and not self._is_queued(url):
            raise GossamerError("this URL was never fetched; add a new URL as a seed")
        is_running = self.state().crawler.is_alive
        how = "as soon as its host may be contacted" if is_running else "when the crawl is started next"
        return f"It will be fetched {'again ' if moved else ''}{how}{'.' if moved else ': it is already waiting.'}"

    def _is_queued(self, url: Url) -> bool:
        with closing(open_state(self.directory)) as state:
            found = known(state, url)
        return found is not None and found.is_queued

    def _holder(self) -> str:
        """The process named in the lock file, if it is alive. The lock is not touched: that would refuse it to any
        process that tries to get it at that moment."""
        path = self.directory.root / LOCK_NAME
        if self.control.is_shared or not self.outside.files.size(path):
            return ""
        words = self.outside.files.read(path, 0, 4096).decode("utf-8", "replace")
        named = HOLDER.match(words)
        is_alive = named is not None and self.outside.processes.is_alive(int(named[1]))
        return words if is_alive and named is not None and int(named[1]) != self.outside.processes.own_pid() else ""

    def _ended(self, code: int, log: tuple[str, ...]) -> str:
        if code in ENDS:
            return ENDS[code]
        if code < 0:
            return f"The crawl was killed (signal {-code}). What it had stored is safe; starting it again continues."
        last = log[-1].partition("  ")[2] if log else "no message"
        return f"The crawl failed: {last}"

    def _log(self) -> tuple[str, ...]:
        path = self.directory.root / LOG_NAME
        size = self.outside.files.size(path)
        if not size:
            return ()
        text = self.outside.files.read(path, max(0, size - LOG_TAIL)).decode("utf-8", "replace")
        for root in (self.directory.root.absolute(), self.directory.root):  # no page shows where the collection is
            text = text.replace(str(root), "the data directory")
        return tuple(text.splitlines()[-LOG_LINES:])

    async def close(self) -> None:
        """A crawl started from here ends with the server."""
        child = self._child
        if child is None or child.exit_code() is not None:
            return
        child.ask_to_stop()
        if await asyncio.to_thread(child.wait, END_S) is None:
            await asyncio.to_thread(child.kill)


def mark_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def errors_in(text: str) -> tuple[RuleError, ...]:
    found = load_rules(text)
    if not isinstance(found, Problems):
        return ()
    return tuple(RuleError(one.line, one.column, one.says, one.text) for one in found.problems)
