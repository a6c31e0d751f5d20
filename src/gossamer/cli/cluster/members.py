"""`gossamer cluster drain`, `remove` and `upgrade`: what is asked of nodes."""

import asyncio
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from gossamer import __version__
from gossamer.cli.flags import ClusterAddress
from gossamer.cluster.members import drain_node, remove_node
from gossamer.collection.directory import existing, outside_of
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import NodeRegistry

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


def upgrade(address: ClusterAddress) -> int:
    directory = existing(address)
    outside = outside_of(directory)
    with closing(line_of(directory, outside.clock)) as line:
        NodeRegistry(line, outside.clock).upgrade(__version__)
    print(f"nodes must have gossamer {__version__} from now on; those of another version stop and say so")
    return 0
