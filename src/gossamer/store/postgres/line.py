"""A connection to the shared database for short transactions on any thread."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gossamer.base.clock import Clock, Instant, in_words
from gossamer.base.errors import DatabaseLost, DirectoryUnusable
from gossamer.base.tell import Tell, silent
from gossamer.store.postgres.database import ALIVE, BEATEN, LOST, Connection, in_line, in_our_words, name_of
from gossamer.store.postgres.state import named_conninfo

T = TypeVar("T")
CONNECT_S = 5
SETTINGS: dict[str, Any] = ALIVE | {"connect_timeout": CONNECT_S, "tcp_user_timeout": 6_000}
LIMITS = "-c statement_timeout=20s -c idle_in_transaction_session_timeout=10s -c synchronous_commit=off"
"""Heartbeats and figures may be lost with the server's last moments; what may not says so (`lasting`)."""
LASTING = "SET LOCAL synchronous_commit TO on"


class SharedLine:
    """For any number of threads, which take turns; `close` it. It never waits for a server that is away."""

    def __init__(self, conninfo: str, owner: str, clock: Clock, tell: Tell = silent) -> None:
        self.name = name_of(conninfo)
        self._conninfo, self._owner, self._clock, self._tell = conninfo, owner, clock, tell
        self._connection: Connection | None = None
        self._lost: tuple[Instant, str] | None = None
        self._turn = threading.Lock()

    def run(self, work: Callable[[Connection], T], *, is_lasting: bool = False) -> T:
        """`work` in one transaction, repeated once if the connection had been broken meanwhile, so it must be safe to
        repeat. Raises DatabaseLost.

        `is_lasting`: on return the commit is on the server's disk.
        """
        with self._turn:
            for is_last in (False, True):
                try:
                    with in_our_words(self.name):
                        result = self._once(work, is_lasting)
                except BEATEN as race:
                    if is_last:
                        raise DatabaseLost(f"{self.name} is busy ({in_line(race)}): try again") from race
                except psycopg.errors.UndefinedTable as trouble:
                    raise DirectoryUnusable(
                        f"{self.name} holds no cluster of this version ({in_line(trouble)}): `gossamer cluster init` "
                        "makes one, or brings it up to date"
                    ) from trouble
                except LOST as trouble:
                    was_open = self._connection is not None
                    self._hang_up()
                    if is_last or not was_open:
                        raise self._lost_by(in_line(trouble)) from trouble
                else:
                    self._note_answer()
                    return result
            raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        with self._turn:
            self._hang_up()

    @property
    def trouble(self) -> str:
        """Since when the server has not been reached, and why, for people; empty while it answers."""
        lost = self._lost
        return f"{self.name}: no answer since {in_words(lost[0])[:19]}Z ({lost[1]}); trying again" if lost else ""

    def _once(self, work: Callable[[Connection], T], is_lasting: bool) -> T:
        connection = self._connection or self._connect()
        with connection.transaction():
            if is_lasting:
                connection.execute(LASTING)
            return work(connection)

    def _connect(self) -> Connection:
        given = conninfo_to_dict(named_conninfo(self._conninfo, self._owner))
        given["options"] = f"{given.get('options') or ''} {LIMITS}".strip()
        self._connection = psycopg.connect(make_conninfo("", **(SETTINGS | given)), autocommit=True)
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _lost_by(self, why: str) -> DatabaseLost:
        if self._lost is None:
            self._lost = self._clock.now(), why
            self._tell("service.lost", service=self.name, why=why)
        return DatabaseLost(f"{self.name} cannot be reached ({why})")

    def _note_answer(self) -> None:
        if self._lost is not None:
            self._lost = None
            self._tell("service.back", service=self.name)
