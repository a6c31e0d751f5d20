"""A cluster for tests: PostgreSQL, OpenSearch, a SPARQL server, and directories for the archive."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tests import postgres_server
from tests.cli.site import gossamer
from tests.services import fuseki, opensearch

from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent
from gossamer.store.address import folder_named
from gossamer.store.service import Service
from gossamer.views.words.opensearch.index import remove


@dataclass(frozen=True, slots=True)
class ClusterServices:
    """Where the four services of one test are. `address` has a database schema of its own."""

    address: str
    archive: Path
    words: str
    facts: str

    def flags(self) -> tuple[str, ...]:
        return ("--archive", str(self.archive), "--words", self.words, "--facts", self.facts)

    @property
    def folder(self) -> Path:
        """The scratch folder of commands."""
        return folder_named(self.address)

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.address) as connection:
            return connection.execute(statement.encode()).fetchall()

    def count(self, table: str) -> int:
        return int(str(self.rows(f"SELECT count(*) FROM {table}")[0][0]))

    def settings(self) -> dict[str, object]:
        return {str(name): json.loads(str(value)) for name, value in self.rows("SELECT name, value FROM options")}


@contextmanager
def cluster_services(folder: Path) -> Iterator[ClusterServices]:
    """Skips the calling test if one of the servers is missing. No cluster is made yet."""
    address = postgres_server.server().conninfo_for(folder, waits_for_disk=False)
    prefix, archive = opensearch.index_for(folder), folder / "archive"
    words, facts = opensearch.server(), fuseki.server().query
    archive.mkdir(parents=True)
    yield ClusterServices(address, archive, f"{words}/{prefix}", facts)
    service = Service("views.words", words, SystemClock(), silent)
    remove(service, prefix)
    service.close()


@contextmanager
def made_cluster(folder: Path) -> Iterator[ClusterServices]:
    """After `gossamer cluster init`."""
    with cluster_services(folder) as services:
        done = gossamer("cluster", "init", services.address, *services.flags())
        assert done.returncode == 0, done.stderr
        yield services
