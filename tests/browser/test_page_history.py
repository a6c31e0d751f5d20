"""The timeline of a page in a real browser: accessible, at every width."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.archive.past import SHOP
from tests.browser.axe import THEMES, axe, set_size, set_theme
from tests.browser.chromium import tab
from tests.web.site import Site, serving
from tests.web.test_page_history import HOSTILE, changing_collection, moment, warmed
from tests.web.test_page_view import at

PLACES = [
    at(SHOP.text, show="versions"),
    at(SHOP.text, show="versions", **{"from": moment(0), "to": moment(10)}),
    at(HOSTILE.text, show="versions", **{"from": moment(1), "to": moment(5)}),
]


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(changing_collection(tmp_path_factory.mktemp("changing") / "c")) as served:
        yield warmed(served)


def test_axe_finds_no_violation_in_the_timeline_or_in_a_difference(changing: Site, devtools: str) -> None:
    async def scenario() -> None:
        async with tab(devtools) as page:
            for width, theme in zip((1200, 360), THEMES, strict=True):
                await set_size(page, width, 844)
                await set_theme(page, theme)
                for place in PLACES:
                    await page.go(changing.address + place)
                    assert await axe(page) == [], place
                    assert await page.value("document.scrollingElement.scrollWidth") <= width, place
                    assert await page.value("window.violations") == [] and page.dialogs == []

    asyncio.run(scenario())


def test_two_versions_are_chosen_and_compared_with_the_form(changing: Site, devtools: str) -> None:
    async def scenario() -> None:
        async with tab(devtools) as page:
            await page.go(changing.address + PLACES[0])
            await page.value(f"document.getElementById('compare-from').value = '{moment(0)}'")
            await page.value(f"document.getElementById('compare-to').value = '{moment(2)}'")
            await page.value("document.querySelector('form.compare button').click()")
            for _ in range(2_000):
                if await page.value("document.querySelectorAll('section.difference').length"):
                    break
                await asyncio.sleep(0.05)
            difference = await page.value("document.querySelector('ul.lines.mono').innerText")
            assert '"20.00"' in difference and '"18.00"' in difference
            assert "show=versions" in await page.value("location.search")

    asyncio.run(scenario())
