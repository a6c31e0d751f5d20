"""Controlling a crawl in a real browser: start, pause, resume, stop; a rule typed, previewed and saved."""

import asyncio
from pathlib import Path
from urllib.parse import quote

from tests.browser.axe import THEMES, axe, set_size, set_theme
from tests.browser.chromium import Tab, drive
from tests.web.crawling import Admin, admin_site, many
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


async def until(page: Tab, condition: str) -> None:
    async with asyncio.timeout(LONG_S):
        while not await page.value(f"document.readyState === 'complete' && Boolean({condition})"):
            await asyncio.sleep(0.1)


async def click(page: Tab, text: str) -> None:
    """Click with the mouse on the button or link with this text."""
    position = await page.value(
        f"""(() => {{
          const all = [...document.querySelectorAll('main button, main a')];
          const one = all.find((it) => it.textContent.trim() === {text!r});
          one.scrollIntoView({{block: 'center', behavior: 'instant'}});
          const box = one.getBoundingClientRect();
          return {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
        }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **position)


async def sign_in(page: Tab, admin: Admin) -> None:
    await page.go(f"{admin.site.address}/crawl?token={admin.token}")
    assert "token=" not in await page.value("location.href")


def test_M_A9_start_pause_resume_and_stop_by_click(devtools: str, tmp_path: Path) -> None:
    with admin_site(tmp_path, many(600), delay_s=0.1) as admin:

        async def scenario(page: Tab) -> None:
            await sign_in(page, admin)
            assert await page.value(STATE) == "idle"
            await page.value("document.getElementById('typed').focus()")
            await page.call("Input.insertText", text=admin.web.root)
            await click(page, "Add and start")
            await until(page, f"{STATE} === 'running'")
            assert "1 URL added" in await page.value("document.querySelector('div[role=status]').textContent")
            await until(page, "document.querySelectorAll('.newest li').length >= 2")  # without a reload
            await click(page, "Pause")
            await until(page, f"{STATE} === 'paused'")
            await click(page, "Resume")
            await until(page, f"{STATE} === 'running'")
            await click(page, "Stop …")
            await until(page, "document.getElementById('sure')")
            await click(page, "Yes, stop")
            await until(page, f"{STATE} === 'idle'")  # without a reload
            assert "was stopped" in await page.value("document.body.innerText")
            assert await page.value("window.violations") == [] and page.console_errors == []
            assert all(url.startswith(admin.site.address) for url in page.requested)

        drive(devtools, scenario)


def test_M_B6_a_rule_is_typed_saved_and_applied_and_the_list_of_fetches_is_live(devtools: str, tmp_path: Path) -> None:
    with admin_site(tmp_path, many(600), delay_s=0.1) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, then="start")

        async def scenario(page: Tab) -> None:
            await sign_in(page, admin)
            await page.go(admin.site.address + "/crawl/rules")
            await page.value("document.getElementById('draft').focus()")
            await page.call("Input.insertText", text='exclude path ~ "^/dog/"')
            await click(page, "Preview")
            await until(page, "document.querySelector('.effect')")
            assert "waiting URLs would be excluded" in await page.value("document.querySelector('.effect').innerText")
            await click(page, "Save")
            await until(page, "document.querySelector('div[role=status]')")
            assert "applies them now" in await page.value("document.querySelector('div[role=status]').textContent")
            await page.go(admin.site.address + "/crawl/visits")
            first = "document.querySelector('.visits tbody tr').dataset.position"
            await until(page, "document.querySelector('.visits tbody tr')")
            before = await page.value(first)
            await until(page, f"{first} !== {before!r} && document.querySelector('tr.new')")
            hits = len(admin.web.hits)
            await until(page, "document.getElementById('liveness').textContent === 'Live'")
            await page.press("j")
            assert "/page?url=" in await page.value("document.activeElement.getAttribute('href')")
            await until(page, "document.getElementById('liveness').textContent.startsWith('Paused')")
            assert [path for path in admin.web.hits[hits:] if path.startswith("/dog/")] == []
            assert await page.value("window.violations") == [] and page.console_errors == []

        drive(devtools, scenario)


def test_without_scripts_a_crawl_can_be_controlled_too(devtools: str, tmp_path: Path) -> None:
    with admin_site(tmp_path, many(600), delay_s=0.1) as admin:

        async def scenario(page: Tab) -> None:
            await page.call("Emulation.setScriptExecutionDisabled", value=True)
            await sign_in(page, admin)
            await page.value(f"document.getElementById('typed').value = {admin.web.root!r}")
            await click(page, "Add and start")
            await until(page, f"{STATE} === 'running'")
            await click(page, "Pause")
            await until(page, f"{STATE} === 'paused'")

        drive(devtools, scenario)
        assert 0 < len(admin.web.hits) < 1200, "it started, and was paused before its end"


def test_axe_finds_no_violation_and_nothing_overflows_when_signed_in(devtools: str, tmp_path: Path) -> None:
    with admin_site(tmp_path, many(30)) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, then="start")

        async def scenario(page: Tab) -> None:
            await sign_in(page, admin)
            for theme, width in zip(THEMES, (1200, 360), strict=True):
                await set_theme(page, theme)
                await set_size(page, width, 800)
                for place in PAGES:
                    await page.go(admin.site.address + place)
                    assert await axe(page) == [], (theme, width, place)
                    assert await page.value("document.documentElement.scrollWidth") <= width, (width, place)

        drive(devtools, scenario)


def test_a_page_shows_that_its_server_has_stopped(devtools: str, tmp_path: Path) -> None:
    async def scenario(page: Tab) -> None:
        with admin_site(tmp_path) as admin:
            await sign_in(page, admin)
            assert await page.value("document.getElementById('stale').hidden")
        await until(page, "!document.getElementById('stale').hidden")

    drive(devtools, scenario)


def test_readers_see_no_buttons_that_change_anything(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in PAGES:
            await page.go(site.address + place)
            assert (
                await page.value("document.querySelectorAll('main form[method=post] button:not([formmethod])').length")
                == 0
            )

    drive(devtools, scenario)


def test_a_page_is_fetched_again_by_click_and_shows_what_it_waits_for(devtools: str, tmp_path: Path) -> None:
    with admin_site(tmp_path, many(3)) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, reach="host", then="start")

        async def scenario(page: Tab) -> None:
            await sign_in(page, admin)
            await until(page, f"{STATE} === 'idle' && document.body.textContent.includes('fetched')")
            first = admin.web.pages_hit().count("/")
            where = f"{admin.site.address}/page?url={quote(admin.web.root, safe='')}"
            for width in (1280, 400):
                await set_size(page, width, 900)
                await page.go(where)
                assert await axe(page) == []
                if width == 1280:
                    await click(page, "Fetch again")
                    await until(page, "document.querySelector('.note.good')")
                    text = await page.value("document.querySelector('main').textContent")
                    assert "when the crawl is started next" in text
                assert not await page.value(BUTTON) and await axe(page) == []
                assert await page.value("document.scrollingElement.scrollWidth <= innerWidth")
            await click(page, "Start the crawl")
            await until(page, "location.pathname === '/crawl'")
            await click(page, "Start the crawl")
            async with asyncio.timeout(LONG_S):
                while admin.web.pages_hit().count("/") != first + 1 or not await page.value(BUTTON):
                    await asyncio.sleep(0.2)
                    await page.go(where)
            assert await page.value("window.violations") == []

        drive(devtools, scenario)
