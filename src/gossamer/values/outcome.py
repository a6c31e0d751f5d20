"""How a fetch ended (`Outcome`), with a stable reason code and words for it, and what a rule decided."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from gossamer.values.capture import Capture
from gossamer.values.url import Url


class Reason(StrEnum):
    """Stable codes, stored with each URL. Add, never rename."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"
    MOVED = "moved"
    GONE = "gone"
    SOFT_404 = "soft-404"
    # refused by a rule; nothing was requested
    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    SCOPE = "scope"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    REDIRECT_OUT = "redirect-out"
    ADDRESS = "address"
    CONTACT = "contact"
    MEDIA_TYPE = "media-type"
    FILTER = "filter"
    TRAP = "trap"
    RETIRED = "retired"
    FORGOTTEN = "forgotten"
    # failed because of the host, the network or the page
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_SLOW = "too-slow"
    UNFINISHED = "unfinished"
    PROTOCOL = "protocol"
    HEADERS_TOO_LARGE = "headers-too-large"
    DISCONNECTED = "disconnected"
    CODING = "coding"
    SLOW_DOWN = "slow-down"
    SERVER_ERROR = "server-error"
    CLIENT_ERROR = "client-error"
    FILTER_ERROR = "filter-error"
    # stored, but reading it failed
    READ_TIMEOUT = "read-timeout"
    READ_CRASH = "read-crash"
    READ_MEMORY = "read-memory"


HELD = frozenset({Reason.ADDRESS, Reason.CONTACT})
"""Refusals because an option is missing, not because of page or site: the URL waits until the option is given."""

IN_WORDS: dict[Reason, str] = {
    Reason.FETCHED: "stored: a page or other content (sitemap, image, noindex page)",
    Reason.UNCHANGED: "the server says it has not changed",
    Reason.MOVED: "redirected; the rules apply to the new URL separately",
    Reason.GONE: "the server says there is no such page (404 or 410)",
    Reason.SOFT_404: "a success status, but the content says that there is no such page",
    Reason.ROBOTS: "disallowed by robots.txt",
    Reason.ROBOTS_UNREACHABLE: "robots.txt could not be read, so nothing on this host is fetched for now",
    Reason.SCOPE: "outside the scope of this crawl",
    Reason.TOO_MANY_REDIRECTS: "the chain of redirects is longer than 10",
    Reason.REDIRECT_OUT: "redirected to something that is not an http or https URL",
    Reason.ADDRESS: "the host resolves to a private, local or otherwise forbidden network address",
    Reason.CONTACT: "a public site, and no contact is set (gossamer.toml: contact)",
    Reason.MEDIA_TYPE: "a content type this crawl does not collect; dropped after the headers",
    Reason.FILTER: "excluded by a rule of this crawl",
    Reason.TRAP: "quarantined as a possible crawler trap: similar URLs brought nothing new",
    Reason.RETIRED: "its host has been down or too slow for a long time",
    Reason.FORGOTTEN: "forgotten on request, and no longer accepted (gossamer forget --list)",
    Reason.DNS: "the host name does not resolve",
    Reason.CONNECT: "no connection to the host",
    Reason.TLS: "the TLS connection could not be trusted or established",
    Reason.TIMEOUT: "no response within the time limit",
    Reason.TOO_SLOW: "the response was slower than the minimum rate",
    Reason.UNFINISHED: "the response started, but did not finish within the time limit",
    Reason.PROTOCOL: "the response is not valid HTTP",
    Reason.HEADERS_TOO_LARGE: "the header fields are too many or too long",
    Reason.DISCONNECTED: "the host closed the connection before the response was complete",
    Reason.CODING: "the content coding is unknown, stacked too deep, or broken",
    Reason.SLOW_DOWN: "the server asks us to slow down (429 or 503)",
    Reason.SERVER_ERROR: "the server responded with an error (5xx)",
    Reason.CLIENT_ERROR: "the server refused the page (4xx)",
    Reason.FILTER_ERROR: "a custom filter failed, so nothing was decided (gossamer retry --reason filter-error)",
    Reason.READ_TIMEOUT: "stored, but reading it took too long",
    Reason.READ_CRASH: "stored, but reading it crashed the reader twice",
    Reason.READ_MEMORY: "stored, but reading it took too much memory",
}
PAGE_ERRORS = frozenset({Reason.TOO_SLOW, Reason.UNFINISHED})
"""The host answered, but the body exceeded a limit: an error of this page, not of its host."""

