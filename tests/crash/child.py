"""The program under test: a crawl of the demonstration web, its acknowledgements printed as JSON lines.

Run as `python -m tests.crash.child DIR PORT HOSTS PAGES [forever]`; the harness kills it. With
`GOSSAMER_CRASH_AT=event:k` it, or its indexer, kills itself at a named crash point.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from tests.crash.web import demo_plan, demo_seeds

from gossamer.base.environment import Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.cli.crawl.progress import JsonLines
from gossamer.config.load import FILE_NAME
from gossamer.config.settings import (
    ArchiveSettings,
    CrawlSettings,
    PolitenessSettings,
    ReaderSettings,
    RetrySettings,
    Settings,
)
from gossamer.crawler import revisit
from gossamer.monitor import supervisor
from gossamer.store.directory import Directory

SETTINGS = Settings(
    contact="https://crash.demo.test/",
    crawl=CrawlSettings(scope="any", at_once=32),
    politeness=PolitenessSettings(delay_s=0.2, times_took=1.0, robots_retry_s=1.0, robots_tries=2),
    retry=RetrySettings(base_s=0.5, cap_s=2.0, tries=2),
    archive=ArchiveSettings(volume_mib=1, low_water_mib=16),
    readers=ReaderSettings(wall_s=60.0),  # a page must not time out only in one of two compared runs
)
SETTINGS_FILE = "[readers]\nwall_s = 60\n"
"""The same for a rebuild from its captures."""
FOREVER = replace(SETTINGS.crawl, revisit="uniform", revisit_budget=6 * 86_400.0)


def main() -> None:
    root, port, hosts, pages = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    plan = demo_plan(hosts, pages, port)
    root.mkdir(parents=True, exist_ok=True)
    (root / FILE_NAME).write_text(SETTINGS_FILE)
    is_forever = sys.argv[5:] == ["forever"]
    if is_forever:
        revisit.MOST_PER_PAGE = 86_400.0  # a day's revisits within seconds
        supervisor.STOPPED_PATIENCE_S = 300.0  # the views must be complete when it is stopped
    asyncio.run(
        crawl_to_end(
            Directory(root),
            replace(SETTINGS, crawl=FOREVER) if is_forever else SETTINGS,
            demo_seeds(hosts, pages),
            Network(plan, plan),
            real_outside(),
            JsonLines(sys.stdout),
            signals=is_forever,
        )
    )


if __name__ == "__main__":
    main()
