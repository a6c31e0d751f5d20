"""The system manager in a real browser: live, stale, back again, and drawn."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import LONG_S, Tab, tab
from tests.web.site import Site, serving

from gossamer.store.directory import Directory

CHANGES = """new Promise((done) => new MutationObserver(() => done(true)).observe(
  document.querySelector('[data-cell=moment]'), {childList: true, characterData: true, subtree: true}))"""
DRAWN = """new Promise((done) => {
  window.scrollTo(0, document.body.scrollHeight);
  const look = () => document.querySelectorAll('.plot canvas').length === 6 ? done(6) : setTimeout(look, 50);
  look();
})"""


def drive(devtools: str, scenario: Callable[[Tab], Awaitable[None]]) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await scenario(page)

    asyncio.run(run())


async def seen(page: Tab, condition: str) -> None:
    async with asyncio.timeout(LONG_S):
        while not await page.value(condition):
            await asyncio.sleep(0.1)


def test_M_A10_the_figures_move_and_the_plots_are_drawn_within_the_policy(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/nodes")
        assert await page.value(CHANGES)
        await seen(page, "document.getElementById('liveness').textContent === 'Live,'")
        assert await page.value(DRAWN) == 6
        assert "now: " in await page.value("document.querySelector('.plots').textContent")
        assert await page.value("window.violations") == [] and page.complaints == []
        assert all(address.startswith((site.address, "data:")) for address in page.asked)
        await page.value("document.querySelector('tbody th').closest('tr').remove()")
        await page.value("document.getElementById('live').dataset.shape = 'old'")
        await seen(page, "document.querySelector('#nodes tbody th') !== null")

    drive(devtools, scenario)


def test_the_page_passes_axe_in_both_themes_with_its_plots_and_table_open(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for size in ((1200, 900), (360, 800)):
            await set_size(page, *size)
            await page.go(site.address + "/nodes?minutes=15")
            await page.value("document.querySelector('details').open = true")
            await page.value(DRAWN)
            assert await axe_in_both_themes(page) == [], size
            assert await page.value("document.documentElement.scrollWidth") <= size[0]

    drive(devtools, scenario)


def test_M_A10_a_page_whose_server_is_gone_says_since_when(devtools: str, tmp_path: Path) -> None:
    async def scenario(page: Tab) -> None:
        with serving(Directory(tmp_path / "first")) as site:
            await page.go(site.address + "/nodes")
            await seen(page, "document.getElementById('liveness').textContent === 'Live,'")
            assert await page.value("document.getElementById('stale').hidden")
        await seen(page, "!document.getElementById('stale').hidden")
        assert "UTC" in await page.value("document.getElementById('stale-since').textContent")
        assert await page.value("document.body.classList.contains('is-stale')")

    drive(devtools, scenario)


def test_M_A10_after_a_fault_the_stream_is_asked_for_again_for_ever(site: Site, devtools: str) -> None:
    """A browser by itself would give it up for good."""

    async def scenario(page: Tab) -> None:
        is_live = "document.getElementById('stale').hidden"
        await page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="""{
              const Real = EventSource;
              window.asked = 0;
              window.EventSource = class extends Real {
                constructor(address) { super(++window.asked < 3 ? '/none' : address); }
              };
              for (const name of ["CONNECTING", "OPEN", "CLOSED"]) window.EventSource[name] = Real[name];
            }""",
        )
        await page.go(site.address + "/nodes")
        await seen(page, f"!{is_live}")
        await seen(page, is_live)
        assert await page.value("window.asked") == 3, "twice in vain, then once more"

    drive(devtools, scenario)


def test_the_page_reads_well_without_scripts(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.go(site.address + "/nodes")
        text = await page.value("document.body.innerText")
        assert "web" in text and "Machines" in text and "As a table" in text
        assert await page.value("document.querySelector('.plots').hidden")

    drive(devtools, scenario)
