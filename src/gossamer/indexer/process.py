"""The indexer process: `python -m gossamer.indexer.process DIR VIEWS AGENT CHANNEL`.

It owns the index and the links, and starts the graph process. VIEWS names the folder of views that are being rebuilt;
empty: the present ones. It ends when its parent closes the channel, or dies; what is already spooled is indexed first.
"""

import asyncio
import math
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import ArchivePlaces, may_be_page
from gossamer.archive.directories import with_archive
from gossamer.archive.reader import read_capture
from gossamer.base import tuning
from gossamer.base.environment import Outside, random_token, real_outside
from gossamer.base.errors import ConfigError, DatabaseLost, GossamerError, ViewDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import CRASH_VARIABLE, Tell, crashing, silent
from gossamer.config.settings import Settings
from gossamer.fetch.tika import TikaServer, tika_of
from gossamer.frontier.known import pasts_of
from gossamer.frontier.rows import UrlKeys
from gossamer.indexer import updates
from gossamer.indexer.cluster import ClusterSource, ClusterTuning, ClusterViews
from gossamer.indexer.graph_client import NAME as GRAPH_PROCESS
from gossamer.indexer.graph_client import RemoteFacts, remote_facts
from gossamer.indexer.omissions import recording_omissions
from gossamer.indexer.segments import SegmentReader
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import Control
from gossamer.monitor.pulse import ProcessReport, Pulse, ThisMachine, beating_in_thread
from gossamer.monitor.supervisor import lock_views, remove_view
from gossamer.plugins.code import reopened
from gossamer.rules.canonical import identity_of
from gossamer.spool.codec import decode
from gossamer.spool.frames import Follower
from gossamer.store import captures, forgotten
from gossamer.store.directory import Directory, keep_private
from gossamer.store.forgotten import NOTHING, Forgotten
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster, open_database, open_state, shared_place
from gossamer.store.work import was_page_before as had_version_before
from gossamer.values.capture import VANISHED, Capture, Place
from gossamer.values.format import error_in_words
from gossamer.values.messages import ReadDone, ReadJob, parts_of
from gossamer.values.page import Reading, empty_reading
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.writer import ServerFacts, prepare_folder
from gossamer.views.facts.sources import OURS, Sources
from gossamer.views.links.service import service_writer
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.place import words_writer
from gossamer.workers.child import die_with_parent
from gossamer.workers.jobs import asked_twice, job_for, lazy_readers

NAME = "indexer"
NAMED_S = 1.0
"""By then the threads of the index have their names."""


def main() -> None:
    keep_private()
    root, views, agent, channel = sys.argv[1:]
    tell = crashing(silent, os.environ.get(CRASH_VARIABLE))
    message = ""
    tuning.lower_priority(tuning.INDEXER_NICENESS)
    if views:
        die_with_parent()  # a rebuild that was killed is started again, and continues from the last commit
    try:
        directory, parent = Directory(Path(root), views), socket.socket(fileno=int(channel))
        if not is_reached(directory, parent, tell):
            return
        outside = with_archive(directory, real_outside())
        asyncio.run(index(directory, agent, parent, outside, tell))
    except* (GossamerError, OSError) as group:
        errors = list(flat(group))
        message = "; ".join(dict.fromkeys(map(error_in_words, errors)))
        for error in errors:
            if isinstance(error, ViewDamaged):  # the next indexer makes it again from the archive; the others stay
                print(remove_view(error.path, DiskFiles()), file=sys.stderr)
    if message:
        sys.exit(f"the indexer ends: {message}")


def is_reached(directory: Directory, parent: socket.socket, tell: Tell) -> bool:
    """On a cluster, wait until its database answers. False: we were asked to end meanwhile."""
    while is_cluster(directory):
        try:
            open_state(directory).close()
            return True
        except DatabaseLost as lost:
            tell("views.suspended", because=str(lost))
        parent.settimeout(updates.AWAY_S)
        with suppress(TimeoutError):
            parent.recv(1)
            return False
    return True


