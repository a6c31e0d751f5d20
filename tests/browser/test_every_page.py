"""Tests of every page: no violation in either theme, unique ids, and no requests to other sites."""

import asyncio

from tests.browser.axe import axe, axe_in_both_themes, set_theme
from tests.browser.chromium import tab
from tests.browser.pages import EVERY_PAGE
from tests.web.site import Site

TABS_AT_ONCE = 2
DUPLICATE_IDS = """(() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place);
})()"""
LOW_CONTRAST = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("@media (prefers-color-scheme: dark) { main p { color: #333 !important; } }");
  document.adoptedStyleSheets = [sheet];
})()"""


def test_axe_finds_no_violation_on_any_page_in_either_theme(site: Site, devtools: str) -> None:
    errors: dict[str, object] = {}
    left = iter(EVERY_PAGE)

    async def check_pages() -> None:
        async with tab(devtools) as page:
            for place in left:
                await page.go(site.address + place)
                found = await axe_in_both_themes(page)
                found += [f"two elements have the id {name}" for name in await page.value(DUPLICATE_IDS)]
                if found or await page.value("window.violations"):
                    errors[place] = found or "it violates its own policy"
            errors.update({url: "another site" for url in page.requested if not url.startswith(site.address + "/")})

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(TABS_AT_ONCE):
                group.create_task(check_pages())

    asyncio.run(run())
    assert errors == {}


def test_low_contrast_in_the_dark_theme_only_is_found(site: Site, devtools: str) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await page.go(site.address + "/door")
            await page.value(LOW_CONTRAST)
            await set_theme(page, "light")
            assert await axe(page) == []
            assert [one.split(":")[1].strip() for one in await axe_in_both_themes(page)] == ["color-contrast"]

    asyncio.run(run())
