"""Sites of the demonstration web: what a kind of site is, one site of it, and one thing it tells about."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol
from urllib.parse import quote

from gossamer.demo.draw import Draw
from gossamer.demo.markup import DOMAIN
from gossamer.demo.things import At, Node, Plain, Statements, Value

A_LISTING_HOLDS = 24


class Genre(NamedTuple):
    """A differently built kind of site; the table of them is in `kinds.py`."""

    name: str
    title: str
    motto: str
    languages: tuple[str, ...]
    """Of its items, in turn."""
    place: str
    """Where item {n} is; {slug} is made from its name."""
    listing: str
    """Where the {k}-th list of items is, counted from 1."""
    name_of: Callable[[Draw, str], str]
    describe: "Callable[[World, Topic, Draw], Statements]"
    coding: str = ""
    """The content coding it prefers, when the client takes it."""
    is_chunked: bool = False


class Site(NamedTuple):
    """One host with pages `/`, its listings, and its items."""

    number: int
    kind: Genre
    pages: int

    @property
    def host(self) -> str:
        ring = self.ring
        return f"{self.kind.name}{f'-{ring + 1}' if ring else ''}.{DOMAIN}"

    @property
    def ring(self) -> int:
        """Sites come in rings of one site a kind; a ring's sites speak of each other's people and places."""
        return self.number // RING

    @property
    def title(self) -> str:
        return f"{self.kind.title} {self.ring + 1}" if self.ring else self.kind.title

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def listings(self) -> int:
        return -(-(self.pages - 1) // (A_LISTING_HOLDS + 1))

    @property
    def items(self) -> int:
        return self.pages - 1 - self.listings


RING = 12
"""As many as there are kinds."""


class Topic(NamedTuple):
    """One thing that a site has a page about."""

    site: Site
    number: int
    name: str
    language: str

    @property
    def path(self) -> str:
        return self.site.kind.place.format(slug=slug_of(self.name), n=self.number)

    @property
    def url(self) -> str:
        return self.site.origin + self.path

    @property
    def address(self) -> str:
        """The thing itself, as opposed to the page about it."""
        return f"{self.url}#it"

    @property
    def image(self) -> str:
        return f"{self.site.origin}/images/{self.site.kind.name}-{self.number}.svg"


class World(Protocol):
    """What the writers of items may know of the rest. Real one: `DemoWeb`."""

    @property
    def seed(self) -> int: ...

    def near(self, site: Site, kind: str) -> Site | None:
        """The site of that kind in the same ring, or in the first; None when this web is too small to have one."""
        ...

    def item(self, site: Site, number: int) -> Topic: ...


def somebody(world: World, item: Topic, draw: Draw, job: str = "Person") -> Node:
    """One of the people of the ring's people site, so that names meet across sites; a nameless hand without one."""
    people = world.near(item.site, "people")
    if people is None or not people.items:
        return Node(job, (("name", Plain("Unknown hand")),))
    person = world.item(people, draw.below(people.items))
    return Node(job, (("name", Plain(person.name)), ("url", At(person.url))), person.address)


def about(item: Topic, kind: str, *says: tuple[str, Value]) -> Node:
    """The page's subject: its name and picture first, then what else is said of it."""
    return Node(kind, (("name", Plain(item.name)), ("image", At(item.image)), *says), item.address)


def texts(name: str, words: Sequence[str]) -> list[tuple[str, Plain]]:
    return [(name, Plain(word)) for word in words]


@lru_cache(maxsize=4096)
def slug_of(name: str) -> str:
    """ASCII where the name has any; otherwise percent-coded UTF-8, as sites in other scripts do."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or quote(name)


@lru_cache(maxsize=256)
def number_in(template: str) -> re.Pattern[str]:
    """A pattern that finds the number in a place written by `template`."""
    escaped = re.escape(template)
    return re.compile(
        escaped.replace(r"\{n\}", r"(\d{1,9})").replace(r"\{k\}", r"(\d{1,9})").replace(r"\{slug\}", "[^/?]+")
    )
