"""What `gossamer why` answers: the values, and the same in sentences. Pure."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values import history
from gossamer.values.capture import charset_in_words
from gossamer.values.format import counted, lasting, moment
from gossamer.values.history import Past, Why
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState

FOUND = {
    How.SEED: "given as a seed",
    How.LINK: "linked from",
    How.REDIRECT: "redirected to from",
    How.SITEMAP: "listed in the sitemap",
    How.FEED: "an entry of the feed",
    How.ROBOTS: "a sitemap that a robots.txt names",
    How.MAP: "named in the sitemap index",
}
ROBOTS_MEANS = {
    RobotsState.READ: "read",
    RobotsState.MISSING: "there is none: everything may be fetched",
    RobotsState.PENDING: "it has moved, and is being requested at its new URL",
    RobotsState.UNREACHABLE: "it could not be read: nothing is fetched for now",
}


class Step(msgspec.Struct, frozen=True):
    """One URL on the way from the seed, and how it was found."""

    url: str
    how: How
    depth: int
    hops: int = 0


class RuleVerdict(msgspec.Struct, frozen=True):
    """What one rule says about the URL now."""

    rule: str
    lets_in: bool | None
    """None: not known yet."""
    says: str


class Visited(msgspec.Struct, frozen=True):
    """A fetch whose response is in the archive."""

    fetched_at: Instant
    status: int
    media_type: str
    size: int
    is_page: bool
    volume: str
    number: int
    damaged: str = ""
    """Why its record cannot be read, as far as `gossamer verify` has found."""
    charset: str = ""
    charset_from: str = ""
    """The encoding its text was read in, and what stated it."""


class LastEnd(msgspec.Struct, frozen=True):
    """How the last fetch ended."""

    reason: Reason
    says: str
    detail: str
    settled_at: Instant | None
    failures: int


class FailedBefore(msgspec.Struct, frozen=True):
    """A failed fetch before the last one."""

    at: Instant
    reason: Reason
    says: str
    detail: str = ""


class RobotsKnown(msgspec.Struct, frozen=True):
    """What is known of one origin's robots.txt."""

    origin: str
    state: RobotsState
    fetched_at: Instant | None = None
    expires_at: Instant | None = None
    failures: int = 0
    crawl_delay_s: float | None = None
    rules: int = 0
    moved_to: str | None = None
    recrawl_delay_s: float | None = None


class Wait(msgspec.Struct, frozen=True):
    """What the next fetch waits for."""

    what: str
    """A stable code."""
    says: str
    until_at: Instant | None = None


class HostStanding(msgspec.Struct, frozen=True):
    """The state of a host."""

    name: str
    is_known: bool
    queued: int = 0
    held: int = 0
    visits: int = 0
    is_leased: bool = False
    next_at: Instant | None = None
    gap_s: float = 0.0
    gap_says: str = ""
    is_over_budget: bool = False
    retired_at: Instant | None = None
    retired_why: str = ""
    troubles: int = 0
    robots: tuple[RobotsKnown, ...] = ()
    quarantined: tuple[str, ...] = ()


class RevisitPlan(msgspec.Struct, frozen=True):
    """What is remembered of a page that is revisited."""

    due_at: Instant
    why: str
    """A stable code: `values.history.Why`, or a key of `WAITED_FOR`."""
    says: str
    visits: int
    """Fetches that could find a change: all but the first."""
    changed_at: Instant | None
    """The last fetch that found a significant change."""
    links_changed: int | None = None
    """At the last check of the pages it links to: how many of them had changed since it was fetched,"""
    links: int | None = None
    """of how many,"""
    threshold: int | None = None
    """and the percentage that triggers a revisit."""
    new_pages: float = 0.0
    """New pages that its fetches led to; older ones count less."""

    @property
    def leads(self) -> bool:
        return self.new_pages >= HUB


class Trail(msgspec.Struct, frozen=True):
    """Everything known about one URL."""

    typed: str
    url: str
    asked_at: Instant
    is_known: bool
    removed: tuple[str, ...] = ()
    """Parameters that were stripped from what was typed."""
    known_as: str | None = None
    """The URL under which the same page was found first, if that is another."""
    way: tuple[Step, ...] = ()
    """From the URL back to its seed."""
    rulings: tuple[RuleVerdict, ...] = ()
    priority: int | None = None
    priority_says: str = ""
    visits: tuple[Visited, ...] = ()
    """Newest first."""
    ended: LastEnd | None = None
    failures: tuple[FailedBefore, ...] = ()
    """Before the last fetch, newest first; at most ten."""
    due_at: Instant | None = None
    before: int | None = None
    """How many URLs of its host go first."""
    waits: tuple[Wait, ...] = ()
    host: HostStanding | None = None
    again: RevisitPlan | None = None
    """What is remembered of it, in a crawl that revisits pages."""


