"""Everything that is known about one URL or one host, read from one state of the database."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gossamer.base.clock import Instant, SystemClock
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.collection.why.trail import (
    FailedBefore,
    HostStanding,
    HostTrail,
    LastEnd,
    RuleVerdict,
    Step,
    Trail,
    Visited,
    revisit_plan,
    robots_known,
)
from gossamer.collection.why.waits import Crew, gap_in_words, host_waits, waits_of
from gossamer.config.settings import Settings
from gossamer.config.slices import politeness
from gossamer.crawler.pace import Pace
from gossamer.crawler.seeds import checked_seeds
from gossamer.crawler.settlement import MAPS
from gossamer.frontier.api import HostState, KnownState
from gossamer.frontier.known import depths_of, failures_of, known, pasts_of
from gossamer.frontier.priority import LAST, priority_of
from gossamer.frontier.reports import host_state, robots_of, templates, waits_before
from gossamer.frontier.rows import UrlKeys
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import running_processes
from gossamer.rules import robots as robots_rules
from gossamer.rules import scope
from gossamer.rules.canonical import identity_of, stripped
from gossamer.rules.learned.traps import judge_shape, template_of
from gossamer.rules.user.rulebook import NO_RULES, UNRULED, OwnFilter, RuleBook, Unknown
from gossamer.store import captures, forgotten
from gossamer.store.directory import Directory
from gossamer.store.options import stored_seeds
from gossamer.store.statements import State
from gossamer.values.capture import Kept
from gossamer.values.format import counted
from gossamer.values.link import How
from gossamer.values.outcome import IN_WORDS, Allowed, Denied, FilterFailed
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.views.links.place import links_reader

Reaches = list[tuple[Url, scope.Reach]]
KEYS = UrlKeys(identity_of)
LONGEST_WAY = 100
"""Steps shown; a longer chain of pages would not be read."""
MOST_VISITS = 50


def linked_from(directory: Directory, url: Url) -> Sequence[Url]:
    reader = links_reader(directory, SystemClock())
    try:
        reader.open()
        return reader.about(url)[0].sources
    except (GossamerError, sqlite3.Error):
        return ()
    finally:
        reader.close()


def crew_of(directory: Directory, outside: Outside) -> Crew:
    """What the crawler last reported, if it is running."""
    with control_of(directory, outside.clock) as control:
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
    """Answers from one state of the database."""

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
        found = known(self.state, url, KEYS)
        name = url.host.name
        host = host_state(self.state, name)
        robots = self._robots(name).get(url.origin)
        fetched = found.url if found is not None else url
        visits = captures.versions(self.state, fetched)[:MOST_VISITS]
        before = waits_before(self.state, fetched, KEYS) if found is not None and found.is_queued else None
        (past,) = pasts_of(self.state, [fetched], KEYS)
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
            visits=tuple([visited(kept, captures.damage_of(self.state, kept.capture_id)) for kept in visits]),
            ended=LastEnd(found.reason, IN_WORDS[found.reason], found.detail, found.settled_at, found.failures)
            if found and found.reason
            else None,
            failures=tuple(
                FailedBefore(one.at, one.reason, IN_WORDS[one.reason], one.detail)
                for one in failures_of(self.state, fetched, KEYS)
            ),
            due_at=found.due_at if found is not None and found.is_queued else None,
            before=before,
            waits=tuple(waits_of(found, host, robots, before, self.crew, self.now)) if found and host else (),
            host=self._standing(name, host),
            again=revisit_plan(past) if past is not None else None,
        )

    def host_trail(self, given: str) -> HostTrail:
        name = checked_seeds([given])[0].host.name
        host = host_state(self.state, name)
        if host is None:
            return HostTrail(self.now, self._standing(name, None))
        waits = host_waits(host, list(self._robots(name).values()), self.crew, self.now)
        return HostTrail(self.now, self._standing(name, host), tuple(waits))

    def _way(self, found: KnownState | None) -> tuple[Step, ...]:
        """Each URL was found on the one after it. That cannot be a loop, unless the database is damaged."""
        way: dict[str, Step] = {}
        while found is not None and found.url.text not in way and len(way) < LONGEST_WAY:
            way[found.url.text] = Step(found.url.text, found.how, found.depth, found.hops)
            found = known(self.state, found.source, KEYS) if found.source is not None else None
        return tuple(way.values())

    def _robots(self, name: str) -> dict[str, Robots]:
        """What is known of the host's robots.txt files, by origin."""
        return {entry.origin: entry for entry in robots_of(self.state, name)}

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
            gap_says=gap_in_words(host, politeness(self.settings)),
            is_over_budget=host.band == LAST,
            retired_at=host.retired_at,
            retired_why=host.retired_why or "",
            troubles=host.troubles,
            robots=tuple(map(robots_known, self._robots(name).values())),
            quarantined=tuple(one.template for one in templates(self.state, name) if one.quarantined_at is not None),
        )

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
        """The depth of a URL that was never stored, perhaps because a rule rejected it: one more than that of the
        nearest known page that links to it, or than that of a seed."""
        depths = depths_of(self.state, self.linked_from(url), KEYS)
        return min((depth for depth in depths if depth is not None), default=0) + 1

    def _scope(self, url: Url, depth: int, how: How, reaches: Reaches) -> RuleVerdict:
        whole = scope.scope_of(reaches, self.settings.crawl.max_depth)
        verdict = scope.judge_host(url, whole) if how in MAPS else scope.judge(url, depth, whole)
        return _ruled("scope", verdict, f"within the scope of {counted(len(reaches), 'seed')}")

    def _filters(self, url: Url, depth: int, how: How, reaches: Reaches) -> list[RuleVerdict]:
        """The rules of the user, then the filters."""
        book = self.book.for_seeds(reaches)
        if not book.decides and not self.own:
            return []
        if how in UNRULED or (how is How.REDIRECT and depth == 0):
            return [RuleVerdict("filter", True, "rules do not apply to seeds and sitemaps")]
        ruled = book.judge(url, depth)
        filtered = [own(url.text, depth) for own in self.own] if not isinstance(ruled, Denied) else []
        if refusals := [one for one in (ruled, *filtered) if isinstance(one, Denied)]:
            return [_ruled("filter", refusals[0], "")]
        if failed := [one for one in filtered if isinstance(one, FilterFailed)]:
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
        is_free = found.quarantined_at is None
        return [RuleVerdict("pattern" if is_free else "quarantine", is_free, says)]


def _ruled(rule: str, verdict: Allowed | Denied, otherwise: str) -> RuleVerdict:
    return RuleVerdict(rule, False, verdict.rule) if isinstance(verdict, Denied) else RuleVerdict(rule, True, otherwise)


def _robots_ruling(url: Url, robots: Robots | None) -> RuleVerdict:
    if robots is None or robots.state is RobotsState.PENDING:
        return RuleVerdict("robots", None, f"{url.robots} has not been read yet")
    explained = robots_rules.explain(url, robots)
    is_allowed = None if robots.state is RobotsState.UNREACHABLE else isinstance(explained.verdict, Allowed)
    return RuleVerdict("robots", is_allowed, explained.because)


def removed(whole: Url, url: Url) -> tuple[str, ...]:
    """The parameters of the first URL that the second lacks."""
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
    """How the priority of a URL came about. `nudge`: that of the user's present rules."""
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
