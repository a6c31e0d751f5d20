"""The system manager in a real browser: live, stale, live again, and with charts."""

import asyncio
from pathlib import Path

from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import LONG_S, Tab, drive
from tests.web.site import Site, serving

from gossamer.store.directory import Directory

CHANGES = """new Promise((done) => new MutationObserver(() => done(true)).observe(
  document.querySelector('[data-cell=moment]'), {childList: true, characterData: true, subtree: true}))"""
DRAWN = """new Promise((done) => {
  window.scrollTo(0, document.body.scrollHeight);
  const look = () => document.querySelectorAll('.plot canvas').length === 6 ? done(6) : setTimeout(look, 50);
  look();
})"""


async def until(page: Tab, condition: str) -> None:
    async with asyncio.timeout(LONG_S):
        while not await page.value(condition):
            await asyncio.sleep(0.1)


def test_M_A10_the_figures_change_and_the_charts_are_drawn_within_the_policy(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/nodes")
        assert await page.value(CHANGES)
        await until(page, "document.getElementById('liveness').textContent === 'Live,'")
        assert await page.value(DRAWN) == 6
        assert "now: " in await page.value("document.querySelector('.plots').textContent")
        assert await page.value("window.violations") == [] and page.console_errors == []
        assert all(url.startswith((site.address, "data:")) for url in page.requested)
        await page.value("document.querySelector('tbody th').closest('tr').remove()")
        await page.value("document.getElementById('live').dataset.shape = 'old'")
        await until(page, "document.querySelector('#nodes tbody th') !== null")

    drive(devtools, scenario)


def test_axe_finds_no_violation_in_either_theme_with_charts_and_table_open(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for size in ((1200, 900), (360, 800)):
            await set_size(page, *size)
            await page.go(site.address + "/nodes?minutes=15")
            await page.value("document.querySelector('details').open = true")
            await page.value(DRAWN)
            assert await axe_in_both_themes(page) == [], size
            assert await page.value("document.documentElement.scrollWidth") <= size[0]

    drive(devtools, scenario)


def test_M_A10_a_page_shows_since_when_its_server_has_stopped(devtools: str, tmp_path: Path) -> None:
    async def scenario(page: Tab) -> None:
        with serving(Directory(tmp_path / "first")) as site:
            await page.go(site.address + "/nodes")
            await until(page, "document.getElementById('liveness').textContent === 'Live,'")
            assert await page.value("document.getElementById('stale').hidden")
        await until(page, "!document.getElementById('stale').hidden")
        assert "UTC" in await page.value("document.getElementById('stale-since').textContent")
        assert await page.value("document.body.classList.contains('is-stale')")

    drive(devtools, scenario)


def test_M_A10_after_an_error_the_stream_is_requested_again_without_end(site: Site, devtools: str) -> None:
    """A browser alone would give up."""

    async def scenario(page: Tab) -> None:
        is_live = "document.getElementById('stale').hidden"
        await page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="""{
              const Real = EventSource;
              window.requests = 0;
              window.EventSource = class extends Real {
                constructor(url) { super(++window.requests < 3 ? '/none' : url); }
              };
              for (const name of ["CONNECTING", "OPEN", "CLOSED"]) window.EventSource[name] = Real[name];
            }""",
        )
        await page.go(site.address + "/nodes")
        await until(page, f"!{is_live}")
        await until(page, is_live)
        assert await page.value("window.requests") == 3, "two failures, then once more"

    drive(devtools, scenario)


def test_the_page_can_be_read_without_scripts(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.go(site.address + "/nodes")
        text = await page.value("document.body.innerText")
        assert "web" in text and "Machines" in text and "As a table" in text
        assert await page.value("document.querySelector('.plots').hidden")

    drive(devtools, scenario)
