"""A random web, made on request from a seed: hosts with different robots.txt and speed, and times when they fail."""

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gossamer.base.clock import Clock
from gossamer.values.capture import Capture
from gossamer.values.outcome import Failed, Fetched, Gone, Moved, Outcome, Reason
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

PATIENCE_S = 30.0
SHARED = "20.0.0.1"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A time during which a host answers like this."""

    kind: str  # "busy", "busy-until", "sick", "lost", "refusing", "silent"
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class SimHost:
    name: str
    schemes: tuple[str, ...]
    address: str
    pages: int
    answer_s: float
    robots: str  # "missing", "open", "private", "delay", "changes", "fails", "hopeless", "moves", "wanders"
    troubles: tuple[Trouble, ...] = ()

    @property
    def is_calm(self) -> bool:
        return not self.troubles and self.robots not in ("fails", "hopeless")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a robots.txt means at one moment, as the simulation defines it."""

    disallows: str | None = None
    delay_s: float | None = None
    text: str = ""


class SimWeb:
    """`fetch` replaces the client's. `began` and `ended` are called for every fetch."""

    def __init__(self, hosts: list[SimHost], rng: random.Random, clock: Clock) -> None:
        self.hosts = {host.name: host for host in hosts}
        self._names = sorted(self.hosts)
        self._rng = rng
        self._clock = clock
        self.began: Callable[[Url, VisitKind], None] = lambda url, kind: None
        self.ended: Callable[[Url, VisitKind, Outcome], None] = lambda url, kind, outcome: None
        self.visits = 0

    def seeds(self) -> Iterator[Url]:
        for host in self.hosts.values():
            for scheme in host.schemes:
                yield Url(f"{scheme}://{host.name}/p/0")

    def links_of(self, url: Url) -> list[str]:
        """The links of a page, always the same ones."""
        host = self.hosts[url.host.name]
        number = int(url.path.rpartition("/")[2])
        rng = random.Random(f"{url.text}")
        links = [f"/p/{n}" for n in (number * 2 + 1, number * 2 + 2) if n < host.pages]
        links += [rng.choice((f"/private/{number}", f"/gone/{number}", f"/moved/{number}"))] if number % 3 == 0 else []
        away = self.hosts[rng.choice(self._names)]
        scheme = rng.choice(away.schemes)
        return [*(url.origin + link for link in links), f"{scheme}://{away.name}/p/{rng.randrange(away.pages)}"]

    def target_of(self, url: Url) -> Url:
        """The target of a redirect."""
        rng = random.Random(f"{url.text}")
        away = self.hosts[rng.choice(self._names)]
        return Url(f"{rng.choice(away.schemes)}://{away.name}/p/{rng.randrange(away.pages)}")

    async def fetch(self, url: Url, kind: VisitKind = VisitKind.PAGE, depth: int = 0, **_: object) -> Outcome:
        self.visits += 1
        self.began(url, kind)
        host = self.hosts[url.host.name]
        took_s = host.answer_s * self._rng.uniform(0.5, 2.0)
        trouble = next((one for one in host.troubles if one.from_s <= self._clock.elapsed_s() < one.until_s), None)
        if trouble is not None and trouble.kind == "silent":
            took_s = PATIENCE_S
        await asyncio.sleep(min(took_s, PATIENCE_S))
        outcome = self._answer(url, kind, host, trouble, took_s)
        self.ended(url, kind, outcome)
        return outcome

    def _answer(self, url: Url, kind: VisitKind, host: SimHost, trouble: Trouble | None, took_s: float) -> Outcome:
        if trouble is not None:
            return self._troubled(url, trouble, took_s)
        if took_s >= PATIENCE_S:
            return Failed(Reason.TIMEOUT)
        if kind is VisitKind.ROBOTS:
            return self._robots(url, host, took_s)
        first = url.path.split("/")[1]
        if first == "moved":
            return Moved(self.target_of(url), self._capture(url, 301, "", took_s))
        if first == "gone":
            return Gone(self._capture(url, 404, "", took_s))
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in self.links_of(url))
        return Fetched(self._capture(url, 200, f"<title>{url.path}</title><p>words {url.text}</p>{anchors}", took_s))

    def _troubled(self, url: Url, trouble: Trouble, took_s: float) -> Outcome:
        match trouble.kind:
            case "busy":
                return Failed(Reason.SLOW_DOWN, "429", self._capture(url, 429, "", took_s))
            case "busy-until":
                wait_s = float(self._rng.randrange(1, 90))
                return Failed(Reason.SLOW_DOWN, "503", self._capture(url, 503, "", took_s), wait_s)
            case "sick":
                return Failed(Reason.SERVER_ERROR, "500", self._capture(url, 500, "", took_s))
            case "lost":
                return Failed(Reason.DNS, "SERVFAIL")
            case "refusing":
                return Failed(Reason.CONNECT, "refused")
            case _:
                return Failed(Reason.TIMEOUT)

    def robots_now(self, host: SimHost) -> Answer | None:
        """None: the file does not exist."""
        is_late = self._clock.elapsed_s() > 120
        rules = {
            "open": Answer(None, None, "User-agent: *\nDisallow:\n"),
            "private": Answer("/private/", None, "User-agent: *\nDisallow: /private/\n"),
            "delay": Answer("/private/", 3.0, "User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"),
        }
        match host.robots:
            case "missing":
                return None
            case "changes":
                return rules["delay" if is_late else "open"]
            case "fails":
                return rules["private"]
            case "moves" | "wanders":
                return rules["delay"]
            case kind:
                return rules[kind]

    def _robots(self, url: Url, host: SimHost, took_s: float) -> Outcome:
        if url.path.startswith("/robots-of/"):
            host = self.hosts[url.path.rpartition("/")[2]]
            if host.robots == "wanders" and "/2/" not in url.path:
                away = self._names[(self._names.index(url.host.name) + 1) % len(self._names)]
                to = f"{self.hosts[away].schemes[0]}://{away}/robots-of/2/{host.name}"
                return Moved(Url(to), self._capture(url, 302, "", took_s))
        elif host.robots in ("moves", "wanders"):
            away = self._names[(self._names.index(host.name) + 1) % len(self._names)]
            to = f"{self.hosts[away].schemes[0]}://{away}/robots-of/{host.name}"
            return Moved(Url(to), self._capture(url, 301, "", took_s))
        if host.robots == "hopeless" or (host.robots == "fails" and self._clock.elapsed_s() < 100):
            return Failed(Reason.SERVER_ERROR, "500", self._capture(url, 500, "", took_s))
        answer = self.robots_now(host)
        if answer is None:
            return Gone(self._capture(url, 404, "", took_s))
        return Fetched(self._capture(url, 200, answer.text, took_s, "text/plain"))

    def _capture(self, url: Url, status: int, text: str, took_s: float, kind: str = "text/html") -> Capture:
        headers = (("Content-Type", kind), ("Cache-Control", "max-age=600"))
        address = self.hosts[url.host.name].address
        now = self._clock.now()
        return Capture(url, now, status, "", headers, text.encode(), address, took_s=took_s)


ROBOTS = ("missing", "open", "private", "private", "delay", "changes", "fails", "hopeless", "moves", "wanders")
KINDS = ("busy", "busy-until", "sick", "lost", "refusing", "silent")


def hosts_of(rng: random.Random, hosts: int, pages: int, shared: float) -> list[SimHost]:
    """Hosts of about `pages` pages each; a share of them at one IP address, a third with failures."""
    found = []
    for number in range(hosts):
        troubles: tuple[Trouble, ...] = ()
        if rng.random() < 0.35:
            starts = sorted(rng.uniform(0, 200) for _ in range(rng.randrange(1, 3)))
            troubles = tuple(Trouble(rng.choice(KINDS), at, at + rng.uniform(5, 120)) for at in starts)
        address = SHARED if rng.random() < shared else f"20.0.1.{number}"
        schemes = rng.choice((("https",), ("http",), ("http", "https")))
        answer_s = rng.choice((0.01, 0.05, 0.05, 0.3, 2.0, 16.0 if rng.random() < 0.3 else 0.1))
        size = rng.randrange(1, 2 * pages)
        name = f"h{number}.test"
        found.append(SimHost(name, schemes, address, size, answer_s, rng.choice(ROBOTS), troubles))
    return found
