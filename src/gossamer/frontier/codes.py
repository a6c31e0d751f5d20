"""The small integers that stand on disk for words. Add, never renumber."""

from gossamer.values.link import How
from gossamer.values.outcome import Reason

HOW_CODES: dict[How, int] = {
    How.SEED: 0,
    How.LINK: 1,
    How.REDIRECT: 2,
    How.SITEMAP: 3,
    How.FEED: 4,
    How.ROBOTS: 5,
    How.MAP: 6,
}
"""0 and 1 take no room at all in a row of SQLite, so the most frequent have them."""
HOWS = {code: how for how, code in HOW_CODES.items()}

REASON_CODES: dict[Reason, int] = {
    Reason.FETCHED: 1,
    Reason.UNCHANGED: 2,
    Reason.MOVED: 3,
    Reason.GONE: 4,
    Reason.SOFT_404: 5,
    Reason.ROBOTS: 10,
    Reason.ROBOTS_UNREACHABLE: 11,
    Reason.SCOPE: 12,
    Reason.TOO_MANY_REDIRECTS: 13,
    Reason.REDIRECT_OUT: 14,
    Reason.ADDRESS: 15,
    Reason.CONTACT: 16,
    Reason.MEDIA_TYPE: 17,
    Reason.FILTER: 18,
    Reason.TRAP: 19,
    Reason.RETIRED: 20,
    Reason.FORGOTTEN: 21,
    Reason.DNS: 30,
    Reason.CONNECT: 31,
    Reason.TLS: 32,
    Reason.TIMEOUT: 33,
    Reason.TOO_SLOW: 34,
    Reason.PROTOCOL: 35,
    Reason.HEADERS_TOO_LARGE: 36,
    Reason.DISCONNECTED: 37,
    Reason.CODING: 38,
    Reason.SLOW_DOWN: 39,
    Reason.SERVER_ERROR: 40,
    Reason.CLIENT_ERROR: 41,
    Reason.UNFINISHED: 42,
    Reason.FILTER_ERROR: 43,
    Reason.READ_TIMEOUT: 50,
    Reason.READ_CRASH: 51,
    Reason.READ_MEMORY: 52,
}
REASONS = {code: reason for reason, code in REASON_CODES.items()}
