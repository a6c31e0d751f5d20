"""Checks of the databases and views.

Whether they can be opened, how far they are, and whether they hold every page up to there.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.base.clock import Instant, SystemClock
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError, StateDamaged, ViewDamaged, WorkerLost, damage_named
from gossamer.base.files import Files
from gossamer.base.tell import Says
from gossamer.collection.maintenance.cluster_views import aside_in_words, waiting
from gossamer.collection.maintenance.server_facts import held_on, position_on, unarchived
from gossamer.collection.views import facts_server
from gossamer.indexer.updates import Reread, position_in
from gossamer.spool.frames import SpoolPosition
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory
from gossamer.store.service import ServiceLost
from gossamer.store.sqlite.database import read_only
from gossamer.store.state import is_cluster, open_state
from gossamer.store.statements import State
from gossamer.values.capture import Kept
from gossamer.values.format import counted
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import DIGESTS, changed_files, newest, tables_without, view_of
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.writer import is_on_server, writer_in
from gossamer.views.facts.sources import OURS, SOURCES, damaged_records, graph_name
from gossamer.views.facts.store import POSITION, fetched_at, opened
from gossamer.views.links.place import links_reader
from gossamer.views.links.reader import LinksReader, every_link
from gossamer.views.words.place import is_embedded, words_reader
from gossamer.views.words.schema import damaged_files

AT_ONCE = 500
FACTS_AT_ONCE = 10_000
NOT_MADE = "not made yet"
MOST_ERRORS = 5
MOST_NAMED = 20
"""How many missing pages are named, each after its capture was read again; all of them are counted."""
Held = Callable[[Sequence[Url]], Mapping[int, Instant]]
"""The ids of those of these pages that a view holds, and when the version that it holds was fetched."""


class ViewState(msgspec.Struct, frozen=True):
    name: str
    says: str = ""
    error: str = msgspec.field(name="fault", default="")
    """Why it is unusable, or what it lacks; empty if it is intact."""
    fix: str = msgspec.field(name="mend", default="")
    """The next step, if there is one."""
    position: SpoolPosition | None = None
    """The archive record it reads next; None: unknown, as for a database or for what cannot be opened."""
    behind: int = 0
    """Pages that it has not reached yet: no damage."""
    missing: int = 0
    """Pages that it has passed but does not hold."""
    missing_urls: tuple[str, ...] = ()
    """The first of them, and of the outdated ones."""
    outdated: int = 0
    """Pages of which it holds an older capture than the one it has passed, which was damaged then and now is not."""
    unreadable: int = 0
    """Pages whose entry exists but cannot be read."""
    unreadable_urls: tuple[str, ...] = ()
    """The first of them."""


class OpenView(NamedTuple):
    name: str
    position: SpoolPosition | None
    held: Held
    unreadable: Callable[[Sequence[Url]], Sequence[Url]] = lambda _: ()
    """Which of these pages have an entry that cannot be read."""
    note: str = ""
    """What could not be checked."""


ALL_OF_IT = SpoolPosition("\U0010ffff")
"""The position of a view of a cluster for which nothing waits. Its pages are compared by version, not by time."""


@dataclass(slots=True)
class ViewTally:
    """The findings on one view so far."""

    view: OpenView
    error: str = ""
    behind: int = 0
    missing: int = 0
    named: list[str] = field(default_factory=list)
    outdated: int = 0
    unreadable: int = 0
    unreadable_named: list[str] = field(default_factory=list)


def checked_databases(directory: Directory) -> list[ViewState]:
    """By SQLite's own check, which reads every page of the file. PostgreSQL checks its files itself."""
    if directory.database.is_file():
        return [ViewState(directory.database.name, says="the state is in PostgreSQL, and is not checked here")]
    path = directory.state
    fix = f"make it again from the archive:  gossamer rebuild --state --dir {directory.root}"
    if not path.is_file():
        return [ViewState(path.name, error="it is missing", fix=fix)]
    if not path.stat().st_size:
        return [ViewState(path.name, error="it is empty", fix=fix)]
    try:
        read_only(path).close()  # ours, and of a readable version
    except StateDamaged:
        pass  # SQLite's check says more
    except GossamerError as trouble:
        return [ViewState(path.name, error=str(trouble))]  # its message says what to do
    error = quick_check(path)
    return [ViewState(path.name, error=error, fix=fix) if error else ViewState(path.name, says="intact")]


