"""The indexer as a child of the process that writes.

Started, restarted when it dies, and finished at the end.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryBusy, GossamerError
from gossamer.base.files import Files, Lock
from gossamer.base.processes import Child
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.store.directory import Directory
from gossamer.values.format import error_in_words

MODULE = "gossamer.indexer.process"
LOOK_EVERY_S = 0.2
STEADY_S = 30.0
MOST_DEATHS = 6
REST_S = (0.0, 0.5, 1.0, 2.0, 5.0)
STOPPED_PATIENCE_S = 2.5
"""How long an indexer may continue after a user asked to stop; then it is killed, and catches up the next time."""
PREDECESSOR_S = 60.0
NO_ROOM_BYTES = 32 << 20
"""With less free space the engines of the views may fail at any write, and must be reopened to continue: an indexer
that dies then is restarted without limit."""
NO_ROOM_REST_S = 5.0


@dataclass(slots=True)
class Indexer:
    """Keeps one indexer process alive. Closing the channel asks it to index what is left, and end."""

    directory: Directory
    outside: Outside
    tell: Tell
    agent: str = ""
    """Our name in robots directives; for pages that are read again."""
    given_up: bool = False
    """It died too often to be restarted; the archive has what `gossamer rebuild` needs."""
    _child: Child | None = None
    _channel: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    def start(self) -> None:
        ours, theirs = socket.socketpair()
        words = [str(self.directory.root), self.directory.fixed_views, self.agent]
        with theirs:
            self._child = self.outside.processes.start(MODULE, words, theirs)
        self._channel = ours

    async def watch(self) -> None:
        """Until cancelled: a dead indexer is restarted, after a pause that grows while it keeps dying."""
        deaths, started = 0, self.outside.clock.elapsed_s()
        while True:
            await self.outside.clock.sleep(LOOK_EVERY_S)
            if self._channel is None:  # it was asked to finish, so it may end
                return
            if self._child is not None and (code := self._child.exit_code()) is not None:
                self.tell("views.restarted", exit_code=code)
                is_steady = self.outside.clock.elapsed_s() - started > STEADY_S
                deaths = 0 if is_steady or self.lacks_room() else deaths + 1
                if deaths >= MOST_DEATHS:
                    self.given_up = True
                    return
                rest_s = REST_S[min(deaths, len(REST_S) - 1)]
                await self.outside.clock.sleep(NO_ROOM_REST_S if self.lacks_room() else rest_s)
                started = self.outside.clock.elapsed_s()
                if self._channel is not None:
                    self._close_channel()
                    self.start()

    def lacks_room(self) -> bool:
        return self.outside.files.room(self.directory.root) < NO_ROOM_BYTES

    async def finish(self, stop: asyncio.Event | None = None) -> int | None:
        """Let it catch up with the archive, make a last checkpoint, and end. Returns its exit code; None: it was still
        running some time after `stop` was set."""
        self._close_channel()
        patience_s = STOPPED_PATIENCE_S
        while self._child is not None and self._child.exit_code() is None:
            await self.outside.clock.sleep(0.05)
            if stop is not None and stop.is_set():
                patience_s -= 0.05
                if patience_s < 0:
                    return None
        return self._child.exit_code() if self._child else None

    def kill(self) -> None:
        self._close_channel()
        if self._child is not None:
            self._child.kill()

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


@asynccontextmanager
async def indexer_running(
    directory: Directory, outside: Outside, tell: Tell, agent: str, stop: asyncio.Event | None = None
) -> AsyncIterator[Indexer]:
    """Runs the indexer during the block, and lets it index the rest at the end; for only a moment once `stop` is
    set."""
    indexer = Indexer(directory, outside, tell, agent)
    indexer.start()
    try:
        async with background(indexer.watch()):
            yield indexer
        if not indexer.given_up and await indexer.finish(stop) not in (0, None):
            indexer.given_up = not await finish_again(indexer, stop)
        if indexer.given_up:
            raise GossamerError(
                f"what was fetched is safe in the archive, but the indexer failed: not all of it can be found yet. "
                f"See its messages above; `gossamer rebuild --dir {directory.root}` builds the views again"
            )
    finally:
        indexer.kill()


async def finish_again(indexer: Indexer, stop: asyncio.Event | None) -> bool:
    """After a failed end: it may have been killed, or the disk was full. Returns whether it has ended in order now."""

    def must_wait() -> bool:
        return indexer.lacks_room() and not (stop is not None and stop.is_set())

    while True:
        while must_wait():
            indexer.tell("disk.full", detail="the indexer waits for disk space")
            await indexer.outside.clock.sleep(1.0)
        indexer.start()
        if await indexer.finish(stop) in (0, None):
            return True
        if not must_wait():
            return False


def remove_view(view: Path, files: Files) -> str:
    """Remove a damaged view, which the next indexer builds again; returns the outcome in words."""
    try:
        for tail in ("", "-wal", "-shm"):
            files.remove(view.with_name(view.name + tail))
    except OSError as trouble:
        return f"{view} cannot be removed: {error_in_words(trouble)}"
    return f"{view} is removed, and built again from the archive"


async def lock_views(directory: Directory, outside: Outside, holder: str) -> Lock:
    """The right to write the views. An earlier indexer whose crawler was killed may still be finishing, and so may its
    graph process: wait for both."""
    with ExitStack() as undo:
        lock = await wait_for_lock(directory.indexer_lock, directory, outside, holder)
        undo.callback(lock.release)
        (await wait_for_lock(directory.facts_lock, directory, outside, holder)).release()
        undo.pop_all()
    return lock


async def wait_for_lock(path: Path, directory: Directory, outside: Outside, holder: str) -> Lock:
    """The lock at that path, once its holder releases it, or DirectoryBusy after PREDECESSOR_S."""
    until = outside.clock.elapsed_s() + PREDECESSOR_S
    while True:
        found = outside.files.lock(path, f"{holder}, pid {outside.processes.own_pid()}")
        if not isinstance(found, str):
            return found
        if outside.clock.elapsed_s() > until:
            raise DirectoryBusy(f"{directory.root} is still being indexed by {found}; wait for it, or stop it first")
        await outside.clock.sleep(0.1)
