"""What `gossamer why` found out, as values, and the sentences that tell it. Pure."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values import history
from gossamer.values.capture import charset_in_words
from gossamer.values.format import counted, lasting, moment
from gossamer.values.history import Past, Why
from gossamer.values.link import How
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.visit import Failure

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
    """One address on the way from the seed, and how it was come by."""

    url: str
    how: How
    depth: int
    hops: int = 0


class RuleVerdict(msgspec.Struct, frozen=True):
    """What one rule says of the address now."""

    rule: str
    lets_in: bool | None
    """None: it cannot be said yet."""
    says: str


class Visited(msgspec.Struct, frozen=True):
    """A visit whose answer lies in the archive."""

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
    """The encoding its text was read in, and what told it."""


class LastEnd(msgspec.Struct, frozen=True):
    """How the last visit ended."""

    reason: Reason
    says: str
    detail: str
    settled_at: Instant | None
    failures: int


class FailedBefore(msgspec.Struct, frozen=True):
    """A failed visit before the last one."""

    at: Instant
    reason: Reason
    says: str
    detail: str = ""


class RobotsKnown(msgspec.Struct, frozen=True):
    """What is known of one origin's robots.txt."""

    origin: str
    state: RobotsState | None
    """None: not asked for yet."""
    fetched_at: Instant | None = None
    expires_at: Instant | None = None
    failures: int = 0
    crawl_delay_s: float | None = None
    rules: int = 0
    moved_to: str | None = None
    recrawl_delay_s: float | None = None


class Wait(msgspec.Struct, frozen=True):
    """Something that has to happen before the next visit."""

    what: str
    """A stable code."""
    says: str
    until_at: Instant | None = None


class HostStanding(msgspec.Struct, frozen=True):
    """How things are between us and a host."""

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
    """What is remembered of a page that comes again."""

    due_at: Instant
    why: str
    """A stable code (`values.history.Why`, or how its absence is waited for)."""
    says: str
    visits: int
    """Those that could find a change; the first is none."""
    changed_at: Instant | None
    """The last visit that found a change that counts."""
    links_changed: int | None = None
    """At the last look at the pages it links to: how many of them had changed since its own visit,"""
    links: int | None = None
    """of how many,"""
    threshold: int | None = None
    """and what per cent would have called it."""
    new_pages: float = 0.0
    """New pages that its visits led to, those of long ago counting less."""

    @property
    def leads(self) -> bool:
        return self.new_pages >= HUB


class Trail(msgspec.Struct, frozen=True):
    """Everything there is to say about one address."""

    typed: str
    url: str
    asked_at: Instant
    is_known: bool
    removed: tuple[str, ...] = ()
    """Parameters that were stripped from what was typed."""
    known_as: str | None = None
    """The text it was met under, when that is another one for the same page."""
    way: tuple[Step, ...] = ()
    """From the address back to its seed."""
    rulings: tuple[RuleVerdict, ...] = ()
    priority: int | None = None
    priority_says: str = ""
    visits: tuple[Visited, ...] = ()
    """Newest first."""
    ended: LastEnd | None = None
    failures: tuple[FailedBefore, ...] = ()
    """Before the last visit, the newest first; at most ten."""
    due_at: Instant | None = None
    before: int | None = None
    """How many of its host go first."""
    waits: tuple[Wait, ...] = ()
    host: HostStanding | None = None
    again: RevisitPlan | None = None
    """What is remembered of it, in a crawl that comes back to pages."""


class HostTrail(msgspec.Struct, frozen=True):
    """Everything there is to say about one host: why is nothing being fetched there?"""

    asked_at: Instant
    host: HostStanding
    waits: tuple[Wait, ...] = ()


Section = tuple[str, list[str]]
"""A heading and its lines."""


def asked_of(origin: str, robots: Robots | None) -> RobotsKnown:
    if robots is None:
        return RobotsKnown(origin, None)
    return RobotsKnown(
        origin=origin,
        state=robots.state,
        fetched_at=robots.fetched_at,
        expires_at=robots.expires_at,
        failures=robots.failures,
        crawl_delay_s=robots.crawl_delay_s,
        rules=len(robots.rules),
        moved_to=robots.ask.text if robots.ask is not None else None,
        recrawl_delay_s=robots.recrawl_delay_s,
    )


def told(trail: Trail) -> list[Section]:
    """The trail in words."""
    now = trail.asked_at
    sections = [("address", _address(trail)), ("found", _found(trail)), ("rules", _rules(trail))]
    if trail.priority is not None:
        sections.append(("priority", [trail.priority_says]))
    sections.append(("visits", _visits(trail)))
    sections.append(("next", _next(trail)))
    if trail.host is not None and trail.host.is_known:
        sections.append(("host", _host(trail.host, now)))
    return [(heading, lines) for heading, lines in sections if lines]


