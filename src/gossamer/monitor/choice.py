"""Picks the form of heartbeats and commands: that of a directory, or that of a cluster."""

import os
from typing import Any, cast

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell, silent
from gossamer.monitor.control import Control
from gossamer.monitor.nodes import Membership, Transactions
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory
from gossamer.store.state import NO_DRIVER, is_cluster, shared_place

OUTSIDE = "{} (no node)"
"""The name under which a process on this machine reports that belongs to no node, such as a web site of its own."""


def control_of(directory: Directory, clock: Clock, *, repairs: bool = False) -> Control:
    """`repairs`: replace a damaged file, which only the holder of the directory's lock may do."""
    if not is_cluster(directory):
        return SqliteControl(directory.control, clock, repairs=repairs)
    place, host = shared_place(directory), os.uname().nodename
    assert place is not None
    control = _cluster_control(line_of(directory, clock), place.member or OUTSIDE.format(host), host, clock)
    return cast(Control, control)


def node_desk(line: Transactions, clock: Clock, membership: Membership) -> Control:
    """The same for a node itself: each of its heartbeats renews its membership."""
    control = _cluster_control(line, membership.name, os.uname().nodename, clock)
    control.companion = membership.renew
    return cast(Control, control)


def line_of(directory: Directory, clock: Clock, tell: Tell = silent) -> Transactions:
    """A connection to the database of a cluster; the caller closes it."""
    try:
        from gossamer.store.postgres.line import SharedLine
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    place = shared_place(directory)
    assert place is not None, directory.root
    return SharedLine(place.url, place.owner, clock, tell)


def _cluster_control(line: Transactions, node: str, host: str, clock: Clock) -> Any:
    try:
        from gossamer.monitor.cluster_control import ClusterControl
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    return ClusterControl(line, node, host, clock)
