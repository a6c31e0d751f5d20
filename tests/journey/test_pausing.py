"""A crawl that was paused."""

import asyncio
from pathlib import Path

from tests.journey.crawling import crawl


def test_a_paused_crawl_with_nothing_left_waits_to_be_resumed(tmp_path: Path) -> None:
    looks: list[bool] = []

    def is_paused() -> bool:
        looks.append(len(looks) < 8)
        return looks[-1]

    done = asyncio.run(crawl(tmp_path, {}, [], is_paused=is_paused))
    assert done.asked == [] and looks.count(True) == 8 and looks[-1] is False, "it ended only when it might go on"
