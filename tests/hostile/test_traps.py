"""Endless sites, crawled with the real reader and rules, but no network: pages wasted and real pages found."""

import random
from collections.abc import Callable
from functools import partial

import pytest
from tests.demo.hits import hits_of
from tests.hostile.behaviours.traps import STOCK, prose
from tests.rules.roaming import Ask, roam

from gossamer.demo.pages import DemoRequest
from gossamer.demo.traps import LEAST_FOUND, MOST_WASTED
from gossamer.demo.verdict import ExpectedTrap, manifest_of, trapped
from gossamer.demo.web import DemoWeb
from gossamer.values.url import Url

WEB = DemoWeb(hosts=1, pages=30, traps=80)
TRAPS = manifest_of(WEB).traps
FETCHES = 3_000
"""The fetches of a crawl; the budget of a host is many times that."""


def ask(url: Url) -> bytes | None:
    answer = WEB.answer(DemoRequest(url.host.name, url.target))
    return answer.body if answer.status == 200 else None


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.what)
def test_F_U6_a_trap_is_left_in_time_and_its_real_pages_are_fetched(trap: ExpectedTrap) -> None:
    roamed = roam(ask, [f"http://{host}/" for host in trap.hosts], FETCHES)
    verdict = trapped(trap, hits_of(roamed.fetched))
    assert verdict.found >= LEAST_FOUND * verdict.real
    assert verdict.wasted <= 250 < MOST_WASTED


text = partial(prose, words=80)


def framed(title: str, body: str, links: list[str]) -> bytes:
    anchors = "".join(f'<p><a href="{link}">{link[-12:]}</a></p>' for link in links)
    return f"<!DOCTYPE html><title>{title}</title><article><h1>{title}</h1><p>{body}</p></article>{anchors}".encode()


def test_F_U5_a_thousand_variants_of_a_page_under_an_unknown_parameter_cost_fifty_fetches_at_most() -> None:
    variants = [f"/about?zq={random.Random(n).getrandbits(80):020x}" for n in range(1_000)]
    real = [f"/note/{n}" for n in range(100)]

    def pages(url: Url) -> bytes:
        if url.path == "/":
            return framed("Start", text("start"), real + variants)
        return framed(url.path, text(url.path), [])

    roamed = roam(pages, ["http://h.org/"], FETCHES)
    assert set(real) <= {Url(each).target for each in roamed.fetched}
    assert sum("zq=" in each for each in roamed.fetched) <= 50


def test_F_U6_random_subdomains_are_left_in_time() -> None:
    def pages(url: Url) -> bytes:
        chance = random.Random(url.text)
        if url.hostname == "farm.org":
            onward = [f"http://real{n}.farm.org/" for n in range(50)] + ["http://x0.farm.org/"]
            return framed("Start", text("start"), onward)
        if url.hostname.startswith("real"):
            return framed(url.hostname, text(url.text), [f"/page/{n}" for n in range(4)] if url.path == "/" else [])
        onward = [f"http://x{chance.getrandbits(40):x}.farm.org/" for _ in range(5)]
        return framed("Welcome", "Welcome to the best place of all for everything that you may want to find", onward)

    roamed = roam(pages, ["http://farm.org/"], FETCHES)
    assert sum("//real" in each for each in roamed.fetched) == 250
    assert sum("//x" in each for each in roamed.fetched) <= MOST_WASTED


GROWTH: dict[str, Callable[[Url], list[str]]] = {
    "a relative link": lambda _: ["next/page/", "more/"],
    "a growing query": lambda url: [f"{url.text}{'&' if '?' in url.text else '?'}from=here"],
    "a URL in a URL": lambda url: [f"/login?back={url.target.replace('%', '%25').replace('/', '%2F')}"],
    "a folder in itself": lambda _: ["current/"],
}


@pytest.mark.parametrize("kind", GROWTH)
def test_F_U7_growing_urls_are_cut(kind: str) -> None:
    pages: Ask = lambda url: framed("Growing", text(url.text), GROWTH[kind](url))  # noqa: E731
    assert len(roam(pages, ["http://h.org/a/"], FETCHES).fetched) <= 100


def test_F_U7_canonical_loops_cost_two_fetches() -> None:
    def pages(url: Url) -> bytes:
        other = "/b" if url.path == "/a" else "/a"
        return (
            f'<title>x</title><link rel="canonical" href="{other}"><p>{text(url.path)}<a href="{other}">x</a>'.encode()
        )

    assert len(roam(pages, ["http://h.org/a"], FETCHES).fetched) == 2


def test_a_large_catalogue_is_fetched_completely() -> None:
    """A thousand product pages under one template, in lists of fifty, all of them new."""

    def pages(url: Url) -> bytes:
        number = int("0" + "".join(filter(str.isdecimal, url.path)))
        if url.path == "/" or url.path.startswith("/list/"):
            items = [f"/product/{n}" for n in range(50 * number, 50 * number + 50)]
            return framed(f"List {number}", "What we have", [*items, *([f"/list/{number + 1}"] if number < 19 else [])])
        chance = random.Random(number)
        words = [chance.choice(STOCK) for _ in range(60)] + text(number, words=6).split()
        return framed(f"Product {number}", " ".join(words), [f"/product/{chance.randrange(1000)}" for _ in range(5)])

    roamed = roam(pages, ["http://shop.org/"], FETCHES)
    assert len(roamed.fetched) == 1_000 + 20 and not roamed.quarantined
