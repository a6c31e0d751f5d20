"""What holds for every page of the site: axe finds nothing, by day and by night; nothing is asked of anybody else."""

import asyncio

from tests.browser.axe import axe, axe_in_both_themes, set_theme
from tests.browser.chromium import tab
from tests.browser.pages import EVERY_PAGE
from tests.web.site import Site

TABS_AT_ONCE = 2
TWICE = """(() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place);
})()"""
PALE = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("@media (prefers-color-scheme: dark) { main p { color: #333 !important; } }");
  document.adoptedStyleSheets = [sheet];
})()"""


def test_axe_finds_nothing_on_any_page_in_either_theme(site: Site, devtools: str) -> None:
    faults: dict[str, object] = {}
    left = iter(EVERY_PAGE)

    async def look_through() -> None:
        async with tab(devtools) as page:
            for place in left:
                await page.go(site.address + place)
                found = await axe_in_both_themes(page)
                found += [f"two elements are named {name}" for name in await page.value(TWICE)]
                if found or await page.value("window.violations"):
                    faults[place] = found or "it breaks its own policy"
            faults.update({url: "is not ours" for url in page.asked if not url.startswith(site.address + "/")})

    async def run() -> None:
        async with asyncio.TaskGroup() as crew:
            for _ in range(TABS_AT_ONCE):
                crew.create_task(look_through())

    asyncio.run(run())
    assert faults == {}


def test_what_is_pale_in_the_dark_alone_is_seen(site: Site, devtools: str) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await page.go(site.address + "/door")
            await page.value(PALE)
            await set_theme(page, "light")
            assert await axe(page) == []
            assert [fault.split(":")[1].strip() for fault in await axe_in_both_themes(page)] == ["color-contrast"]

    asyncio.run(run())