GROUPS: Mapping[str, tuple[Reason, ...]] = {
    "found": (Reason.FETCHED, Reason.UNCHANGED),
    "redirected": (Reason.MOVED, Reason.TOO_MANY_REDIRECTS, Reason.REDIRECT_OUT),
    "missing": (Reason.GONE, Reason.SOFT_404),
    "refused": (
        Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.SCOPE, Reason.ADDRESS, Reason.CONTACT, Reason.MEDIA_TYPE,
        Reason.FILTER, Reason.TRAP, Reason.RETIRED, Reason.FORGOTTEN,
    ),
    "failed": (
        Reason.DNS, Reason.CONNECT, Reason.TLS, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.UNFINISHED,
        Reason.PROTOCOL, Reason.HEADERS_TOO_LARGE, Reason.DISCONNECTED, Reason.CODING, Reason.SLOW_DOWN,
        Reason.SERVER_ERROR, Reason.CLIENT_ERROR, Reason.FILTER_ERROR,
    ),
    "unread": (Reason.READ_TIMEOUT, Reason.READ_CRASH, Reason.READ_MEMORY),
}  # fmt: skip
"""Every reason is in exactly one group, and all counts and lists use these. No group is named like a reason."""
GROUP_OF: Mapping[str, str] = {reason.value: group for group, reasons in GROUPS.items() for reason in reasons}


def in_group(group: str, by_reason: Mapping[str, int]) -> int:
    """How many of these results belong to the group."""
    return sum(by_reason.get(reason, 0) for reason in GROUPS[group])


class Fetched(msgspec.Struct, frozen=True):
    """A complete 2xx response, or the part of it within the limits (`capture.truncated`)."""

    capture: Capture
    flags: tuple[str, ...] = ()


class Unchanged(msgspec.Struct, frozen=True):
    capture: Capture


class Moved(msgspec.Struct, frozen=True):
    """A redirect; `to` is the next URL, resolved."""

    to: Url
    capture: Capture
    flags: tuple[str, ...] = ()


class Gone(msgspec.Struct, frozen=True):
    capture: Capture


class Refused(msgspec.Struct, frozen=True):
    """Refused by a rule; nothing was requested."""

    reason: Reason
    detail: str = ""
    """The rule in words: the robots.txt line, the IP address, the setting."""


class Failed(msgspec.Struct, frozen=True):
    reason: Reason
    detail: str = ""
    capture: Capture | None = None
    wait_s: float | None = None
    """The server's Retry-After, in seconds."""


Outcome = Fetched | Unchanged | Moved | Gone | Refused | Failed


def reason_of(outcome: Outcome) -> Reason:
    match outcome:
        case Fetched():
            return Reason.FETCHED
        case Unchanged():
            return Reason.UNCHANGED
        case Moved():
            return Reason.MOVED
        case Gone():
            return Reason.GONE
        case Refused(reason=reason) | Failed(reason=reason):
            return reason


def capture_of(outcome: Outcome) -> Capture | None:
    """What is to be archived of it, if there was a response."""
    return None if isinstance(outcome, Refused) else outcome.capture


class Allowed(msgspec.Struct, frozen=True):
    pass


class Denied(msgspec.Struct, frozen=True):
    rule: str
    """The rule in words: the robots.txt line, the scope, the limit."""


class FilterFailed(msgspec.Struct, frozen=True):
    """A custom filter failed: neither yes nor no."""

    rule: str
    """The filter's name and its error."""


ALLOWED = Allowed()
"""Shared, because it has no fields."""
