"""A cluster for tests: a PostgreSQL schema, scratch folders of nodes, and a storage for its archive."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.postgres_server import server
from tests.services import s3

from gossamer.archive.directories import with_disks
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.joins import JoinRules
from gossamer.archive.segments.upkeep import Graces, Upkeep
from gossamer.archive.segments.writer import SegmentWriter
from gossamer.base.environment import Outside, real_outside
from gossamer.base.tell import Tell, silent
from gossamer.reader.reading import done as read_done
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.options import config_of, put_options
from gossamer.store.segments import settle_segments
from gossamer.store.state import enter_cluster, open_database, open_state
from gossamer.store.statements import State
from gossamer.values.capture import Capture, Kept, Place
from gossamer.values.messages import ReadJob, kept_at

T = TypeVar("T")
LONG_AGO = -1e9
AT_ONCE = Graces(LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO)
"""Nothing is waited for."""


@dataclass
class Cluster:
    folder: Path
    conninfo: str

    def node(self, name: str = "") -> Directory:
        """The scratch folder of a node, or of a command."""
        directory = Directory(self.folder / (name or "command"))
        enter_cluster(directory, self.conninfo, real_outside().files, name)
        return directory

    def outside(self, name: str = "", tell: Tell = silent) -> Outside:
        directory = self.node(name)
        return with_disks(directory, config_of(directory.root).settings, real_outside(), tell)

    def files(self, name: str = "", tell: Tell = silent) -> ClusterFiles:
        found = self.outside(name, tell).files
        assert isinstance(found, ClusterFiles)
        return found

    def run(self, work: Callable[[State], T], name: str = "") -> T:
        """In a transaction of a writer."""

        async def done() -> T:
            async with open_database(self.node(name), real_outside().clock, silent) as database:
                return await database.run(work)

        return asyncio.run(done())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(open_state(self.node())) as state:
            return list(state.execute(sql).fetchall())

    def set(self, **options: object) -> "Cluster":
        """By setting, with two underscores for a dot."""
        given = {name.replace("__", "."): value for name, value in options.items()}
        self.run(lambda state: put_options(state, given, 1))
        return self

    def write(
        self, *found: Capture, name: str = "a", is_settled: bool = True, files: ClusterFiles | None = None
    ) -> list[Place]:
        """Captures as one segment."""
        files, readings = files or self.files(name), [read_done(ReadJob(one, agent="Gossamer")) for one in found]

        async def done() -> list[Place]:
            async with open_database(self.node(name), real_outside().clock, silent) as database:
                writer = SegmentWriter(database, files.storage, real_outside().clock, silent)
                places = await writer.write([(one.record, one.reading) for one in readings])
                kept = [
                    kept_at(place, one, reading)
                    for place, one, reading in zip(places, found, readings, strict=True)
                    if place is not None
                ]
                if is_settled:
                    await database.run(lambda state: settle(state, kept))
                return [one.place for one in kept]

        return asyncio.run(done())

    def upkeep(self, graces: Graces = AT_ONCE, name: str = "a", tell: Tell = silent, **rules: Any) -> Upkeep:
        joins = JoinRules(**({"most_bytes": 1 << 30, "most_objects": 2, "young_s": LONG_AGO} | rules))
        return Upkeep(self.node(name), self.files(name), joins, real_outside().clock, tell, graces)


def settle(state: State, kept: list[Kept]) -> None:
    settle_segments(state, sorted({one.place.volume for one in kept}))
    captures.insert(state, kept)


def cluster(folder: Path) -> Cluster:
    """Without an archive."""
    found = Cluster(folder / "nodes", server().conninfo_for(folder)).set(contact="tests@example.org")
    found.files().write(found.node().root / "collection.id", b"a test\n")
    return found


def on_disks(folder: Path, disks: int = 2, copies: int = 2) -> Cluster:
    directories = [str(folder / f"disk-{number}") for number in range(disks)]
    return cluster(folder).set(archive__directories=directories, archive__copies=copies)


def in_cloud(folder: Path, store: s3.S3 | None = None) -> Cluster:
    return cluster(folder).set(archive__storage=(store or s3.server()).address_for(folder))
