"""What a URL or a host waits for.

The reasons follow from the stored state and the time; the decisive one comes first. Pure.
"""

from collections.abc import Sequence

import msgspec

from gossamer.base.clock import Instant
from gossamer.collection.why.trail import Wait
from gossamer.config.slices import Politeness
from gossamer.fetch.guard import closed_address
from gossamer.frontier.api import HostState, KnownState
from gossamer.frontier.leases import AskFirst, Away, GivenUp, Open, Shut, gate_of
from gossamer.frontier.priority import LAST
from gossamer.values.format import counted, lasting, moment
from gossamer.values.outcome import Reason
from gossamer.values.robots import HOPELESS, Robots, RobotsState

STOPPED = "no crawl is running: `gossamer crawl --dir ...`, on a cluster `gossamer node`, continues from here"


class Crew(msgspec.Struct, frozen=True):
    """The state of the running crawl, from the control database."""

    is_crawling: bool
    lag_s: float = 0.0
    """How far the index lags."""
    most_lag_s: float = 2.5
    """With more, nothing new is fetched."""
    is_short_of_room: bool = False
    is_paused: bool = False


def waits_of(
    known: KnownState, host: HostState, robots: Robots | None, before: int | None, crew: Crew, now: Instant
) -> list[Wait]:
    """Before the next fetch of a URL. Empty if none is planned."""
    if known.is_held:
        says = "it is quarantined (possible trap): similar URLs brought nothing new; `gossamer hosts release` ends that"
        return [Wait("quarantine", says), *_always(host, crew, now)]
    if not known.is_queued:
        return _option(known)
    waits = _always(host, crew, now)
    if known.due_at is not None and known.due_at > now:
        waits.append(Wait("due", f"it is due {moment(known.due_at, now)}", known.due_at))
    waits += _robots(robots, now)
    waits += _gap(host, crew, now)
    if before:
        waits.append(Wait("others", f"{counted(before, 'URL')} on its host {'goes' if before == 1 else 'go'} first"))
    return waits or [Wait("turn", "nothing: it is fetched at the next opportunity")]


def _option(known: KnownState) -> list[Wait]:
    """What was refused because an option is missing is checked again once that is given."""
    if known.reason is Reason.CONTACT:
        return [Wait("option", "it needs an option: --contact, since its host is public")]
    closed = closed_address(known.detail) if known.reason is Reason.ADDRESS else None
    return [Wait("option", f"it needs an option: --allow-address {closed}")] if closed else []


def host_waits(host: HostState, robots: Sequence[Robots], crew: Crew, now: Instant) -> list[Wait]:
    """Why nothing is being fetched at a host."""
    waits = _always(host, crew, now)
    if not host.queued:
        held = f"; {counted(host.held, 'URL')} quarantined" if host.held else ""
        if given_up := unread_at(robots):
            return [*waits, Wait("robots", f"{given_up}: given up until `gossamer crawl` is started again{held}")]
        return [*waits, Wait("empty", f"nothing is waiting: every known URL has been fetched{held}")]
    for entry in robots:
        waits += [wait for wait in _robots(entry, now) if wait not in waits]
    waits += _gap(host, crew, now)
    if host.later_at is not None and host.later_at > now and (host.ready_at is None or host.ready_at > now):
        waits.append(Wait("due", f"the next revisit is due {moment(host.later_at, now)}", host.later_at))
    return waits or [Wait("turn", "nothing: it is fetched at the next opportunity")]


def _always(host: HostState, crew: Crew, now: Instant) -> list[Wait]:
    """What concerns every URL of the host, or of the crawl."""
    waits = []
    if not crew.is_crawling:
        waits.append(Wait("stopped", STOPPED))
    elif crew.is_paused:
        waits.append(Wait("paused", "the crawl is paused: fetches in progress are finished, nothing new is started"))
    elif crew.is_short_of_room:
        waits.append(Wait("room", "the disk is nearly full: the crawl continues when there is space"))
    elif crew.lag_s > crew.most_lag_s:
        waits.append(
            Wait("views", f"the index is {lasting(crew.lag_s)} behind: nothing new is fetched until it catches up")
        )
    if host.retired_at is not None:
        says = f"its host was retired {moment(host.retired_at, now)}: {host.retired_why}"
        waits.append(Wait("retired", f"{says}; `gossamer hosts reinstate {host.name}` reinstates it"))
    elif host.band == LAST:
        waits.append(Wait("budget", "its host is over its budget: it is fetched when nothing else is waiting"))
    return waits


