"""A crawl without a network: URLs in a queue, pages from a function, the real reader and the real rules."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gossamer.reader.reading import read
from gossamer.rules.canonical import identity_of
from gossamer.rules.learned.aliases import Evidence
from gossamer.rules.learned.model import Learned, LearnedHosts
from gossamer.rules.learned.signs import marks_of, what_it_says
from gossamer.rules.learned.traps import template_of
from gossamer.values.capture import Capture
from gossamer.values.outcome import Denied
from gossamer.values.page import Reading, Triple
from gossamer.values.url import Url

Ask = Callable[[Url], bytes | None]
"""The body at a URL; None: 404."""


@dataclass
class Roamed:
    """The results of a crawl."""

    fetched: list[str] = field(default_factory=list)
    quarantined: Counter[tuple[str, str]] = field(default_factory=Counter)
    """URLs held back, by host and template."""
    errors: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    retired: dict[str, str] = field(default_factory=dict)


def roam(ask: Ask, seeds: list[str], most: int, learning: LearnedHosts | None = None) -> Roamed:
    """First in, first out; at most `most` fetches. Only hosts of the seeds' domain can be found."""
    learning = learning or LearnedHosts(8 << 20)
    done, totals = Roamed(), Counter[tuple[str, str, bool]]()
    queue = deque(Url(seed) for seed in seeds)
    seen = {identity_of(seed) for seed in seeds}
    while queue and len(done.fetched) < most:
        url = queue.popleft()
        kind = (url.host.name, template_of(url))
        if kind in done.quarantined:
            done.quarantined[kind] += 1
            continue
        verdict = learning.judge_visit(url)
        if isinstance(verdict, Denied) or url.host.name in done.retired:
            done.refused[verdict.rule if isinstance(verdict, Denied) else "retired"] += 1
            continue
        done.fetched.append(url.text)
        body = ask(url)
        if body is None:
            continue
        reading = reading_of(url, body)
        links = [link.url.text for link in reading.page.links]
        learned = learn(learning, reading, links, url.text in seeds)
        if learned.no_page:
            done.errors.append(url.text)
        if learned.mirror is not None:
            done.retired[learned.mirror.host] = learned.mirror.of
        totals[(*kind, learned.yielded.is_fruitful)] += 1
        good, barren = totals[(*kind, True)], totals[(*kind, False)]
        if learning.is_trap(*kind, good + barren, good):
            done.quarantined[kind] += 0
        for link in links:
            to = Url(link)
            if identity_of(link) not in seen and not isinstance(learning.judge_offer(to), Denied):
                seen.add(identity_of(link))
                queue.append(to)
    return done


def learn(learning: LearnedHosts, reading: Reading, links: list[str], is_seed: bool) -> Learned:
    page = reading.page
    text = page.content or page.rest
    marks = marks_of(text, page.near, triples_of(reading))
    says = what_it_says(page.title, page.headings, text, marks.words)
    return learning.learn(page.url, marks, page.exact, says, links, Evidence(is_seed))


def reading_of(url: Url, body: bytes) -> Reading:
    return read(Capture(url, 1, 200, "OK", (("Content-Type", "text/html; charset=utf-8"),), body))


def triples_of(reading: Reading) -> list[Triple]:
    lines = reading.facts.decode().splitlines()
    return [Triple(*line.removesuffix(" .").split(" ", 2)) for line in lines]
