"""A cluster for tests: a real database, and nodes whose roles are small programs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from tests.postgres_server import server

from gossamer.base.environment import Outside, real_outside
from gossamer.cluster.node import ClusterNode
from gossamer.cluster.roles import RoleProgram
from gossamer.cluster.scratch import enter_as_node
from gossamer.config.settings import Settings
from gossamer.monitor.choice import control_of, line_of
from gossamer.monitor.control import ClusterMarks
from gossamer.monitor.nodes import NodeCard, NodeRegistry, NodeStatus
from gossamer.store.directory import Directory
from gossamer.store.state import enter_cluster

T = TypeVar("T")
LONG_S = 60.0
IDENTITY = """INSERT INTO documents (name, content, changed_at) VALUES ('collection.id', 'test', 1)
ON CONFLICT DO NOTHING"""
AWAY = """INSERT INTO options (name, value, given_at) VALUES
('views.words', '"http://127.0.0.1:9/none"', 1), ('views.facts', '"http://127.0.0.1:9/none/query"', 1)"""
"""No service answers there: nodes and pages run all the same."""


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LONG_S):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.05)


@dataclass
class Running:
    """A node that runs as a task of the test."""

    node: ClusterNode
    stop: asyncio.Event
    task: "asyncio.Task[int]"
    said: list[str]
    folder: Path

    def log(self, role: str) -> list[str]:
        path = self.folder / f"{role}.log"
        return path.read_text().splitlines() if path.exists() else []

    def has_said(self, words: str) -> bool:
        return any(words in line for line in self.said)

    def starts(self, role: str) -> int:
        return sum(line.startswith("started") for line in self.log(role))

    def pid(self, role: str) -> int:
        return int(self.log(role)[-1].split()[1])

    async def ended(self) -> int:
        return await asyncio.wait_for(self.task, LONG_S)


@dataclass
class Grounds:
    folder: Path
    conninfo: str
    outside: Outside = field(default_factory=real_outside)

    @property
    def directory(self) -> Directory:
        """The scratch folder of a command."""
        directory = Directory(self.folder / "command")
        enter_cluster(directory, self.conninfo, self.outside.files)
        return directory

    def prepare(self) -> None:
        from gossamer.store.postgres.state import prepare

        prepare(self.conninfo)
        self.run(IDENTITY)
        self.run(AWAY)

    def asked(self, ask: Callable[[NodeRegistry], T]) -> T:
        """What the registry answers."""
        with closing(line_of(self.directory, self.outside.clock)) as line:
            return ask(NodeRegistry(line, self.outside.clock))

    def node(self, name: str) -> NodeStatus | None:
        return next((one for one in self.asked(NodeRegistry.nodes) if one.name == name), None)

    def marks(self) -> ClusterMarks:
        with control_of(self.directory, self.outside.clock) as control:
            found = control.marks()
            assert found is not None
            return found

    def events(self) -> list[str]:
        return [one.kind for one in self.asked(lambda registry: registry.events(1000))]

    def run(self, sql: str) -> None:
        import psycopg

        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(sql)

    @asynccontextmanager
    async def running(
        self, name: str = "a", roles: tuple[str, ...] = ("crawl",), folder: str = "", version: str = "1"
    ) -> AsyncIterator[Running]:
        place = self.folder / (folder or name)
        directory = enter_as_node(place, self.conninfo, name, self.outside)
        said, stop = list[str](), asyncio.Event()
        programs = {role: RoleProgram("tests.cluster.role", (str(place / f"{role}.log"),)) for role in roles}
        card = NodeCard(name, "this machine", roles, ("eu",), version)
        node = ClusterNode(card, directory, lambda: programs, Settings, self.outside, said.append)
        task = asyncio.create_task(node.run(stop))
        try:
            yield Running(node, stop, task, said, place)
        finally:
            stop.set()
            await asyncio.wait([task], timeout=LONG_S)


@pytest.fixture
def grounds(tmp_path: Path) -> Grounds:
    found = Grounds(tmp_path, server().conninfo_for(tmp_path, waits_for_disk=False))
    found.prepare()
    return found
