"""The facts, kept by a child process of the indexer: what it is told, and the indexer's side of the line.

Oxigraph takes many pages in one go for half the price, and lets no other thread of its process go on meanwhile. Words
must not wait for that; so facts have a process, and can be given to it in larger steps.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

import msgspec

from gossamer.base.errors import WorkerLost
from gossamer.base.processes import Child, Processes
from gossamer.store.directory import Directory
from gossamer.values.messages import PageFacts
from gossamer.workers.protocol import MessageKind, frame, received

NAME, MODULE = "facts keeper", "gossamer.indexer.graph_process"
AT_A_TIME, MOST_BYTES = 500, 16 << 20
"""Pages in one message, and their bytes, but for those of the last: neither side holds all of them twice."""
LONGEST_END_S = 60.0


class Pages(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Some of those that the next `Commit` is about; not answered."""

    pages: list[PageFacts]


class Commit(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Keep the pages that came before this; answered with the position, once they are on disk."""

    position: bytes


class MakeCheckpoint(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Make a checkpoint; answered when it is made."""


Order = Pages | Commit | MakeCheckpoint


class FactsApart:
    """A `FactsKeeper` whose commits are another process's work. At most one is under way: who wants the next waits for
    it, which bounds what both sides hold. When that process dies, whoever asks next learns it as `WorkerLost`.

    REQUIRES: one thread calls it, but for `copy`.
    """

    def __init__(self, child: Child, channel: socket.socket, replies: BinaryIO, position: bytes) -> None:
        self._child, self._channel, self._replies = child, channel, replies
        self._position = position
        self._crew = ThreadPoolExecutor(1, thread_name_prefix="facts")
        self._under_way: Future[bytes] | None = None

    @property
    def position(self) -> bytes:
        if self._under_way is not None and self._under_way.done():
            self.settle()
        if self._child.exit_code() is not None:
            raise _gone()
        return self._position

    @property
    def is_busy(self) -> bool:
        return self._under_way is not None and not self._under_way.done()

    def commit(self, position: bytes, pages: list[PageFacts]) -> None:
        self.settle()
        self._under_way = self._crew.submit(self._hand_over, position, pages)

    def settle(self) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            self._position = under_way.result()

    def copy(self) -> None:
        """A checkpoint of everything that was committed before. It waits; from any thread."""
        self._crew.submit(self._ask, MakeCheckpoint()).result()

    def close(self) -> None:
        """No more orders: the other side finishes what it was told, and ends."""
        with suppress(OSError):  # it has ended already
            self._channel.shutdown(socket.SHUT_WR)
        self._crew.shutdown()

    def _hand_over(self, position: bytes, pages: list[PageFacts]) -> bytes:
        for some in in_messages(pages):
            self._send(Pages(some))
        pages.clear()
        return self._ask(Commit(position))

    def _ask(self, order: Order) -> bytes:
        self._send(order)
        return answered(self._replies)

    def _send(self, order: Order) -> None:
        try:
            self._channel.sendall(frame(MessageKind.JOB, msgspec.msgpack.encode(order)))
        except OSError as trouble:
            raise _gone() from trouble


@contextmanager
def facts_apart(directory: Directory, processes: Processes) -> Iterator[tuple[FactsApart, Child]]:
    """Starts the process and waits until it has the graph; at the end it is let finish what it was told."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            words = [str(directory.root), directory.fixed_views, str(processes.own_pid())]
            child = processes.start(MODULE, words, theirs)
        try:
            replies = cast(BinaryIO, ours.makefile("rb"))
            facts = FactsApart(child, ours, replies, ready(child, replies))
            is_over = False
            try:
                yield facts, child
                is_over = True
            finally:
                if not is_over:  # nobody wants to wait for it
                    child.kill()
                facts.close()
            child.wait(LONGEST_END_S)
        finally:
            child.kill()


def ready(child: Child, replies: BinaryIO) -> bytes:
    """The position it begins at. One that cannot begin is let say why."""
    try:
        return answered(replies)
    except WorkerLost:
        child.wait(LONGEST_END_S)
        raise


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


def answered(replies: BinaryIO) -> bytes:
    try:
        found = received(replies)
    except OSError as trouble:
        raise _gone() from trouble
    if found is None:
        raise _gone()
    return found


def orders(stream: BinaryIO, obey: Callable[[Order], bytes | None], reply: Callable[[bytes], object]) -> None:
    """The other side of the line: obey until it ends."""
    decode = msgspec.msgpack.Decoder(Order).decode
    while (body := received(stream)) is not None:
        if (answer := obey(decode(body))) is not None:
            reply(frame(MessageKind.ANSWER, answer))


def _gone() -> WorkerLost:
    return WorkerLost("crash", "the process that keeps the facts has ended")
