"""axe-core over the page that a tab shows: the faults it finds against WCAG 2.2 A and AA, in words."""

from functools import cache
from pathlib import Path

from tests.browser.chromium import Tab

SCRIPT = Path(__file__).parent / "vendor" / "axe.min.js"
THEMES = ("light", "dark")
RULES = """axe.run(document, { runOnly: %s, resultTypes: ["violations"] }).then((found) => found.violations.map((one) =>
  one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + node.failureSummary).join(" | ")
))"""
ALL = '["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]'
OF_COLOURS = '{ type: "rule", values: ["color-contrast", "link-in-text-block"] }'


@cache
def script() -> str:
    return SCRIPT.read_text()


async def axe(page: Tab) -> list[str]:
    """Empty when there is nothing to say. It runs through the debugger, so the page's policy stays as it is."""
    await page.value(script() + "\n;0")
    return await _ruled(page, ALL)


async def axe_in_both_themes(page: Tab) -> list[str]:
    """In one visit: by day every rule, by night those that look at colours, for nothing else changes."""
    await set_theme(page, "light")
    found = await axe(page)
    await set_theme(page, "dark")
    return found + [f"in the dark: {fault}" for fault in await _ruled(page, OF_COLOURS)]


async def _ruled(page: Tab, rules: str) -> list[str]:
    found = await page.value(RULES % rules)
    assert isinstance(found, list)
    return found


async def set_theme(page: Tab, theme: str) -> None:
    await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])


async def set_size(page: Tab, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    await page.call("Emulation.setDeviceMetricsOverride", **size)
