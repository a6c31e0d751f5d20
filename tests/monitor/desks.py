"""Heartbeats and commands in both forms, for tests that run on both: a file, and the database of a cluster."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.postgres_server import server

from gossamer.base.clock import SECOND
from gossamer.monitor.control import Control
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.testing import FakeClock


@dataclass
class Desk:
    """What the processes of one collection share."""

    open: Callable[..., AbstractContextManager[Control]]
    """By the name of a node, which only a cluster needs."""
    advance: Callable[[float], None]
    clock: FakeClock
    is_shared: bool


def sqlite_desk(folder: Path) -> Desk:
    clock = FakeClock()
    return Desk(lambda node="a": SqliteControl(folder / "control.db", clock), clock.advance, clock, False)


def cluster_desk(folder: Path, clock_ahead_s: float = 0.0) -> Desk:
    """Its database has a clock that the test sets; ours is ahead of it by so many seconds."""
    conninfo = server().conninfo_for(folder, waits_for_disk=False)
    import psycopg

    from gossamer.monitor.cluster_control import ClusterControl
    from gossamer.store.postgres.line import SharedLine
    from gossamer.store.postgres.state import prepare

    clock = FakeClock()
    prepare(conninfo)

    def set_time() -> None:
        now = clock.now() - round(clock_ahead_s * SECOND)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            head = "CREATE OR REPLACE FUNCTION micros_now() RETURNS bigint LANGUAGE sql VOLATILE"
            connection.execute(f"{head} AS 'SELECT {now}::bigint'")

    def advance(seconds: float) -> None:
        clock.advance(seconds)
        set_time()

    def opened(node: str = "a") -> Control:
        return ClusterControl(SharedLine(conninfo, "cluster", clock), node, f"host of {node}", clock)

    set_time()
    return Desk(opened, advance, clock, True)


@pytest.fixture(params=["directory", "cluster"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return sqlite_desk(tmp_path) if request.param == "directory" else cluster_desk(tmp_path)
