from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, gossamer, harbour, json_lines


@dataclass(frozen=True, slots=True)
class Collection:
    """What `gossamer crawl` made of the harbour, and what it said. Nobody may change it."""

    root: Path
    origin: str
    events: list[dict[str, object]]
    hits: list[str]

    def settled(self) -> list[dict[str, object]]:
        return [event for event in self.events if event["event"] == "visit.settled"]


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    root = tmp_path_factory.mktemp("collection") / "harbour"
    with Site(harbour()).serving() as site:
        done = gossamer("crawl", site.root, "--dir", root, *QUICK, "--json")
        assert done.returncode == 0, done.stderr
        yield Collection(root, site.root, json_lines(done.stdout), list(site.hits))