class HostTrail(msgspec.Struct, frozen=True):
    """Everything known about one host: why is nothing being fetched there?"""

    asked_at: Instant
    host: HostStanding
    waits: tuple[Wait, ...] = ()


Section = tuple[str, list[str]]
"""A heading and its lines."""


def robots_known(robots: Robots) -> RobotsKnown:
    return RobotsKnown(
        origin=robots.origin,
        state=robots.state,
        fetched_at=robots.fetched_at,
        expires_at=robots.expires_at,
        failures=robots.failures,
        crawl_delay_s=robots.crawl_delay_s,
        rules=len(robots.rules),
        moved_to=robots.ask.text if robots.ask is not None else None,
        recrawl_delay_s=robots.recrawl_delay_s,
    )


def sections_of(trail: Trail) -> list[Section]:
    """The trail in sentences."""
    is_known = trail.host is not None and trail.host.is_known
    sections = [
        ("address", _address(trail)),
        ("found", _found(trail)),
        ("rules", _rules(trail)),
        ("priority", [trail.priority_says] if trail.priority is not None else []),
        ("visits", _visits(trail)),
        ("next", _next(trail)),
        ("host", _host(trail.host, trail.asked_at) if trail.host is not None and is_known else []),
    ]
    return [(heading, lines) for heading, lines in sections if lines]


def host_sections(trail: HostTrail) -> list[Section]:
    found = [("host", _host(trail.host, trail.asked_at))]
    return [*found, ("why", [f"- {wait.says}" for wait in trail.waits])] if trail.waits else found


def _address(trail: Trail) -> list[str]:
    lines = [trail.url]
    if trail.typed not in (trail.url, trail.url.rstrip("/")):
        lines.append(f"what was typed, {trail.typed}, normalizes to this URL")
    if trail.removed:
        lines.append(f"parameters removed, because they do not select content: {', '.join(trail.removed)}")
    if trail.known_as is not None:
        lines.append(f"it is the same page as {trail.known_as}, which was found first and is the one that is fetched")
    return lines


def _found(trail: Trail) -> list[str]:
    if not trail.way:
        return ["it was never found, or it was rejected when it was found (new links are added within seconds)"]
    lines = []
    for step, source in zip(trail.way, [*trail.way[1:], None], strict=True):
        words = FOUND[step.how]
        if step.how not in (How.SEED, How.ROBOTS):  # the URL of a robots.txt is not stored
            words += f" {source.url}" if source is not None else " a page that is no longer known"
        depth = f", {counted(step.depth, 'link')} from the seed" if step.depth and step is trail.way[0] else ""
        lines.append(f"{words}{depth}" if step is trail.way[0] else f"  which was {words}")
    return lines


def _rules(trail: Trail) -> list[str]:
    marks = {True: "accepts it", False: "rejects it", None: "not known yet"}
    return [f"{ruling.rule} {marks[ruling.lets_in]}: {ruling.says}" for ruling in trail.rulings]


def _visits(trail: Trail) -> list[str]:
    now = trail.asked_at
    lines = []
    if trail.ended is not None:
        ended = trail.ended
        at = f", {moment(ended.settled_at, now)}" if ended.settled_at is not None else ""
        lines.append(f"last fetch: {ended.reason}{at}: {ended.says}")
        if ended.detail:
            lines.append(f"  {ended.detail}")
        if ended.failures:
            lines.append(f"  failed {counted(ended.failures, 'time')} in a row")
        if ended.reason in (Reason.FETCHED, Reason.UNCHANGED) and not trail.visits:
            lines.append("  its copy is not in the archive of this directory")
    for failure in trail.failures:
        detail = f" ({failure.detail})" if failure.detail else ""
        lines.append(f"before that {failure.reason}, {moment(failure.at, now)}: {failure.says}{detail}")
    for visit in trail.visits:
        kind = "a page, searchable" if visit.is_page else "stored, not searchable"
        read_in = f"{charset_in_words(visit.charset, visit.charset_from)}, " if visit.charset else ""
        lines.append(
            f"{moment(visit.fetched_at, now)}: status {visit.status}, {visit.media_type or 'no type'}, "
            f"{read_in}{counted(visit.size, 'byte')}, {kind} ({visit.volume} number {visit.number})"
        )
        if visit.damaged:
            lines.append(f"  its record is damaged: {visit.damaged}. `gossamer verify` can repair it from a backup")
    return lines or ["none yet"]


