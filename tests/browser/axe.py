"""axe-core on the page in a tab: the violations of WCAG 2.2 A and AA that it finds, as text."""

from functools import cache
from pathlib import Path

from tests.browser.chromium import Tab

SCRIPT = Path(__file__).parent / "vendor" / "axe.min.js"
THEMES = ("light", "dark")
RULES = """axe.run(document, { runOnly: %s, resultTypes: ["violations"] }).then((found) => found.violations.map((one) =>
  one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + node.failureSummary).join(" | ")
))"""
ALL = '["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]'
COLOUR_RULES = '{ type: "rule", values: ["color-contrast", "link-in-text-block"] }'


@cache
def script() -> str:
    return SCRIPT.read_text()


async def axe(page: Tab) -> list[str]:
    """The violations. axe-core runs through the debugger, so the policy of the page stays unchanged."""
    await page.value(script() + "\n;0")
    return await _violations(page, ALL)


async def axe_in_both_themes(page: Tab) -> list[str]:
    """All rules in the light theme; in the dark theme only those about colours, as nothing else changes."""
    await set_theme(page, "light")
    violations = await axe(page)
    await set_theme(page, "dark")
    return violations + [f"in the dark theme: {one}" for one in await _violations(page, COLOUR_RULES)]


async def _violations(page: Tab, rules: str) -> list[str]:
    violations = await page.value(RULES % rules)
    assert isinstance(violations, list)
    return violations


async def set_theme(page: Tab, theme: str) -> None:
    await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])


async def set_size(page: Tab, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    await page.call("Emulation.setDeviceMetricsOverride", **size)
