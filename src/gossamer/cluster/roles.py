"""The roles of a node: their programs, the settings they read at start, and how they are kept alive."""

import asyncio
import json
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from gossamer.base.clock import Clock
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.processes import Child, Processes
from gossamer.base.tell import Says
from gossamer.monitor.supervisor import MODULE as INDEXER
from gossamer.monitor.supervisor import REST_S, STEADY_S
from gossamer.values.format import error_in_words, harmless

CRAWL, READ, INDEX, SERVE = "crawl", "read", "index", "serve"
ROLES = (CRAWL, INDEX, SERVE)
CHILD = "gossamer.cluster.child"
LOOK_S = 0.1
END_S = 20.0
"""How long a role may take to stop; a clean stop takes less than ten seconds."""
LONG_RESTS_S = (10.0, 30.0, 60.0)
"""After those of a supervisor: a node never gives a role up, for what it needs may return."""
LONGEST_LINE = 1 << 16
FEW_LINES = 5
NOT_STARTED = 1
SETTINGS_S = 1.0
LAST_LINES_S = 1.0
REPORTED = {
    "database.suspended": "suspended: {says}",
    "database.back": "the database answers again",
    "service.lost": "suspended: {service} does not answer ({why}); trying again",
    "service.back": "{service} answers again",
    "frontier.leases_lost": "{visits} leases were lost: this node was taken for dead, and other nodes have its hosts",
    "frontier.inherited": "took over {hosts} hosts of a node that is gone",
    "volume.damaged": "the archive is damaged in {volume}",
    "views.restarted": "the indexer was restarted",
    "disk.low": "the disk is nearly full: waiting for space",
    "disk.roomy": "the disk has space again",
}
"""What a node says of its crawler's events, and writes to the log of the cluster."""


class RoleProgram(NamedTuple):
    """A Python module that does the work of a role."""

    module: str
    arguments: tuple[str, ...]
    has_channel: bool = False
    """It ends when a channel, inherited as its last argument, is closed."""


def roles_named(words: Sequence[str]) -> tuple[str, ...]:
    """The roles of a command line, in their order. Raises ConfigError for other words."""
    found = {word.strip() for words_of in words for word in words_of.split(",")}
    if wrong := sorted(found - {*ROLES, READ}):
        raise ConfigError(f"there is no role {wrong[0]!r}: the roles are {', '.join((CRAWL, READ, INDEX, SERVE))}")
    wanted = {CRAWL if role == READ else role for role in found}
    return tuple(role for role in ROLES if role in wanted)


def programs_of(roles: Iterable[str], root: Path, agent: str, port: int | None) -> dict[str, RoleProgram]:
    listens = () if port is None else ("--port", str(port))
    every = {
        CRAWL: RoleProgram("gossamer", ("crawl", "--dir", str(root), "--json")),
        INDEX: RoleProgram(INDEXER, (str(root), "", agent), has_channel=True),
        SERVE: RoleProgram("gossamer", ("serve", "--dir", str(root), *listens)),
    }
    return {role: every[role] for role in roles}


def roles_concerned(changed: Iterable[str]) -> set[str]:
    """The roles that read these settings only when they start."""
    found = set[str]()
    for name in changed:
        section = name.partition(".")[0]
        if section == "web":
            found.add(SERVE)
        elif section in ("views", "archive"):
            found.update(ROLES)
        elif section in ("readers", "agent") or name.startswith("crawl.readers"):
            found.update((CRAWL, INDEX))
        else:
            found.add(CRAWL)
    return found


def rest_after(deaths: int) -> float:
    """How long to wait before a role is started again that has died so many times without working for a while."""
    rests = (*REST_S, *LONG_RESTS_S)
    return rests[min(deaths, len(rests)) - 1] if deaths else 0.0


