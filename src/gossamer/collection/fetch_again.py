"""A fetch on request: URLs of a collection are due at once, in a running crawl or for the next one."""

import asyncio
import sys
from collections.abc import Sequence
from enum import Enum, auto

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, DirectoryBusy
from gossamer.cli.crawl.retry import bring_back, groups_in
from gossamer.collection.directory import existing
from gossamer.crawler.seeds import checked_seeds
from gossamer.rules.canonical import stripped
from gossamer.store.directory import Directory, lock_directory
from gossamer.values.format import counted
from gossamer.values.visit import Selection

ALL = "all"


class FetchedBy(Enum):
    RUNNING_CRAWL = auto()
    NEXT_CRAWL = auto()


def again_of(urls: Sequence[str]) -> Selection:
    """`all`, or URLs. Raises ConfigError for what is no URL."""
    return Selection() if ALL in urls else Selection(urls=tuple([stripped(url) for url in checked_seeds(urls)]))


def fetch_again(directory: Directory, urls: Sequence[str]) -> FetchedBy:
    """Raises ConfigError for a URL that was never visited, saying what to do."""
    outside, selection = real_outside(), again_of(urls)
    found = groups_in(existing(directory.root), selection)
    known = sum(one.urls for one in found)
    if not known or known < len(selection.urls):
        raise ConfigError(
            "not every URL named with --again was visited before; a new one is added as a seed: gossamer crawl URL"
        )
    try:
        lock_directory(directory, outside, "crawl").release()
        by = FetchedBy.NEXT_CRAWL
    except DirectoryBusy:
        by = FetchedBy.RUNNING_CRAWL
    asyncio.run(bring_back(directory, outside, selection))
    if by is FetchedBy.RUNNING_CRAWL:
        print(f"the running crawl fetches {counted(known, 'URL')} again, politely", file=sys.stderr)
    return by
