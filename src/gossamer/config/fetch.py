"""What the client is told: limits, patience, and whom it speaks for."""

from dataclasses import dataclass
from typing import Literal

WANTED = (
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "application/xml",
    "text/xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/ld+json",
    "application/feed+json",
)


@dataclass(frozen=True, slots=True)
class Fetch:
    agent: str = "Gossamer"  # the product token of the User-Agent
    contact: str | None = None  # a page or mail address for site owners; None: public addresses are refused
    timeout_s: float = 30.0  # for the whole visit: name, connection, answer
    connect_s: float = 10.0  # of that, for the name, the connection and TLS
    least_rate: int = 1024  # bytes a second of a body, on average, below which it is given up ...
    least_rate_after_s: float = 10.0  # ... once it has been coming for so long
    body_limit: int = 16 * 1024 * 1024  # bytes of a body, decoded and as sent, after which it is cut
    pdf_limit: int = 64 * 1024 * 1024  # the same for application/pdf
    list_limit: int = 50 * 1024 * 1024  # the same for what was named as a sitemap (sitemaps.org)
    robots_limit: int = 512 * 1024  # the same for robots.txt
    other_limit: int = 256 * 1024  # the same for answers that are no page: redirects, errors
    header_limit: int = 64 * 1024  # bytes of all header fields together
    header_fields: int = 256  # header fields
    at_once: int = 256  # connections in use at one time beside slow ones (`budget.CROWD`); as many are kept open
    idle_s: float = 15.0  # an unused connection is kept open so long
    wanted: tuple[str, ...] = WANTED  # media types that are collected; others are dropped after their headers
    allow_addresses: tuple[str, ...] = ()  # private ranges that may be crawled, such as "10.1.0.0/16"
    tls: Literal["verify", "record"] = "verify"  # a server that cannot prove its name: refused, or taken and marked
    tls_authorities: str | None = None  # a PEM file of further certificate authorities to trust


@dataclass(frozen=True, slots=True)
class RobotsKeeping:
    """How long an entry stands (RFC 9309, 2.3 and 2.4)."""

    keep_s: float = 24 * 3600.0  # read or missing; also the most that a Cache-Control is listened to
    keep_least_s: float = 600.0  # a shorter max-age is taken for this: asking is a visit too
    retry_s: float = 60.0  # after the first failure; doubles each time
    retry_most_s: float = 24 * 3600.0  # the longest such wait, unless the server asks for more ...
    retry_copy_s: float = 3600.0  # ... and while there is a good copy, which is to speak again in time
    patience_s: float = 12 * 3600.0  # unreachable for so long: the last good copy speaks again ...
    old_copy_s: float = 30 * 24 * 3600.0  # ... while it is younger than this
    most_hops: int = 5  # redirects followed; one more means there is no robots.txt
    refusal_disallows: bool = False  # take 401 and 403 for "nothing may be fetched" instead of "no robots.txt"
