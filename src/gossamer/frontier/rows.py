"""How URLs, their sources and results are stored in rows: lanes, codes, claims of lists. Pure."""

from collections.abc import Callable, Sequence

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.link import How, ListClaim, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import OTHER, id_of

SCHEMES = ("http", "https")
LANES_OF = ((), (0,), (1,), (0, 1))
"""By the bits of `hosts.lanes`."""
HELD = 2
"""Added to the lane of URLs that are held in quarantine."""


class UrlKeys(msgspec.Struct, frozen=True):
    """How URLs are distinguished."""

    identity: Callable[[str], str] | None = None
    """The text under which two spellings of a URL are one; None: the text itself."""
    url_id: Callable[[str], int] = id_of

    def text(self, text: str) -> str:
        return text if self.identity is None else self.identity(text)

    def id(self, text: str) -> int:
        return self.url_id(text if self.identity is None else self.identity(text))


def lane_of(text: str) -> int:
    return int(text.startswith("https:"))


def text_of(lane: int, name: str, rest: str) -> str:
    """The URL of a row; the inverse of `parts_of`."""
    if OTHER in name:
        scheme, _, name = name.partition(OTHER)
        return f"{scheme}://{name}/{rest}"
    return f"{SCHEMES[lane]}://{name}/{rest}"


def name_in(scheme: str, authority: str) -> str:
    """The host's name, from the parts of a URL (the scheme with its colon): as `Url.host`, without making a Url."""
    return authority if scheme in ("https:", "http:") else scheme[:-1] + OTHER + authority


def parts_of(text: str) -> tuple[int, str, str]:
    """Lane, host name, and what follows its slash. REQUIRES: the text of a Url."""
    scheme, _, name, rest = text.split("/", 3)
    return int(scheme == "https:"), name_in(scheme, name), rest


def next_id(number: int) -> int:
    """The id after this one, among signed 64-bit integers."""
    return number + 1 if number < (1 << 63) - 1 else -(1 << 63)


HOWS = dict(enumerate((How.SEED, How.LINK, How.REDIRECT, How.SITEMAP, How.FEED, How.ROBOTS, How.MAP)))
"""0 and 1 need no space in a row of SQLite, so the most frequent have them."""
HOW_CODES = {how: code for code, how in HOWS.items()}

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


LONGEST_S = 10 * 365 * 86_400
SaidRow = tuple[int, Instant | None, int | None]
"""The id of a URL, and the claim about it."""


def said_rows(offers: Sequence[Offer], host: str, key_of: Callable[[str], int]) -> list[SaidRow]:
    """Claims about pages of the own host of the list, sorted by id; claims about other hosts do not count."""
    found: dict[int, SaidRow] = {}
    for offer in offers:
        claim = offer.claim
        if claim is not None and offer.url.host.name == host:
            every_s = None if claim.every_s is None else round(max(0.0, min(claim.every_s, LONGEST_S)))
            number = key_of(offer.url.text)
            found[number] = (number, claim.changed_at, every_s)
    return sorted(found.values(), key=lambda row: row[0])


def claim_of(changed_at: Instant | None, every_s: int | None) -> ListClaim | None:
    return None if changed_at is None and every_s is None else ListClaim(changed_at, every_s)
