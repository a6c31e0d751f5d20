"""The page of a cluster's nodes in a real browser: live, accessible, and usable with the keyboard and on a phone."""

import asyncio

from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import LONG_S, Tab, drive
from tests.cluster.grounds import Grounds, grounds
from tests.cluster.test_pages import admin, two_nodes

__all__ = ["grounds"]


def test_the_nodes_of_a_cluster_are_live_and_accessible(grounds: Grounds, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(f"{site.site.address}/nodes?token={site.token}")
        for size in ((1400, 1000), (360, 800)):
            await set_size(page, *size)
            for path in ("/nodes", "/nodes?confirm=drain&node=a"):
                await page.go(site.site.address + path)
                assert await axe_in_both_themes(page) == [], (size, path)
                assert await page.value("document.documentElement.scrollWidth") <= size[0]
        await set_size(page, 1400, 1000)
        await page.go(site.site.address + "/nodes")
        assert await page.value("[...document.querySelectorAll('#nodes a.button')].map((one) => one.textContent)") == [
            "Drain a", "Drain b",
        ]  # fmt: skip
        grounds.asked(lambda registry: registry.drain("a"))
        async with asyncio.timeout(LONG_S):
            while "Remove a" not in await page.value("document.querySelector('#nodes').textContent"):
                await asyncio.sleep(0.1)
        assert "a left" in await page.value("document.querySelector('#events').textContent")
        assert await page.value("window.violations") == [] and page.console_errors == []

    with two_nodes(grounds), admin(grounds) as site:
        drive(devtools, scenario)
