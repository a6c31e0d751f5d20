from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, gossamer, harbour, json_lines
from tests.postgres_server import server


@dataclass(frozen=True, slots=True)
class Collection:
    """The harbour as `gossamer crawl` collected it, and the events it printed. Tests must not change it."""

    root: Path
    origin: str
    events: list[dict[str, object]]
    hits: list[str]

    def settled(self) -> list[dict[str, object]]:
        return [event for event in self.events if event["event"] == "visit.settled"]


def crawled(root: Path, *more: object) -> Iterator[Collection]:
    with Site(harbour()).serving() as site:
        done = gossamer("crawl", site.root, "--dir", root, *QUICK, *more, "--json")
        assert done.returncode == 0, done.stderr
        yield Collection(root, site.root, json_lines(done.stdout), list(site.hits))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """With its state in state.db."""
    yield from crawled(tmp_path_factory.mktemp("collection") / "harbour")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """With its state in PostgreSQL."""
    root = tmp_path_factory.mktemp("collection") / "harbour"
    yield from crawled(root, "--database", server().conninfo_for(root))


@pytest.fixture(scope="session", params=["embedded", "shared"])
def collection(request: pytest.FixtureRequest) -> Collection:
    """Both, one after the other: commands that only read give the same results."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Collection)
    return found
