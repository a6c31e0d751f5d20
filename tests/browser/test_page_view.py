"""The page view in a real browser: links between a fact and its place in the copy, which runs no script."""

import asyncio
from urllib.parse import quote

from tests.browser.axe import THEMES, axe, set_size, set_theme
from tests.browser.chromium import Tab, tab
from tests.web.site import Site
from tests.web.test_page_view import with_body_facts

from gossamer.web.page.copy import place_of
from gossamer.web.page.routes import TABS


def place_in(site: Site, url: str) -> str:
    facts = site.ask("/page.json?url=" + quote(url, safe="")).json["facts"]
    paths = [fact["path"]["value"] for fact in facts]
    return place_of(next(path for path in paths if path.startswith("/html/body/")))


def test_a_fact_links_to_its_place_in_the_copy_and_the_place_to_the_fact(site: Site, devtools: str) -> None:
    url = with_body_facts(site)
    place = place_in(site, url)
    cached = f"{site.address}/page/cached?url={quote(url, safe='')}"

    async def scenario() -> None:
        async with tab(devtools) as page:
            await page.go(f"{cached}#gossamer-{place}")
            target = "document.querySelector(':target')"
            assert await page.value(f"{target}.id") == f"gossamer-{place}"
            assert await page.value(f"getComputedStyle({target}).outlineStyle") == "solid", "the mark is visible"
            assert await page.value("origin") == "null", "the copy has its own origin"
            await follow(page, f"{target}.href")
            assert await page.value("location.pathname + location.hash") == f"/page#at-{place}"
            assert await page.value("document.querySelector(':target').className") == "chosen"
            assert (await page.value("document.querySelector('iframe').src")).endswith(f"#gossamer-{place}")
            assert await page.value("window.violations") == []
            assert [one for one in page.requested if not one.startswith(site.address + "/")] == []

    asyncio.run(scenario())


async def follow(page: Tab, href: str) -> None:
    """Follow a link of a page that may not run scripts."""
    await page.go(str(await page.value(href)))


def test_F_W3_a_copy_cannot_read_data_of_the_site(site: Site, devtools: str) -> None:
    async def scenario() -> None:
        async with tab(devtools) as page:
            await page.go(f"{site.address}/page/cached?url={quote('http://museum.demo.test/', safe='')}")
            for forbidden in ("document.cookie", "localStorage.length", "navigator.serviceWorker.controller"):
                script = f"(() => {{ try {{ {forbidden}; return 'read' }} catch (e) {{ return e.name }} }})()"
                assert await page.value(script) == "SecurityError", forbidden
            reading = "fetch('/page.json?url=x').then(() => 'read', (e) => e.name)"
            assert await page.value(reading) == "TypeError"

    asyncio.run(scenario())


def test_axe_finds_no_violation_in_any_section_on_a_phone_and_nothing_is_cut_off(site: Site, devtools: str) -> None:
    page_url = f"{site.address}/page?url={quote(with_body_facts(site), safe='')}"
    places = [*[f"{page_url}&show={tab_name}" for tab_name in TABS], f"{site.address}/host?name=museum.demo.test"]

    async def scenario() -> None:
        async with tab(devtools) as page:
            await set_size(page, 390, 844)
            for place, theme in zip(places, THEMES * 4, strict=False):
                await set_theme(page, theme)
                await page.go(place)
                assert await axe(page) == [], place
                assert await page.value("document.scrollingElement.scrollWidth") <= 390, place

    asyncio.run(scenario())
