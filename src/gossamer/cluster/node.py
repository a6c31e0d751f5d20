"""A node of a cluster: joins, runs its roles, follows the cluster's settings and orders, and leaves."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TypeVar

from gossamer.archive.directories import with_archive
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.storage import ObjectStorage
from gossamer.archive.segments.upkeep import keep
from gossamer.base.clock import in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import DatabaseLost, GossamerError
from gossamer.base.files import Lock
from gossamer.base.tasks import background
from gossamer.base.tell import Says
from gossamer.cluster.roles import CRAWL, INDEX, SERVE, RoleKeeper, RoleProgram, roles_concerned
from gossamer.cluster.scratch import LOCK_NAME
from gossamer.cluster.services import ServiceWatch
from gossamer.config.settings import Settings
from gossamer.monitor.choice import line_of, node_desk
from gossamer.monitor.control import BEAT_S, ClusterMarks, Control
from gossamer.monitor.nodes import (
    DRAINING,
    Membership,
    NodeCard,
    NodeRegistry,
    Transactions,
    forget_old,
)
from gossamer.monitor.pulse import ProcessReport, Pulse, ThisMachine
from gossamer.store.address import shown
from gossamer.store.directory import Directory
from gossamer.store.documents import refuse_no_cluster
from gossamer.store.state import prepare_cluster

T = TypeVar("T")
NAME = "node"
LOOK_S, TRY_S = 0.2, 1.0
OPTIONS_S, FORGET_S = 2.0, 600.0
UPKEEP_END_S = 10.0
UPKEEP_REPORTED = frozenset({"object.damaged", "upkeep.failed"})
OTHER_VERSION = (
    "the nodes of this cluster have agreed on gossamer {agreed}, and this is {own}. Install {agreed} here; or, if its "
    "wheels are stored, start this node with --adopt-version; or, if all nodes are to have {own} from now on: gossamer "
    "cluster upgrade ADDRESS"
)
ADOPTS = "the nodes of this cluster have agreed on gossamer {agreed}, and this is {own}: it continues with {agreed}"
OTHERS_S = 30.0
"""How long a node waits for those of another version to stop before it brings the tables up to date."""


def storage_of(cluster: Outside) -> ObjectStorage:
    """Of the archive. REQUIRES: the files of a cluster."""
    assert isinstance(cluster.files, ClusterFiles)
    return cluster.files.storage


class NodeEnd(StrEnum):
    """Why a node ends, in words."""

    STOPPED = "it was stopped"
    DRAINED = "it is drained: nothing is in progress"
    REPLACED = "another node has this name now, or it was removed from the cluster: this one stops"
    OUTDATED = "the cluster has another version of gossamer now: this node stops"


EXIT_CODES = {NodeEnd.STOPPED: 130, NodeEnd.DRAINED: 0, NodeEnd.REPLACED: 3, NodeEnd.OUTDATED: 3}


@dataclass(slots=True)
class ClusterNode:
    """One node, from joining to leaving: `run` it once. A service that is away is waited for, without end."""

    card: NodeCard
    directory: Directory
    programs: Callable[[], Mapping[str, RoleProgram]]
    """The program of each role by the settings of this moment. Raises GossamerError while they cannot be read."""
    settings: Callable[[], Settings]
    outside: Outside
    says: Says
    adopts: bool = False
    """It continues with another version of the cluster, so that it need not be installed."""
    is_outdated: bool = False
    """It has ended because the cluster has another version."""
    keepers: list[RoleKeeper] = field(default_factory=list)

    async def run(self, stop: asyncio.Event) -> int:
        """The exit code."""
        own, clock = self.card.version, self.outside.clock
        with closing(line_of(self.directory, clock, self._tell)) as line:
            registry = NodeRegistry(line, clock)
            # While the database is away, says so. Nothing else is read before: the tables may be of another version.
            agreed = await self._answered(registry.version, stop)
            if agreed in ("", own):
                if agreed:
                    await self._prepare_tables(registry, stop)
                await self._answered(partial(refuse_no_cluster, self.directory, shown(self.directory.root)), stop)
                agreed = await self._answered(partial(registry.agree, own), stop)
            if agreed is not None and agreed != own:
                self.says((ADOPTS if self.adopts else OTHER_VERSION).format(agreed=agreed, own=own))
                self.is_outdated = True
                return EXIT_CODES[NodeEnd.OUTDATED]
            options = await self._answered(registry.options, stop)
            life = await self._answered(partial(registry.join, self.card), stop)
            if life is None or options is None:
                return EXIT_CODES[NodeEnd.STOPPED]
            self.says(f"joined as {self.card.name}: {', '.join(self.card.roles)}")
            membership = Membership(self.card.name, life, clock)
            ended = await self._stay(membership, registry, options, stop)
            if ended is not NodeEnd.REPLACED:
                await asyncio.to_thread(membership.leave, line, ended)
        self.is_outdated = ended is NodeEnd.OUTDATED
        self.says(f"{self.card.name} ends: {ended}")
        return EXIT_CODES[ended]

    def kill(self) -> None:
        """All roles, at once."""
        for keeper in self.keepers:
            keeper.kill()

    async def _answered(self, ask: Callable[[], T], stop: asyncio.Event) -> T | None:
        """None: the user has stopped waiting for the database."""
        while not stop.is_set():
            with suppress(DatabaseLost):
                return await asyncio.to_thread(ask)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TRY_S)
        return None

    async def _prepare_tables(self, registry: NodeRegistry, stop: asyncio.Event) -> None:
        """Bring them up to date, once no process works on them that does not know their new form."""
        has_said, until_s = False, self.outside.clock.elapsed_s() + OTHERS_S
        while others := await self._answered(partial(registry.others, self.card.version), stop):
            if stop.is_set() or self.outside.clock.elapsed_s() > until_s:
                break
            if not has_said:
                self.says(f"waiting for nodes of another version to stop: {', '.join(others)}")
                has_said = True
            await self.outside.clock.sleep(LOOK_S)
        await self._answered(partial(prepare_cluster, self.directory), stop)

    async def _stay(
        self, membership: Membership, registry: NodeRegistry, options: dict[str, str], stop: asyncio.Event
    ) -> NodeEnd:
        """Until it should end; then its roles have ended too."""
        clock, processes = self.outside.clock, self.outside.processes
        async with AsyncExitStack() as opened:
            control = opened.enter_context(node_desk(registry.line, clock, membership))
            pulse = Pulse(NAME, processes.own_pid(), control, ThisMachine(self.directory.root), clock)
            opened.enter_context(pulse.beating())
            cluster = with_archive(self.directory, self.outside)
            watch = ServiceWatch(self.settings, lambda: storage_of(cluster), membership, clock)
            await opened.enter_async_context(background(self._beat(pulse, membership, watch, registry.line)))
            lock = await self._alone(membership, stop)
            if lock is None:
                return self._end(membership, stop) or NodeEnd.STOPPED
            opened.callback(lock.release)
            await opened.enter_async_context(background(watch.watch()))
            await opened.enter_async_context(background(self._forget(registry)))
            over = asyncio.Event()
            keeping = await opened.enter_async_context(background(self._keep_archive(cluster, membership, over)))
            self.keepers = [self._keeper(role, membership, registry.line) for role in self.card.roles]
            tasks = {one.role: await opened.enter_async_context(background(one.keep())) for one in self.keepers}
            following = await opened.enter_async_context(background(self._follow(control, registry, options)))
            while (ended := self._end(membership, stop)) is None:
                await clock.sleep(LOOK_S)
            following.cancel()
            over.set()
            if ended is not NodeEnd.REPLACED:
                membership.state = DRAINING
            for roles in ((CRAWL, INDEX), (SERVE,)):  # the pages stay as long as anything else runs
                await self._stop_roles([tasks[role] for role in roles if role in tasks], roles)
            await asyncio.wait([keeping], timeout=UPKEEP_END_S)
        return ended

    def _end(self, membership: Membership, stop: asyncio.Event) -> NodeEnd | None:
        """Why to end now; None: no reason."""
        orders = membership.orders
        if not orders.is_member:
            return NodeEnd.REPLACED
        if stop.is_set():
            return NodeEnd.STOPPED
        if orders.is_draining:
            return NodeEnd.DRAINED
        return NodeEnd.OUTDATED if orders.version not in ("", self.card.version) else None

    async def _alone(self, membership: Membership, stop: asyncio.Event) -> Lock | None:
        """The right to use the scratch folder: a node that we replace may still be stopping its roles."""
        has_said, clock = False, self.outside.clock
        holder = f"pid {self.outside.processes.own_pid()} (node {self.card.name}, since {in_words(clock.now())[:19]}Z)"
        while self._end(membership, stop) is None:
            found = self.outside.files.lock(self.directory.root / LOCK_NAME, holder)
            if not isinstance(found, str):
                return found
            if not has_said:
                self.says(f"waiting for {found}, which this node replaces, to stop its roles")
                has_said = True
            await clock.sleep(LOOK_S)
        return None

    def _keeper(self, role: str, membership: Membership, line: Transactions) -> RoleKeeper:
        return RoleKeeper(
            role,
            lambda: self.programs()[role],
            self.outside.processes,
            self.outside.clock,
            self.says,
            membership.note,
            may_start=lambda: not line.trouble and membership.orders.is_member,
        )

    async def _stop_roles(self, tasks: Iterable["asyncio.Future[None]"], roles: Iterable[str]) -> None:
        for keeper in self.keepers:
            if keeper.role in roles:
                keeper.stop()
        await asyncio.gather(*tasks)

    async def _beat(self, pulse: Pulse, membership: Membership, watch: ServiceWatch, line: Transactions) -> None:
        while True:
            waits = [f"{one.role}: {one.waits}" for one in self.keepers if one.waits]
            membership.says = "; ".join([*waits, *watch.away()])
            report = ProcessReport({}, "suspended" if line.trouble else "", {"says": membership.says})
            await asyncio.to_thread(pulse.beat, report)
            await self.outside.clock.sleep(BEAT_S)

    async def _follow(self, control: Control, registry: NodeRegistry, options: dict[str, str]) -> None:
        """Restart the roles that read a setting which has changed only when they start."""
        seen: ClusterMarks | None = None
        while True:
            marks = await asyncio.to_thread(control.marks)
            if marks is not None and (seen is None or marks.options != seen.options):
                with suppress(GossamerError):  # away: looked at again soon
                    now = await asyncio.to_thread(registry.options)
                    changed = sorted(name for name in now.keys() | options.keys() if now.get(name) != options.get(name))
                    for keeper in self.keepers:
                        if keeper.role in roles_concerned(changed):
                            keeper.restart(f"settings changed ({', '.join(changed)})")
                    seen, options = marks, now
            await self.outside.clock.sleep(OPTIONS_S)

    async def _keep_archive(self, cluster: Outside, membership: Membership, over: asyncio.Event) -> None:
        """Look after the archive; of all nodes that do, one has each job."""

        def tell(event: str, /, **facts: object) -> None:
            if event in UPKEEP_REPORTED:
                membership.note(event, f"{facts.get('object', 'the archive')}: {facts.get('why', '')}")

        while not over.is_set():
            with suppress(GossamerError):  # the settings cannot be read now
                settings = await asyncio.to_thread(self.settings)
                if settings.archive.storage or settings.archive.directories:
                    await keep(self.directory, settings, cluster, tell, over)
            await self.outside.clock.sleep(OPTIONS_S)

    async def _forget(self, registry: NodeRegistry) -> None:
        """The events and nodes of long ago, by any node."""
        while True:
            with suppress(GossamerError):
                await asyncio.to_thread(registry.line.run, forget_old)
            await self.outside.clock.sleep(FORGET_S)

    def _tell(self, event: str, /, **facts: object) -> None:
        if event == "service.lost":
            self.says(f"suspended: {facts['service']} does not answer ({facts['why']}); trying again, without end")
        elif event == "service.back":
            self.says(f"{facts['service']} answers again")
