"""The graph process, a child of the indexer, as the indexer sees it.

Also the messages between the two.

Oxigraph takes many pages in one step at half the cost, but blocks all other threads of its process meanwhile. Words
must not wait for that, so facts have a process of their own, and go there in larger steps.
"""

import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import BinaryIO, cast

import msgspec

from gossamer.base.errors import WorkerLost
from gossamer.base.processes import Child, Processes
from gossamer.store.directory import Directory
from gossamer.values.messages import PageFacts
from gossamer.workers.protocol import MessageKind, frame, received

NAME, MODULE = "graph process", "gossamer.indexer.graph_process"
AT_A_TIME, MOST_BYTES = 500, 16 << 20
"""Pages in one message, and bytes before the last of them, so that neither side has all of them in memory twice."""
LONGEST_END_S = 60.0


class Pages(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Some of the pages of the next `Commit`; not answered."""

    pages: list[PageFacts]


class Commit(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Commit the pages sent before; answered with the position once they are on disk."""

    position: bytes


class MakeCheckpoint(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Make a checkpoint; answered when it is made."""


Order = Pages | Commit | MakeCheckpoint


class RemoteFacts:
    """A `FactsKeeper` whose commits are done by another process. At most one is in progress and the next one waits for
    it, which limits the memory of both sides. When that process dies, the next call raises `WorkerLost`.

    REQUIRES: one thread calls it, except for `make_checkpoint`.
    """

    waits_apart = False
    refused: Mapping[str, str] = MappingProxyType({})
    trouble = ""

    def __init__(self, child: Child, channel: socket.socket, replies: BinaryIO, position: bytes) -> None:
        self._child, self._channel, self._replies = child, channel, replies
        self._position = position
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="facts")
        self._in_progress: Future[bytes] | None = None

    @property
    def position(self) -> bytes:
        if self._in_progress is not None and self._in_progress.done():
            self.settle()
        if self._child.exit_code() is not None:
            raise _gone()
        return self._position

    @property
    def is_busy(self) -> bool:
        return self._in_progress is not None and not self._in_progress.done()

    def commit(self, position: bytes, pages: list[PageFacts]) -> None:
        self.settle()
        self._in_progress = self._thread.submit(self._send_and_commit, position, pages)

    def settle(self) -> None:
        commit, self._in_progress = self._in_progress, None
        if commit is not None:
            self._position = commit.result()

    def make_checkpoint(self) -> None:
        """Of everything that was committed before, and wait for it; from any thread."""
        self._thread.submit(self._answer_to, MakeCheckpoint()).result()

    def close(self) -> None:
        """No more orders: the other side finishes those it has, and ends."""
        with suppress(OSError):  # it has ended already
            self._channel.shutdown(socket.SHUT_WR)
        self._thread.shutdown()

    def _send_and_commit(self, position: bytes, pages: list[PageFacts]) -> bytes:
        for some in in_messages(pages):
            self._send(Pages(some))
        pages.clear()
        return self._answer_to(Commit(position))

    def _answer_to(self, order: Order) -> bytes:
        self._send(order)
        return _answer(self._replies)

    def _send(self, order: Order) -> None:
        try:
            self._channel.sendall(frame(MessageKind.JOB, msgspec.msgpack.encode(order)))
        except OSError as trouble:
            raise _gone() from trouble


@contextmanager
def remote_facts(directory: Directory, processes: Processes) -> Iterator[tuple[RemoteFacts, Child]]:
    """Start the process and wait until it has opened the graph; at the end it may finish its orders."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            words = [str(directory.root), directory.fixed_views, str(processes.own_pid())]
            child = processes.start(MODULE, words, theirs)
        try:
            replies = cast(BinaryIO, ours.makefile("rb"))
            try:
                position = _answer(replies)
            except WorkerLost:
                child.wait(LONGEST_END_S)  # it has time to report why it could not start
                raise
            facts = RemoteFacts(child, ours, replies, position)
            is_done = False
            try:
                yield facts, child
                is_done = True
            finally:
                if not is_done:  # nothing waits for it
                    child.kill()
                facts.close()
            child.wait(LONGEST_END_S)
        finally:
            child.kill()


def in_messages(pages: Sequence[PageFacts]) -> Iterator[list[PageFacts]]:
    some, size = list[PageFacts](), 0
    for page in pages:
        some.append(page)
        size += len(page.facts) + len(page.sources)
        if len(some) >= AT_A_TIME or size >= MOST_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _answer(replies: BinaryIO) -> bytes:
    try:
        found = received(replies)
    except OSError as trouble:
        raise _gone() from trouble
    if found is None:
        raise _gone()
    return found


def _gone() -> WorkerLost:
    return WorkerLost("crash", "the process that keeps the facts has ended")
