"""Everything that is known about one URL or one host, read from one state of the database."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gossamer.base.clock import Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.collection.why.trail import (
    HostStanding,
    HostTrail,
    RevisitPlan,
    RuleVerdict,
    Step,
    Trail,
    Visited,
    again_of,
    asked_of,
    ended_of,
    failed_before,
)
from gossamer.collection.why.waits import Crew, gap_in_words, host_waits, waits_of
from gossamer.config.settings import Settings
from gossamer.config.slices import Politeness, politeness
from gossamer.crawler.pace import Pace
from gossamer.crawler.seeds import checked_seeds
from gossamer.crawler.settlement import MAPS
from gossamer.frontier.api import HostState, KnownState, Template
from gossamer.frontier.known import depths_of, find_host_id, known
from gossamer.frontier.priority import LAST, priority_of
from gossamer.frontier.reports import host_state, templates, waits_before
from gossamer.frontier.rows import SCHEMES, UrlKeys, lane_of
from gossamer.frontier.sqlite.hosts import Rulebook
from gossamer.frontier.sqlite.requeue import failures_of, pasts_of
from gossamer.monitor.control import Control, running_processes
from gossamer.rules import robots as robots_rules
from gossamer.rules import scope
from gossamer.rules.canonical import identity_of, stripped
from gossamer.rules.learned.traps import judge_shape, template_of
from gossamer.rules.user.rulebook import NO_RULES, UNRULED, OwnFilter, RuleBook, Unknown
from gossamer.store import captures, damage, forgotten
from gossamer.store.directory import Directory
from gossamer.store.given import stored_seeds
from gossamer.store.statements import State
from gossamer.values.capture import Kept
from gossamer.values.format import counted
from gossamer.values.link import How
from gossamer.values.outcome import Allowed, Denied, FilterFailed
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.views.links.reader import LinksReader

Reaches = list[tuple[Url, scope.Reach]]
LONGEST_WAY = 100
"""Steps shown; a longer way is a chain of pages that a person does not read."""
MOST_VISITS = 50


def linked_from(directory: Directory, url: Url) -> Sequence[Url]:
    reader = LinksReader(directory.links)
    try:
        reader.open()
        return reader.about(url)[0].sources
    except (GossamerError, sqlite3.Error):
        return ()
    finally:
        reader.close()


def crew_of(directory: Directory, outside: Outside) -> Crew:
    """What the crawler said of itself last, when it lives."""
    with Control(directory.control, outside.clock) as control:
        crawler = next((one for one in running_processes(control.beats(), outside) if one["name"] == "crawler"), None)
    if crawler is None:
        return Crew(False)
    lag_s = crawler.get("lag_s")
    return Crew(
        is_crawling=True,
        lag_s=float(lag_s) if isinstance(lag_s, int | float) else 0.0,
        most_lag_s=Pace().lag_s,
        is_short_of_room=bool(crawler.get("low_disk")),
        is_paused=bool(crawler.get("paused")),
    )


@dataclass(frozen=True, slots=True)
class WhyQuery:
    """One question to one state of the database."""

    state: State
    settings: Settings
    crew: Crew
    now: Instant
    book: RuleBook = NO_RULES
    own: tuple[OwnFilter, ...] = ()
    linked_from: Callable[[Url], Sequence[Url]] = lambda _: ()
    """Pages that link to a URL, as far as the links view knows."""

    def trail(self, typed: str) -> Trail:
        (whole,) = checked_seeds([typed])
        url = stripped(whole)
        found = self._known(url)
        name = url.host.name
        host = host_state(self.state, name)
        robots = self._robots(url.origin)
        fetched = found.url if found is not None else url
        visits = captures.versions(self.state, fetched)[:MOST_VISITS]
        before = waits_before(self.state, fetched, identity_of) if found is not None and found.is_queued else None
        return Trail(
            typed=typed,
            url=url.text,
            asked_at=self.now,
            is_known=found is not None,
            removed=removed(whole, url),
            known_as=fetched.text if fetched != url else None,
            way=self._way(found),
            rulings=tuple(self._rulings(url, found, robots, host)),
            priority=found.priority if found is not None else None,
            priority_says=priority_in_words(found, self.book.nudge(fetched, found.depth)) if found is not None else "",
            visits=tuple([visited(kept, damage.why(self.state, kept.capture_id)) for kept in visits]),
            ended=ended_of(found.reason, found.detail, found.settled_at, found.failures)
            if found and found.reason
            else None,
            failures=tuple(map(failed_before, failures_of(self.state, fetched, UrlKeys(identity_of)))),
            due_at=found.due_at if found is not None and found.is_queued else None,
            before=before,
            waits=tuple(waits_of(found, host, robots, before, self.crew, self.now)) if found and host else (),
            host=self._standing(name, host),
            again=self._again(fetched),
        )

    def _again(self, url: Url) -> RevisitPlan | None:
        (past,) = pasts_of(self.state, [url], UrlKeys(identity_of))
        return again_of(past) if past is not None else None

    def host_trail(self, given: str) -> HostTrail:
        name = checked_seeds([given])[0].host.name
        host = host_state(self.state, name)
        if host is None:
            return HostTrail(self.now, self._standing(name, None))
        robots = [(origin, self._robots(origin)) for origin in self._origins(name)]
        waits = host_waits(host, robots, self.crew, self.now)
        return HostTrail(self.now, self._standing(name, host), tuple(waits))

    @property
    def _polite(self) -> Politeness:
        return politeness(self.settings)

    def _known(self, url: Url) -> KnownState | None:
        return known(self.state, url, identity=identity_of)

    def _way(self, found: KnownState | None) -> tuple[Step, ...]:
        """Each address on the way was met on the one after it. It cannot turn in a circle, but a damaged one might."""
        way: list[Step] = []
        met: set[str] = set()
        while found is not None and found.url.text not in met and len(way) < LONGEST_WAY:
            met.add(found.url.text)
            way.append(Step(found.url.text, found.how, found.depth, found.hops))
            found = self._known(found.source) if found.source is not None else None
        return tuple(way)

    def _origins(self, name: str) -> list[str]:
        """Those of its two origins that anything is known of."""
        number = find_host_id(self.state, name)
        lanes = range(len(SCHEMES)) if number is not None else ()
        return [f"{SCHEMES[lane]}://{name}" for lane in lanes if self._robots(f"{SCHEMES[lane]}://{name}") is not None]

    def _robots(self, origin: str) -> Robots | None:
        number = find_host_id(self.state, Url(origin + "/").host.name)
        return None if number is None else Rulebook().entry(self.state, number, lane_of(origin))

    def _standing(self, name: str, host: HostState | None) -> HostStanding:
        if host is None:
            return HostStanding(name, False)
        return HostStanding(
            name=name,
            is_known=True,
            queued=host.queued,
            held=host.held,
            visits=host.visits,
            is_leased=bool(host.leased),
            next_at=host.next_at or None,
            gap_s=host.gap_s,
            gap_says=gap_in_words(host, self._polite),
            is_over_budget=host.band == LAST,
            retired_at=host.retired_at,
            retired_why=host.retired_why or "",
            troubles=host.troubles,
            robots=tuple([asked_of(origin, self._robots(origin)) for origin in self._origins(name)]),
            quarantined=tuple([one.template for one in self._quarantined(name)]),
        )

    def _quarantined(self, name: str) -> list[Template]:
        return [one for one in templates(self.state, name) if one.quarantined_at is not None]

    def _rulings(
        self, url: Url, found: KnownState | None, robots: Robots | None, host: HostState | None
    ) -> list[RuleVerdict]:
        depth, how = (found.depth, found.how) if found is not None else (self._depth_of(url), How.LINK)
        reaches = [(seed, scope.Reach(reach)) for seed, reach in stored_seeds(self.state)]
        rulings = [
            *[
                RuleVerdict("forgotten", False, no.rule)
                for no in [forgotten.block(self.state).judge(url)]
                if isinstance(no, Denied)
            ],
            self._scope(url, depth, how, reaches),
            *self._filters(url, depth, how, reaches),
            _ruled("shape", judge_shape(url), "no repetition, not too long"),
        ]
        if host is not None:
            rulings += self._template(url, host)
        rulings.append(_robots_ruling(url, robots))
        return rulings

    def _depth_of(self, url: Url) -> int:
        """How deep a URL is that was never stored, perhaps because a rule kept it out: one link from the nearest page
        that links to it. Where none is known, as if a seed linked to it."""
        known = [depth for depth in depths_of(self.state, self.linked_from(url), identity_of) if depth is not None]
        return min(known, default=0) + 1

    def _scope(self, url: Url, depth: int, how: How, reaches: Reaches) -> RuleVerdict:
        whole = scope.scope_of(reaches, self.settings.crawl.max_depth)
        verdict = scope.judge_host(url, whole) if how in MAPS else scope.judge(url, depth, whole)
        return _ruled("scope", verdict, f"within the scope of {counted(len(reaches), 'seed')}")

    def _filters(self, url: Url, depth: int, how: How, reaches: Reaches) -> list[RuleVerdict]:
        """The rules of the user, and then his own filters."""
        book = self.book.for_seeds(reaches)
        if not book.decides and not self.own:
            return []
        if how in UNRULED or (how is How.REDIRECT and depth == 0):
            return [RuleVerdict("filter", True, "rules do not apply to seeds and sitemaps")]
        ruled = book.judge(url, depth)
        asked = [own(url.text, depth) for own in self.own] if not isinstance(ruled, Denied) else []
        if refusals := [one for one in (ruled, *asked) if isinstance(one, Denied)]:
            return [_ruled("filter", refusals[0], "")]
        if failed := [one for one in asked if isinstance(one, FilterFailed)]:
            return [RuleVerdict("filter", None, failed[0].rule)]
        if isinstance(ruled, Unknown):
            return [RuleVerdict("filter", None, "it depends on the content type of the response")]
        return [RuleVerdict("filter", True, "no rule excludes it")]

    def _template(self, url: Url, host: HostState) -> list[RuleVerdict]:
        pattern = template_of(url)
        found = next((one for one in templates(self.state, host.name) if one.template == pattern), None)
        if found is None:
            return []
        says = f"{found.fruitful:,} of {counted(found.fetched, 'page')} like {pattern} brought something new"
        return [
            RuleVerdict(
                "quarantine" if found.quarantined_at is not None else "pattern", found.quarantined_at is None, says
            )
        ]


def _ruled(rule: str, verdict: Allowed | Denied, otherwise: str) -> RuleVerdict:
    return RuleVerdict(rule, False, verdict.rule) if isinstance(verdict, Denied) else RuleVerdict(rule, True, otherwise)


def _robots_ruling(url: Url, robots: Robots | None) -> RuleVerdict:
    if robots is None or robots.state is RobotsState.PENDING:
        return RuleVerdict("robots", None, f"{url.robots} has not been read yet")
    explained = robots_rules.explain(url, robots)
    lets_in = isinstance(explained.verdict, Allowed)
    return RuleVerdict("robots", None if robots.state is RobotsState.UNREACHABLE else lets_in, explained.because)


def removed(whole: Url, url: Url) -> tuple[str, ...]:
    """The parameters that are in one address and not in the other."""
    if whole == url:
        return ()
    kept = set(url.target.partition("?")[2].split("&"))
    names = [pair.partition("=")[0] for pair in whole.target.partition("?")[2].split("&") if pair and pair not in kept]
    return tuple(names) or ("a session id in the path",)


def visited(kept: Kept, damaged: str) -> Visited:
    place = kept.place
    return Visited(
        fetched_at=kept.fetched_at,
        status=kept.status,
        media_type=kept.media_type,
        size=kept.size,
        is_page=kept.is_page,
        volume=place.volume,
        number=place.number,
        damaged=damaged,
        charset=kept.charset,
        charset_from=kept.charset_from,
    )


def priority_in_words(found: KnownState, nudge: int = 0) -> str:
    """What its place in the queue comes from. `nudge`: what the rules of the user say now."""
    if found.priority is None:
        return ""
    plain = priority_of(found.how, found.depth)
    words = f"{found.priority} (0 goes first): {plain} for a {found.how} at depth {found.depth}"
    if nudge:
        words += f", {abs(nudge)} {'sooner' if nudge < 0 else 'later'} by your rules"
    rest = found.priority - priority_of(found.how, found.depth, nudge=nudge)
    if rest < 0:
        words += f", {-rest} sooner for links from other hosts or a sitemap's hint"
    elif rest > 0:
        words += f", {rest} later by a sitemap's hint, or by rules that have changed since"
    return words
