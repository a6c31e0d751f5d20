"""The place of a fact in the copy is visible, from the list of facts and next to the copy: by real geometry."""

import asyncio
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.browser.axe import set_size
from tests.browser.chromium import Tab, tab
from tests.web.long_page import LONG, SPARSE, write_warc
from tests.web.site import Site, serving

from gossamer.base.environment import real_outside
from gossamer.cli.crawl.demo import settings_for
from gossamer.cli.upkeep.import_ import import_archives
from gossamer.store.directory import Directory

SIZES = ((1280, 800), (400, 800), (700, 400))
PATIENCE_S = 30.0
FRAME = "document.querySelector('iframe')"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
BOX = "((box) => [box.left, box.top, box.right, box.bottom])(%s.getBoundingClientRect())"
IS_ON_TOP = "document.elementFromPoint(%s, %s) === %s"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("book")
    directory, warc = Directory(folder / "collection"), write_warc(folder / "book.warc.gz")
    asyncio.run(import_archives(directory, (warc,), settings_for(0), real_outside()))
    with serving(directory) as served:
        yield served


async def assert_visible(page: Tab, size: tuple[int, int], of: str) -> None:
    """The requested mark of the copy comes into the viewport of the page, and nothing covers it."""
    give_up_s = time.monotonic() + PATIENCE_S
    while (problem := await why_hidden(page, size)) and time.monotonic() < give_up_s:
        await asyncio.sleep(0.05)
    assert not problem, (size, of, problem)


async def why_hidden(page: Tab, size: tuple[int, int]) -> str:
    """Why the mark is not visible; empty when it is."""
    await page.value(DRAWN)
    await page.value_in_frame(DRAWN)
    mark = "document.querySelector(':target')"
    left, top, right, bottom = await page.value_in_frame(BOX % mark)
    x, y, _, _ = await page.value(BOX % FRAME)
    edge = await page.value(f"[{FRAME}.clientLeft, {FRAME}.clientTop]")
    x, y = x + edge[0], y + edge[1]
    middle = (left + right) / 2, (top + bottom) / 2
    box = (x + left, y + top, x + right, y + bottom)
    if min(box[:2]) < 0 or box[2] > size[0] or box[3] > size[1]:
        return f"it is at {box}"
    if not await page.value_in_frame(IS_ON_TOP % (*middle, mark)):
        return "something in the copy covers it"
    if not await page.value(IS_ON_TOP % (x + middle[0], y + middle[1], FRAME)):
        return "a part of our page covers it"
    return ""


@pytest.mark.parametrize("url", [LONG, SPARSE])
@pytest.mark.parametrize("size", SIZES)
def test_a_fact_links_to_its_place_in_the_copy(size: tuple[int, int], url: str, book: Site, devtools: str) -> None:
    async def scenario() -> None:
        async with tab(devtools) as page:
            await set_size(page, *size)
            links = "[...document.querySelectorAll('td.source a')].filter((one) => one.hash.length > 4)"
            facts = f"{book.address}/page?url={quote(url, safe='')}"
            await page.go(facts)
            count = await page.value(f"{links}.length")
            assert count > (100 if url == LONG else 5)
            for number in (0, 1, count // 2, count - 1):
                await page.go(facts)
                await page.value(f"{links}[{number}].closest('details').open = true")
                await page.click(f"{links}[{number}]", loads=True)
                await assert_visible(page, size, f"fact {number}")
                chosen = await page.value(BOX % "document.querySelector('.places li.chosen')")
                assert chosen[1] >= 0 and chosen[3] <= size[1], "the fact is visible next to the copy"

    asyncio.run(scenario())


@pytest.mark.parametrize("url", [LONG, SPARSE])
@pytest.mark.parametrize("size", SIZES)
def test_a_listed_fact_scrolls_the_copy_to_its_place(
    size: tuple[int, int], url: str, book: Site, devtools: str
) -> None:
    async def scenario() -> None:
        async with tab(devtools) as page:
            await set_size(page, *size)
            links = "document.querySelectorAll('.places a')"
            await page.go(f"{book.address}/page?url={quote(url, safe='')}&show=copy")
            count = await page.value(f"{links}.length")
            for number in (0, count // 2, count - 1):
                target = await page.value(f"{links}[{number}].hash")
                await page.click(f"{links}[{number}]")
                async with asyncio.timeout(60):
                    while await page.value_in_frame("location.hash") != target:
                        await asyncio.sleep(0.02)
                await assert_visible(page, size, f"fact {number}")

    asyncio.run(scenario())
