"""Sites without an end, crawled with the real reader and the real rules, but no network: the two figures of each."""

import random
from collections.abc import Callable

import pytest
from tests.demo.hits import hits_of
from tests.rules.roaming import Ask, roam

from gossamer.demo.pages import DemoRequest
from gossamer.demo.traps import LEAST_FOUND, MOST_WASTED
from gossamer.demo.verdict import ExpectedTrap, manifest_of, trapped
from gossamer.demo.web import DemoWeb
from gossamer.values.url import Url

WEB = DemoWeb(hosts=1, pages=30, traps=80)
TRAPS = manifest_of(WEB).traps
VISITS = 3_000
"""So many a trap would go on for; the budget of a host is many times that."""


def ask(url: Url) -> bytes | None:
    answer = WEB.answer(DemoRequest(url.host.name, url.target))
    return answer.body if answer.status == 200 else None


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.what)
def test_F_U6_a_trap_is_left_in_time_and_its_real_pages_are_fetched(trap: ExpectedTrap) -> None:
    roamed = roam(ask, [f"http://{host}/" for host in trap.hosts], VISITS)
    verdict = trapped(trap, hits_of(roamed.fetched))
    assert verdict.found >= LEAST_FOUND * verdict.real
    assert verdict.wasted <= 250 < MOST_WASTED


def framed(title: str, said: str, links: list[str]) -> bytes:
    ways = "".join(f'<p><a href="{link}">{link[-12:]}</a></p>' for link in links)
    return f"<!DOCTYPE html><title>{title}</title><article><h1>{title}</h1><p>{said}</p></article>{ways}".encode()


STOCK = ("the", "a", "of", "with", "and", "for", "small", "large", "made", "by", "hand", "in", "wood", "glass", "old")


def told(*names: object, words: int = 80) -> str:
    """A text as people write it: half of its words are those that everybody uses."""
    chance = random.Random(repr(names))
    own = ("".join(chance.choices("aeioulmnrstkp", k=6)) for _ in range(words))
    return " ".join(word if chance.random() < 0.5 else chance.choice(STOCK) for word in own)


def test_F_U5_a_thousand_variants_of_a_page_under_an_unknown_parameter_cost_fifty_fetches_at_most() -> None:
    variants = [f"/about?zq={random.Random(n).getrandbits(80):020x}" for n in range(1_000)]
    real = [f"/note/{n}" for n in range(100)]

    def pages(url: Url) -> bytes:
        if url.path == "/":
            return framed("Start", told("start"), real + variants)
        return framed(url.path, told(url.path), [])

    roamed = roam(pages, ["http://h.org/"], VISITS)
    assert set(real) <= {Url(each).target for each in roamed.fetched}
    assert sum("zq=" in each for each in roamed.fetched) <= 50


def test_F_U6_random_subdomains_are_left_in_time() -> None:
    def pages(url: Url) -> bytes:
        chance = random.Random(url.text)
        if url.hostname == "farm.org":
            onward = [f"http://real{n}.farm.org/" for n in range(50)] + ["http://x0.farm.org/"]
            return framed("Start", told("start"), onward)
        if url.hostname.startswith("real"):
            return framed(url.hostname, told(url.text), [f"/page/{n}" for n in range(4)] if url.path == "/" else [])
        onward = [f"http://x{chance.getrandbits(40):x}.farm.org/" for _ in range(5)]
        return framed("Welcome", "Welcome to the best place of all for everything that you may want to find", onward)

    roamed = roam(pages, ["http://farm.org/"], VISITS)
    assert sum("//real" in each for each in roamed.fetched) == 250
    assert sum("//x" in each for each in roamed.fetched) <= MOST_WASTED


GROWTH: dict[str, Callable[[Url], list[str]]] = {
    "a relative link": lambda _: ["next/page/", "more/"],
    "a query that is added to": lambda url: [f"{url.text}{'&' if '?' in url.text else '?'}from=here"],
    "an address in an address": lambda url: [f"/login?back={url.target.replace('%', '%25').replace('/', '%2F')}"],
    "a folder in itself": lambda _: ["current/"],
}


@pytest.mark.parametrize("kind", GROWTH)
def test_F_U7_addresses_that_grow_are_cut(kind: str) -> None:
    asking: Ask = lambda url: framed("Growing", told(url.text), GROWTH[kind](url))  # noqa: E731
    assert len(roam(asking, ["http://h.org/a/"], VISITS).fetched) <= 100


def test_F_U7_canonical_loops_lead_nowhere() -> None:
    def pages(url: Url) -> bytes:
        other = "/b" if url.path == "/a" else "/a"
        return (
            f'<title>x</title><link rel="canonical" href="{other}"><p>{told(url.path)}<a href="{other}">x</a>'.encode()
        )

    assert len(roam(pages, ["http://h.org/a"], VISITS).fetched) == 2


def test_a_large_catalogue_is_fetched_whole() -> None:
    """A thousand product pages under one template, in lists of fifty: fruitful to the last."""

    def pages(url: Url) -> bytes:
        number = int("0" + "".join(filter(str.isdecimal, url.path)))
        if url.path == "/" or url.path.startswith("/list/"):
            items = [f"/product/{n}" for n in range(50 * number, 50 * number + 50)]
            return framed(f"List {number}", "What we have", [*items, *([f"/list/{number + 1}"] if number < 19 else [])])
        chance = random.Random(number)
        said = [chance.choice(STOCK) for _ in range(60)] + told(number, words=6).split()
        return framed(f"Product {number}", " ".join(said), [f"/product/{chance.randrange(1000)}" for _ in range(5)])

    roamed = roam(pages, ["http://shop.org/"], VISITS)
    assert len(roamed.fetched) == 1_000 + 20 and not roamed.quarantined
