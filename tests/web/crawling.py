"""A site to crawl on loopback, an empty collection that may crawl it, and the web site of that collection."""

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
    """A start page that links to cats and dogs in turn, with too few of one pattern to look like a trap."""
    endings = [f".p{number // 50}" if number >= 50 else "" for number in range(amount)]
    paths = [f"/{kind}/{number}{end}" for number, end in enumerate(endings) for kind in ("cat", "dog")]
    return {"/": page("Home", "All of them.", *paths)} | {path: page(path, f"This is {path}.") for path in paths}


@dataclass(frozen=True)
class Admin:
    """A client of the site with the administrator's token."""

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

    def get(self, path: str) -> Answer:
        return self.site.ask(path, headers={"Authorization": f"Bearer {self.token}"})

    def change(self, path: str, **fields: str) -> str:
        """Post a form, and return the message on the page it leads to."""
        answer = self.post(path, **fields)
        assert answer.status == 303, answer.text
        shown = self.get(answer.headers["location"]).page
        message = shown.css_first("div[role=status], div[role=alert]")
        assert message is not None, shown.text()[:1500]
        return " ".join(message.text().split())

    def state(self) -> str:
        crawl = self.json("/crawl.json")
        assert "state" in crawl, crawl
        return str(crawl["state"])

    def mark(self) -> str:
        """The mark of the current version of the rules."""
        return self.get("/crawl/rules").page.css_first("input[name=mark]").attributes["value"] or ""

    def json(self, path: str) -> Any:
        return self.site.ask(path).json


@contextmanager
def admin_site(root: Path, pages: dict[str, str] | None = None, delay_s: float = 0.02) -> Iterator[Admin]:
    directory = Directory(root / "collection")
    directory.root.mkdir()
    directory.config.write_text(SETTINGS.format(delay_s=delay_s))
    allow_options(directory.root, {"fetch.allow_addresses": ["127.0.0.0/8"]})
    crawled = Crawled(pages if pages is not None else many(3))
    with patient(), crawled.serving() as web, serving(directory) as site:
        yield Admin(site, web, directory, (directory.root / "token").read_text().strip())


@contextmanager
def patient() -> Iterator[None]:
    """Long time limits: these tests do not check what a page shows while a crawl is slow to answer."""
    before = {name: getattr(control, name) for name in ("FIRST_BEAT_S", "PATIENCE_S", "STATE_S", "END_S")}
    for name in before:
        setattr(control, name, LONG_S)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(control, name, value)


def until(is_true: Callable[[], bool], why: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < end, why
        time.sleep(0.05)