@dataclass(slots=True)
class RoleKeeper:
    """Keeps the process of one role alive, until it is asked to stop."""

    role: str
    program: Callable[[], RoleProgram]
    """By the settings of this moment. Raises GossamerError while they cannot be read."""
    processes: Processes
    clock: Clock
    says: Says
    note: Callable[[str, str], None]
    """An event for the log of the cluster: its kind, and what happened in words."""
    may_start: Callable[[], bool]
    """Nothing is started while the database is away: it could only fail."""
    waits: str = ""
    """What the role waits for, as it said last."""
    _child: Child | None = None
    _channel: socket.socket | None = None
    _is_over: bool = False
    _restart: str = ""
    """Why its process is to be restarted."""
    _last: deque[str] = field(default_factory=lambda: deque(maxlen=FEW_LINES))

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.exit_code() is None else None

    async def keep(self) -> None:
        """Until `stop` was called and the process has ended."""
        deaths = 0
        while not self._is_over:
            if not self.may_start():
                await self.clock.sleep(LOOK_S)
                continue
            try:
                program = await asyncio.to_thread(self.program)
            except GossamerError as trouble:
                await self._wait_for_settings(trouble)
                continue
            began_s, self._restart = self.clock.elapsed_s(), ""
            try:
                code = await self._run(program)
            except OSError as trouble:  # the machine has no room for another process
                self._last.append(error_in_words(trouble))
                code = NOT_STARTED
            if self.is_over():
                return
            if why := self._restart:
                self._restart, deaths = "", 0
                self._tell("role.restarted", f"{self.role} was restarted: {why}")
                continue
            deaths = 1 if self.clock.elapsed_s() - began_s > STEADY_S else deaths + 1
            await self._rest(deaths, code)

    def stop(self) -> None:
        self._is_over = True

    def is_over(self) -> bool:
        return self._is_over

    def restart(self, why: str) -> None:
        """Stop its process cleanly, and start another."""
        if self._child is not None:
            self._restart = why

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    async def _rest(self, deaths: int, code: int) -> None:
        rest_s = rest_after(deaths)
        how = f"was killed (signal {-code})" if code < 0 else f"ended with exit code {code}"
        last = f": {self._last[-1]}" if self._last else ""
        again = f"; it is started again in {rest_s:g} s" if rest_s else "; it is started again"
        self.says(words := f"{self.role} {how}{again}{last}")
        if deaths <= len(REST_S):  # the log of the cluster is not filled by one that never starts
            self.note("role.died", words)
        until_s = self.clock.elapsed_s() + rest_s
        while not self._is_over and self.clock.elapsed_s() < until_s:
            await self.clock.sleep(LOOK_S)

    def _tell(self, kind: str, words: str) -> None:
        self.says(words)
        self.note(kind, words)

    async def _wait_for_settings(self, trouble: GossamerError) -> None:
        if self.waits != (words := f"waiting for valid settings: {trouble}"):
            self.waits = words
            self.says(f"{self.role}: {words}")
        await self.clock.sleep(SETTINGS_S)

    async def _run(self, program: RoleProgram) -> int:
        """One process, until it has ended."""
        self._last.clear()
        self.waits = ""
        child, output = self._start(program)
        transport, lines = await asyncio.get_running_loop().connect_read_pipe(lambda: OutputLines(self._heard), output)
        try:
            give_up_s: float | None = None
            while (code := child.exit_code()) is None:
                if give_up_s is None and (self._is_over or self._restart):
                    give_up_s = self.clock.elapsed_s() + END_S
                    self._ask_to_end()
                if give_up_s is not None and self.clock.elapsed_s() > give_up_s:
                    self.says(f"{self.role} has not stopped within {END_S:g} s, and is killed")
                    child.kill()
                await self.clock.sleep(LOOK_S)
            return code
        finally:
            await asyncio.to_thread(child.kill)
            self._close_channel()
            with suppress(TimeoutError):  # a process of its own may have the other end open
                await asyncio.wait_for(lines.is_over.wait(), LAST_LINES_S)
            transport.close()

    def _start(self, program: RoleProgram) -> tuple[Child, IO[bytes]]:
        """The process, and what it prints."""
        ours, theirs = socket.socketpair() if program.has_channel else (None, None)
        reading, writing = os.pipe()
        words = [str(self.processes.own_pid()), program.module, *program.arguments]
        try:
            self._child = self.processes.start(CHILD, words, theirs, writing)
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
            if theirs is not None:
                theirs.close()
        self._channel = ours
        return self._child, os.fdopen(reading, "rb", 0)

    def _ask_to_end(self) -> None:
        self._close_channel()
        if self._child is not None:
            self._child.ask_to_stop()

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _heard(self, line: str) -> None:
        """One line that its process has printed: an event as JSON, or words for people."""
        if not line.startswith('{"'):
            words = harmless(line)
            if any(letter.isalpha() for letter in words):  # not a line of dashes
                self._last.append(words)
            self.says(f"{self.role}: {words}")
            return
        if any(f'"{event}"' in line for event in REPORTED):
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                facts = json.loads(line)
                words = harmless(REPORTED[facts["event"]].format(**facts))
                self.waits = words if words.startswith("suspended") else ""
                self._tell(facts["event"], f"{self.role}: {words}")


class OutputLines(asyncio.Protocol):
    """What a child prints, line by line; the rest of a line that is too long is dropped."""

    def __init__(self, heard: Callable[[str], None]) -> None:
        self._heard, self._rest = heard, b""
        self.is_over = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over.set()

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:LONGEST_LINE]
        for line in lines:
            if text := line.decode("utf-8", "replace").strip():
                self._heard(text)
