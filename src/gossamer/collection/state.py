"""What the state of a collection knows: no view is loaded.

Its pages, fetches, hosts and seeds, without loading the views.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, Self

import msgspec

from gossamer.archive.catalogue import Catalogue
from gossamer.base.clock import Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.tell import silent
from gossamer.collection.directory import existing, outside_of, read_state
from gossamer.collection.why.answer import WhyQuery, crew_of, linked_from
from gossamer.collection.why.trail import HostTrail, RuleVerdict, Trail
from gossamer.collection.why.waits import Crew, host_state_of
from gossamer.config.settings import Settings
from gossamer.config.slices import Politeness, politeness
from gossamer.crawler.rules_file import RulesFile
from gossamer.frontier import reports
from gossamer.frontier.api import HostState, Ledger
from gossamer.frontier.known import last_end
from gossamer.frontier.rows import UrlKeys
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import Beat
from gossamer.plugins.filters import filters_to_ask
from gossamer.rules.canonical import identity_of
from gossamer.rules.scope import Reach
from gossamer.rules.user.rulebook import OwnFilter, RuleBook
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory
from gossamer.store.options import config_of, stored_seeds
from gossamer.store.state import open_snapshot, open_state
from gossamer.store.statements import State
from gossamer.values.capture import Capture, Kept
from gossamer.values.outcome import Denied, Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url
from gossamer.values.visit import Counts

TargetState = Literal["captured", "waiting", "refused", "moved", "gone", "failed", "unknown"]
CAPTURED = (Reason.FETCHED, Reason.UNCHANGED)
READ_FAILED = (Reason.READ_TIMEOUT, Reason.READ_CRASH, Reason.READ_MEMORY)
REFUSED = (
    Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.SCOPE, Reason.TOO_MANY_REDIRECTS, Reason.REDIRECT_OUT,
    Reason.ADDRESS, Reason.CONTACT, Reason.MEDIA_TYPE, Reason.FILTER, Reason.TRAP, Reason.RETIRED, Reason.FORGOTTEN,
)  # fmt: skip
GONE = (Reason.GONE, Reason.SOFT_404)
EXAMPLES = 10
CHUNK = 2_000


class HostShown(msgspec.Struct, frozen=True):
    """One host of a crawl, for a list of them."""

    host: str
    state: str
    """One of HOST_STATES."""
    says: str
    queued: int
    held: int
    visits: int
    gap_s: float
    troubles: int
    next_at: Instant | None
    retired_at: Instant | None = None


HOST_STATES = reports.STATES
"""What is in progress first, then what is stuck; what is done last."""


class CollectionState:
    """Any thread may call it: each call opens and closes a handle of its own. Before a first crawl it is empty."""

    def __init__(self, directory: Directory, outside: Outside, settings: Settings | None = None) -> None:
        """`settings`: those of the collection if not given."""
        self.directory, self.outside, self._given = directory, outside, settings

    @classmethod
    def open(cls, root: Path, config: Path | None = None) -> Self:
        """`config`: a settings file named by the user. Raises DirectoryUnusable if there is no collection."""
        directory = existing(root)
        return cls(directory, outside_of(directory), config_of(root, config).settings if config else None)

    @cached_property
    def settings(self) -> Settings:
        return self._given or config_of(self.directory.root).settings

    def counts(self) -> Counts:
        return read_state(self.directory, tallies.counts, Counts())

    def beats(self) -> list[Beat]:
        """The last heartbeat of every process that has worked on it."""
        with control_of(self.directory, self.outside.clock) as control:
            return control.beats()

    def crew(self) -> Crew:
        return crew_of(self.directory, self.outside)

    def versions(self, url: Url) -> list[Kept]:
        """The captures of a page, newest first."""
        return read_state(self.directory, lambda state: captures.versions(state, url), [])

    def capture(self, url: Url) -> Capture | None:
        """The newest capture of a page that has a body."""
        with Catalogue(self.directory, self.outside.files) as catalogue:
            return catalogue.capture(url)

    def pages_among(self, urls: Iterable[Url]) -> set[Url]:
        """Those with a capture."""
        return read_state(self.directory, lambda state: {url for url in urls if captures.versions(state, url)}, set())

    def states(self, urls: Sequence[Url]) -> list[TargetState]:
        """The outcome of each, as a label."""
        if not self.directory.is_begun:
            return ["unknown"] * len(urls)
        with closing(open_snapshot(self.directory)) as state:
            return [
                target_state(*last_end(state, url, UrlKeys(identity_of)), captures.latest(state, url) is not None)
                for url in urls
            ]

    def seeds(self) -> list[tuple[Url, Reach]]:
        seeds: list[tuple[Url, str]] = read_state(self.directory, stored_seeds, [])
        return [(url, Reach(reach)) for url, reach in seeds]

    def why(self, url: str) -> Trail:
        """Everything about a URL, known or not: how it was found, what each rule says, how its fetches ended.

        >>> collection.why("http://example.org/").is_known
        """
        with closing(open_snapshot(self.directory)) as state:
            return self._query(state).trail(url)

    def rulings(self, urls: Sequence[Url]) -> list[tuple[RuleVerdict, ...]]:
        """What each rule says about each URL."""
        with closing(open_snapshot(self.directory)) as state:
            query = self._query(state)
            return [query.trail(url.text).rulings for url in urls]

    def why_host(self, name: str) -> HostTrail:
        with closing(open_snapshot(self.directory)) as state:
            return self._query(state).host_trail(name)

    def hosts(self) -> list[HostShown]:
        polite, is_crawling, now = politeness(self.settings), self.crew().is_crawling, self.outside.dates.now()
        with closing(open_state(self.directory)) as state:
            known = list(reports.hosts(state))
            return sorted_hosts(
                host_shown(one, polite, now, is_crawling, reports.robots_of(state, one.name)) for one in known
            )

    def promise(self, name: str) -> Ledger | None:
        """The gaps a host was promised, and those it got; None if nothing was ever fetched there."""
        with closing(open_state(self.directory)) as state:
            return reports.host_ledger(state, name)

    def _query(self, state: State) -> WhyQuery:
        crew, now, links = self.crew(), self.outside.dates.now(), partial(linked_from, self.directory)
        return WhyQuery(state, self.settings, crew, now, self.rules_file().book(), self._filters, links)

    @cached_property
    def _filters(self) -> tuple[OwnFilter, ...]:
        return filters_to_ask(self.settings.crawl.filters, self.directory.root)

    def rules_file(self) -> RulesFile:
        return RulesFile(self.outside.files, self.directory.root, silent)

    def rules_effect(self, now: RuleBook, then: RuleBook, seconds: float) -> "Iterator[RulesPreview]":
        """What a change of the rules would do to the waiting URLs, searched for at most so many seconds."""
        known = self.seeds()
        with closing(open_state(self.directory)) as state:
            yield from rules_effect(state, now.for_seeds(known), then.for_seeds(known), seconds, self.outside.clock)


def sorted_hosts(found: Iterable[HostShown]) -> list[HostShown]:
    """In the order of HOST_STATES; within a state, the longest queue first."""
    return sorted(found, key=lambda one: (HOST_STATES.index(one.state), -one.queued, -one.visits, one.host))


def host_shown(
    host: HostState, polite: Politeness, now: Instant, is_crawling: bool = True, robots: Sequence[Robots] = ()
) -> HostShown:
    state, says = host_state_of(host, polite, now, is_crawling, robots)
    return HostShown(
        host=host.name,
        state=state,
        says=says,
        queued=host.queued,
        held=host.held,
        visits=host.visits,
        gap_s=host.gap_s,
        troubles=host.troubles,
        next_at=host.next_at or None,
        retired_at=host.retired_at,
    )


def target_state(is_known: bool, reason: Reason | None, is_captured: bool) -> TargetState:
    """A label for the target of a link."""
    if reason in REFUSED:
        return "refused"
    if reason is Reason.MOVED:
        return "moved"
    if reason in GONE:
        return "gone"
    if is_captured or reason in CAPTURED or reason in READ_FAILED:
        return "captured"
    if not is_known:
        return "unknown"
    return "waiting" if reason is None else "failed"


class RulesPreview(msgspec.Struct, frozen=True):
    """What rules would do to the waiting URLs. If time ran out, only the first `looked_at` of `queued` were checked;
    they are ordered by host, so they say nothing about the rest."""

    queued: int
    looked_at: int = 0
    would_go: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    """URLs, and the rule that excludes each."""
    is_whole: bool = False


def rules_effect(state: State, now: RuleBook, then: RuleBook, seconds: float, clock: Clock) -> Iterator[RulesPreview]:
    """The waiting URLs that `now` accepts and `then` rejects, after each chunk of the queue; the last is the answer."""
    found = RulesPreview(tallies.counts(state).queued)
    ends_s, examples = clock.elapsed_s() + seconds, list[tuple[str, str]]()
    looked_at = would_go = 0
    for text, depth in reports.queued(state):
        url = Url(text)
        verdict = then.judge(url, depth)
        looked_at += 1
        if isinstance(verdict, Denied) and not isinstance(now.judge(url, depth), Denied):
            would_go += 1
            if len(examples) < EXAMPLES:
                examples.append((text, verdict.rule))
        if looked_at % CHUNK == 0:
            is_whole = looked_at >= found.queued
            yield RulesPreview(max(found.queued, looked_at), looked_at, would_go, tuple(examples), is_whole)
            if clock.elapsed_s() > ends_s:
                return
    yield RulesPreview(looked_at, looked_at, would_go, tuple(examples), True)