def quick_check(path: Path) -> str:
    """What is wrong with a file according to SQLite; empty: nothing."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = [str(row[0]) for row in database.execute(f"PRAGMA quick_check({MOST_ERRORS})")]
    except (sqlite3.Error, UnicodeDecodeError) as trouble:
        return str(trouble)
    return "" if rows == ["ok"] else "; ".join(rows)


class ViewCheck:
    """Compares every view with the catalogue. `is_alone`: the caller has the directory's lock, so no process writes,
    and the live graph may be opened. `reread` reads a capture again: a page that yields nothing is not missing."""

    def __init__(self, directory: Directory, outside: Outside, reread: Reread, is_alone: bool) -> None:
        self._directory, self._outside, self._reread, self._is_alone = directory, outside, reread, is_alone

    async def run(self, says: Says) -> list[ViewState]:
        """A view that does not exist yet is no damage: a backup has none."""
        for _ in range(3):
            folder = self._directory.views_folder
            name = "" if folder == self._directory.root else folder.name
            found = await self._run(Directory(self._directory.root, name), says)
            if folder == self._directory.views_folder:
                break  # else a rebuild has replaced them
        return found

    async def _run(self, directory: Directory, says: Says) -> list[ViewState]:
        states: dict[str, ViewState] = {}
        fix = f"make them again from the archive:  gossamer rebuild --dir {directory.root}"
        with ExitStack() as stack, closing(open_state(directory)) as state:
            found, pages = dict[str, ViewTally](), tallies.counts(state).pages
            openers: dict[str, Callable[[], OpenView | str]] = {
                "index": lambda: _words(directory, stack),
                "links.db": lambda: _links(directory, stack),
                **self._facts_openers(directory, stack, says),
            }
            if is_cluster(directory):
                openers = self._cluster_openers(directory, stack)
            for name, open_view in openers.items():
                try:
                    view = open_view()
                except ServiceLost as trouble:
                    states[name] = ViewState(name, error=str(trouble))
                    continue
                except (GossamerError, ValueError, OSError) as trouble:
                    states[name] = ViewState(name, error=str(trouble), fix=fix)
                    continue
                if isinstance(view, str):
                    needs = view == NOT_MADE and pages and self._is_alone
                    states[name] = ViewState(name, says=view, fix=fix if needs else "")
                else:
                    found[name] = ViewTally(view)
            if self._is_alone and pages and found:
                states |= {name: ViewState(name, error="it is missing", fix=fix) for name in _lost(states)}
            pages = await self._compare(state, list(found.values()), pages, says)
        states |= {name: self._state_of(one, pages, fix) for name, one in found.items()}
        return [states[name] for name in openers]

    def _facts_openers(
        self, directory: Directory, stack: ExitStack, says: Says
    ) -> dict[str, Callable[[], OpenView | str]]:
        server = facts_server(directory, self._outside)
        if server is None:
            return {
                "graph": lambda: self._graph(directory, stack, says),
                "checkpoints": lambda: _checkpoint(directory, self._outside.files, says),
            }
        stack.callback(server.close)
        return {"facts": lambda: self._on_server(server, directory, says)}

    def _cluster_openers(self, directory: Directory, stack: ExitStack) -> dict[str, Callable[[], OpenView | str]]:
        clock, (work, aside) = self._outside.clock, waiting(directory)
        words, links = words_reader(directory, clock), links_reader(directory, clock)
        server = facts_server(directory, self._outside)

        def opened_view(name: str, held: Held, open_view: Callable[[], object]) -> OpenView | str:
            if found := [one for one in aside if one.view == name]:
                raise GossamerError(f"{counted(len(found), 'segment')} set aside: {aside_in_words(found)}")
            if behind := sum(one.records + one.rebuild_records for one in work if one.view == name):
                return f"{counted(behind, 'record')} behind"
            open_view()
            return OpenView(name, ALL_OF_IT, held)

        for view in (words, links):
            stack.callback(view.close)
        openers: dict[str, Callable[[], OpenView | str]] = {
            "words": lambda: opened_view("words", words.held, words.open),
            "links": lambda: opened_view("links", links.held, links.open),
        }
        if server is not None:
            stack.callback(server.close)
            openers["facts"] = lambda: opened_view("facts", partial(held_on, server), bool)
        return openers

    def _on_server(self, server: SparqlServer, directory: Directory, says: Says) -> OpenView | str:
        """What the server says that it has; it checks its files itself."""
        if not is_on_server(directory.graph, self._outside.files):
            return NOT_MADE
        position = position_on(server, directory, self._outside.files)
        if position != SpoolPosition() and (error := _error_in(directory.graph / SOURCES)):
            raise ViewDamaged(directory.graph, f"{SOURCES}: {error}")
        says("checking facts: pages that are not in the archive")
        more = sum(1 for _ in unarchived(server, directory))
        note = (
            f"{counted(more, 'page')} that the archive does not have: `gossamer rebuild` removes them" if more else ""
        )
        return OpenView("facts", position, partial(held_on, server), note=note)

    def _graph(self, directory: Directory, stack: ExitStack, says: Says) -> OpenView | str:
        """The live store, which only one process may have open."""
        if not any(directory.graph.glob("*")):
            return NOT_MADE
        lock = self._outside.files.lock(directory.facts_lock, "verify") if self._is_alone else "another process"
        if isinstance(lock, str):
            return "open in another process: only its checkpoint was checked"
        stack.callback(lock.release)
        view = _facts("graph", directory.graph, self._outside.files, says)
        if view.position != SpoolPosition() and (error := _error_in(directory.graph / SOURCES)):
            raise ViewDamaged(directory.graph, f"{SOURCES}: {error}")
        return view

    async def _compare(self, state: State, views: list[ViewTally], pages: int, says: Says) -> int:
        """Compare every page of the catalogue with every view; returns their number."""
        done, every = 0, captures.pages(state)
        while some := list(islice(every, AT_ONCE)):
            seen: dict[int, bool] = {}
            for tally in views:
                for kept, is_held in self._lacking(tally, some):
                    if len(tally.named) < MOST_NAMED:
                        if not await self._is_missed(kept, seen):
                            continue
                        tally.named.append(kept.url.text)
                    tally.missing += not is_held
                    tally.outdated += is_held
            done += len(some)
            says(f"checking views: {done:,} of {pages:,} pages")
        return done

    def _lacking(self, tally: ViewTally, some: Sequence[Kept]) -> Iterator[tuple[Kept, bool]]:
        """Those that the view has passed but does not hold; and whether it holds an older capture."""
        position = tally.view.position
        if tally.error or position is None:
            return
        passed = [kept for kept in some if SpoolPosition(kept.place.volume, kept.place.number) < position]
        tally.behind += len(some) - len(passed)
        urls = [kept.url for kept in passed]
        try:
            held, unreadable = tally.view.held(urls), tally.view.unreadable(urls)
        except ViewDamaged as trouble:
            tally.error = str(trouble)
            return
        tally.unreadable += len(unreadable)
        tally.unreadable_named += [url.text for url in unreadable[: MOST_NAMED - len(tally.unreadable_named)]]
        for kept in passed:
            if (at := held.get(kept.url.id)) is None or (at < kept.fetched_at and position != ALL_OF_IT):
                yield kept, at is not None

    async def _is_missed(self, kept: Kept, seen: dict[int, bool]) -> bool:
        """Whether a rebuild would add the page. A capture yields nothing if it is damaged, which is reported elsewhere,
        if no reader survives it, or if it is no page after all."""
        if kept.capture_id not in seen:
            try:
                reading = await self._reread(kept.place)
                seen[kept.capture_id] = reading is not None and reading.page.url == kept.url
            except (GossamerError, WorkerLost, OSError):
                seen[kept.capture_id] = False
        return seen[kept.capture_id]

    def _state_of(self, one: ViewTally, pages: int, fix: str) -> ViewState:
        name, position = one.view.name, one.view.position
        if one.error:
            return ViewState(name, error=one.error, fix=fix)
        catch_up = f"catch up:  gossamer crawl --dir {self._directory.root}   or   gossamer rebuild"
        if position is None:
            says = "it can be opened; its position was not recorded when it was made"
            return ViewState(name, says, fix=catch_up if name == "graph" and self._is_alone else "")
        lacks = [f"{counted(one.missing, 'page')} missing"] if one.missing else []
        lacks += [f"{counted(one.outdated, 'page')} only as an older capture"] if one.outdated else []
        errors = [f"{', '.join(lacks)}, though it was made past their records"] * bool(lacks)
        errors += [f"what it holds of {counted(one.unreadable, 'page')} cannot be read"] * bool(one.unreadable)
        error = "; ".join(errors)
        whole = pages - one.behind - one.missing - one.outdated - one.unreadable
        says = f"{whole:,} of {counted(pages, 'page')}"
        if one.view.note:
            says += f"; {one.view.note}"
        if one.behind:
            says += f"; {one.behind:,} behind" + ("" if self._is_alone else ", another process is at work")
        step = fix if error else catch_up if one.behind and self._is_alone else ""
        figures = one.behind, one.missing, tuple(one.named), one.outdated, one.unreadable, tuple(one.unreadable_named)
        return ViewState(name, says, error, step, position, *figures)


def _lost(states: Mapping[str, ViewState]) -> list[str]:
    """Views that are missing although others exist: they must have existed. A crawl that was killed early has made all
    but the checkpoint, and a backup has none."""
    return [name for name, one in states.items() if one.says == NOT_MADE and name != "checkpoints"]


def _words(directory: Directory, stack: ExitStack) -> OpenView | str:
    if not any(directory.index.glob("*")):
        return NOT_MADE
    searcher = words_reader(directory, SystemClock())
    stack.callback(searcher.close)
    position = searcher.position  # before the pages: it may advance in the meantime
    searcher.open()
    if is_embedded(directory) and (damaged := damaged_files(directory.index)):
        raise ViewDamaged(directory.index, f"not as they were written: {', '.join(damaged)}")
    return OpenView("index", position_in(position), searcher.held, searcher.unreadable)


def _links(directory: Directory, stack: ExitStack) -> OpenView | str:
    if not directory.links.is_file():
        return NOT_MADE
    if error := quick_check(directory.links):
        raise ViewDamaged(directory.links, error)
    for _ in every_link(directory.links):
        pass  # this unpacks each, which SQLite's check does not
    reader = LinksReader(directory.links)
    stack.callback(reader.close)
    reader.open()
    return OpenView("links.db", position_in(reader.position()), reader.held)


def _error_in(sources: Path) -> str:
    if not sources.is_file():
        return "it is missing"
    if error := quick_check(sources):
        return error
    number = damaged_records(sources)
    return f"{counted(number, 'record')} cannot be read" if number else ""


def _checkpoint(directory: Directory, files: Files, says: Says) -> OpenView | str:
    checkpoint = newest(files, directory.checkpoints)
    return NOT_MADE if checkpoint is None else _facts("checkpoints", checkpoint.folder, files, says)


def _facts(name: str, folder: Path, files: Files, says: Says) -> OpenView:
    """Every file is compared with its digest, and every fact is read, in one of the orders in which they are stored."""
    path, view = folder / POSITION, view_of(folder)
    position = position_in(files.read(path)) if files.size(path) is not None else None
    if changed := changed_files(folder, files, says):
        raise ViewDamaged(view, f"not as they were written: {', '.join(changed)}")
    new, number = tables_without(folder, files), 0
    store = opened(folder)
    with damage_named(view, OSError, RuntimeError, ValueError):
        for number, _ in enumerate(store, 1):
            if not number % FACTS_AT_ONCE:
                says(f"checking {name}: {number:,} facts")

    def held(urls: Sequence[Url]) -> Mapping[int, Instant]:
        with damage_named(view, OSError, RuntimeError, ValueError):
            found = {url.id: fetched_at(store, graph_name(url)) for url in urls}
        return {number: at for number, at in found.items() if at is not None}

    missing = "it" if new == 1 else "them"
    note = f"{counted(new, 'table')} not in {DIGESTS}, checked only in part; the next `gossamer crawl` adds {missing}"
    return OpenView(name, position if number or position is None else SpoolPosition(), held, note=note if new else "")


class UnusableView(msgspec.Struct, frozen=True):
    name: str
    error: str = msgspec.field(name="fault")
    """The error, and the next step."""


def unusable(directory: Directory, outside: Outside, pages: int) -> Iterator[UnusableView]:
    """The views that cannot be opened, or are missing although there are pages."""
    if is_cluster(directory):
        yield from _unreached(directory, outside)
        return
    server = facts_server(directory, outside)
    if server is not None:
        with closing(server):
            try:
                server.position(writer_in(directory.graph, outside.files) or OURS)
            except GossamerError as trouble:
                yield UnusableView("facts", str(trouble))
    for path in (directory.index, directory.links, *([directory.checkpoints] if server is None else [])):
        try:
            if not _is_there(path, directory, outside) and pages:
                raise ViewDamaged(path, "it is missing")
        except (GossamerError, OSError) as trouble:
            error = trouble if isinstance(trouble, GossamerError) else ViewDamaged(path, trouble)
            yield UnusableView(path.name, str(error))


def _unreached(directory: Directory, outside: Outside) -> Iterator[UnusableView]:
    """Those of a cluster whose service does not answer."""
    words, links = words_reader(directory, outside.clock), links_reader(directory, outside.clock)
    server = facts_server(directory, outside)
    views: dict[str, Callable[[], object]] = {"words": words.open, "links": links.open}
    with ExitStack() as stack:
        if server is not None:
            stack.callback(server.close)
            views["facts"] = partial(server.position, OURS)
        for view in (words, links):
            stack.callback(view.close)
        for name, open_view in views.items():
            try:
                open_view()
            except GossamerError as trouble:
                yield UnusableView(name, str(trouble))


def _is_there(path: Path, directory: Directory, outside: Outside) -> bool:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return False
    if path == directory.checkpoints:
        checkpoint = newest(outside.files, path)
        return checkpoint is not None and opened(checkpoint.folder) is not None
    view = words_reader(directory, outside.clock) if path == directory.index else LinksReader(path)
    try:
        view.open()
    finally:
        view.close()
    return True
