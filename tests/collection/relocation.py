"""A collection in a directory and a cluster, for tests of moving from one to the other and of upkeep there."""

import json
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
from tests.cli.site import QUICK, Site, gossamer, plain_environment, wait_until
from tests.cluster_services import ClusterServices
from tests.collection.test_forget import _inflated, files_with

from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent
from gossamer.frontier.reports import every_end
from gossamer.monitor.supervisor import MODULE
from gossamer.store.address import folder_named
from gossamer.store.directory import Directory
from gossamer.store.service import Service
from gossamer.store.state import open_state
from gossamer.views.facts.server.endpoint import SparqlServer


def crawled(site: Site, root: Path, *more: str) -> None:
    run("crawl", site.root, *more, "--dir", root, *QUICK)


def run(*words: object) -> str:
    """Run a command that succeeds; its output."""
    done = gossamer(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def indexing(services: ClusterServices) -> Iterator["subprocess.Popen[bytes]"]:
    """An indexer of the cluster runs meanwhile."""
    scratch = folder_named(services.address)
    ours, theirs = socket.socketpair()
    output = services.archive.parent / "indexer.output"
    with theirs, output.open("wb") as written:
        words = [sys.executable, "-m", MODULE, str(scratch), "", "gossamer", str(theirs.fileno())]
        child = subprocess.Popen(
            words, pass_fds=[theirs.fileno()], stdout=written, stderr=written, env=plain_environment()
        )
    try:
        yield child
        assert child.poll() is None, output.read_text()
    finally:
        ours.close()
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        child.wait(60)


def waiting(services: ClusterServices) -> int:
    return services.count("work")


def indexed(services: ClusterServices) -> None:
    """The indexers have taken everything."""
    with indexing(services) as child:
        wait_until(lambda: waiting(services) == 0 or child.poll() is not None, "the indexer takes everything")


def emptied(services: ClusterServices) -> None:
    """The SPARQL server, which all clusters of a test run share, has nothing of this one."""
    with closing(SparqlServer(services.facts, "", SystemClock(), silent)) as server:
        server.update("DROP ALL")


def outcomes(root: Path) -> list[tuple[str, str]]:
    with closing(open_state(Directory(root))) as state:
        return sorted(every_end(state))


ALL = ["archive", "database", "facts", "words"]


def traces(services: ClusterServices, word: str) -> list[str]:
    """Where in the four services the word is still found."""
    found = [f"archive: {name}" for name in files_with(services.archive, word)]
    with psycopg.connect(services.address) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = current_schema() AND table_name <> 'forgotten'"
        ).fetchall()
        for (table,) in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'.encode()):
                found += [f"database: {table}" for value in row if has_word(value, word)]
    with closing(Service("views.words", services.words.rpartition("/")[0], SystemClock(), silent)) as service:
        index = services.words.rpartition("/")[2]
        service.ask("POST", f"/{index}*/_refresh")
        everything = service.ask("GET", f"/{index}*/_search?size=1000").body
        asked = service.ask("GET", f"/{index}*/_search?q={word}").body
        found += ["words"] * (word.encode() in everything.lower() or json.loads(asked)["hits"]["total"]["value"] > 0)
    with (
        closing(SparqlServer(services.facts, "", SystemClock(), silent)) as server,
        server.rows("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }") as rows,
    ):
        found += ["facts" for row in rows if any(word in str(value).lower() for value in row)]
    return sorted(set(found))


def services_with(services: ClusterServices, word: str) -> list[str]:
    return sorted({one.partition(":")[0] for one in traces(services, word)})


def has_word(value: object, word: str) -> bool:
    if not isinstance(value, bytes):
        return word in str(value).lower()
    plains = [value, *_inflated("", value)]
    with suppress(zlib.error):
        plains.append(zlib.decompress(value, wbits=-15))
    return any(word.encode() in plain.lower() for plain in plains)
