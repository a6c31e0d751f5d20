"""The graph process, a child of the indexer.

`python -m gossamer.indexer.graph_process DIR VIEWS INDEXER CHANNEL`

It owns the graph and its checkpoints, carries out orders in sequence, and dies with the indexer: what it had not
committed by then is sent to the next one again.
"""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import GossamerError, ViewDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import CRASH_VARIABLE, Tell, crashing, silent
from gossamer.base.tuning import GRAPH_MERGES, GRAPH_MERGES_NICENESS, lower_session_priority, relax_garbage_collection
from gossamer.indexer.graph_client import NAME, Commit, MakeCheckpoint, Order, Pages
from gossamer.monitor.supervisor import remove_view, wait_for_lock
from gossamer.store.directory import Directory, keep_private
from gossamer.values.format import error_in_words
from gossamer.values.messages import PageFacts
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.store import Graph, LocalFacts
from gossamer.workers.child import die_with_parent
from gossamer.workers.protocol import MessageKind, frame, received


def main() -> None:
    keep_private()
    root, views, indexer, channel = sys.argv[1:]
    tell = crashing(silent, os.environ.get(CRASH_VARIABLE))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the indexer gets it too, and lets this process finish
    die_with_parent()
    if os.getppid() != int(indexer):  # it died before this process could ask to be killed with it
        return
    lower_session_priority()  # it has the indexer's niceness, but a session of its own
    directory = Directory(Path(root), views)
    try:
        asyncio.run(keep_facts(directory, socket.socket(fileno=int(channel)), real_outside(), tell))
    except ConnectionError:  # the indexer is gone
        return
    except (ViewDamaged, RuntimeError) as trouble:  # the store reports corruption by the latter
        damage = trouble if isinstance(trouble, ViewDamaged) else ViewDamaged(directory.graph, trouble)
        sys.exit(f"{damage}; {remove_view(damage.path, DiskFiles())}")
    except (GossamerError, OSError) as trouble:
        sys.exit(f"the facts cannot be kept: {error_in_words(trouble)}")


async def keep_facts(directory: Directory, channel: socket.socket, outside: Outside, tell: Tell) -> None:
    lock = await wait_for_lock(directory.facts_lock, directory, outside, NAME)
    try:
        with channel, Graph(directory.graph, outside.files, outside.clock, tell) as graph:
            checkpoints = Checkpoints(directory.checkpoints, outside.files, outside.clock, tell)
            facts = LocalFacts(graph, directory.graph, outside.files, tell)
            outside.processes.lower_thread_priority(GRAPH_MERGES, GRAPH_MERGES_NICENESS)
            relax_garbage_collection()
            channel.sendall(frame(MessageKind.READY, facts.position))
            stream, decode = cast(BinaryIO, channel.makefile("rb")), msgspec.msgpack.Decoder(Order).decode
            pages: list[PageFacts] = []
            while (message := received(stream)) is not None:
                match order := decode(message):
                    case Pages():
                        pages += order.pages
                        continue
                    case Commit():
                        facts.commit(order.position, pages)
                        pages = []
                    case MakeCheckpoint():
                        checkpoints.make(graph)
                channel.sendall(frame(MessageKind.ANSWER, facts.position))
    finally:
        lock.release()


if __name__ == "__main__":
    main()
