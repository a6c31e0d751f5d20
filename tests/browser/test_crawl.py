"""The crawl steered by clicks in a real browser: started, paused, resumed, stopped; a rule typed, tried and saved."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

from tests.browser.axe import THEMES, axe, set_size, set_theme
from tests.browser.chromium import Tab, tab
from tests.web.crawling import Desk, desk, many
from tests.web.site import LONG_S, Site

PAGES = (
    "/crawl",
    "/crawl?confirm=stop",
    "/crawl/visits",
    "/crawl/visits?text=zzz",
    "/crawl/hosts",
    "/crawl/rules",
    "/crawl/rules?add=exclude+path+~+dog",
    "/crawl/rules?add=nonsense",
)
BUTTON = "[...document.querySelectorAll('button')].some((one) => one.textContent === 'Fetch again')"
STATE = "document.querySelector('[data-state]')?.dataset.state"


def drive(devtools: str, scenario: Callable[[Tab], Awaitable[None]]) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await scenario(page)

    asyncio.run(run())


async def seen(page: Tab, condition: str) -> None:
    async with asyncio.timeout(LONG_S):
        while not await page.value(f"document.readyState === 'complete' && Boolean({condition})"):
            await asyncio.sleep(0.1)


async def click(page: Tab, text: str) -> None:
    """What bears this text, at its place on the screen, as a mouse would."""
    spot = await page.value(
        f"""(() => {{
          const all = [...document.querySelectorAll('main button, main a')];
          const one = all.find((it) => it.textContent.trim() === {text!r});
          one.scrollIntoView({{block: 'center', behavior: 'instant'}});
          const box = one.getBoundingClientRect();
          return {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
        }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **spot)


async def come_in(page: Tab, here: Desk) -> None:
    await page.go(f"{here.site.address}/crawl?token={here.token}")
    assert "token=" not in await page.value("location.href")


def test_M_A9_start_pause_resume_and_stop_by_click(devtools: str, tmp_path: Path) -> None:
    with desk(tmp_path, many(600), delay_s=0.1) as here:

        async def scenario(page: Tab) -> None:
            await come_in(page, here)
            assert await page.value(STATE) == "at rest"
            await page.value("document.getElementById('typed').focus()")
            await page.call("Input.insertText", text=here.web.root)
            await click(page, "Add and start")
            await seen(page, f"{STATE} === 'running'")
            assert "1 URL added" in await page.value("document.querySelector('div[role=status]').textContent")
            await seen(page, "document.querySelectorAll('.newest li').length >= 2")  # by itself
            await click(page, "Pause")
            await seen(page, f"{STATE} === 'paused'")
            await click(page, "Resume")
            await seen(page, f"{STATE} === 'running'")
            await click(page, "Stop …")
            await seen(page, "document.getElementById('sure')")
            await click(page, "Yes, stop")
            await seen(page, f"{STATE} === 'at rest'")  # by itself
            assert "was stopped" in await page.value("document.body.innerText")
            assert await page.value("window.violations") == [] and page.complaints == []
            assert all(address.startswith(here.site.address) for address in page.asked)

        drive(devtools, scenario)


def test_M_B6_a_rule_is_typed_tried_saved_and_obeyed_and_the_visits_are_live(devtools: str, tmp_path: Path) -> None:
    with desk(tmp_path, many(600), delay_s=0.1) as here:
        here.change("/crawl/seeds", seeds=here.web.root, then="start")

        async def scenario(page: Tab) -> None:
            await come_in(page, here)
            await page.go(here.site.address + "/crawl/rules")
            await page.value("document.getElementById('draft').focus()")
            await page.call("Input.insertText", text='exclude path ~ "^/dog/"')
            await click(page, "Preview")
            await seen(page, "document.querySelector('.effect')")
            assert "waiting URLs would be excluded" in await page.value("document.querySelector('.effect').innerText")
            await click(page, "Save")
            await seen(page, "document.querySelector('div[role=status]')")
            assert "applies them now" in await page.value("document.querySelector('div[role=status]').textContent")
            await page.go(here.site.address + "/crawl/visits")
            first = "document.querySelector('.visits tbody tr').dataset.position"
            await seen(page, "document.querySelector('.visits tbody tr')")
            before = await page.value(first)
            await seen(page, f"{first} !== {before!r} && document.querySelector('tr.new')")
            hits = len(here.web.hits)
            await seen(page, "document.getElementById('liveness').textContent === 'Live'")
            await page.press("j")
            assert "/page?url=" in await page.value("document.activeElement.getAttribute('href')")
            await seen(page, "document.getElementById('liveness').textContent.startsWith('Paused')")
            assert [path for path in here.web.hits[hits:] if path.startswith("/dog/")] == []
            assert await page.value("window.violations") == [] and page.complaints == []

        drive(devtools, scenario)


def test_without_scripts_a_crawl_is_steered_too(devtools: str, tmp_path: Path) -> None:
    with desk(tmp_path, many(600), delay_s=0.1) as here:

        async def scenario(page: Tab) -> None:
            await page.call("Emulation.setScriptExecutionDisabled", value=True)
            await come_in(page, here)
            await page.value(f"document.getElementById('typed').value = {here.web.root!r}")
            await click(page, "Add and start")
            await seen(page, f"{STATE} === 'running'")
            await click(page, "Pause")
            await seen(page, f"{STATE} === 'paused'")

        drive(devtools, scenario)
        assert 0 < len(here.web.hits) < 1200, "it began, and was paused before its end"


def test_axe_finds_nothing_and_nothing_overflows_with_the_token_in_both_themes(devtools: str, tmp_path: Path) -> None:
    with desk(tmp_path, many(30)) as here:
        here.change("/crawl/seeds", seeds=here.web.root, then="start")

        async def scenario(page: Tab) -> None:
            await come_in(page, here)
            for theme, width in zip(THEMES, (1200, 360), strict=True):
                await set_theme(page, theme)
                await set_size(page, width, 800)
                for place in PAGES:
                    await page.go(here.site.address + place)
                    assert await axe(page) == [], (theme, width, place)
                    assert await page.value("document.documentElement.scrollWidth") <= width, (width, place)

        drive(devtools, scenario)


def test_a_page_whose_server_is_gone_says_so(devtools: str, tmp_path: Path) -> None:
    async def scenario(page: Tab) -> None:
        with desk(tmp_path) as here:
            await come_in(page, here)
            assert await page.value("document.getElementById('stale').hidden")
        await seen(page, "!document.getElementById('stale').hidden")

    drive(devtools, scenario)


def test_readers_see_everything_and_can_change_nothing(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in PAGES:
            await page.go(site.address + place)
            assert (
                await page.value("document.querySelectorAll('main form[method=post] button:not([formmethod])').length")
                == 0
            )

    drive(devtools, scenario)


def test_a_page_is_fetched_again_by_click_and_the_page_says_what_it_waits_for(devtools: str, tmp_path: Path) -> None:
    with desk(tmp_path, many(3)) as here:
        here.change("/crawl/seeds", seeds=here.web.root, reach="host", then="start")

        async def scenario(page: Tab) -> None:
            await come_in(page, here)
            await seen(page, f"{STATE} === 'at rest' && document.body.textContent.includes('fetched')")
            first = here.web.pages_hit().count("/")
            where = f"{here.site.address}/page?url={quote(here.web.root, safe='')}"
            for width in (1280, 400):
                await set_size(page, width, 900)
                await page.go(where)
                assert await axe(page) == []
                if width == 1280:
                    await click(page, "Fetch again")
                    await seen(page, "document.querySelector('.note.good')")
                    said = await page.value("document.querySelector('main').textContent")
                    assert "when the crawl is started next" in said
                assert not await page.value(BUTTON) and await axe(page) == []
                assert await page.value("document.scrollingElement.scrollWidth <= innerWidth")
            await click(page, "Start the crawl")
            await seen(page, "location.pathname === '/crawl'")
            await click(page, "Start the crawl")
            async with asyncio.timeout(LONG_S):
                while here.web.pages_hit().count("/") != first + 1 or not await page.value(BUTTON):
                    await asyncio.sleep(0.2)
                    await page.go(where)
            assert await page.value("window.violations") == []

        drive(devtools, scenario)
