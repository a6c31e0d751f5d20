"""A site to crawl on loopback, an empty collection that may crawl it, and its pages served: nothing else runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.cli.site import Site as Crawled
from tests.cli.site import page
from tests.web.site import LONG_S, Answer, Site, serving

from gossamer.collection import control
from gossamer.store.directory import Directory
from gossamer.store.trust import allow_options

SETTINGS = """
contact = "https://example.org/about"
[politeness]
delay_s = {delay_s}
times_took = 1.0
[fetch]
allow_addresses = ["127.0.0.0/8"]
[readers]
count = 1
wall_s = 60.0
"""
PATIENCE_S = 300.0


def many(amount: int) -> dict[str, str]:
    """A start page that leads to cats and dogs by turns; never so many of one pattern that they would be a trap."""
    endings = [f".p{number // 50}" if number >= 50 else "" for number in range(amount)]
    paths = [f"/{kind}/{number}{end}" for number, end in enumerate(endings) for kind in ("cat", "dog")]
    return {"/": page("Home", "All of them.", *paths)} | {path: page(path, f"This is {path}.") for path in paths}


@dataclass(frozen=True)
class Desk:
    """Whoever has the token, at the pages."""

    site: Site
    web: Crawled
    directory: Directory
    token: str = field(repr=False)

    def post(self, path: str, accept: str = "text/html", **fields: str) -> Answer:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": self.site.address,
        }
        return self.site.ask(path, "POST", urlencode(fields).encode(), accept, headers)

    def see(self, path: str) -> Answer:
        return self.site.ask(path, headers={"Authorization": f"Bearer {self.token}"})

    def change(self, path: str, **fields: str) -> str:
        """The page after the change, and what it says."""
        answer = self.post(path, **fields)
        assert answer.status == 303, answer.text
        shown = self.see(answer.headers["location"]).page
        said = shown.css_first("div[role=status], div[role=alert]")
        assert said is not None, shown.text()[:1500]
        return " ".join(said.text().split())

    def state(self) -> str:
        found = self.json("/crawl.json")
        assert "state" in found, found
        return str(found["state"])

    def mark(self) -> str:
        """Of the rules as they stand."""
        return self.see("/crawl/rules").page.css_first("input[name=mark]").attributes["value"] or ""

    def json(self, path: str) -> Any:
        return self.site.ask(path).json


@contextmanager
def desk(root: Path, pages: dict[str, str] | None = None, delay_s: float = 0.02) -> Iterator[Desk]:
    directory = Directory(root / "collection")
    directory.root.mkdir()
    directory.config.write_text(SETTINGS.format(delay_s=delay_s))
    allow_options(directory.root, {"fetch.allow_addresses": ["127.0.0.0/8"]})
    crawled = Crawled(pages if pages is not None else many(3))
    with patient(), crawled.serving() as web, serving(directory) as site:
        yield Desk(site, web, directory, (directory.root / "token").read_text().strip())


@contextmanager
def patient() -> Iterator[None]:
    """What a page says when a crawl is slow to answer is not what these tests are about."""
    before = {name: getattr(control, name) for name in ("FIRST_BEAT_S", "PATIENCE_S", "STATE_S", "END_S")}
    for name in before:
        setattr(control, name, LONG_S)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(control, name, value)


def until(happens: Callable[[], bool], why: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happens():
        assert time.monotonic() < end, why
        time.sleep(0.05)
