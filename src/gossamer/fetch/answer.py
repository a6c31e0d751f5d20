"""What a response means for the crawl: what to do, a capture, a robots.txt entry. Pure."""

import re
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime

import msgspec
from multidict import CIMultiDictProxy

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Fetch, RobotsKeeping
from gossamer.values.capture import Capture
from gossamer.values.document import (
    ARCHIVES,
    COMPOUND,
    FORMAT_OF,
    JSON,
    MAIL,
    MBOX,
    PDF,
    RTF,
    UNTYPED,
    ZIPPED,
    type_by_name,
)
from gossamer.values.history import Validators
from gossamer.values.outcome import HELD, IN_WORDS, Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.robots import HOPELESS, ParsedRobots, Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Visit, VisitKind

Fields = CIMultiDictProxy[str]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
STATUS_FAILS = {
    206: (Reason.PROTOCOL, "a part (206) that was not requested"),
    429: (Reason.SLOW_DOWN, ""),
    503: (Reason.SLOW_DOWN, ""),
}
CLASS_FAILS = {
    3: (Reason.PROTOCOL, "a redirect without a target"),
    4: (Reason.CLIENT_ERROR, ""),
    5: (Reason.SERVER_ERROR, ""),
}
LONGEST_WAIT_S = 24 * 3600.0
UNVERIFIED = "tls-unverified"
"""The flag of a response from a server whose certificate is not trusted; the capture says why."""
TLS_DROPPED = "tls-dropped"
"""The flag of a redirect that leads from https to http."""
LONGEST_NUMBER = 18
"""Digits of a length that fit into 64 bits; a longer one is ignored."""
WORTH_A_CONNECTION = 64 * 1024
"""Bytes of a body; reading a smaller one is faster than opening another connection."""
LARGE = ZIPPED | COMPOUND | {PDF, RTF, MAIL, MBOX}
"""Formats that are often large, and of little use when their end is cut off."""
VAGUE = UNTYPED | {JSON}
"""Labels for which the name of the file decides. Most responses in JSON are no documents but data for programs."""
ETAG = re.compile(r'(?:W/)?"[!#-~]{1,200}"')
"""An entity tag of ASCII (RFC 9110, 8.8.3)."""
HTTP_DATE = re.compile(r"[A-Za-z0-9,: +-]{10,40}")

JudgeType = Callable[[Url, str, int], str | None]
"""Why a response of this media type, for this URL, so many links from its seed, is not collected; None: it is."""


class ResponseHead:
    """The header fields that decide what is done with the body."""

    __slots__ = ("codings", "defect", "length", "location", "media_type", "retry_after")

    def __init__(self, fields: Fields) -> None:
        self.codings = ",".join(fields.getall("Content-Encoding", ()))
        self.media_type = fields.get("Content-Type", "").partition(";")[0].strip().lower()
        self.location = fields.get("Location")
        self.retry_after = fields.get("Retry-After")
        self.defect = _length_defect(fields)
        """Why the message's length cannot be trusted."""
        length = fields.get("Content-Length", "")
        self.length = int(length) if self.defect is None and 0 < len(length) <= LONGEST_NUMBER else None


def _length_defect(fields: Fields) -> str | None:
    """RFC 9112, 6.3. Responses are smuggled where two parsers disagree on a length: such a response is refused."""
    lengths = fields.getall("Content-Length", ())
    transfer_codings = fields.getall("Transfer-Encoding", ())
    if len(lengths) + len(transfer_codings) > 1:
        return "more than one Content-Length or Transfer-Encoding"
    if lengths and not (lengths[0].isascii() and lengths[0].isdigit()):
        return "Content-Length is not a number"
    if transfer_codings and transfer_codings[0].strip().lower() != "chunked":
        return "a transfer coding other than chunked"
    return None


def type_refusal(
    url: Url, media_type: str, depth: int, wanted: Sequence[str], judge_type: JudgeType, named: Sequence[str] = ()
) -> Refused | None:
    """For a page whose type is not collected. One without a media type may be a page: the reader will find out.

    `named`: types that are collected if the URL ends with their suffix, and the label says nothing else."""
    if media_type and media_type not in wanted and not (media_type in VAGUE and type_by_name(url.text) in named):
        return Refused(Reason.MEDIA_TYPE, media_type)
    why = judge_type(url, media_type, depth)
    return None if why is None else Refused(Reason.MEDIA_TYPE, why)


