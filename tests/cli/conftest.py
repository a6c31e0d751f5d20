from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, gossamer, harbour, json_lines
from tests.postgres_server import server


@dataclass(frozen=True, slots=True)
class Collection:
    """What `gossamer crawl` made of the harbour, and what it said. Nobody may change it."""

    root: Path
    origin: str
    events: list[dict[str, object]]
    hits: list[str]

    def settled(self) -> list[dict[str, object]]:
        return [event for event in self.events if event["event"] == "visit.settled"]


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def collection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Once with its state in the directory, once in PostgreSQL: whatever reads it answers the same."""
    root = tmp_path_factory.mktemp("collection") / "harbour"
    database = ("--database", server().conninfo_for(root)) if request.param == "postgres" else ()
    with Site(harbour()).serving() as site:
        done = gossamer("crawl", site.root, "--dir", root, *QUICK, *database, "--json")
        assert done.returncode == 0, done.stderr
        yield Collection(root, site.root, json_lines(done.stdout), list(site.hits))
