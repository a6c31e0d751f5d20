"""The production client with its guard against every odd part of the web, over the address plan."""

import asyncio

from gossamer.base.clock import SystemClock
from gossamer.base.environment import Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.demo.server import DemoServer
from gossamer.demo.verdict import ExpectedPage, manifest_of
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.values.capture import Truncated
from gossamer.values.outcome import Fetched, Outcome, reason_of
from gossamer.values.url import Url

WEB = DemoWeb(seed=5, hosts=2, pages=12, profile_name="quick", trap_pages=3)


async def fetch_all(urls: list[str]) -> dict[str, Outcome]:
    clock = SystemClock()
    async with DemoServer(WEB, clock) as server:
        plan = address_plan(WEB, server.port)
        async with Client(
            Connections(Fetch(contact="https://demo.test/"), Network(plan, plan), clock, silent)
        ) as client:
            return {url: await client.fetch(Url(url)) for url in urls}


def is_fetched(page: ExpectedPage) -> bool:
    return page.outcomes != ("too-many-redirects",)


def test_each_fetch_ends_as_the_manifest_expects() -> None:
    pages = {page.url: page for page in manifest_of(WEB).pages if is_fetched(page)}
    found = asyncio.run(fetch_all(list(pages)))
    wrong = {
        url: (pages[url].outcomes, outcome)
        for url, outcome in found.items()
        if reason_of(outcome) not in pages[url].outcomes
    }
    assert wrong == {}
    huge = found["http://odd.demo.test/huge"]
    assert isinstance(huge, Fetched) and huge.capture.truncated is Truncated.LENGTH
