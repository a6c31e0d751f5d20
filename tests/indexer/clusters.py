"""A cluster for tests of its indexers: a database, services, and segments on a disk that all scratch folders share."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
from tests.postgres_server import Server
from tests.postgres_server import server as postgres
from tests.services import fuseki, opensearch

from gossamer.archive.directories import with_disks
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.writer import SegmentWriter
from gossamer.base.clock import SystemClock
from gossamer.base.environment import Outside, real_outside
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.monitor.supervisor import MODULE
from gossamer.reader.reading import done
from gossamer.spool.codec import encode
from gossamer.spool.frames import SUFFIX
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.documents import IDENTITY, new_document
from gossamer.store.options import config_of, put_options
from gossamer.store.postgres.state import PostgresState, connected, prepare
from gossamer.store.segments import settle_segments
from gossamer.store.service import Service, ServiceLost
from gossamer.store.state import enter_cluster
from gossamer.store.statements import State
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadJob, kept_at
from gossamer.values.page import empty_reading
from gossamer.values.url import Url
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.fitness import HOST
from gossamer.views.words.opensearch.index import remove

HOUR = 3_600_000_000
START = 1_700_000_000_000_000
WAIT_S = 120.0


def page(number: int, at: int, title: str = "", links: Sequence[str] = ()) -> Capture:
    """A page with words, a fact and links."""
    title = title or f"page {number}"
    anchors = "".join(f'<a href="{link}">to {link}</a> ' for link in links)
    body = (
        f"<html lang=en><head><title>{title}</title></head><body vocab='http://schema.org/' typeof='Thing'>"
        f"<p>some words about {title}</p><b property='name'>{title}</b>{anchors}</body></html>"
    )
    return of_url(f"http://s{number % 7}.test/{number}", at, body.encode())


def of_url(url: str, at: int, body: bytes, status: int = 200) -> Capture:
    return Capture(Url(url), at, status, "OK", (("Content-Type", "text/html"),), body)


@dataclass
class Cluster:
    """Its archive is in the folder `disk`."""

    root: Path
    conninfo: str
    words: str
    facts: str
    started: list["Process"] = field(default_factory=list)

    def folder(self, name: str) -> Directory:
        """The scratch folder of a node."""
        directory = Directory(self.root / name)
        enter_cluster(directory, self.conninfo, DiskFiles(), name)
        return directory

    def outside(self, name: str = "reader") -> Outside:
        directory = self.folder(name)
        return with_disks(directory, config_of(directory.root).settings, real_outside())

    def stored(self, volume: str) -> list[Path]:
        """The files of a segment: its captures, then its readings; without those that are deleted."""
        found = [path for path in (self.root / "disk").rglob("*") if path.name in (volume, volume + SUFFIX)]
        return sorted(found, key=lambda path: len(path.name))

    def readings(self) -> list[str]:
        return [path.name for path in (self.root / "disk").rglob("*" + SUFFIX)]

    def write(self, work: Callable[[State], Any]) -> Any:
        async def run() -> Any:
            async with PostgresState(self.conninfo, "cluster", SystemClock(), silent) as database:
                return await database.run(work)

        return asyncio.run(run())

    def read(self, sql: str, *values: object) -> list[Any]:
        with closing(connected(self.conninfo, "cluster")) as connection:
            return connection.execute(sql.encode(), values).fetchall()

    def change(self, sql: str, *values: object) -> None:
        with closing(connected(self.conninfo, "cluster")) as connection:
            connection.execute(sql.encode(), values)

    def add_segment(self, given: Sequence[Capture], uncatalogued: Sequence[int] = ()) -> str:
        """As a crawler does: objects first, then one transaction. `uncatalogued`: places in the list of captures that
        the catalogue does not get."""
        read = [done(ReadJob(capture, "read", "all", "gossamer")) for capture in given]
        gone = [encode(empty_reading(capture)) if capture.status == 404 else b"" for capture in given]
        storage = cast(ClusterFiles, self.outside().files).storage

        async def run() -> str:
            async with PostgresState(self.conninfo, "cluster", SystemClock(), silent) as database:
                writer = SegmentWriter(database, storage, SystemClock(), silent)
                places = await writer.write(
                    [(one.record, empty or one.reading) for one, empty in zip(read, gone, strict=True)]
                )
                found = [place for place in places if place is not None]
                kept = [kept_at(*one) for one in zip(found, given, read, strict=True)]
                known = [one for place, one in enumerate(kept) if place not in uncatalogued]

                def settle(state: State) -> None:
                    settle_segments(state, [found[0].volume])
                    for one in known:  # one at a time: the versions are in this order
                        captures.insert(state, [one])

                await database.run(settle)
                return found[0].volume

        return asyncio.run(run())

    def start(self, name: str) -> "Process":
        process = Process(self.folder(name))
        self.started.append(process)
        return process

    def left(self) -> int:
        """Rows that wait for a view."""
        return int(self.read("SELECT count(*) FROM work WHERE set_aside_at IS NULL")[0][0])

    def wait(self, is_done: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + WAIT_S
        while not is_done():
            waiting = self.read("SELECT view, count(*), max(why) FROM work GROUP BY view")
            assert time.monotonic() < until, f"{what}: {waiting}"
            for one in self.started:
                assert one.is_killed or one.child.poll() is None, one.says()
            time.sleep(0.1)

    def wait_until_done(self) -> None:
        self.wait(lambda: self.left() == 0, "no work is left")

    def documents(self, suffix: str = "") -> int:
        """How many pages an index has."""
        service = Service("views.words", self.words.rpartition("/")[0], SystemClock(), silent)
        with closing(service):
            name = self.words.rpartition("/")[2] + suffix
            service.ask("POST", f"/{name}/_refresh")
            found = msgspec.json.decode(service.ask("GET", f"/{name}/_count").body)
        return int(found["count"])

    def pages_with_facts(self) -> set[str]:
        with closing(SparqlServer(self.facts, "", SystemClock(), silent)) as server:
            return {one for one in server.pages() if not one.startswith(f"http://{HOST}/")}

    def close(self) -> None:
        for one in self.started:
            one.stop()
        service = Service("views.words", self.words.rpartition("/")[0], SystemClock(), silent)
        with closing(service), suppress(ServiceLost):
            for suffix in ("", "-links"):
                remove(service, self.words.rpartition("/")[2] + suffix)


class Process:
    """An indexer, as a node starts it."""

    def __init__(self, directory: Directory) -> None:
        self.directory, self.is_killed = directory, False
        self.channel, theirs = socket.socketpair()
        self.output = directory.root / "output"
        with theirs, self.output.open("ab") as output:
            self.child = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(directory.root), "", "gossamer", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def kill(self) -> None:
        self.is_killed = True
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.wait(30)

    def stop(self) -> int:
        self.is_killed = True
        self.channel.close()
        return self.child.wait(60)

    def says(self) -> str:
        return f"the indexer ended ({self.child.returncode}): {self.output.read_text()}"


@contextmanager
def cluster(root: Path, words: str = "", database: Server | None = None) -> Iterator[Cluster]:
    """Its services are those of the test run, unless others are named."""
    conninfo = (database or postgres()).conninfo_for(root, waits_for_disk=False)
    prepare(conninfo)
    made = Cluster(
        root, conninfo, f"{words or opensearch.server()}/{opensearch.index_for(root)}", fuseki.server().query
    )
    disk = [str(root / "disk")]
    given = {"views.words": made.words, "views.facts": made.facts, "archive.directories": disk}
    made.write(lambda state: (put_options(state, given, 1), new_document(state, IDENTITY, b"tests", 1)))
    try:
        yield made
    finally:
        made.close()
