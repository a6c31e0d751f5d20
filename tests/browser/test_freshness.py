"""The page of freshness in a real browser: nothing axe objects to, by day and by night, on a phone too."""

import asyncio
from pathlib import Path

from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import tab
from tests.monitor.chronicles import chronicle_of
from tests.web.site import serving
from tests.web.test_freshness import NASTY, served

WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(devtools: str, tmp_path: Path) -> None:
    directory = served(tmp_path / "c", chronicle_of(range(0, 4000, 40), ("a.test", NASTY)))
    faults: dict[str, object] = {}

    async def run(address: str) -> None:
        async with tab(devtools) as page:
            for path in ("/crawl/freshness", "/crawl/freshness?site=a.test", "/crawl/freshness?site=no.test"):
                for width in (1200, 390):
                    await set_size(page, width, 900)
                    await page.go(address + path)
                    found = await axe_in_both_themes(page)
                    if found or await page.value(WIDER) or await page.value("window.violations"):
                        faults[f"{path} at {width}"] = found or "it is wider than the screen, or breaks its policy"

    with serving(directory) as site:
        asyncio.run(run(site.address))
    assert faults == {}
