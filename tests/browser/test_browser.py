"""The site in a real browser: by keyboard alone, on paper or at night, and with the worst the web can send."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from tests.browser.axe import set_size
from tests.browser.chromium import LAN, Tab, running, tab
from tests.cli.site import wait_until
from tests.web.hostile_pages import ORIGIN, WORD, pages
from tests.web.site import Site, serving

from gossamer.store.directory import Directory

FACTS = f"SELECT ?g ?s ?p ?o WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER STRSTARTS(STR(?g), '{ORIGIN}') }}"
HOSTILE = [
    f"/?q={WORD}",
    f"/?q={quote('<script>window.hacked=1</script>')}",
    f"/sparql?query={quote(FACTS)}",
    f"/{quote('<img src=x onerror=window.hacked=1>')}",
    *(f"/page?url={quote(url, safe='')}" for url, _ in pages()),
]
PLACES = ["/", "/?q=harbour", "/?q=qwertzuiop", "/?q=type:Recipe", "/status", "/sparql", "/sparql?query=nonsense",
          "/none", "/page?url=" + quote("http://museum.demo.test/", safe=""),
          f"/page?url={quote(ORIGIN + '/page/1', safe='')}",
          "/sparql?query=" + quote("SELECT * WHERE { ?s ?p ?o } LIMIT 50")]  # fmt: skip
CONTRAST = """
(() => {
  const parts = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = (color) => {
    const line = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = parts(color).map((v) => line(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor, p = parts(color);
      if (p.length === 3 || p[3] > 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = [];
  for (const node of document.querySelectorAll("body *")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(node.tagName + " " + node.className + " " + ratio.toFixed(2));
  }
  return bad;
})()
"""
FOCUSED = "document.activeElement.textContent"


def drive(devtools: str, scenario: Callable[[Tab], Awaitable[None]]) -> None:
    async def run() -> None:
        async with tab(devtools) as page:
            await scenario(page)

    asyncio.run(run())


def test_a_search_by_keyboard_alone(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/status")
        await page.press("/")
        await page.write("harbour")
        await page.press("Enter", loads=True)
        assert await page.value("location.pathname + location.search") == "/?q=harbour"
        titles = await page.value("[...document.querySelectorAll('ol.hits h2 a')].map((one) => one.textContent)")
        assert len(titles) > 2
        for key, expected in (("j", 0), ("j", 1), ("k", 0), ("k", 0)):
            await page.press(key)
            assert await page.value(FOCUSED) == titles[expected]
        await page.press("Enter", loads=True)
        assert await page.value("document.querySelector('h1').textContent") == titles[0]
        assert page.complaints == [] and await page.value("window.violations") == []

    drive(devtools, scenario)


def test_letters_in_the_box_are_letters(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/")
        await page.write("j/k")
        assert await page.value("document.querySelector('#q').value") == "j/k"

    drive(devtools, scenario)


def test_the_first_stop_of_the_tab_key_skips_to_the_content(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/?q=harbour")
        await page.press("Tab")
        assert await page.value(FOCUSED) == "Skip to content"
        assert await page.value("document.activeElement.getBoundingClientRect().left >= 0")
        await page.press("Enter")
        await page.press("Tab")
        assert await page.value("document.activeElement.id") == "q"

    drive(devtools, scenario)


def test_everything_works_without_scripts(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.go(site.address + "/")
        await page.write("harbour")
        await page.press("Enter", loads=True)
        document = await page.call("DOM.getDocument", depth=0)
        found = await page.call("DOM.querySelectorAll", nodeId=document["root"]["nodeId"], selector="ol.hits > li")
        assert len(found["nodeIds"]) > 2

    drive(devtools, scenario)


@pytest.mark.parametrize("has_policy", [True, False], ids=["with its policy", "with the policy stripped"])
def test_F_W1_hostile_content_runs_nowhere(site: Site, devtools: str, has_policy: bool) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Page.setBypassCSP", enabled=not has_policy)
        for place in HOSTILE:
            await page.go(site.address + place)
            await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
            assert await page.value("typeof window.hacked") == "undefined", place
            assert await page.value("window.violations") == [], place
            assert await page.value("[...document.scripts].every((one) => one.src.startsWith(origin + '/static/'))")
        assert page.dialogs == []
        strangers = [url for url in page.asked if not url.startswith(site.address + "/")]
        assert strangers == []

    drive(devtools, scenario)


def test_no_page_asks_beyond_this_machine_nor_breaks_its_own_policy(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in PLACES:
            await page.go(site.address + place)
            assert await page.value("window.violations") == [], place
        assert [url for url in page.asked if not url.startswith(site.address + "/")] == []
        faults = [words for words in page.complaints if "status of 4" not in words]
        assert faults == []

    drive(devtools, scenario)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(site: Site, devtools: str, scheme: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        grounds = set()
        for place in PLACES:
            await page.go(site.address + place)
            grounds.add(await page.value("getComputedStyle(document.body).backgroundColor"))
            assert await page.value(CONTRAST) == [], place
        assert grounds == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)"}

    drive(devtools, scenario)


def test_a_phone_need_not_scroll_sideways(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        await page.call("Emulation.setDeviceMetricsOverride", **size)
        for place in PLACES:
            await page.go(site.address + place)
            assert await page.value("document.scrollingElement.scrollWidth") <= 390, place

    drive(devtools, scenario)


def test_everything_one_can_act_on_has_a_name(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in PLACES:
            await page.go(site.address + place)
            tree = await page.call("Accessibility.getFullAXTree")
            acting = ("link", "button", "searchbox", "textbox", "region", "navigation")
            nameless = [
                node["role"]["value"]
                for node in tree["nodes"]
                if node.get("role", {}).get("value") in acting and not node.get("name", {}).get("value")
            ]
            assert nameless == [], place
            assert await page.value("document.querySelectorAll('h1').length") == 1

    drive(devtools, scenario)


def test_numbers_come_alive_while_the_page_is_in_view(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/status")
        await page.value("document.querySelector('[data-number=pages]').textContent = 'old'")
        alive = """new Promise((done) => new MutationObserver(() => done(true)).observe(
            document.querySelector('[data-number=pages]'), {childList: true}))"""
        assert await page.value(alive)
        assert int(await page.value("document.querySelector('[data-number=pages]').textContent")) > 50

    drive(devtools, scenario)


def test_F_W6_one_can_sign_in_where_the_browser_does_not_say_from_where_it_asks(devtools: str, tmp_path: Path) -> None:
    """Beyond this machine and without TLS no Sec-Fetch-Site is sent: the form is known by its Origin alone."""
    directory = Directory(tmp_path / "collection")

    async def scenario(page: Tab) -> None:
        with serving(directory, names=(LAN,)) as here:
            token = (directory.root / "token").read_text().strip()
            await page.go(f"http://{LAN}:{here.port}/door?next=/crawl")
            await page.value("document.getElementById('token').focus()")
            await page.call("Input.insertText", text=token)
            await page.press("Enter", loads=True)
            assert await page.value("location.pathname") == "/crawl"
            assert await page.value("document.querySelector('#seeds form') !== null"), "the administrator is in"

    drive(devtools, scenario)


def test_the_keys_are_told_on_every_section(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in ("/sparql", "/vocabularies", "/crawl", "/nodes", "/api", "/entity?iri=schema:Person"):
            await page.go(site.address + place)
            await page.value("document.activeElement?.blur()")
            await page.press("?")
            assert await page.value("document.querySelector('dialog#keys').open"), place

    drive(devtools, scenario)


def test_a_phone_shows_the_whole_navigation(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await set_size(page, 390, 844)
        await page.go(site.address + "/")
        assert await page.value("((nav) => nav.scrollWidth <= nav.clientWidth)(document.querySelector('header nav'))")

    drive(devtools, scenario)


def test_no_browser_outlives_its_tests(devtools: str, tmp_path: Path) -> None:
    def left() -> list[int]:
        lines = ((one.pid, one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"]))
        return [pid for pid, line in lines if f"--user-data-dir={tmp_path}" in line]

    with running(tmp_path):
        assert left()
    wait_until(lambda: not left(), "a browser was left running")
