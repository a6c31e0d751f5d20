"""Whether the databases and views of a collection can be opened, how much they hold, and what mends them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.app.directory import Directory
from gossamer.app.outside import Outside
from gossamer.errors import GossamerError, StateDamaged
from gossamer.graph.checkpoints import newest
from gossamer.graph.export import opened
from gossamer.index.searcher import Searcher
from gossamer.store import tallies
from gossamer.store.database import read_only

REBUILD = "gossamer rebuild --dir {root}"
MOST_FAULTS = 5


class ViewState(msgspec.Struct, frozen=True):
    name: str
    says: str = ""
    fault: str = ""
    """Why it cannot be used; empty when it can."""
    mend: str = ""
    """The next step, when there is one."""


def checked_databases(directory: Directory) -> list[ViewState]:
    """By SQLite's own check, which reads every page of the file."""
    rebuild = "make it again from the archive:  " + REBUILD.format(root=directory.root)
    found = [_checked_state(directory)]
    if directory.links.is_file():
        found.append(_quick_check(directory.links, rebuild))
    return found


def checked_views(directory: Directory, outside: Outside, state: sqlite3.Connection) -> list[ViewState]:
    """A view that is not there yet is no fault: a backup has none."""
    mend = "make them again from the archive:  " + REBUILD.format(root=directory.root)
    return [_words(directory, tallies.counts(state).pages, mend), _facts(directory, outside, mend)]


def _checked_state(directory: Directory) -> ViewState:
    path = directory.state
    mend = f"make it again from the archive:  gossamer rebuild --state --dir {directory.root}"
    if not path.is_file():
        return ViewState(path.name, fault="it is missing", mend=mend)
    if not path.stat().st_size:
        return ViewState(path.name, fault="it is empty", mend=mend)
    try:
        read_only(path).close()  # one of ours, of a version that we read
    except StateDamaged:
        pass  # SQLite's check says more
    except GossamerError as trouble:
        return ViewState(path.name, fault=str(trouble))  # which says what to do
    return _quick_check(path, mend)


def _quick_check(path: Path, mend: str) -> ViewState:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = [str(row[0]) for row in database.execute(f"PRAGMA quick_check({MOST_FAULTS})")]
    except sqlite3.Error as trouble:
        return ViewState(path.name, fault=str(trouble), mend=mend)
    return ViewState(path.name, says="whole") if rows == ["ok"] else ViewState(path.name, "", "; ".join(rows), mend)


def _words(directory: Directory, pages: int, mend: str) -> ViewState:
    if not any(directory.index.glob("*")):
        return ViewState("index", says="not made yet", mend=mend if pages else "")
    searcher = Searcher(directory.index)
    try:
        searcher.open()
        held = searcher.pages
    except (GossamerError, ValueError, OSError) as trouble:
        return ViewState("index", fault=str(trouble), mend=mend)
    finally:
        searcher.close()
    return ViewState("index", says=f"{held:,} pages can be searched, and the catalogue has {pages:,}")


def _facts(directory: Directory, outside: Outside, mend: str) -> ViewState:
    checkpoint = newest(outside.files, directory.checkpoints)
    if checkpoint is None:
        return ViewState("checkpoints", says="not made yet")
    try:
        store = opened(checkpoint.folder)
        return ViewState("checkpoints", says=f"{len(store):,} facts")
    except (ValueError, OSError) as trouble:
        return ViewState("checkpoints", fault=str(trouble), mend=mend)