def _next(trail: Trail) -> list[str]:
    lines = in_words(trail.again, trail.asked_at) if trail.again is not None and trail.due_at is not None else []
    lines += [f"- {wait.says}" for wait in trail.waits]
    return lines or ["nothing: the outcome is final, and no revisit is due"] if trail.is_known else lines


def _host(host: HostStanding, now: Instant) -> list[str]:
    if not host.is_known:
        return [f"{host.name}: unknown; `gossamer hosts` lists the hosts of this collection"]
    held = f", {host.held:,} quarantined" if host.held else ""
    lines = [f"{host.name}: {counted(host.visits, 'fetch')}, {counted(host.queued, 'URL')} waiting{held}"]
    if host.retired_at is not None:
        lines.append(f"retired {moment(host.retired_at, now)}: {host.retired_why}")
    if host.is_over_budget:
        lines.append("over its budget: fetched when nothing else is waiting")
    lines.append(f"gap of {lasting(host.gap_s)}: {host.gap_says}")
    if host.next_at is not None and host.next_at > now:
        lines.append(f"no request before {moment(host.next_at, now)}")
    lines += [_robots_line(one, now) for one in host.robots]
    lines += [f"quarantined pattern: {template}" for template in host.quarantined]
    return lines


def _robots_line(robots: RobotsKnown, now: Instant) -> str:
    parts = [ROBOTS_MEANS[robots.state]]
    if robots.state is RobotsState.READ:
        parts.append(f"{counted(robots.rules, 'rule')} for this crawler")
    if robots.crawl_delay_s is not None:
        parts.append(f"a Crawl-delay of {robots.crawl_delay_s:g} s")
    if robots.recrawl_delay_s is not None:
        parts.append(f"a Recrawl-delay of {lasting(robots.recrawl_delay_s)}")
    if robots.failures:
        parts.append(f"failed {counted(robots.failures, 'time')} in a row")
    if robots.moved_to:
        parts.append(f"now at {robots.moved_to}")
    if robots.expires_at is not None and robots.state is not RobotsState.PENDING:
        parts.append(f"requested again {moment(robots.expires_at, now)}")
    return f"{robots.origin}/robots.txt: {', '.join(parts)}"


WAITED_FOR = {
    "vanished": "it is gone, and is checked less and less often",
    "broken": "it fails, and is retried less and less often",
    "refused": "a rule rejects it; the rule is checked again then",
}
HUB = 0.5
"""A page whose recent fetches led to at least so many new pages is shown as a hub."""


def revisit_plan(past: Past) -> RevisitPlan:
    check = past.link_check
    return RevisitPlan(
        due_at=past.due_at,
        why=past.why,
        says=due_because(past),
        visits=past.known.visits,
        changed_at=past.changed_at or None,
        links_changed=check.changed if check is not None else None,
        links=check.links if check is not None else None,
        threshold=check.threshold if check is not None else None,
        new_pages=past.new_pages,
    )


def due_because(past: Past) -> str:
    check = past.link_check
    if past.why == Why.LINKS and check is not None:
        return (
            f"revisited sooner: {check.changed} of {counted(check.links, 'page')} it links to "
            f"{'has' if check.changed == 1 else 'have'} changed (threshold {check.threshold} %)"
        )
    if past.why in WAITED_FOR:
        return WAITED_FOR[past.why]
    return history.IN_WORDS[Why(past.why)] if past.why in set(Why) else "it is due"


def in_words(plan: RevisitPlan, now: Instant) -> list[str]:
    lines = [f"revisit {moment(plan.due_at, now)}: {plan.says}"]
    if plan.why != Why.LINKS and plan.links:
        lines.append(
            f"  {plan.links_changed} of {counted(plan.links, 'page')} it links to had changed at the last check; "
            f"{plan.threshold} % would trigger a revisit"
        )
    changed = f", the last change found {moment(plan.changed_at, now)}" if plan.changed_at is not None else ""
    lines.append(f"  revisited {counted(plan.visits, 'time')}{changed}")
    if plan.leads:
        lines.append(f"  a hub: its fetches have led to new pages (about {plan.new_pages:.1f} recently)")
    return lines
