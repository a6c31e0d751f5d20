"""What an answer's head and body mean. Pure: from a capture to an outcome, from header fields to decisions."""

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from multidict import CIMultiDictProxy

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Fetch
from gossamer.values.capture import Capture
from gossamer.values.history import Validators
from gossamer.values.outcome import Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.url import url_of
from gossamer.values.visit import VisitKind

Fields = CIMultiDictProxy[str]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
STATUS_FAILS = {
    206: (Reason.PROTOCOL, "a part (206) that was not asked for"),
    429: (Reason.SLOW_DOWN, ""),
    503: (Reason.SLOW_DOWN, ""),
}
CLASS_FAILS = {
    3: (Reason.PROTOCOL, "a redirect that leads nowhere"),
    4: (Reason.CLIENT_ERROR, ""),
    5: (Reason.SERVER_ERROR, ""),
}
LONGEST_WAIT_S = 24 * 3600.0
TLS_DROPPED = "tls-dropped"
"""The flag of a redirect that leads from https to http."""
LONGEST_NUMBER = 18
"""Digits of a length that fit into 64 bits; a longer one is as good as none."""
WORTH_A_CONNECTION = 64 * 1024
"""Bytes of a body; a smaller one is sooner read than another connection made."""
PDF = "application/pdf"
ETAG = re.compile(r'(?:W/)?"[!#-~]{1,200}"')
"""An entity tag of ASCII (RFC 9110, 8.8.3)."""
HTTP_DATE = re.compile(r"[A-Za-z0-9,: +-]{10,40}")


class ResponseHead:
    """The header fields that decide what is done with the body."""

    __slots__ = ("codings", "fault", "length", "location", "media_type", "retry_after")

    def __init__(self, fields: Fields) -> None:
        self.codings = ",".join(fields.getall("Content-Encoding", ()))
        self.media_type = fields.get("Content-Type", "").partition(";")[0].strip().lower()
        self.location = fields.get("Location")
        self.retry_after = fields.get("Retry-After")
        self.fault = _length_fault(fields)
        """Why the message's length cannot be trusted."""
        length = fields.get("Content-Length", "")
        self.length = int(length) if self.fault is None and 0 < len(length) <= LONGEST_NUMBER else None


def _length_fault(fields: Fields) -> str | None:
    """RFC 9112, 6.3. Two parsers that disagree on a length are how responses are smuggled: we take no such answer."""
    lengths = fields.getall("Content-Length", ())
    transfer_codings = fields.getall("Transfer-Encoding", ())
    if len(lengths) + len(transfer_codings) > 1:
        return "more than one Content-Length or Transfer-Encoding"
    if lengths and not (lengths[0].isascii() and lengths[0].isdigit()):
        return "Content-Length is no number"
    if transfer_codings and transfer_codings[0].strip().lower() != "chunked":
        return "a transfer coding other than chunked"
    return None


def is_wanted(media_type: str, wanted: Sequence[str]) -> bool:
    """An answer that does not say what it is may be a page: the reader will find out."""
    return not media_type or media_type in wanted


def is_what_we_have(fields: Fields, head: ResponseHead, etag: str) -> bool:
    """Whether a server that passed over our condition begins to send what we have: under the very strong entity tag
    that we asked about, which no other bytes may have (RFC 9110, 8.8.1). Only a large body is worth a connection. Not
    where a field beside it decides what may be shown."""
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
    return settings.pdf_limit if media_type == PDF else settings.body_limit


def outcome_of(capture: Capture, head: ResponseHead, flags: tuple[str, ...], now: Instant) -> Outcome:
    """The status table. REQUIRES: the body is whole, or was cut by our own limit."""
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
    """The parser took the field for UTF-8, with surrogates for bytes that are not: those are Latin-1."""
    text = location.encode("utf-8", "surrogateescape").decode("latin-1") if _has_surrogates(location) else location
    to = url_of(text, capture.url)
    if to is None:
        return Refused(Reason.REDIRECT_OUT, f"status {capture.status} to {text[:200]}")
    flags = (TLS_DROPPED,) if capture.url.scheme == "https" and to.scheme == "http" else ()
    return Moved(to, capture, flags)


def validators_of(capture: Capture) -> Validators:
    """What the answer can be asked for by; of what is not well-formed, or too long to repeat, nothing."""
    etag, date = capture.header("etag") or "", (capture.header("last-modified") or "").strip()
    return Validators(
        etag.strip() if ETAG.fullmatch(etag.strip()) else "",
        date if HTTP_DATE.fullmatch(date) and moment_of(date) is not None else "",
    )


def moment_of(date: str) -> Instant | None:
    """An HTTP date; None where it is none, or before 1970."""
    try:
        moment = round(parsedate_to_datetime(date).timestamp() * SECOND)
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment > 0 else None


def wait_of(retry_after: str | None, now: Instant) -> float | None:
    """Retry-After in seconds (RFC 9110, 10.2.3), at most a day; None when it says nothing we understand."""
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


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
