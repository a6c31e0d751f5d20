"""A cluster that lost all four services is restored from a dump of its database and a copy of its archive."""

import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from tests.cli.site import Site, harbour
from tests.cluster_services import ClusterServices, made_cluster
from tests.collection.relocation import crawled, emptied, indexed, indexing, outcomes, run
from tests.postgres_server import programs

import gossamer as face
from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent
from gossamer.store.service import Service
from gossamer.views.words.opensearch.index import remove

ASKED = "SELECT ?name { ?one <https://schema.org/name> ?name } ORDER BY ?name"


def answers(services: ClusterServices, start: str) -> list[object]:
    """Of each service something."""
    with face.open(services.address) as collection:
        return [
            sorted((hit.url, hit.title) for hit in collection.search("lamps").hits),
            [str(row["name"]) for row in collection.sparql(ASKED)],
            sorted(url.text for url in collection.links(start).incoming),
            [collection.page(f"{start}people/{number}") for number in range(4)],
            outcomes(services.folder),
        ]


def tool(name: str, *words: str) -> str:
    folder = programs()
    assert folder is not None
    done = subprocess.run([folder / name, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lose_everything(services: ClusterServices, schema: str) -> None:
    with psycopg.connect(services.address, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{schema}", "{schema}_views" CASCADE'.encode())
    shutil.rmtree(services.archive)
    words, _, index = services.words.rpartition("/")
    service = Service("views.words", words, SystemClock(), silent)
    remove(service, index)
    remove(service, f"{index}-links")
    service.close()
    emptied(services)
    shutil.rmtree(services.folder)


def test_all_four_services_are_restored_from_a_dump_and_a_copy_of_the_archive(tmp_path: Path) -> None:
    if (folder := programs()) is None or not (folder / "pg_dump").is_file():
        pytest.skip("pg_dump is missing: install PostgreSQL's client programs")
    with Site(harbour(4)).serving() as site:
        crawled(site, tmp_path / "first")
        start = site.root
    with made_cluster(tmp_path / "services") as services:
        run("cluster", "import", tmp_path / "first", services.address)
        indexed(services)
        before = answers(services, start)
        assert all(before)
        schema = str(services.rows("SELECT current_schema()")[0][0])
        ours = ("--schema", schema, "--schema", f"{schema}_views")  # other tests have theirs in this database
        tool("pg_dump", "--format=custom", *ours, "--file", str(tmp_path / "dump"), services.address)
        shutil.copytree(services.archive, tmp_path / "copy")
        lose_everything(services, schema)
        tool("pg_restore", "--exit-on-error", "--dbname", services.address, str(tmp_path / "dump"))
        shutil.copytree(tmp_path / "copy", services.archive)
        with indexing(services):
            run("rebuild", "--dir", services.address)
        assert answers(services, start) == before
        assert "0 damaged" in run("verify", "--dir", services.address)
        emptied(services)