def _robots(robots: Robots | None, now: Instant) -> list[Wait]:
    """For a URL that waits: it has not been given up, however often the robots.txt failed."""
    match gate_of(robots, now, None):
        case Open():
            return []
        case AskFirst(robots=None):
            return [Wait("robots", "the robots.txt has not been read yet: it is requested first")]
        case AskFirst():
            return [Wait("robots", "the robots.txt has to be read again first: it was last read too long ago")]
        case Shut(until=until):
            assert robots is not None, "else it would be requested"
            return [Wait("robots", f"{unread(robots)}; it is requested again {moment(until, now)}", until)]
        case Away():
            return [Wait("robots", "the robots.txt has moved, and is being requested at its new URL")]
        case GivenUp():
            assert robots is not None, "else it would be requested"
            return [Wait("robots", f"{unread(robots)}: given up; `gossamer crawl` requests it again")]


def unread(robots: Robots) -> str:
    """How often a robots.txt could not be read, and why the last time."""
    often = f", {counted(robots.failures, 'time')} in a row" if robots.failures < HOPELESS else ""
    return f"the robots.txt could not be read{often}{f' ({robots.trouble})' if robots.trouble else ''}"


def _gap(host: HostState, crew: Crew, now: Instant) -> list[Wait]:
    if host.leased and crew.is_crawling:
        return [Wait("visit", "a fetch from its host is in progress; there is never more than one")]
    if host.next_at > now:
        says = f"no request to its host until {moment(host.next_at, now)}"
        return [Wait("gap", says, host.next_at)]
    return []


def unread_at(robots: Sequence[Robots]) -> str:
    """Why nothing can be fetched from a host whose robots.txt cannot be read; empty if every known one can."""
    shut = [one for one in robots if one.state is RobotsState.UNREACHABLE]
    return unread(shut[0]) if shut else ""


def gap_in_words(host: HostState, polite: Politeness) -> str:
    """The reason for a host's gap."""
    asked = min(host.crawl_delay_s or 0.0, polite.longest_crawl_delay_s)
    plain = max(polite.delay_s, asked)
    source = f"its robots.txt asks for {host.crawl_delay_s:g} s" if asked > polite.delay_s else "the configured delay"
    if host.troubles and host.gap_s > plain * 1.01:
        return f"{source}, and longer because {counted(host.troubles, 'fetch')} failed recently"
    if host.gap_s > plain * 1.01:
        return f"{source}, and longer because its last response was slow, or the delay was longer then"
    return source


def host_state_of(
    host: HostState, polite: Politeness, now: Instant, is_crawling: bool, robots: Sequence[Robots] = ()
) -> tuple[str, str]:
    """A label and a sentence. A fetch that was in progress when the crawl was killed no longer is. `robots`: what is
    known of its robots.txt files."""
    given_up = unread_at(robots)
    if host.retired_at is not None:
        return "retired", f"retired {moment(host.retired_at, now)}: {host.retired_why}"
    if host.leased and is_crawling:
        return "in-progress", "a fetch is in progress"
    if not host.queued:
        held = f"{counted(host.held, 'URL')} quarantined" if host.held else ""
        return "done", (given_up and f"{given_up}: given up until the next crawl") or held or "nothing is waiting"
    if host.next_at > now:
        kind = "backing-off" if host.troubles else "waiting"
        return kind, f"until {moment(host.next_at, now)}: {gap_in_words(host, polite)}"
    if host.band == LAST:
        return "over-budget", "fetched when nothing else is waiting"
    if host.ready_at is not None and host.ready_at > now:
        return "waiting", f"until {moment(host.ready_at, now)}: {given_up or 'nothing is due before'}"
    return "ready", "fetched at the next opportunity" if is_crawling else "fetched when the crawl continues"
