"""The site in a real browser: by keyboard only, in both themes, without scripts, and with hostile content."""

from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from tests.browser.axe import set_size
from tests.browser.chromium import LAN, Tab, drive, running
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


def test_a_search_by_keyboard_only(site: Site, devtools: str) -> None:
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
        assert page.console_errors == [] and await page.value("window.violations") == []

    drive(devtools, scenario)


def test_keyboard_shortcuts_do_not_work_inside_the_search_field(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/")
        await page.write("j/k")
        assert await page.value("document.querySelector('#q').value") == "j/k"

    drive(devtools, scenario)


def test_the_first_tab_stop_skips_to_the_content(site: Site, devtools: str) -> None:
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
        hits = await page.call("DOM.querySelectorAll", nodeId=document["root"]["nodeId"], selector="ol.hits > li")
        assert len(hits["nodeIds"]) > 2

    drive(devtools, scenario)


@pytest.mark.parametrize("has_policy", [True, False], ids=["with its policy", "with the policy stripped"])
def test_F_W1_hostile_content_never_runs(site: Site, devtools: str, has_policy: bool) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Page.setBypassCSP", enabled=not has_policy)
        for place in HOSTILE:
            await page.go(site.address + place)
            await page.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
            assert await page.value("typeof window.hacked") == "undefined", place
            assert await page.value("window.violations") == [], place
            assert await page.value("[...document.scripts].every((one) => one.src.startsWith(origin + '/static/'))")
        assert page.dialogs == []
        foreign = [url for url in page.requested if not url.startswith(site.address + "/")]
        assert foreign == []

    drive(devtools, scenario)


def test_no_page_requests_other_sites_or_violates_its_own_policy(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in PLACES:
            await page.go(site.address + place)
            assert await page.value("window.violations") == [], place
        assert [url for url in page.requested if not url.startswith(site.address + "/")] == []
        errors = [text for text in page.console_errors if "status of 4" not in text]
        assert errors == []

    drive(devtools, scenario)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_themes(site: Site, devtools: str, scheme: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        backgrounds = set()
        for place in PLACES:
            await page.go(site.address + place)
            backgrounds.add(await page.value("getComputedStyle(document.body).backgroundColor"))
            assert await page.value(CONTRAST) == [], place
        assert backgrounds == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)"}

    drive(devtools, scenario)


def test_no_page_is_wider_than_a_phone(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        await page.call("Emulation.setDeviceMetricsOverride", **size)
        for place in PLACES:
            await page.go(site.address + place)
            assert await page.value("document.scrollingElement.scrollWidth") <= 390, place

    drive(devtools, scenario)


def test_every_control_has_a_name(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place in PLACES:
            await page.go(site.address + place)
            tree = await page.call("Accessibility.getFullAXTree")
            roles = ("link", "button", "searchbox", "textbox", "region", "navigation")
            nameless = [
                node["role"]["value"]
                for node in tree["nodes"]
                if node.get("role", {}).get("value") in roles and not node.get("name", {}).get("value")
            ]
            assert nameless == [], place
            assert await page.value("document.querySelectorAll('h1').length") == 1

    drive(devtools, scenario)


def test_numbers_are_updated_while_the_page_is_visible(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.go(site.address + "/status")
        await page.value("document.querySelector('[data-number=pages]').textContent = 'old'")
        updated = """new Promise((done) => new MutationObserver(() => done(true)).observe(
            document.querySelector('[data-number=pages]'), {childList: true}))"""
        assert await page.value(updated)
        assert int(await page.value("document.querySelector('[data-number=pages]').textContent")) > 50

    drive(devtools, scenario)


def test_F_W6_signing_in_works_when_the_browser_sends_no_sec_fetch_site(devtools: str, tmp_path: Path) -> None:
    """To another machine without TLS no Sec-Fetch-Site is sent: the form is checked by its Origin only."""
    directory = Directory(tmp_path / "collection")

    async def scenario(page: Tab) -> None:
        with serving(directory, names=(LAN,)) as lan_site:
            token = (directory.root / "token").read_text().strip()
            await page.go(f"http://{LAN}:{lan_site.port}/door?next=/crawl")
            await page.value("document.getElementById('token').focus()")
            await page.call("Input.insertText", text=token)
            await page.press("Enter", loads=True)
            assert await page.value("location.pathname") == "/crawl"
            assert await page.value("document.querySelector('#seeds form') !== null"), "the administrator is signed in"

    drive(devtools, scenario)


def test_the_list_of_shortcuts_opens_in_every_section(site: Site, devtools: str) -> None:
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