def told_host(trail: HostTrail) -> list[Section]:
    lines = [f"- {wait.says}" for wait in trail.waits]
    return [("host", _host(trail.host, trail.asked_at)), ("why", lines)]


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
        return ["it was never found, or was rejected when it was (a new link is added within seconds)"]
    lines = []
    for step, source in zip(trail.way, [*trail.way[1:], None], strict=True):
        words = FOUND[step.how]
        if step.how not in (How.SEED, How.ROBOTS):  # a robots.txt is no address that is kept
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
    for failure in trail.failures:
        detail = f" ({failure.detail})" if failure.detail else ""
        lines.append(f"before that {failure.reason}, {moment(failure.at, now)}: {failure.says}{detail}")
    for visit in trail.visits:
        kind = "a page, searchable" if visit.is_page else "stored, not searchable"
        read_in = f"{charset_in_words(visit.charset, visit.charset_from)}, " if visit.charset else ""
        lines.append(
            f"{moment(visit.fetched_at, now)}: status {visit.status}, {visit.media_type or 'no type'}, "
            f"{read_in}{visit.size:,} bytes, {kind} ({visit.volume} number {visit.number})"
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
        return [f"{host.name}: unknown"]
    held = f", {host.held:,} quarantined" if host.held else ""
    lines = [f"{host.name}: {counted(host.visits, 'fetch')}, {counted(host.queued, 'URL')} waiting{held}"]
    if host.retired_at is not None:
        lines.append(f"retired {moment(host.retired_at, now)}: {host.retired_why}")
    if host.is_over_budget:
        lines.append("over its budget: fetched when nothing else is waiting")
    lines.append(f"gap of {lasting(host.gap_s)}: {host.gap_says}")
    if host.next_at is not None and host.next_at > now:
        lines.append(f"no request before {moment(host.next_at, now)}")
    lines += [_asked(one, now) for one in host.robots]
    lines += [f"quarantined pattern: {template}" for template in host.quarantined]
    return lines


def _asked(asked: RobotsKnown, now: Instant) -> str:
    start = f"{asked.origin}/robots.txt"
    if asked.state is None:
        return f"{start}: not read yet; it is requested before the first page"
    parts = [ROBOTS_MEANS[asked.state]]
    if asked.state is RobotsState.READ:
        parts.append(f"{counted(asked.rules, 'rule')} for this crawler")
    if asked.crawl_delay_s is not None:
        parts.append(f"a Crawl-delay of {asked.crawl_delay_s:g} s")
    if asked.recrawl_delay_s is not None:
        parts.append(f"a Recrawl-delay of {lasting(asked.recrawl_delay_s)}")
    if asked.failures:
        parts.append(f"failed {counted(asked.failures, 'time')} in a row")
    if asked.moved_to:
        parts.append(f"now at {asked.moved_to}")
    if asked.expires_at is not None and asked.state is not RobotsState.PENDING:
        parts.append(f"requested again {moment(asked.expires_at, now)}")
    return f"{start}: {', '.join(parts)}"


def failed_before(failure: Failure) -> FailedBefore:
    return FailedBefore(failure.at, failure.reason, IN_WORDS[failure.reason], failure.detail)


def ended_of(reason: Reason, detail: str, settled_at: Instant | None, failures: int) -> LastEnd:
    return LastEnd(reason, IN_WORDS[reason], detail, settled_at, failures)


WAITED_FOR = {
    "vanished": "it is gone, and is checked less and less often",
    "broken": "it fails, and is retried less and less often",
    "refused": "a rule rejects it; the rule is checked again then",
}
HUB = 0.5
"""New pages of late above which a page is shown as one that leads to new pages."""


def again_of(past: Past) -> RevisitPlan:
    look = past.look
    return RevisitPlan(
        due_at=past.due_at,
        why=past.why,
        says=says_of(past),
        visits=past.known.visits,
        changed_at=past.changed_at or None,
        links_changed=look.changed if look is not None else None,
        links=look.links if look is not None else None,
        threshold=look.threshold if look is not None else None,
        new_pages=past.new_pages,
    )


def says_of(past: Past) -> str:
    look = past.look
    if past.why == Why.LINKS and look is not None:
        return (
            f"revisited sooner: {look.changed} of {counted(look.links, 'page')} it links to "
            f"{'has' if look.changed == 1 else 'have'} changed (threshold {look.threshold} %)"
        )
    if past.why in WAITED_FOR:
        return WAITED_FOR[past.why]
    return history.IN_WORDS[Why(past.why)] if past.why in set(Why) else "it is due"


def in_words(again: RevisitPlan, now: Instant) -> list[str]:
    lines = [f"revisit {moment(again.due_at, now)}: {again.says}"]
    if again.why != Why.LINKS and again.links:
        lines.append(
            f"  {again.links_changed} of {counted(again.links, 'page')} it links to had changed at the last check; "
            f"{again.threshold} % would trigger a revisit"
        )
    changed = f", the last change found {moment(again.changed_at, now)}" if again.changed_at is not None else ""
    lines.append(f"  revisited {counted(again.visits, 'time')}{changed}")
    if again.leads:
        lines.append(f"  a hub: its fetches have led to new pages (about {again.new_pages:.1f} recently)")
    return lines
