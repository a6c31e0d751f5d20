"""Seeds that are added from the web page: checked, remembered and offered, whether a crawl runs or not."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy, GossamerError
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.config.slices import budget, politeness
from gossamer.crawler.seeds import WANTS_CONTACT, admitted, checked_seeds, remembered
from gossamer.fetch.dns import real_network
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.choice import frontier_on
from gossamer.frontier.rows import UrlKeys
from gossamer.monitor.control import SEED, Control
from gossamer.rules.canonical import identity_of
from gossamer.rules.learned.traps import template_of
from gossamer.rules.scope import Reach
from gossamer.store import forgotten
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.state import choose_database, open_database, open_state
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Denied
from gossamer.values.url import Url
from gossamer.web.crawl.rooms import SeedsTaken

LOOK_S = 0.1
PATIENCE_S = 10.0
MOST = 10_000
FILL_IN = "is public, and site owners must be able to reach you: say in Contact how"


@dataclass(frozen=True, slots=True)
class Sowing:
    """REQUIRES: `control` is open."""

    directory: Directory
    settings: Callable[[], Settings]
    outside: Outside
    control: Control
    is_crawling: Callable[[], bool]

    async def add(self, texts: Sequence[str], reach: str, contact: str) -> SeedsTaken:
        """Raises GossamerError when they can neither be taken nor handed on."""
        if len(texts) > MOST:
            raise ConfigError(f"These are more than {MOST:,} addresses. Add them in parts.")
        if reach not in tuple(Reach):
            raise ConfigError(f"There is no reach {reach!r}.")
        found, left_out = self._not_forgotten(*read(texts))
        settings = self.settings()
        good, refused = await may_go(found, replace(settings, contact=contact or settings.contact), self.outside)
        if good:
            await self._take(good, reach)
        return SeedsTaken(len(good), (*left_out, *refused))

    def _not_forgotten(self, found: Sequence[Url], left_out: Sequence[str]) -> tuple[list[Url], list[str]]:
        """What was to be forgotten is no seed, and its name is not written down again."""
        if not self.directory.is_begun:
            return list(found), list(left_out)
        with closing(open_state(self.directory)) as state:
            block = forgotten.block(state)
        verdicts = [(url, block.judge(url)) for url in found]
        kept_out = [verdict.rule for _, verdict in verdicts if isinstance(verdict, Denied)]
        return [url for url, verdict in verdicts if not isinstance(verdict, Denied)], [*left_out, *kept_out]

    async def _take(self, good: Sequence[Url], reach: str) -> None:
        """Ourselves while nobody writes, else by asking whoever crawls."""
        give_up_s, number = self.outside.clock.elapsed_s() + PATIENCE_S, None
        while self.outside.clock.elapsed_s() < give_up_s:
            if self.is_crawling():
                number = number or self.control.ask(SEED, urls=[url.text for url in good], reach=reach)
                if self.control.is_done(number):
                    return
            else:
                try:
                    await self._offer(good, reach)
                    return
                except DirectoryBusy:
                    number = None  # a crawl that begins does not heed what was asked before
            await self.outside.clock.sleep(LOOK_S)
        raise GossamerError("The collection is busy, and the seeds could not be added. Try again.")

    async def _offer(self, good: Sequence[Url], reach: str) -> None:
        settings, clock = self.settings(), self.outside.clock
        lock = lock_directory(self.directory, self.outside, "seeds")
        try:
            choose_database(self.directory, settings.frontier.database, self.outside.files)
            async with open_database(self.directory, clock, silent) as database:
                await remembered(database, good, reach)
                rules = FrontierRules(
                    politeness(settings),
                    may_enter=lambda _: True,  # seeds are always accepted
                    keys=UrlKeys(identity_of),
                    template_of=lambda text: template_of(Url(text)),
                    budget=budget(settings),
                    chance=self.outside.chance,
                )
                async with frontier_on(database, rules, clock, silent) as frontier:
                    await frontier.offer([Offer(seed, How.SEED) for seed in good])
                    await frontier.revive(good)
        finally:
            lock.release()


def read(texts: Sequence[str]) -> tuple[list[Url], list[str]]:
    """Each address once, and in words what is none."""
    found, left_out = dict[Url, None](), []
    for text in texts:
        try:
            found[checked_seeds([text])[0]] = None
        except ConfigError as trouble:
            left_out.append(str(trouble))
    return list(found), left_out


async def may_go(seeds: Sequence[Url], settings: Settings, outside: Outside) -> tuple[list[Url], list[str]]:
    """Those that may be visited, and in words why the others may not. Nothing is dialled; names may be looked up."""
    try:
        good, refused = await admitted(seeds, settings, real_network(outside).resolver)
    except ConfigError as trouble:
        good, refused = [], [line.strip() for line in str(trouble).splitlines() if not line.endswith(":")]
    return good, [words.replace(WANTS_CONTACT, FILL_IN) for words in refused]
