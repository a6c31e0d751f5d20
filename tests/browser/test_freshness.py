"""The page on freshness in a real browser: no violation in either theme, also on a phone."""

import asyncio
from pathlib import Path

from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import tab
from tests.monitor.chronicles import chronicle_of
from tests.web.site import serving
from tests.web.test_freshness import HOSTILE, served

WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def test_axe_finds_no_violation_and_nothing_is_wider_than_a_phone(devtools: str, tmp_path: Path) -> None:
    directory = served(tmp_path / "c", chronicle_of(range(0, 4000, 40), ("a.test", HOSTILE)))
    errors: dict[str, object] = {}

    async def run(url: str) -> None:
        async with tab(devtools) as page:
            for path in ("/crawl/freshness", "/crawl/freshness?site=a.test", "/crawl/freshness?site=no.test"):
                for width in (1200, 390):
                    await set_size(page, width, 900)
                    await page.go(url + path)
                    violations = await axe_in_both_themes(page)
                    if violations or await page.value(WIDER) or await page.value("window.violations"):
                        errors[f"{path} at {width}"] = violations or "it is too wide, or violates its policy"

    with serving(directory) as site:
        asyncio.run(run(site.address))
    assert errors == {}
