"""The indexer as a child of whoever writes: started, watched, started again when it dies, and let finish at the end."""

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
"""How long an indexer may go on after a person asked to stop; then it is killed, and catches up the next time."""
PREDECESSOR_S = 60.0
NO_ROOM_BYTES = 32 << 20
"""With less free the engines of the views may fail at any write, and cannot go on afterwards but by being reopened: an
indexer that dies then is started again for as long as it takes."""
NO_ROOM_REST_S = 5.0


@dataclass(slots=True)
class Indexer:
    """Keeps one indexer process alive. Closing the channel asks it to finish what there is and end."""

    directory: Directory
    outside: Outside
    tell: Tell
    agent: str = ""
    """What pages may call us when they ask not to be indexed; for those that are read again."""
    given_up: bool = False
    """It died too often to be started again; what is archived waits for `gossamer rebuild`."""
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
        """Until cancelled: a dead indexer is replaced, after a rest that grows while it keeps dying."""
        deaths, started = 0, self.outside.clock.elapsed_s()
        while True:
            await self.outside.clock.sleep(LOOK_EVERY_S)
            if self._channel is None:  # it was asked to finish: its end is no death
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
                    self._hang_up()
                    self.start()

    def lacks_room(self) -> bool:
        return self.outside.files.room(self.directory.root) < NO_ROOM_BYTES

    async def wait_for_room(self, stop: asyncio.Event | None) -> None:
        """Until there is some, or a person has asked to stop."""
        while self.lacks_room() and not (stop is not None and stop.is_set()):
            self.tell("disk.full", detail="the indexer waits for room")
            await self.outside.clock.sleep(1.0)

    async def finish(self, stop: asyncio.Event | None = None) -> int | None:
        """Let it catch up with the archive, make a last checkpoint, and end. Its exit code; None: it was still at it
        a while after `stop` was set."""
        self._hang_up()
        patience_s = STOPPED_PATIENCE_S
        while self._child is not None and self._child.exit_code() is None:
            await self.outside.clock.sleep(0.05)
            if stop is not None and stop.is_set():
                patience_s -= 0.05
                if patience_s < 0:
                    return None
        return self._child.exit_code() if self._child else None

    def kill(self) -> None:
        self._hang_up()
        if self._child is not None:
            self._child.kill()

    def _hang_up(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


@asynccontextmanager
async def indexer_running(
    directory: Directory, outside: Outside, tell: Tell, agent: str, stop: asyncio.Event | None = None
) -> AsyncIterator[Indexer]:
    """While the block runs, so does the indexer; at its end it finishes what there is to index, and, once `stop` is
    set, what it can in a moment."""
    indexer = Indexer(directory, outside, tell, agent)
    indexer.start()
    try:
        async with background(indexer.watch()):
            yield indexer
        if not indexer.given_up and await indexer.finish(stop) not in (0, None):
            indexer.given_up = not await once_more(indexer, stop)
        if indexer.given_up:
            raise GossamerError(
                f"what was fetched is safe in the archive, but the indexer failed: not all of it can be found yet. "
                f"See what it said above; `gossamer rebuild --dir {directory.root}` makes the views anew"
            )
    finally:
        indexer.kill()


async def once_more(indexer: Indexer, stop: asyncio.Event | None) -> bool:
    """After a last turn that failed: it may have been killed, or the disk was full. Whether it has ended well now."""
    while True:
        await indexer.wait_for_room(stop)
        indexer.start()
        if await indexer.finish(stop) in (0, None):
            return True
        if not indexer.lacks_room() or (stop is not None and stop.is_set()):
            return False


def dropped(view: Path, files: Files) -> str:
    """Remove a damaged view, which the next indexer makes again; says in words what has become of it."""
    try:
        for tail in ("", "-wal", "-shm"):
            files.remove(view.with_name(view.name + tail))
    except OSError as trouble:
        return f"{view} cannot be removed: {error_in_words(trouble)}"
    return f"{view} is removed, and made again from the archive"


async def become_the_one(directory: Directory, outside: Outside, words: str) -> Lock:
    """The one that may write the views. A predecessor whose crawler was killed may still be finishing, and so may the
    process that kept its facts: wait for both."""
    with ExitStack() as undo:
        lock = await only_one(directory.indexer_lock, directory, outside, words)
        undo.callback(lock.release)
        (await only_one(directory.facts_lock, directory, outside, words)).release()
        undo.pop_all()
    return lock


async def only_one(path: Path, directory: Directory, outside: Outside, words: str) -> Lock:
    """The lock at that path, once whoever has it lets go; not for ever."""
    until = outside.clock.elapsed_s() + PREDECESSOR_S
    while True:
        found = outside.files.lock(path, f"{words}, pid {outside.processes.own_pid()}")
        if not isinstance(found, str):
            return found
        if outside.clock.elapsed_s() > until:
            raise DirectoryBusy(f"{directory.root} is still being indexed by {found}; wait for it, or stop it first")
        await outside.clock.sleep(0.1)
