"""The state of a collection, in whichever database its settings name: the one place that opens it."""

from contextlib import AbstractAsyncContextManager

from gossamer.base.clock import Clock
from gossamer.base.tell import Tell
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database, read_only
from gossamer.store.statements import State, StateWriter

SNAPSHOT = "BEGIN"


def open_state(directory: Directory) -> State:
    """A reader's connection, from any process, while a crawl writes. Each statement sees what is committed by then."""
    return read_only(directory.state)


def open_snapshot(directory: Directory) -> State:
    """The same, and all statements see one consistent state, however busy the crawl is."""
    state = open_state(directory)
    state.execute(SNAPSHOT)
    return state


def open_database(directory: Directory, clock: Clock, tell: Tell) -> AbstractAsyncContextManager[StateWriter]:
    """The writer's side. REQUIRES: the directory's lock is held."""
    return Database(directory.state, clock, tell)
