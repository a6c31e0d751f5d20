"""What holds for every page of the site: axe finds nothing, by day and by night; nothing is asked of anybody else."""

import asyncio

import pytest
from tests.browser.axe import THEMES, axe, set_theme
from tests.browser.chromium import tab
from tests.browser.pages import EVERY_PAGE
from tests.web.site import Site


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_on_any_page(site: Site, devtools: str, theme: str) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await set_theme(page, theme)
            faults = {}
            for place in EVERY_PAGE:
                await page.go(site.address + place)
                found = await axe(page)
                if found or await page.value("window.violations"):
                    faults[place] = found or "it breaks its own policy"
            assert faults == {}
            assert [url for url in page.asked if not url.startswith(site.address + "/")] == []

    asyncio.run(run())
