"""What may enter the frontier: the scope of the seeds, the user's rules and filters, what was forgotten and learned."""

import asyncio
from collections.abc import Sequence

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.learned import recalled
from gossamer.crawler.rules_file import RulesFile
from gossamer.crawler.ruling import Ruling
from gossamer.crawler.seeds import remembered
from gossamer.plugins.filters import own_filters
from gossamer.rules.verdict import Denied
from gossamer.store.directory import Directory
from gossamer.store.sqlite import forgotten
from gossamer.store.sqlite.database import Database
from gossamer.values.url import Url


async def open_ruling(
    directory: Directory, settings: Settings, starts: Sequence[Url], database: Database, outside: Outside, tell: Tell
) -> Ruling:
    """What may enter: every seed's scope, rules.txt, and the user's own filters."""
    block = await database.read(forgotten.block)
    for verdict in map(block.judge, starts):
        if isinstance(verdict, Denied):
            raise ConfigError(verdict.rule)
    reaches = await remembered(database, starts, settings.crawl.scope)
    rules_file = RulesFile(outside.files, directory.root, tell)
    own = own_filters(settings.crawl.filters, directory.root, tell, are_watched=True)
    learning = await asyncio.to_thread(recalled, directory.root, outside, tell)
    ruling = Ruling(reaches, settings.crawl.max_depth, rules_file, own, learning, block)
    ruling.open()
    return ruling
