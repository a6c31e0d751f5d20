"""From a visit to a robots.txt to the entry that is kept of it: which state, and until when. Pure."""

import re

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import RobotsKeeping
from gossamer.values.capture import Capture
from gossamer.values.outcome import HELD, IN_WORDS, Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.robots import HOPELESS, ParsedRobots, Robots, RobotsRule, RobotsState
from gossamer.values.visit import Visit

OLD_COPY = "old-copy"
"""The flag of an entry whose rules come from a good copy while the host cannot be reached."""
NOTHING = (RobotsRule(allows=False, pattern="/", line=0),)
_MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


def entry_of(
    visit: Visit, outcome: Outcome, parsed: ParsedRobots | None, now: Instant, settings: RobotsKeeping
) -> Robots:
    """The new entry (RFC 9309, 2.3.1). `parsed` is there when the outcome is `Fetched` and the file could be read."""
    match outcome:
        case Fetched(capture=capture) if parsed is not None:
            return _read(visit, capture, parsed, now, settings)
        case Unchanged() if visit.robots is not None and visit.robots.read_at is not None:
            return _kept(visit.robots, now, settings)
        case Moved(to=to):
            hops = _hops(visit) + 1
            if hops > settings.most_hops:
                return _missing(visit, now, settings)
            return msgspec.structs.replace(
                _last_good(visit, now, settings), state=RobotsState.PENDING, expires_at=now, hops=hops, ask=to
            )
        case Gone():
            return _missing(visit, now, settings)
        case Failed(reason=Reason.CLIENT_ERROR, capture=capture):
            if settings.refusal_disallows and capture is not None and capture.status in (401, 403):
                return msgspec.structs.replace(_missing(visit, now, settings), state=RobotsState.READ, rules=NOTHING)
            return _missing(visit, now, settings)
        case Failed(wait_s=wait_s):
            return _unreachable(visit, wait_s or 0.0, _trouble(outcome), now, settings)
        case Refused(reason=reason) if reason in HELD:  # what was known stays so; it is asked for with other options
            return _last_good(visit, now, settings)
        case Refused():  # by a rule of our own: asking again would change nothing
            return msgspec.structs.replace(
                _unreachable(visit, 0.0, _trouble(outcome), now, settings), failures=HOPELESS
            )
        case Fetched() | Unchanged():
            return _unreachable(visit, 0.0, "it could not be parsed", now, settings)


def _trouble(outcome: Failed | Refused) -> str:
    return f"{outcome.reason}: {outcome.detail or IN_WORDS[outcome.reason]}"


def _read(visit: Visit, capture: Capture, parsed: ParsedRobots, now: Instant, settings: RobotsKeeping) -> Robots:
    return entry_read(visit.origin, parsed, now, _later(now, _keep_s(capture, settings)))


def entry_read(origin: str, parsed: ParsedRobots, now: Instant, expires_at: Instant) -> Robots:
    """The entry of a robots.txt that was read just now."""
    return Robots(
        origin=origin,
        state=RobotsState.READ,
        fetched_at=now,
        expires_at=expires_at,
        rules=parsed.rules,
        crawl_delay_s=parsed.crawl_delay_s,
        sitemaps=parsed.sitemaps,
        flags=parsed.flags,
        read_at=now,
        signals=parsed.signals,
        extensions=parsed.extensions,
        group=parsed.group,
        group_lines=parsed.group_lines,
        recrawl_delay_s=parsed.recrawl_delay_s,
    )


def _kept(old: Robots, now: Instant, settings: RobotsKeeping) -> Robots:
    """The server says that nothing has changed: what was read stands, from now."""
    return msgspec.structs.replace(
        old,
        state=RobotsState.READ,
        fetched_at=now,
        expires_at=_later(now, settings.keep_s),
        failures=0,
        failing_since=None,
        trouble="",
        ask=None,
        hops=0,
        flags=tuple(flag for flag in old.flags if flag != OLD_COPY),
        read_at=now,
    )


def _missing(visit: Visit, now: Instant, settings: RobotsKeeping) -> Robots:
    return Robots(
        origin=visit.origin,
        state=RobotsState.MISSING,
        fetched_at=now,
        expires_at=_later(now, settings.keep_s),
    )


def _unreachable(visit: Visit, wait_s: float, trouble: str, now: Instant, settings: RobotsKeeping) -> Robots:
    """Nothing may be fetched until it is read; after half a day the last good copy speaks again, if there is one."""
    good = _last_good(visit, now, settings)
    most_s = settings.retry_most_s if good.read_at is None else min(settings.retry_most_s, settings.retry_copy_s)
    back_off_s = min(settings.retry_s * 2.0 ** min(good.failures, 32), max(most_s, settings.retry_s))
    since = good.failing_since if good.failing_since is not None else now
    may_speak = good.read_at is not None and now - since >= settings.patience_s * SECOND
    return msgspec.structs.replace(
        good,
        state=RobotsState.READ if may_speak else RobotsState.UNREACHABLE,
        expires_at=_later(now, max(back_off_s, wait_s)),
        failures=min(good.failures + 1, HOPELESS - 1),
        failing_since=since,
        trouble=trouble,
        flags=(OLD_COPY,) if may_speak else (),
    )


def _last_good(visit: Visit, now: Instant, settings: RobotsKeeping) -> Robots:
    """What is carried on while there is no new answer: the row of failures, and the rules unless they are too old."""
    blank = Robots(
        origin=visit.origin,
        state=RobotsState.UNREACHABLE,
        fetched_at=now,
        expires_at=now,
        failures=visit.failures,
    )
    old = visit.robots
    if old is None:
        return blank
    failures = max(visit.failures, old.failures)
    if old.read_at is None or now - old.read_at >= settings.old_copy_s * SECOND:
        return msgspec.structs.replace(blank, failures=failures, failing_since=old.failing_since)
    return msgspec.structs.replace(
        old, state=blank.state, fetched_at=now, expires_at=now, failures=failures, ask=None, hops=0, flags=()
    )


def _hops(visit: Visit) -> int:
    return visit.robots.hops if visit.robots is not None and visit.robots.state is RobotsState.PENDING else 0


def _keep_s(capture: Capture, settings: RobotsKeeping) -> float:
    """Cache-Control is listened to within bounds (RFC 9309, 2.4)."""
    found = _MAX_AGE.search(capture.header("Cache-Control") or "")
    return min(max(float(found[1]), settings.keep_least_s), settings.keep_s) if found else settings.keep_s


def _later(now: Instant, seconds: float) -> Instant:
    return now + round(seconds * SECOND)