def flat(error: BaseException) -> Iterator[BaseException]:
    """The errors of a group and of the groups inside it."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from flat(one)
    else:
        yield error


async def index(directory: Directory, agent: str, channel: socket.socket, outside: Outside, tell: Tell) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    lock = await lock_views(directory, outside, NAME)
    try:
        async with AsyncExitStack() as opened:
            control = opened.enter_context(control_of(directory, outside.clock))
            control.discard_pending(NAME)
            reread = await opened.enter_async_context(rereading(directory, agent, outside, tell))
            if directory.fixed_views:
                reread = opened.enter_context(recording_omissions(reread, directory, outside.files))
            state = PublishedState()
            graph_pids: tuple[int, ...] = ()
            views: updates.Views | ClusterViews
            if is_cluster(directory):
                views = await open_cluster_views(opened, directory, reread, control, outside, tell, state, stop)
                state.trouble = partial(getattr, views, "trouble")
            else:
                facts, graph_pids = opened.enter_context(facts_keeper(directory, outside, tell))
                state.trouble = partial(getattr, facts, "trouble")
                views = open_views(
                    opened, directory, facts, reread, control, outside, tell, state, is_stopping=stop.is_set
                )
            own, machine = outside.processes.own_pid(), ThisMachine(directory.root)
            pulse = Pulse(NAME, own, control, machine, outside.clock, GRAPH_PROCESS)
            state.beat = partial(pulse.beat, workers=graph_pids)
            opened.enter_context(beating_in_thread(pulse, state.report, graph_pids))
            async with asyncio.TaskGroup() as tasks:
                listener = tasks.create_task(stop_at_end_of(channel, stop))
                delayed = tasks.create_task(lower_merge_priority(outside))
                tuning.keep_freed_memory()
                tuning.relax_garbage_collection()
                await views.run(stop)
                listener.cancel()
                delayed.cancel()
    finally:
        lock.release()


@contextmanager
def facts_keeper(
    directory: Directory, outside: Outside, tell: Tell
) -> Iterator[tuple[RemoteFacts | ServerFacts, tuple[int, ...]]]:
    """As the settings say, with the processes that it has started."""
    views = config_of(directory.root).settings.views
    if not views.facts:
        with remote_facts(directory, outside.processes) as (remote, child):
            yield remote, (child.pid,)
        return
    parent = os.getppid()
    writer = prepare_folder(directory.graph, directory.checkpoints, outside.files)
    with closing(SparqlServer(views.facts, views.facts_update, outside.clock, tell)) as server:
        facts = ServerFacts(
            server,
            writer,
            Sources(directory.graph, outside.files),
            tell,
            is_stopping=lambda: os.getppid() != parent,  # no process waits for it any more
            replaces_same=bool(directory.fixed_views),
        )
        with closing(facts):
            facts.open()
            yield facts, ()


async def lower_merge_priority(outside: Outside) -> None:
    await outside.clock.sleep(NAMED_S)
    outside.processes.lower_thread_priority(tuning.INDEX_MERGES, tuning.INDEX_MERGES_NICENESS)


def open_views(
    opened: AsyncExitStack,
    directory: Directory,
    facts: RemoteFacts | ServerFacts,
    reread: updates.Reread,
    control: Control,
    outside: Outside,
    tell: Tell,
    state: "PublishedState",
    is_stopping: Callable[[], bool] = lambda: False,
) -> updates.Views:
    links = LinksWriter(directory.links, outside.files, tell)
    words = words_writer(directory, outside.files, outside.clock, tell, is_stopping)
    for view in (links, words):
        opened.callback(view.close)
        view.open()

    places = ArchivePlaces(outside.files, directory.archive, directory)
    checkpoints = Checkpoints(directory.checkpoints, outside.files, outside.clock, tell)

    def checkpoint() -> None:
        """On request, and not more often than its interval; it also answers requests made meanwhile."""
        requests = control.pending(NAME)
        facts.make_checkpoint()
        checkpoints.made_elsewhere()
        for request in requests:
            control.done(request.id)

    return updates.Views(
        views={"links": links, "facts": updates.GraphView(facts), "words": words},
        source=updates.ReadingSource(lambda: Follower(outside.files, directory.spool, places, tell), reread),
        process=updates.IndexerProcess(
            publish=state.publish,
            is_checkpoint_wanted=lambda: bool(control.pending(NAME)) and checkpoints.is_due(),
            checkpoint=checkpoint,
        ),
        clock=outside.clock,
        tell=tell,
        settings=updates.IndexerTuning(drain_s=math.inf),
    )


async def open_cluster_views(
    opened: AsyncExitStack,
    directory: Directory,
    reread: updates.Reread,
    control: Control,
    outside: Outside,
    tell: Tell,
    state: "PublishedState",
    stop: asyncio.Event,
) -> ClusterViews:
    """The same for one of the indexers of a cluster: its views are on services, and its work is in the database."""
    place, settings = shared_place(directory), config_of(directory.root).settings.views
    assert place is not None
    if not settings.facts:
        raise ConfigError("this cluster has no service for its facts: set views.facts")
    by = f"{place.member or NAME} {random_token(6)}"
    database = await opened.enter_async_context(open_database(directory, outside.clock, tell, stop.is_set))
    links = service_writer(directory, outside.clock, tell, stop.is_set)
    words = words_writer(directory, outside.files, outside.clock, tell, stop.is_set)
    server = SparqlServer(settings.facts, settings.facts_update, outside.clock, tell)
    facts = ServerFacts(server, f"{OURS}writer:{random_token(16)}", None, tell, stop.is_set, replaces_same=True)
    opened.callback(server.close)
    for view in (links, words, facts):
        opened.callback(view.close)
        view.open()

    def answer_requests() -> None:
        for request in control.pending(NAME):
            control.done(request.id)

    return ClusterViews(
        views={"words": words, "facts": updates.GraphView(facts), "links": links},
        source=ClusterSource(database, SegmentReader(outside.files, directory.spool, reread), by),
        process=updates.IndexerProcess(state.publish, lambda: bool(control.pending(NAME)), answer_requests),
        clock=outside.clock,
        tell=tell,
        settings=ClusterTuning(),
    )


@dataclass(slots=True)
class PublishedState:
    """What the views published last. The pulse passes it on once a second, or at once when a view has advanced: the
    crawler waits for that."""

    trouble: Callable[[], str] = lambda: ""
    """What the views wait for, for people."""
    last: dict[str, object] = field(default_factory=dict)
    beat: Callable[[ProcessReport], object] | None = None

    def publish(self, state: dict[str, object]) -> None:
        has_advanced = state["positions"] != self.last.get("positions")
        self.last = state
        if has_advanced and self.beat is not None:
            self.beat(self.report())

    def report(self) -> ProcessReport:
        last = self.last
        names = {"pages": "pages", "waiting": "spooled", "lag_s": "words_lag_s"}
        figures = {figure: float(str(last[name])) for name, figure in names.items() if name in last}
        return ProcessReport(figures, self.trouble() or ("rebuilding" if last.get("rebuilding") else ""), last or None)


@asynccontextmanager
async def rereading(directory: Directory, agent: str, outside: Outside, tell: Tell) -> AsyncIterator[updates.Reread]:
    """Read captures again whose readings were lost, in readers that are started only when that happens."""
    job = job_for(reopened(directory.root, outside.files))
    forgotten_urls: Forgotten | None = None
    tika = tika_of(settings_of(directory, tell), outside.clock, tell)
    async with lazy_readers(partial(settings_of, directory, tell), outside, tell, job) as call:

        async def reread(place: Place) -> Reading | None:
            nonlocal forgotten_urls
            if forgotten_urls is None:
                forgotten_urls = await asyncio.to_thread(forgotten_in, directory)
            capture = read_capture(outside.files, directory.archive, place)
            if capture is None or forgotten_urls.has(capture.url):
                return None
            if not may_be_page(capture):
                is_gone = capture.status in VANISHED and capture.url != capture.url.robots
                is_gone = is_gone and await asyncio.to_thread(was_page_before, directory, capture, place)
                return empty_reading(capture) if is_gone else None
            is_page = await asyncio.to_thread(was_page, directory, place)
            if not is_page and await asyncio.to_thread(is_given_up, directory, capture, place):
                return empty_reading(capture)
            done = await read_again(ReadJob(capture, "read", "all", agent), call, tika if is_page else None)
            reading = decode(done.reading) if done.reading else None
            return reading if reading is None or is_page or not reading.page.directives.may_index else None

        yield reread


async def read_again(job: ReadJob, call: Callable[[bytes], Awaitable[bytes]], tika: TikaServer | None) -> ReadDone:
    """In a reader; and of a document that only the Tika server could read, its text. While that is away, it waits."""
    payload = b"".join(parts_of(job))
    done = msgspec.msgpack.decode(await asked_twice(lambda: call(payload)), type=ReadDone)
    converted = await tika.convert(job.capture, done, is_stopping=lambda: False) if tika is not None else b""
    return await read_again(msgspec.structs.replace(job, converted=converted), call, None) if converted else done


def settings_of(directory: Directory, tell: Tell) -> Settings:
    """Those of the crawl, so that a page is read in the same way; the defaults if the file is no longer valid."""
    try:
        return config_of(directory.root).settings
    except ConfigError as trouble:
        tell("views.settings-unread", because=str(trouble))
        return Settings()


def was_page_before(directory: Directory, capture: Capture, place: Place) -> bool:
    """Whether an earlier capture of the URL was a page."""
    with closing(open_state(directory)) as state:
        if is_cluster(directory):
            return had_version_before(state, place)
        return any(one.is_page and one.fetched_at < capture.fetched_at for one in captures.versions(state, capture.url))


def is_given_up(directory: Directory, capture: Capture, place: Place) -> bool:
    """Whether the page is known as gone although the server answered: its page said that there is none."""
    with closing(open_state(directory)) as state:
        (past,) = pasts_of(state, [capture.url], UrlKeys(identity_of))
    return past is not None and past.gone > 0 and was_page_before(directory, capture, place)


def forgotten_in(directory: Directory) -> Forgotten:
    """The URLs that are never read again. A collection without a state has forgotten nothing."""
    if not directory.is_begun:
        return NOTHING
    with closing(open_state(directory)) as state:
        return forgotten.block(state)


def was_page(directory: Directory, place: Place) -> bool:
    """As decided when it was fetched. An uncatalogued capture was never acknowledged: it may be a page."""
    with closing(open_state(directory)) as state:
        kept = captures.at_place(state, place.volume, place.number)
    return kept is None or kept.is_page


async def stop_at_end_of(channel: socket.socket, stop: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection(sock=channel)
    await reader.read()
    writer.close()
    stop.set()


if __name__ == "__main__":
    main()
