"""The services of a cluster as one node sees them: looked at every few seconds."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import msgspec

from gossamer.archive.segments.storage import ObjectStorage
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.monitor.nodes import Membership, ServiceReport
from gossamer.store.service import Service
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.words.opensearch.index import divided
from gossamer.views.words.place import SETTING as WORDS

EVERY_S = 5.0
PATIENCE_S = 8.0


class _Health(msgspec.Struct, frozen=True):
    status: str = "unknown"
    number_of_nodes: int = 0


def words_health(settings: Settings, clock: Clock) -> str:
    """Raises GossamerError if the service does not answer."""
    address, _ = divided(settings.views.words)
    with closing(Service(WORDS, address, clock, silent)) as service:
        answer = service.ask("GET", "/_cluster/health", timeout_s=PATIENCE_S)
    try:
        found = msgspec.json.decode(answer.body, type=_Health)
    except msgspec.MsgspecError as trouble:
        raise GossamerError(f"{service.name} is no OpenSearch: {trouble}") from trouble
    return f"OpenSearch, {found.status}, nodes: {found.number_of_nodes}"


def facts_health(settings: Settings, clock: Clock) -> str:
    with closing(SparqlServer(settings.views.facts, settings.views.facts_update, clock, silent)) as server:
        server.holds("ASK {}")
        return f"{server.name.removeprefix('views.facts at ')} answers"


USED: dict[str, Callable[[Settings], object]] = {
    "archive": lambda settings: settings.archive.storage or settings.archive.directories,
    "words": lambda settings: settings.views.words,
    "facts": lambda settings: settings.views.facts,
}
"""By service: whether the settings name one."""


@dataclass(slots=True)
class ServiceWatch:
    """Looks at each service in turn, and reports with the node's heartbeat; a change goes to the log."""

    settings: Callable[[], Settings]
    """Raises GossamerError while the database is away."""
    storage: Callable[[], ObjectStorage]
    """Of the archive."""
    membership: Membership
    clock: Clock
    _found: dict[str, ServiceReport] = field(default_factory=dict)

    async def watch(self) -> None:
        """Until cancelled. A service that hangs delays only itself."""
        async with asyncio.TaskGroup() as tasks:
            for name in USED:
                tasks.create_task(self._watch(name))

    async def _watch(self, name: str) -> None:
        while True:
            try:
                settings = await asyncio.to_thread(self.settings)
            except GossamerError:
                pass
            else:
                if USED[name](settings):
                    look = partial(self._look, name, settings)
                    self._report(await asyncio.to_thread(report_of, name, look, self.clock))
            await self.clock.sleep(EVERY_S)

    def _look(self, name: str, settings: Settings) -> str:
        if name == "words":
            return words_health(settings, self.clock)
        if name == "facts":
            return facts_health(settings, self.clock)
        (storage := self.storage()).check()
        return storage.name

    def _report(self, report: ServiceReport) -> None:
        before = self._found.get(report.name)
        if report.is_away and (before is None or not before.is_away):
            self.membership.note("service.away", f"{report.name} is away: {report.says}")
        elif before is not None and before.is_away and not report.is_away:
            self.membership.note("service.back", f"{report.name} is back: {report.says}")
        self._found[report.name] = report
        self.membership.reports = tuple(self._found.values())

    def away(self) -> list[str]:
        return [f"{one.name}: {one.says}" for one in self._found.values() if one.is_away]


def report_of(name: str, look: Callable[[], str], clock: Clock) -> ServiceReport:
    began_s = clock.elapsed_s()
    try:
        says, is_away = look(), False
    except (GossamerError, OSError) as trouble:
        says, is_away = str(trouble), True
    return ServiceReport(name, is_away, says, 1000 * (clock.elapsed_s() - began_s))
