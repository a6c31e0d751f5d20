"""What may enter the frontier.

Decided by the scope of the seeds, the user's rules and filters, what was forgotten and learned.
"""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from gossamer.base.clock import Clock
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.learned import load_learned
from gossamer.crawler.rules_file import RulesFile
from gossamer.crawler.seeds import store_seeds
from gossamer.crawler.settlement import MAPS
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import NodeRegistry
from gossamer.plugins.filters import own_filters
from gossamer.rules.learned.aliases import Evidence
from gossamer.rules.learned.model import Learned, LearnedHosts
from gossamer.rules.scope import Reach, Scope, judge_host, scope_of
from gossamer.rules.user.rulebook import NO_RULES, OwnFilter, RuleBook, Unknown, judge
from gossamer.store import forgotten
from gossamer.store.directory import Directory
from gossamer.store.forgotten import NOTHING, Forgotten
from gossamer.store.state import member_of
from gossamer.store.statements import StateWriter
from gossamer.values.link import How, Offer
from gossamer.values.messages import ReadDone
from gossamer.values.outcome import Denied, Failed, FilterFailed, Reason, Refused
from gossamer.values.url import Url
from gossamer.values.visit import TemplateTally, Visit, VisitKind


@dataclass(slots=True)
class Admission:
    """Decides which URLs enter a crawl, and whether they are still wanted when they are taken. A crawl has one.

    `reload` is called at intervals: the rules may be edited while it runs.
    """

    reaches: Sequence[tuple[Url, Reach]]
    deepest: int | None
    rules_file: RulesFile
    own: tuple[OwnFilter, ...] = ()
    learning: LearnedHosts = field(default_factory=LearnedHosts)
    forgotten: Forgotten = NOTHING
    labels: frozenset[str] = frozenset()
    """Of this node, for the rules that prefer nodes."""
    _scope: Scope = field(default_factory=Scope)
    _book: RuleBook = NO_RULES

    def open(self) -> None:
        """Raises ConfigError that names each invalid line of rules.txt."""
        self._scope = scope_of(self.reaches, self.deepest)
        self._book = self.rules_file.book().for_seeds(self.reaches)

    def take_seeds(self, reaches: Sequence[tuple[Url, Reach]]) -> None:
        """From now on these are the seeds of the crawl."""
        self.reaches = reaches
        self._scope = scope_of(reaches, self.deepest)
        self._book = self._book.for_seeds(reaches)

    def reload(self) -> bool:
        """Whether the rules have changed. Rules that cannot be read are reported, and the old ones stay."""
        found = self.rules_file.changed()
        if found is None:
            return False
        self._book = found.for_seeds(self.reaches)
        return True

    def may_enter(self, offer: Offer) -> bool:
        """Whether an offered URL enters the frontier.

        A sitemap is no page: with any prefix of a seed, the sitemaps of its host may be read, those on other hosts
        that its robots.txt names (sitemaps.org), and those that these name in turn. A URL for which a filter failed
        enters: the filter is called again when it is taken, and the outcome is stored with the URL.
        """
        if self.forgotten is not NOTHING and self.forgotten.has(offer.url):
            return False
        if offer.how in MAPS:
            return offer.via is None or not isinstance(judge_host(offer.url, self._scope), Denied)
        verdict = judge(offer.url, offer.depth, offer.how, self._scope, self._book, self.own)
        if isinstance(verdict, Denied):
            return False
        return offer.how is How.SEED or not isinstance(self.learning.judge_offer(offer.url), Denied)

    def nudge(self, offer: Offer) -> int:
        return self._book.nudge(offer.url, offer.depth)

    def is_near(self, host: str) -> bool:
        """Whether this node fetches from a host at once; it leaves others, for a while, to nodes that rules prefer."""
        return not self._book.placing or self._book.is_near(host, self.labels)

    def nudge_visit(self, visit: Visit) -> int:
        """The same for a page that is revisited."""
        return self._book.nudge(visit.url, visit.depth)

    def judge(self, visit: Visit) -> Refused | Failed | None:
        """Called when a URL is taken: rules may have been added, and mirrors detected, since it entered."""
        if self.forgotten.has(visit.url):
            return Refused(Reason.FORGOTTEN, visit.url.text)
        if visit.kind is VisitKind.ROBOTS or visit.how in MAPS or visit.how is How.SEED:
            return None
        verdict = judge(visit.url, visit.depth, visit.how, self._scope, self._book, self.own)
        if isinstance(verdict, Denied):
            return Refused(Reason.FILTER, verdict.rule)
        if isinstance(verdict, FilterFailed):
            return Failed(Reason.FILTER_ERROR, verdict.rule)
        learned = self.learning.judge_visit(visit.url)
        return Refused(Reason.TRAP, learned.rule) if isinstance(learned, Denied) else None

    def judge_type(self, url: Url, media_type: str, depth: int = 0) -> str | None:
        """Why a response of this type is not wanted, if a rule says so; called when its headers have arrived.

        Rules that do not depend on the type were applied before, to URLs that are subject to rules; a seed is not.
        """
        if not self._book.decides or not isinstance(self._book.judge(url, depth), Unknown):
            return None
        verdict = self._book.judge(url, depth, media_type)
        return verdict.rule if isinstance(verdict, Denied) else None

    def is_trap(self, tally: TemplateTally) -> bool:
        return self.learning.is_trap(tally.host, tally.template, tally.fetched, tally.fruitful)

    def learn(self, visit: Visit, read: ReadDone) -> Learned | None:
        found = read.signs
        if found is None:
            return None
        robots = visit.robots.rules if visit.robots is not None else ()
        evidence = Evidence(visit.how is How.SEED, found.canonical, robots)
        return self.learning.learn(visit.url, found.marks, found.exact, found.says, read.links, evidence)


async def open_admission(
    directory: Directory, settings: Settings, starts: Sequence[Url], database: StateWriter, outside: Outside, tell: Tell
) -> Admission:
    """With the scope of every seed, rules.txt, the user's filters, and what was learned."""
    block = await database.read(forgotten.block)
    for verdict in map(block.judge, starts):
        if isinstance(verdict, Denied):
            raise ConfigError(verdict.rule)
    reaches = await store_seeds(database, starts, settings.crawl.scope)
    rules_file = RulesFile(outside.files, directory.root, tell)
    own = own_filters(settings.crawl.filters, directory.root, tell, are_watched=True)
    learning = await asyncio.to_thread(load_learned, directory.root, outside, tell)
    ruling = Admission(reaches, settings.crawl.max_depth, rules_file, own, learning, block)
    ruling.labels = await asyncio.to_thread(own_labels, directory, outside.clock)
    ruling.open()
    return ruling


def own_labels(directory: Directory, clock: Clock) -> frozenset[str]:
    """Of this node of a cluster."""
    if not (name := member_of(directory)):
        return frozenset()
    with closing(line_of(directory, clock)) as line:
        return NodeRegistry(line, clock).labels(name)
