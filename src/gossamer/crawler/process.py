"""The one place that picks implementations and puts the rooms together."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial

import msgspec

from gossamer.archive.directories import with_disks
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.writer import wait_for_storage
from gossamer.base.clock import CalendarClock
from gossamer.base.environment import Network, Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import Tell
from gossamer.config.load import FILE_NAME
from gossamer.config.settings import Settings
from gossamer.config.slices import fetch_settings, robots_keeping
from gossamer.crawler.admission import Admission, open_admission
from gossamer.crawler.commands import CRAWLER, Steering, idle_rules
from gossamer.crawler.copies import has_room
from gossamer.crawler.journey import Crawl
from gossamer.crawler.learned import saving_learned
from gossamer.crawler.pace import Backlog, Pace, cluster_pace
from gossamer.crawler.revisit import revisits_for
from gossamer.crawler.seeds import store_seeds
from gossamer.crawler.settlement import ListPolicy, Measures
from gossamer.crawler.steps.archive import ClusterBacklog, followed_backlog, open_archive
from gossamer.crawler.steps.rooms import Convert, Rooms
from gossamer.crawler.sweeps import Rejudgement, digests, revisit_sweeps
from gossamer.fetch.budget import Budget
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.fetch.protocols import OtherProtocol
from gossamer.fetch.tika import tika_of
from gossamer.frontier.api import Frontier
from gossamer.frontier.choice import frontier_on
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import Control
from gossamer.monitor.samples import chronicling
from gossamer.monitor.supervisor import Indexer, indexer_running
from gossamer.plugins.code import folder_of
from gossamer.plugins.settings import absent_formats, plugged_in, protocols_of
from gossamer.plugins.settings import write as write_plugged
from gossamer.recrawl.retry import Retry
from gossamer.store.directory import Directory
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster, member_of, open_database
from gossamer.store.statements import StateWriter
from gossamer.values.document import ARCHIVES
from gossamer.values.link import How, Offer
from gossamer.values.messages import Plugged
from gossamer.values.url import Url
from gossamer.values.visit import Visit
from gossamer.views.facts.server.fitness import refuse_unfit_server
from gossamer.workers.jobs import job_for, reader_pool
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MIB

DRAIN_S = 6.0
"""With the time that the indexer gets, a clean stop takes less than ten seconds."""


@dataclass(frozen=True, slots=True)
class Crawling:
    """A crawl with every room open."""

    crawl: Crawl
    frontier: Frontier
    words: Backlog
    """How far the index is behind; the crawl waits for it."""
    facts: Backlog
    control: Control
    steering: Steering
    indexer: Indexer
    """On a cluster it is never started: nodes run indexers of their own."""
    readers: Pool
    database: StateWriter
    cluster: ClusterBacklog | None = None
    """How far the views are behind, on a cluster; then `words` and `facts` stay empty."""


def measures(settings: Settings, outside: Outside, nudge: Callable[[Visit], int] = lambda _: 0) -> Measures:
    return Measures(
        outside.chance,
        Retry(settings.retry.base_s, settings.retry.cap_s, settings.retry.tries),
        robots_keeping(settings),
        ListPolicy(settings.crawl.sitemaps, settings.crawl.feeds == "follow"),
        revisits_for(settings, outside, nudge),
    )


def pace(settings: Settings) -> Pace:
    given = settings.crawl
    return Pace(at_once=given.at_once, max_pages=given.max_pages, keep=given.keep, drain_s=DRAIN_S)


def pace_on_cluster(settings: Settings) -> Pace:
    archive = settings.archive
    return cluster_pace(pace(settings), archive.segment_mib * MIB, archive.segment_s, settings.politeness.delay_s)


async def refuse_wrong_views(directory: Directory, settings: Settings, outside: Outside) -> None:
    """Raises ConfigError for services of the views that are unfit, or that other commands would not know."""
    if settings.views != config_of(directory.root).settings.views:
        raise ConfigError(
            f"settings of [views] must be in {directory.root / FILE_NAME} or in variables: other commands on this "
            "collection need them too"
        )
    if settings.views.facts:
        given = settings.views
        await asyncio.to_thread(refuse_unfit_server, given.facts, given.facts_update, outside.clock)


@asynccontextmanager
async def open_crawl(
    directory: Directory,
    settings: Settings,
    starts: Sequence[Url],
    network: Network,
    outside: Outside,
    tell: Tell,
    stop: asyncio.Event,
) -> AsyncIterator[Crawling]:
    """Open every room of a crawl, recovering from the end of the last one, and offer the seeds. The archive closes
    first, so that the indexer sees the end of the last volume. REQUIRES: the directory is locked."""
    words, facts = Backlog(outside.clock), Backlog(outside.clock)
    tell = noting(() if is_cluster(directory) else (words, facts), tell)
    async with AsyncExitStack() as opened:
        opening = open_database(directory, outside.clock, tell, stop.is_set, member_of(directory))
        database = await opened.enter_async_context(opening)
        outside = await with_storage(directory, settings, outside, tell, stop)
        cluster = backlog_of(directory, settings, database, outside)
        control = opened.enter_context(fresh_control(directory, outside))
        indexer = await indexer_beside(opened, directory, settings, outside, tell, stop)
        writer = await open_archive(opened, directory, settings, database, outside, tell)
        ruling = await open_admission(directory, settings, starts, database, outside, tell)
        plugged, protocols = plug_ins(directory, settings, outside)
        memory = Budget(settings.fetch.memory_mib * MIB, settings.crawl.at_once)
        connections = connections_for(settings, plugged, network, outside, tell)
        client = await opened.enter_async_context(Client(connections, ruling.judge_type, protocols, memory))
        frontier = await opened.enter_async_context(the_frontier(settings, database, ruling, client, outside, tell))
        readers = await opened.enter_async_context(reader_pool(settings, outside, tell, job_for(plugged)))
        await keep_records(opened, ruling, directory, settings, outside, tell)
        await offer_seeds(frontier, starts)
        rejudged = rejudgement(directory, settings, ruling, frontier, database, outside, tell)
        await opened.enter_async_context(rejudged)
        measuring = measures(settings, outside, ruling.nudge_visit)
        sweeps = revisit_sweeps(measuring.revisits, settings, frontier, directory, outside, tell)
        await opened.enter_async_context(sweeps)
        steering = Steering(frontier, control, ruling, stop, partial(store_seeds, database), rejudged.soon)
        rooms = Rooms(
            frontier=frontier,
            fetch=client.fetch,
            read=readers.ask,
            budget=memory,
            writer=writer,
            clock=outside.dates,
            measures=measuring,
            tell=tell,
            lag_s=cluster.hold_s if cluster is not None else words.lag_s,
            has_room=partial(has_room, directory, settings, outside.files),
            agent=settings.agent,
            pace=pace(settings) if cluster is None else pace_on_cluster(settings),
            is_paused=steering.is_paused,
            do_pages_wait=lambda: readers.is_behind,
            judge=ruling.judge,
            learn=ruling.learn,
            missed=ruling.learning.missed,
            convert=conversion(opened, settings, outside, tell),
        )
        crawl = Crawl(rooms)
        await opened.enter_async_context(followed_backlog(cluster, outside.clock, crawl.wake))
        found = (frontier, words, facts, control, steering, indexer, readers)
        yield Crawling(crawl, *found, database=database, cluster=cluster)


async def keep_records(
    opened: AsyncExitStack, ruling: Admission, directory: Directory, settings: Settings, outside: Outside, tell: Tell
) -> None:
    """Of what is learnt about hosts, and of when the crawl ran and how fresh its pages are."""
    await opened.enter_async_context(saving_learned(ruling.learning, directory.root, outside, tell))
    await opened.enter_async_context(chronicling(directory, outside, settings.crawl.revisit != "no", tell))


def conversion(opened: AsyncExitStack, settings: Settings, outside: Outside, tell: Tell) -> Convert | None:
    """What asks the Tika server of the settings for the text of a capture; None if they have none."""
    tika = tika_of(settings, outside.clock, tell)
    if tika is None:
        return None
    opened.callback(tika.close)
    return tika.convert


@contextmanager
def fresh_control(directory: Directory, outside: Outside) -> Iterator[Control]:
    """Without the commands that an earlier crawler has not received."""
    with control_of(directory, outside.clock, repairs=True) as control:
        control.discard_pending(CRAWLER)
        yield control


async def with_storage(
    directory: Directory, settings: Settings, outside: Outside, tell: Tell, stop: asyncio.Event
) -> Outside:
    """The same, with the files of the archive; of a cluster, once its storage answers."""
    outside = with_disks(directory, settings, outside, tell)
    if isinstance(outside.files, ClusterFiles):
        await wait_for_storage(outside.files.storage, stop, outside.clock, tell)
    return outside


def backlog_of(
    directory: Directory, settings: Settings, database: StateWriter, outside: Outside
) -> ClusterBacklog | None:
    """How far the views of a cluster are behind; None: this crawl has views of its own."""
    return ClusterBacklog(database, outside.clock, settings.views.backlog) if is_cluster(directory) else None


def connections_for(
    settings: Settings, plugged: Plugged, network: Network, outside: Outside, tell: Tell
) -> Connections:
    own = [media_type for media_type, _ in plugged.readers] + [*(ARCHIVES if settings.fetch.archives else ())]
    absent = absent_formats() if not settings.fetch.tika else frozenset[str]()
    if settings.fetch.documents and absent - set(own):
        tell("documents.absent", formats=sorted(absent - set(own)))
    asking = fetch_settings(settings, own, absent)
    return Connections(asking, network, outside.dates, tell)


async def indexer_beside(
    opened: AsyncExitStack, directory: Directory, settings: Settings, outside: Outside, tell: Tell, stop: asyncio.Event
) -> Indexer:
    """The indexer of this crawl, started; on a cluster, where indexers are a role of nodes, one that never is."""
    if is_cluster(directory):
        return Indexer(directory, outside, tell, settings.agent)
    return await opened.enter_async_context(indexer_running(directory, outside, tell, settings.agent, stop))


def rejudgement(
    directory: Directory,
    settings: Settings,
    ruling: Admission,
    frontier: Frontier,
    database: StateWriter,
    outside: Outside,
    tell: Tell,
) -> Rejudgement:
    present = partial(present_digests, directory, settings, ruling)
    return Rejudgement(frontier, database, directory, present, outside.clock, tell)


async def offer_seeds(frontier: Frontier, starts: Sequence[Url]) -> None:
    await frontier.offer([Offer(start, How.SEED) for start in starts])
    await frontier.revive(starts)


def present_digests(directory: Directory, settings: Settings, ruling: Admission) -> dict[str, str]:
    return digests(settings, ruling.reaches, ruling.rules_file.text(), directory.root)


def plug_ins(directory: Directory, settings: Settings, outside: Outside) -> tuple[Plugged, dict[str, OtherProtocol]]:
    """The user's readers and protocols, stored for processes that read the captures again."""
    protocols = protocols_of(settings.crawl.protocols, directory.root)
    plugged = plugged_in(settings.crawl.readers, protocols, directory.root, settings.fetch.archives)
    write_plugged(plugged, directory.root, outside.files, is_shared=is_cluster(directory))
    return msgspec.structs.replace(plugged, contexts=folder_of(directory.root)), protocols


def the_frontier(
    settings: Settings, database: StateWriter, ruling: Admission, client: Client, outside: Outside, tell: Tell
) -> Frontier:
    rules = msgspec.structs.replace(
        idle_rules(settings, outside),
        is_near=ruling.is_near,
        may_enter=ruling.may_enter,
        nudge=ruling.nudge,
        judge_template=ruling.is_trap,
        resolve=client.address_of,
    )
    clock = outside.clock if outside.calendar is None else CalendarClock(outside.calendar)
    return frontier_on(database, rules, clock, tell)


def noting(backlogs: Sequence[Backlog], tell: Tell) -> Tell:
    """Also adds each settled group to the backlogs."""

    def tell_and_note(event: str, /, **facts: object) -> None:
        if event == "group.settled":
            for backlog in backlogs:
                backlog.added(str(facts["volume"]), int(str(facts["number"])))
        tell(event, **facts)

    return tell_and_note
