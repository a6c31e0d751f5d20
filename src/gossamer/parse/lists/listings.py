"""What sitemaps and feeds are to a crawl: addresses to visit, how soon, and when to look again.

They wish for much; what is believed is bounded here. A date to come is none, a priority counts only against the others
of its own map (sitemaps.org), and how often a page is visited stays for the policy to say.
"""

import re
from collections.abc import Iterable, Sequence

from gossamer.base.clock import DAY, Instant
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.lists.feeds import Feed, is_json_feed, parse_feed, parse_json_feed
from gossamer.parse.lists.sitemaps import MapEntry, Sitemap, SitemapEntry, parse_sitemap
from gossamer.parse.sniff import essence, is_sitemap, is_xml
from gossamer.values.link import How
from gossamer.values.messages import Listed, Listing
from gossamer.values.url import Url

MOST_NEW = 200
"""Items taken from a feed in one poll, the newest: a feed that makes up items cannot flood the frontier."""
DEEPEST_INDEX = 2
"""Indexes above a map at most; what an index below that names is not followed."""
SOONEST_S = 15 * 60.0
USUAL_S = 3600.0
LATEST_S = 7 * 86_400.0
"""How long a feed is left alone: what it asks for, within these; the usual when it does not say."""
STRONGEST = 2
"""The most that a map's priority, or an item's age, moves its page up or down."""
USUAL_PRIORITY = 0.5
EVERY_S = {
    "always": 3600.0, "hourly": 3600.0, "daily": 86_400.0, "weekly": 604_800.0, "monthly": 2_592_000.0,
    "yearly": 31_536_000.0, "never": 315_360_000.0,
}  # fmt: skip
_NAMED = (How.ROBOTS, How.MAP)
"""Come by as a sitemap: then plain text and gzip are read as one."""
_MARKUP_TYPES = ("text/html", "text/plain", "application/octet-stream", "")
"""Labels under which feeds and maps are met all the same."""
_LOOKED_AT = 4096
_FIRST_LINES = 5
_FEED_ROOT = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?+>)*+"
    rb"<(?:(?:[\w.-]+:)?(?:rss|feed|RDF|channel))[\s>]",
    re.DOTALL | re.IGNORECASE,
)


def listing_of(
    body: bytes, url: Url, content_type: str | None, how: How, at: Instant, nesting: int | None = None
) -> Listing | None:
    """What the answer lists; None when it is no list. Never raises.

    REQUIRES: content codings are taken off. `at` is when it was fetched, `how` the way its address was come by, and
    `nesting` how many indexes it was reached through; not given, an index that an index names ends there.
    """
    media_type, is_named = essence(content_type), how in _NAMED or (how is How.SEED and _may_be_given(body))
    if is_json_feed(body) and body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return _from_feed(parse_json_feed(body, url), url, at)
    if not is_named and not is_xml(media_type) and media_type not in _MARKUP_TYPES:
        return None
    head = _head(body, content_type)
    if _FEED_ROOT.match(head):
        return _from_feed(parse_feed(body, url, content_type, has_words=False), url, at)
    if not is_named and not is_sitemap(head, media_type):
        return None
    if nesting is None:
        nesting = DEEPEST_INDEX if how is How.MAP else 0
    found = parse_sitemap(body, url, content_type)
    return _from_index(found, url, at, nesting) if found.kind == "index" else _from_map(found, url, at)


def _may_be_given(body: bytes) -> bool:
    """Whether who gave this as a seed may have meant a sitemap: it is packed, or begins with addresses only."""
    lines = body[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").split()[:_FIRST_LINES]
    return body.startswith(b"\x1f\x8b") or (
        bool(lines) and all(one.startswith((b"http://", b"https://")) for one in lines)
    )


def _head(body: bytes, content_type: str | None) -> bytes:
    head = body[:_LOOKED_AT]
    if b"\0" in head or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        head = as_utf8(head, charset_of(content_type, head).encoding)
    return head.removeprefix(b"\xef\xbb\xbf")


def _from_index(found: Sitemap, url: Url, at: Instant, nesting: int) -> Listing:
    if nesting >= DEEPEST_INDEX:
        return Listing("index", flags=(*found.flags, "index-too-deep"))
    named: Iterable[MapEntry] = (one for one in found.maps if one.url != url)
    entries = [Listed(one.url, 0, _past(one.changed_at, at), "", one.url.host != url.host) for one in named]
    return Listing("index", tuple(entries), flags=found.flags)


def _from_map(found: Sitemap, url: Url, at: Instant) -> Listing | None:
    if not found.kind:
        return None
    mean = _mean(found.entries)
    entries = [
        Listed(
            one.url,
            _hint_of(one.priority, mean),
            _past(one.changed_at, at),
            "",
            one.url.host != url.host,
            EVERY_S.get(one.changefreq),
        )
        for one in found.entries
        if one.url != url
    ]
    return Listing("sitemap", tuple(entries), flags=found.flags)


def _mean(entries: Sequence[SitemapEntry]) -> float:
    given = [USUAL_PRIORITY if one.priority is None else one.priority for one in entries]
    return sum(given) / len(given) if given else USUAL_PRIORITY


def _hint_of(priority: float | None, mean: float) -> int:
    wanted = USUAL_PRIORITY if priority is None else priority
    return max(-STRONGEST, min(STRONGEST, round((mean - wanted) * 2 * STRONGEST)))


def _from_feed(feed: Feed, url: Url, at: Instant) -> Listing | None:
    if not feed.kind:
        return None
    entries: dict[str, Listed] = {}
    ids: set[str] = set()
    for item in feed.entries:
        if item.url is None or item.url == url or (item.id and item.id in ids):
            continue
        ids.add(item.id)
        changed_at = _past(item.updated_at if item.updated_at is not None else item.published_at, at)
        is_foreign = item.url.host != url.host
        entries.setdefault(item.url.text, Listed(item.url, _freshness(changed_at, at), changed_at, item.id, is_foreign))
    chosen, flags = list(entries.values()), feed.flags
    if len(chosen) > MOST_NEW:
        chosen = sorted(chosen, key=lambda one: -(one.changed_at or 0))[:MOST_NEW]
        flags = (*flags, "items-left-out")
    return Listing("feed", tuple(chosen), again_s(feed.ttl_s), flags)


def again_s(ttl_s: float | None) -> float:
    return USUAL_S if ttl_s is None else max(SOONEST_S, min(LATEST_S, ttl_s))


def _freshness(changed_at: Instant | None, at: Instant) -> int:
    """News sooner than the archive; a page whose age nobody tells is neither."""
    if changed_at is None:
        return 0
    age = at - changed_at
    return -STRONGEST if age < DAY else -1 if age < 7 * DAY else 0 if age < 365 * DAY else 1


def _past(changed_at: Instant | None, at: Instant) -> Instant | None:
    """A day ahead is a clock in another zone; more is no date of ours."""
    if changed_at is None or changed_at < 0 or changed_at > at + DAY:
        return None
    return min(changed_at, at)
