"""The four services of a cluster, on loopback, each behind a proxy that tests can cut."""

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests import postgres_server
from tests.services import fuseki, java, opensearch, s3
from tests.services.postgres_pair import STANDBYS, Group
from tests.services.proxy import Proxy

DATABASE, STORAGE, WORDS, FACTS = "database", "storage", "words", "facts"
INDEX = "cluster"
SECRET = "SECRET_OF_STORAGE"
"""The variable with it."""


def why_absent() -> str | None:
    if shutil.which("go") is None and not (java.JARS / "versitygw" / "versitygw").is_file():
        return "Go is missing, which builds the S3 server (https://go.dev/dl)"
    return postgres_server.why_absent() or java.why_absent()


class Services:
    """`has_standbys`: the database has two, and can fail over. `counts`: it measures each statement."""

    def __init__(self, has_standbys: bool = False, counts: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gossamer-services-"))
        self.database = Group(STANDBYS if has_standbys else (), counts)
        self.storage = s3.S3(self.folder / "storage")
        self.words = opensearch.Server(self.folder / "words", heap="1500m")
        self.facts = fuseki.Server(self.folder / "facts", heap="1024m")
        self.proxies: dict[str, Proxy] = {}
        self._database_proxies: list[Proxy] = []
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            os.environ[SECRET] = s3.SECRET
            for name in ("storage", "words", "facts"):
                (self.folder / name).mkdir()
            for server in (self.database, self.storage, self.words, self.facts):
                undo.callback(server.stop)
                server.start()
            for name, port in self._ports().items():
                self.proxies[name] = undo.enter_context(Proxy(port))
            self._database_proxies = [undo.enter_context(Proxy(one.port)) for one in self.database.members]
            self.proxies[DATABASE] = self._database_proxies[0]
            self._opened = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _ports(self) -> dict[str, int]:
        return {STORAGE: self.storage.port, WORDS: self.words.port, FACTS: self.facts.port}

    @property
    def address(self) -> str:
        """Of the cluster."""
        return self.database.address_at([proxy.port for proxy in self._database_proxies])

    def address_through(self, proxy: Proxy) -> str:
        """For one node with a way of its own to the database, which can be cut. REQUIRES: no standbys."""
        return self.database.address_at([proxy.port])

    @property
    def init(self) -> list[str]:
        """The arguments of `gossamer cluster init`."""
        archive = self.storage.address(INDEX, f"${{{SECRET}}}")
        archive = archive.replace(f":{self.storage.port}", f":{self.proxies[STORAGE].port}")
        words = f"http://127.0.0.1:{self.proxies[WORDS].port}/{INDEX}"
        facts = f"http://127.0.0.1:{self.proxies[FACTS].port}/gossamer/query"
        return [self.address, "--archive", archive, "--words", words, "--facts", facts]

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds that each service has used."""
        import psutil

        found = {}
        for name in (DATABASE, STORAGE, WORDS, FACTS):
            servers = self.database.members if name == DATABASE else [getattr(self, name)]
            used = 0.0
            for server in servers:
                if server.process is None:
                    continue
                top = psutil.Process(server.process.pid)
                for process in (top, *top.children(recursive=True)):
                    times = process.cpu_times()
                    used += times.user + times.system + times.children_user + times.children_system
            found[name] = round(used, 2)
        return found
