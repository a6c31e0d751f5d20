"""The pages of entities in a real browser: the drawing, the table with the same data, the keyboard, both themes."""

import asyncio
from urllib.parse import quote

import pytest
from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import LONG_S, Tab, drive
from tests.web.hostile_pages import RUN
from tests.web.site import Site

QUERY = """SELECT ?entity (COUNT(DISTINCT ?page) AS ?pages)
WHERE { GRAPH ?page { ?entity a <http://schema.org/Person> }
FILTER STRSTARTS(STR(?entity), "http://people.demo.test/") } GROUP BY ?entity ORDER BY DESC(?pages) ?entity LIMIT 1"""
LIBRARY = "/static/vendor/cytoscape.min.js"
DRAWN = """(async () => {
  while (!document.getElementById('graph').dataset.drawn) await new Promise((done) => setTimeout(done, 20));
})()"""
DIRECTIONS = "[...document.querySelectorAll('#neighbours tbody tr')].map((row) => row.dataset.direction)"
TO_GRAPH = "document.getElementById('graph').scrollIntoView({behavior: 'instant', block: 'center'})"
HOSTILE = [f"javascript:{RUN}", f"javascript:{RUN}//0", f"javascript:{RUN}//2", f"http://types.test/0'onclick='{RUN}",
           "http://schema.org/Person", "http://schema.org/name"]  # fmt: skip


def person(site: Site) -> str:
    iri = site.sparql(QUERY).json["results"]["bindings"][0]["entity"]["value"]
    return "/entity?iri=" + quote(iri, safe="")


def test_the_drawing_is_loaded_when_it_is_visible_and_from_our_own_origin(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await set_size(page, 1200, 500)
        await page.go(site.address + person(site))
        assert not any(LIBRARY in url for url in page.requested), "it is not visible yet"
        await page.value(TO_GRAPH)
        await page.value(DRAWN)
        assert sum(LIBRARY in url for url in page.requested) == 1
        assert [url for url in page.requested if not url.startswith(site.address + "/")] == []
        assert page.console_errors == [] and await page.value("window.violations") == []

    drive(devtools, scenario)


def test_the_drawing_and_the_table_have_the_same_data(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + person(site))
        await page.value(TO_GRAPH)
        await page.value(DRAWN)
        rows = await page.value(DIRECTIONS)
        drawn = await page.value("drawnGraph.edges().map((edge) => edge.data('side'))")
        assert drawn == rows and await page.value("drawnGraph.nodes().length") == len(rows) + 1
        await page.value("document.querySelectorAll('#neighbours tbody tr')[1].querySelector('a').focus()")
        assert await page.value("drawnGraph.nodes(':selected').map((one) => one.data('row'))") == [1]

    drive(devtools, scenario)


def test_the_drawing_is_explored_and_opened_by_keyboard(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        await page.go(site.address + person(site))
        await page.value(TO_GRAPH)
        await page.value(DRAWN)
        await page.value("document.getElementById('graph').focus()")
        assert await page.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        await key(page, "ArrowDown")
        text = await page.value("document.getElementById('graph-says').textContent")
        assert "refers to" in text and await page.value("drawnGraph.animated()") is False
        await key(page, "ArrowDown")
        await key(page, "ArrowUp")
        assert await page.value("document.getElementById('graph-says').textContent") == text
        assert await page.value("document.querySelectorAll('#neighbours tr.chosen').length") == 1
        before = await page.value("drawnGraph.zoom()")
        await key(page, "+")
        assert await page.value("drawnGraph.zoom()") > before
        name = await page.value("document.querySelector('#neighbours tr.chosen').dataset.name")
        page._loaded.clear()
        await key(page, "Enter")
        await asyncio.wait_for(page._loaded.wait(), LONG_S)
        assert await page.value("document.querySelector('h1').textContent") == name

    drive(devtools, scenario)


async def key(page: Tab, name: str) -> None:
    codes = {"ArrowDown": 40, "ArrowUp": 38, "Enter": 13, "+": 187}
    stroke = {"key": name, "windowsVirtualKeyCode": codes[name]}
    await page.call("Input.dispatchKeyEvent", type="rawKeyDown", **stroke)
    await page.call("Input.dispatchKeyEvent", type="keyUp", **stroke)


def test_axe_finds_no_violation_on_the_pages_of_entities(site: Site, devtools: str) -> None:
    places = [person(site), "/entity?iri=schema:Person", "/entity?iri=schema:name", "/vocabularies",
              "/vocabularies?in=http%3A%2F%2Fschema.org%2F", "/entity?iri=x",
              "/entity?iri=" + quote(HOSTILE[1], safe="")]  # fmt: skip

    async def scenario(page: Tab) -> None:
        for place in places:
            await page.go(site.address + place)
            await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
            if place == places[0]:
                await page.value(TO_GRAPH)
                await page.value(DRAWN)
            assert await axe_in_both_themes(page) == [], place

    drive(devtools, scenario)


def test_no_page_is_wider_than_a_phone(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await set_size(page, 360, 740)
        for place in (person(site), "/entity?iri=schema:Person", "/vocabularies", "/vocabularies?in=schema"):
            await page.go(site.address + place)
            assert await page.value("document.scrollingElement.scrollWidth") <= 360, place

    drive(devtools, scenario)


def test_without_scripts_the_table_is_shown_without_the_drawing(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.go(site.address + person(site))
        document = await page.call("DOM.getDocument", depth=0)
        for selector, least in (("#neighbours tbody tr", 3), ("#graph[hidden]", 1), ("table.said tbody", 5)):
            shown = await page.call("DOM.querySelectorAll", nodeId=document["root"]["nodeId"], selector=selector)
            assert len(shown["nodeIds"]) >= least, selector
        assert not any(LIBRARY in url for url in page.requested)

    drive(devtools, scenario)


@pytest.mark.parametrize("has_policy", [True, False], ids=["with its policy", "with the policy stripped"])
def test_F_W1_hostile_entities_never_run(site: Site, devtools: str, has_policy: bool) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Page.setBypassCSP", enabled=not has_policy)
        for iri in HOSTILE:
            await page.go(site.address + "/entity?iri=" + quote(iri, safe=""))
            await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
            if await page.value("!!document.getElementById('graph')"):
                await page.value(TO_GRAPH)
                await page.value(DRAWN)
            assert await page.value("typeof window.hacked") == "undefined", iri
            assert await page.value("window.violations") == [], iri
        assert page.dialogs == []
        assert [url for url in page.requested if not url.startswith(site.address + "/")] == []

    drive(devtools, scenario)
