"""The search page in a real browser: by mouse, by keyboard, and for screen readers."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import pytest
from tests.browser.axe import THEMES, axe, set_size, set_theme
from tests.browser.chromium import Tab, tab
from tests.web.site import Site

MOST_BYTES = 60_000
"""Of scripts and styles, compressed."""
WIDTHS = {"light": 1200, "dark": 360}
"""A desktop with the light theme, a phone with the dark one."""
STATES = {
    "start page": "/",
    "results": "/?q=harbour",
    "filtered": "/?q=demo&not_site=museum.demo.test&lang=en",
    "nothing found": "/?q=qwertzuiop",
    "an error": "/?q=harbour&since=nonsense",
    "not found": "/none",
}
COUNT = "document.getElementById('result-count').textContent"
BUSY = "Boolean(document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, [aria-busy]'))"


def drive(devtools: str, scenario: Callable[[Tab], Awaitable[None]]) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await scenario(page)
            assert await page.value("window.violations") == []

    asyncio.run(run())


async def until(page: Tab, condition: str) -> None:
    """Checks often, for at most some minutes."""
    for _ in range(4_000):
        if await page.value(condition):
            return
        await asyncio.sleep(0.03)
    raise AssertionError(f"never came true: {condition}")


async def stable(page: Tab, script: str) -> None:
    """Until there is a value that stays: the answer for three letters arrives after the one for two."""
    before: object = None
    for _ in range(400):
        current = await page.value(script)
        if current and current == before:
            return
        before = current
        await asyncio.sleep(0.3)
    raise AssertionError(f"never became stable: {script}")


async def texts(page: Tab, selector: str) -> list[str]:
    shown = await page.value(f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent.trim())")
    assert isinstance(shown, list)
    return shown


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_no_violation_in_any_state_of_the_search(site: Site, devtools: str, theme: str) -> None:
    async def scenario(page: Tab) -> None:
        await set_theme(page, theme)
        width = WIDTHS[theme]
        await set_size(page, width, 800)
        for state, place in STATES.items():
            await page.go(site.address + place)
            await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
            await page.value("document.getElementById('show-filters')?.click()")
            assert await axe(page) == [], state
            assert await page.value("document.scrollingElement.scrollWidth") <= width, state
        await page.press("?")
        assert await axe(page) == [], "the dialog of shortcuts"

    drive(devtools, scenario)


def test_axe_finds_a_missing_label(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/")
        await page.value(
            "document.querySelector('label[for=q]').remove(); document.getElementById('q').placeholder = ''"
        )
        assert [one.partition(":")[0] for one in await axe(page)] == ["label"]

    drive(devtools, scenario)


def test_results_appear_while_typing_and_the_url_changes(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/")
        await page.write("harbour")
        await until(page, "document.querySelectorAll('ol.hits > li').length > 0")
        await until(page, "location.search === '?q=harbour'")
        assert "pages in" in await page.value(COUNT)
        assert await page.value("document.activeElement.id") == "q", "typing can continue"
        assert await page.value("document.title") == "harbour · Gossamer"
        assert "JSON" in await page.value("document.getElementById('about-answer').textContent")

    drive(devtools, scenario)


def test_an_unfinished_word_finds_words_that_start_with_it(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/")
        await page.write("harbou")
        await until(page, "document.querySelectorAll('ol.hits > li').length > 0")
        await until(page, "document.querySelector('.note')?.textContent.includes('harbou*')")
        assert await page.value("document.getElementById('q').value") == "harbou"

    drive(devtools, scenario)


def test_suggestions_are_chosen_with_the_arrow_keys(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/")
        await page.write("har")
        await stable(page, "[...document.querySelectorAll('#suggested [role=option]')].map((one) => one.dataset.text)")
        assert await page.value("document.getElementById('q').getAttribute('aria-expanded')") == "true"
        first = await page.value("document.querySelector('#suggested [role=option]').dataset.text")
        await page.press("ArrowDown")
        assert await page.value("document.getElementById('q').value") == first
        named = "document.getElementById(document.getElementById('q').getAttribute('aria-activedescendant'))"
        assert await page.value(f"{named}.getAttribute('aria-selected')") == "true"
        assert (await axe(page)) == []
        await page.press("Escape")
        assert await page.value("document.getElementById('q').value") == "har", "Escape restores the typed text"
        assert await page.value("document.getElementById('suggested').hidden")
        assert await page.value("document.activeElement.id") == "q", "the first Escape closes the list only"
        await page.press("ArrowDown")
        await until(page, "document.querySelectorAll('#suggested [role=option]').length > 0")
        await page.press("ArrowDown")
        await page.press("Enter", loads=True)
        assert await page.value("document.getElementById('q').value") == first
        assert await page.value("document.querySelectorAll('ol.hits > li').length") > 0

    drive(devtools, scenario)


def test_filters_are_added_excluded_and_removed_by_click(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=demo")
        before = await page.value(COUNT)
        await page.value("document.querySelector('#facet-site + ul a.value').click()")
        await until(page, "location.search.includes('&site=') && document.querySelectorAll('.chips li').length === 1")
        assert await page.value(COUNT) != before
        assert await page.value("document.querySelectorAll('#facet-site + ul li').length") > 1, "more can be added"
        await page.value("document.querySelector('#facet-site + ul li:not(.chosen) a.not').click()")
        await until(
            page, "location.search.includes('not_site=') && document.querySelectorAll('.chips li.not').length === 1"
        )
        await page.value("setTimeout(() => history.back())")
        await until(page, "document.querySelectorAll('.chips li').length === 1")
        await page.value("document.querySelector('.chips a').click()")
        await until(page, "location.search === '?q=demo' && document.querySelectorAll('.chips li').length === 0")
        await until(page, f"!({BUSY})")
        assert (await page.value(COUNT)).split(" in ")[0] == before.split(" in ")[0]

    drive(devtools, scenario)


def test_the_focus_stays_on_the_chosen_filter(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=demo")
        await page.value("document.querySelector('#facet-lang + ul a.value').focus()")
        named = await page.value("document.activeElement.id")
        await page.press("Enter")
        await until(page, "location.search.includes('lang=') && document.querySelectorAll('.chips li').length > 0")
        await until(page, f"!({BUSY})")
        assert await page.value("document.activeElement.id") == named
        assert await page.value("document.activeElement.getAttribute('aria-current')") == "true"

    drive(devtools, scenario)


def test_the_explanation_of_a_result_opens_in_place(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=harbour")
        await page.value("document.querySelector('details.why summary').click()")
        await until(page, "document.querySelectorAll('details.why .parts li').length > 1")
        assert await axe(page) == []

    drive(devtools, scenario)


def test_keyboard_shortcuts_are_listed_and_open_the_sections(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=harbour")
        await page.press("?")
        assert await page.value("document.getElementById('keys').open")
        assert await page.value("document.activeElement.textContent") == "Close", "the focus moves into the dialog"
        assert {"g s", "g v", "g q", "g c", "g n", "j k", "/", "?"} <= set(await texts(page, "#keys th"))
        await page.press("j")
        assert await page.value("document.activeElement.textContent") == "Close", "shortcuts are off in the dialog"
        await page.press("Escape")
        assert not await page.value("document.getElementById('keys').open")
        await page.press("g")
        await page.press("q", loads=True)
        assert await page.value("location.pathname") == "/sparql"
        await page.press("g")
        await page.press("s", loads=True)
        assert await page.value("location.pathname") == "/"

    drive(devtools, scenario)


def test_a_result_is_opened_by_keyboard(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=harbour")
        await page.press("j")
        await page.press("j")
        title = await page.value("document.activeElement.textContent")
        await page.press("o", loads=True)
        assert await page.value("location.pathname") == "/page"
        assert await page.value("document.querySelector('h1').textContent") == title

    drive(devtools, scenario)


def test_filters_are_a_drawer_on_a_phone(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await set_size(page, 360, 740)
        await page.go(site.address + "/?q=demo")
        seen = "document.getElementById('filters').getBoundingClientRect().height > 0"
        assert not await page.value(seen)
        await page.value("document.getElementById('show-filters').click()")
        assert await page.value(seen)
        await page.value("document.querySelector('#facet-lang + ul a.value').click()")
        await until(page, "document.querySelectorAll('.chips li').length === 1")
        assert await page.value(seen), "it stays open for more filters"

    drive(devtools, scenario)


def test_the_search_page_is_light(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=harbour")
        loaded = {urlsplit(url).path for url in page.requested if urlsplit(url).path.endswith((".js", ".css"))}
        assert len(loaded) == 5
        bodies = [site.ask(path, accept="*/*").body for path in loaded]
        assert sum(len(gzip.compress(body)) for body in bodies) < MOST_BYTES
        assert [url for url in page.requested if not url.startswith(site.address + "/")] == []

    drive(devtools, scenario)


def test_only_the_results_are_printed(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=harbour")
        await page.call("Emulation.setEmulatedMedia", media="print")
        hidden = (
            "[...document.querySelectorAll('#filters, header nav, footer, form')].every((one) => !one.offsetHeight)"
        )
        assert await page.value(hidden)
        assert await page.value("document.querySelector('ol.hits').offsetHeight") > 0

    drive(devtools, scenario)