def is_what_we_have(fields: Fields, head: ResponseHead, etag: str) -> bool:
    """Whether a server that ignored our condition is sending what we have: the response has the strong entity tag of
    our request, which no other bytes may have (RFC 9110, 8.8.1). Only for a body that is larger than a connection is
    worth, and not if another field decides what may be shown."""
    if not etag.startswith('"') or fields.get("ETag", "").strip() != etag or "X-Robots-Tag" in fields:
        return False
    return head.length is not None and head.length > WORTH_A_CONNECTION


def limit_of(kind: VisitKind, status: int, media_type: str, settings: Fetch) -> int:
    if kind is VisitKind.ROBOTS:
        return settings.robots_limit
    if not 200 <= status < 300:
        return settings.other_limit
    if kind is VisitKind.LIST:
        return settings.list_limit
    is_large = media_type in VAGUE or media_type in ARCHIVES or FORMAT_OF.get(media_type) in LARGE
    return settings.document_limit if is_large else settings.body_limit


def outcome_of(capture: Capture, head: ResponseHead, flags: tuple[str, ...], now: Instant) -> Outcome:
    """By status. REQUIRES: the body is whole, or was cut by our own limit."""
    status = capture.status
    if status in STATUS_FAILS:
        reason, words = STATUS_FAILS[status]
        wait_s = wait_of(head.retry_after, now) if reason is Reason.SLOW_DOWN else None
        return Failed(reason, words or f"status {status}", capture, wait_s)
    if 200 <= status < 300:
        return Fetched(capture, flags)
    if status == 304:
        return Unchanged(capture)
    if status in (404, 410):
        return Gone(capture)
    if status in REDIRECTS and head.location:
        return _moved(capture, head.location)
    reason, words = CLASS_FAILS.get(status // 100, (Reason.PROTOCOL, ""))
    return Failed(reason, words or f"status {status}", capture)


def _moved(capture: Capture, location: str) -> Outcome:
    """The parser decoded the field as UTF-8, with surrogates for invalid bytes: those are Latin-1."""
    has_surrogates = not location.isascii() and any("\ud800" <= character <= "\udfff" for character in location)
    text = location.encode("utf-8", "surrogateescape").decode("latin-1") if has_surrogates else location
    to = url_of(text, capture.url)
    if to is None:
        return Refused(Reason.REDIRECT_OUT, f"status {capture.status} to {text[:200]}")
    flags = (TLS_DROPPED,) if capture.url.scheme == "https" and to.scheme == "http" else ()
    return Moved(to, capture, flags)


def validators_of(capture: Capture) -> Validators:
    """The validators for the next request, if they are well-formed and not too long to repeat."""
    etag, date = capture.header("etag") or "", (capture.header("last-modified") or "").strip()
    return Validators(
        etag.strip() if ETAG.fullmatch(etag.strip()) else "",
        date if HTTP_DATE.fullmatch(date) and moment_of(date) is not None else "",
    )


def moment_of(date: str) -> Instant | None:
    """An HTTP date; None if it is invalid or before 1970."""
    try:
        moment = round(parsedate_to_datetime(date).timestamp() * SECOND)
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment > 0 else None


def wait_of(retry_after: str | None, now: Instant) -> float | None:
    """Retry-After in seconds (RFC 9110, 10.2.3), at most a day; None if it is missing or invalid."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_WAIT_S)
    try:
        until = parsedate_to_datetime(text)
        left_s = until.timestamp() - now / SECOND
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(left_s, 0.0), LONGEST_WAIT_S)


OLD_COPY = "old-copy"
"""The flag of an entry whose rules are those of an older copy, while the host cannot be reached."""
NOTHING = (RobotsRule(allows=False, pattern="/", line=0),)
_MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


def entry_of(
    visit: Visit, outcome: Outcome, parsed: ParsedRobots | None, now: Instant, settings: RobotsKeeping
) -> Robots:
    """The new entry (RFC 9309, 2.3.1). `parsed` is there when the outcome is `Fetched` and the file could be read."""
    match outcome:
        case Fetched(capture=capture) if parsed is not None:
            return entry_read(visit.origin, parsed, now, _later(now, _keep_s(capture, settings)))
        case Unchanged() if visit.robots is not None and visit.robots.read_at is not None:
            return _confirmed(visit.robots, now, settings)
        case Moved(to=to):
            old = visit.robots
            hops = old.hops + 1 if old is not None and old.state is RobotsState.PENDING else 1
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
        case Refused(reason=reason) if reason in HELD:  # the old rules stay; it is fetched once the options allow it
            return _last_good(visit, now, settings)
        case Refused():  # by one of our rules: another fetch would change nothing
            return msgspec.structs.replace(
                _unreachable(visit, 0.0, _trouble(outcome), now, settings), failures=HOPELESS
            )
        case Fetched() | Unchanged():
            return _unreachable(visit, 0.0, "it could not be parsed", now, settings)


def _trouble(outcome: Failed | Refused) -> str:
    return f"{outcome.reason}: {outcome.detail or IN_WORDS[outcome.reason]}"


def entry_read(origin: str, parsed: ParsedRobots, now: Instant, expires_at: Instant) -> Robots:
    """The entry of a robots.txt that was read at `now`."""
    found = msgspec.structs.asdict(parsed)
    return Robots(origin, RobotsState.READ, fetched_at=now, expires_at=expires_at, read_at=now, **found)


def _confirmed(old: Robots, now: Instant, settings: RobotsKeeping) -> Robots:
    """Not modified: the old entry is valid again, from now."""
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
    return Robots(visit.origin, RobotsState.MISSING, fetched_at=now, expires_at=_later(now, settings.keep_s))


def _unreachable(visit: Visit, wait_s: float, trouble: str, now: Instant, settings: RobotsKeeping) -> Robots:
    """Nothing may be fetched until it can be read; after half a day the last good copy, if any, applies again."""
    good = _last_good(visit, now, settings)
    most_s = settings.retry_most_s if good.read_at is None else min(settings.retry_most_s, settings.retry_copy_s)
    back_off_s = min(settings.retry_s * 2.0 ** min(good.failures, 32), max(most_s, settings.retry_s))
    since = good.failing_since if good.failing_since is not None else now
    is_copy_valid = good.read_at is not None and now - since >= settings.patience_s * SECOND
    return msgspec.structs.replace(
        good,
        state=RobotsState.READ if is_copy_valid else RobotsState.UNREACHABLE,
        expires_at=_later(now, max(back_off_s, wait_s)),
        failures=min(good.failures + 1, HOPELESS - 1),
        failing_since=since,
        trouble=trouble,
        flags=(OLD_COPY,) if is_copy_valid else (),
    )


def _last_good(visit: Visit, now: Instant, settings: RobotsKeeping) -> Robots:
    """What is kept without a new response: the failures in a row, and the rules unless they are too old."""
    blank = Robots(visit.origin, RobotsState.UNREACHABLE, now, expires_at=now, failures=visit.failures)
    old = visit.robots
    if old is None:
        return blank
    failures = max(visit.failures, old.failures)
    if old.read_at is None or now - old.read_at >= settings.old_copy_s * SECOND:
        return msgspec.structs.replace(blank, failures=failures, failing_since=old.failing_since)
    return msgspec.structs.replace(
        old, state=blank.state, fetched_at=now, expires_at=now, failures=failures, ask=None, hops=0, flags=()
    )


def _keep_s(capture: Capture, settings: RobotsKeeping) -> float:
    """Cache-Control counts within bounds (RFC 9309, 2.4)."""
    found = _MAX_AGE.search(capture.header("Cache-Control") or "")
    return min(max(float(found[1]), settings.keep_least_s), settings.keep_s) if found else settings.keep_s


def _later(now: Instant, seconds: float) -> Instant:
    return now + round(seconds * SECOND)
