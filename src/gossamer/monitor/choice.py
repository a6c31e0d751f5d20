"""Which form the heartbeats and commands of a collection have: those of a directory, or those of a cluster."""

import os

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell, silent
from gossamer.monitor.control import Control
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory
from gossamer.store.state import NO_DRIVER, is_cluster, shared_place

OUTSIDE = "{} (no node)"
"""The name under which a process on this machine reports that belongs to no node, such as a web site of its own."""


def control_of(directory: Directory, clock: Clock, *, repairs: bool = False, tell: Tell = silent) -> Control:
    """`repairs`: replace a damaged file, which only the holder of the directory's lock may do. `tell`: hears when the
    database of a cluster goes away and is back."""
    if not is_cluster(directory):
        return SqliteControl(directory.control, clock, repairs=repairs)
    try:
        from gossamer.monitor.cluster_control import ClusterControl
        from gossamer.store.postgres.line import SharedLine
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    place = shared_place(directory)
    assert place is not None
    host = os.uname().nodename
    line = SharedLine(place.url, place.owner, clock, tell)
    return ClusterControl(line, place.member or OUTSIDE.format(host), host, clock)
