"""`gossamer cluster drain`, `remove` and `upgrade`: what is asked of nodes."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer import __version__
from gossamer.base.environment import real_outside
from gossamer.cli.flags import ClusterAddress
from gossamer.cluster.members import drain_node, remove_node
from gossamer.cluster.wheels import Wheel, store_wheels
from gossamer.collection.directory import existing, outside_of
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import NodeRegistry
from gossamer.store.address import shown
from gossamer.store.directory import Directory
from gossamer.store.documents import refuse_no_cluster
from gossamer.store.state import refuse_newer
from gossamer.values.format import counted

NodeName = Annotated[str, Parameter(help="The name of the node.")]


def drain(address: ClusterAddress, node: NodeName) -> int:
    directory = existing(address)
    outside = outside_of(directory)
    with closing(line_of(directory, outside.clock)) as line:
        print(asyncio.run(drain_node(NodeRegistry(line, outside.clock), node)))
    return 0


def remove(address: ClusterAddress, node: NodeName) -> int:
    directory = existing(address)
    outside = outside_of(directory)
    with closing(line_of(directory, outside.clock)) as line:
        print(asyncio.run(remove_node(NodeRegistry(line, outside.clock), node, directory, outside)))
    return 0


def upgrade(
    address: ClusterAddress,
    *,
    wheels: Annotated[
        Path | None,
        Parameter(help="A folder with gossamer's wheel, and perhaps those of its dependencies, for nodes to install."),
    ] = None,
) -> int:
    directory, outside = Directory(address), real_outside()
    refuse_no_cluster(directory, shown(address), is_any_version=True)
    refuse_newer(directory)  # older tables are brought up to date by the first node of this version
    with closing(line_of(directory, outside.clock)) as line:
        registry = NodeRegistry(line, outside.clock)
        stored = store_wheels(registry, directory, wheels, __version__, outside) if wheels is not None else []
        registry.upgrade(__version__)
    print(in_words(stored))
    return 0


def in_words(stored: Sequence[Wheel]) -> str:
    begins = f"nodes must have gossamer {__version__} from now on"
    if not stored:
        return f"{begins}; those of another version stop and say so"
    size = max(1, sum(one.size for one in stored) >> 20)
    return (
        f"stored {counted(len(stored), 'wheel')} ({size:,} MiB)\n"
        f"{begins}; those of another version install it if they were started with --adopt-version, and else stop"
    )
