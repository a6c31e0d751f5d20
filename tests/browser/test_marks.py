"""Marks in a copy cannot be hidden, moved or forged by the style of the copied page."""

import asyncio
from pathlib import Path

import pytest
from tests.browser.chromium import tab

from gossamer.parse.html.tree import parse_html
from gossamer.parse.safe_copy import CopyMark, safe_copy
from gossamer.values.url import Url

MARKED = "a, span, .gossamer-head"
HOSTILE = {
    "by class": ".gossamer-mark, .gossamer-head, .gossamer-place { display: none !important }",
    "by all elements": "html body *, html, body { display: none !important; visibility: hidden !important }",
    "by its id": "#gossamer-1, [id^=gossamer], [title] { opacity: 0 !important; font-size: 0 !important }",
    "moved": f"{MARKED} {{ position: fixed !important; left: -9999px !important; clip-path: inset(50%) !important }}",
    "by a layer": f"@layer {{ {MARKED} {{ display: none !important }} }} @layer b {{ a {{ opacity: 0 !important }} }}",
    "by size": "a { width: 0 !important; height: 0 !important; transform: scale(0) !important }",
    "by colour": "* { color: white !important; background: white !important; border: 0 !important; outline: 0 }",
    "by animation": f"@keyframes go {{ to {{ opacity: 0 }} }} {MARKED} {{ animation: go 1ms forwards !important }}",
    "by other text": "a::before { content: 'no fact is stated here'; position: fixed; inset: 0; background: white }",
    "the whole page": "html { opacity: 0 !important } body { display: none !important; filter: opacity(0) !important }",
    "by a cover": "main::after { content: ''; position: fixed; inset: 0; background: white; z-index: 2147483647 }",
    "by its parent": "p:has(.gossamer-mark) > .gossamer-mark:first-child:not(#x):not(#y) { display: none !important }",
}
COVERING = ("by all elements", "by a cover")
"""When a whole part of the page is hidden or covered, so are its marks. They stay unchanged, and the list next to the
copy, in our own page, has them."""
PAGE = """<html><head><title>t</title><style>{css}</style><meta name=description content=x></head>
<body><main><p style="outline: none !important">One <b>two</b></p><div>three</div></main></body></html>"""
MARKS = {
    "/html/head/meta": CopyMark("gossamer-1", "/page#at-1", "stated in the head"),
    "/html/body/main/p": CopyMark("gossamer-2", "/page#at-2", "stated in a paragraph"),
    "/html/body/main/div": CopyMark("gossamer-3", "/page#at-3", "stated in a division"),
}
READ_MARKS = """
[...document.querySelectorAll(".gossamer-mark")].map((one) => {
  one.scrollIntoView({ block: "center" });
  const box = one.getBoundingClientRect(), style = getComputedStyle(one);
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return {
    id: one.id, seen: one.checkVisibility({ opacityProperty: true, visibilityProperty: true }), onTop: top === one,
    large: box.width >= 8 && box.height >= 8 && box.x >= 0, colour: style.color,
    plain: ["::before", "::after"].every((part) => getComputedStyle(one, part).content === "none"),
  };
})
"""


def copy_of(css: str) -> str:
    tree = parse_html(PAGE.format(css=css).encode()).tree
    return safe_copy(tree, Url("http://a.test/"), lambda url: f"/page?url={url.text}", MARKS)


@pytest.mark.parametrize("way", ["", *HOSTILE])
def test_a_style_sheet_of_the_page_cannot_change_our_marks(way: str, devtools: str, tmp_path: Path) -> None:
    file = tmp_path / "copy.html"
    file.write_text(copy_of(HOSTILE.get(way, "")))

    async def scenario() -> None:
        async with tab(devtools) as page:
            await page.go(f"{file.as_uri()}#gossamer-2")
            await asyncio.sleep(0.05 if way == "by animation" else 0)
            marks = await page.value(READ_MARKS)
            assert {one["id"] for one in marks} == {"gossamer-1", "gossamer-2", "gossamer-3"}
            for one in marks:
                colour = "rgb(17, 17, 17)" if one["id"] == "gossamer-2" else "rgb(74, 50, 0)"
                if way not in COVERING:
                    assert one["seen"] and one["large"] and one["plain"] and one["onTop"], (way, one)
                assert one["colour"] == colour, (way, one)
            place = "getComputedStyle(document.querySelector('p'))"
            drawn = await page.value(f"{place}.outlineStyle + {place}.outlineWidth")
            assert drawn == "solid3px", "the requested place is visible"

    asyncio.run(scenario())
