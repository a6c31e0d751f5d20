"""Sitemaps (sitemaps.org 0.9) with index files and gzip.

Also what sitemaps and feeds mean for a crawl.

Namespaces are often missing or wrong, so elements are recognised by local name; broken XML is read as far as possible.
`parse_sitemap` reads what is written. `listing_of` limits what is believed: dates in the future are ignored, a priority
counts only relative to others in its sitemap, and the policy decides how often a page is revisited.
"""

import re
from collections.abc import Iterator

import msgspec
from lxml import etree

from gossamer.base.clock import DAY, Instant
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.coding import decode
from gossamer.parse.dates import instant_of
from gossamer.parse.feeds import Feed, is_json_feed, parse_feed, parse_json_feed
from gossamer.parse.sniff import PROLOG, essence, is_sitemap, is_xml
from gossamer.parse.xml import LenientReader, inner_text, markup_of, name_of
from gossamer.values.link import How
from gossamer.values.messages import Listed, Listing
from gossamer.values.url import LONGEST_URL, Url, url_of

_BLANK = " \t\r\n\f\v\ufeff\u200b"


def _url_in(text: str, base: Url) -> Url | None:
    """URLs in sitemaps are absolute; those that begin with a slash are accepted, other text is not."""
    text = text.strip().strip(_BLANK)
    if not text or len(text) > LONGEST_URL:
        return None
    return url_of(text, base) if text[0] == "/" else url_of(text)


def _local_name(element: etree._Element) -> str:
    return name_of(element)[1]


MOST_ENTRIES = 50_000
"""Per sitemap and per index (sitemaps.org, "Sitemap file guidelines")."""
LARGEST = 50 * 1024 * 1024
_GZIP = b"\x1f\x8b"
_LOOKED_AT = 4096
_AGAIN = re.compile(rb"<\?xml\s")
_MOST_PARTS = 8
"""Sitemaps concatenated in one file."""


class SitemapEntry(msgspec.Struct, frozen=True, gc=False):
    """A page, or a sitemap named by an index."""

    url: Url
    changed_at: Instant | None = None
    changefreq: str = ""
    """One of `EVERY_S`, or empty."""
    priority: float | None = None
    """From 0 to 1; other values are dropped."""


class Sitemap(msgspec.Struct, frozen=True):
    kind: str = ""
    """"urlset", "index", "text" or "feed"; empty if it is not a sitemap."""
    entries: tuple[SitemapEntry, ...] = ()
    maps: tuple[SitemapEntry, ...] = ()
    flags: tuple[str, ...] = ()
    """What was odd: "too-many-entries", "too-large", "not-a-sitemap"."""


NOT_A_SITEMAP = Sitemap(flags=("not-a-sitemap",))


def parse_sitemap(body: bytes, url: Url, content_type: str | None = None, is_strict: bool = False) -> Sitemap:
    """REQUIRES: content codings are decoded; a `.gz` body is unpacked here. Never raises.

    `is_strict`: only URLs at or below the sitemap's own folder count (sitemaps.org, "Sitemap file location"). That does
    not apply to a sitemap named by a robots.txt.
    """
    body, flags = _unpacked(body)
    if not body.strip():
        return msgspec.structs.replace(NOT_A_SITEMAP, flags=(*flags, "not-a-sitemap"))
    markup = markup_of(body, content_type) if b"<" in body[:_LOOKED_AT] else b""
    found = _from_xml(markup, url) if markup else _from_text(body, url, content_type)
    if not found.kind and markup:
        found = _from_feed(body, url, content_type)
    if is_strict:
        folder = url.origin + url.path[: url.path.rindex("/") + 1]
        below = [entry for entry in found.entries if entry.url.text.startswith(folder)]
        found = msgspec.structs.replace(found, entries=tuple(below))
    return msgspec.structs.replace(found, flags=(*flags, *found.flags))


def _unpacked(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    if body.startswith(_GZIP):
        decoded = decode(body, "gzip", LARGEST)
        return decoded.body, ("too-large",) if decoded.truncated else ()
    return body[:LARGEST], ("too-large",) if len(body) > LARGEST else ()


def _from_text(body: bytes, url: Url, content_type: str | None) -> Sitemap:
    """One URL per line, and nothing else (sitemaps.org, "Text file")."""
    text = as_utf8(body, charset_of(content_type, body).encoding).decode("utf-8", "replace")
    entries: dict[str, SitemapEntry] = {}
    lines = misses = 0
    for line in text.split("\n"):
        if not (line := line.strip(_BLANK)):
            continue
        lines += 1
        found = _url_in(line, url) if " " not in line else None
        if found is None:
            misses += 1
            if misses > 100 + lines // 2:
                break  # text, not URLs
        elif len(entries) == MOST_ENTRIES and found.text not in entries:
            return Sitemap("text", tuple(entries.values()), flags=("too-many-entries",))
        else:
            entries.setdefault(found.text, SitemapEntry(found))
    return Sitemap("text", tuple(entries.values())) if entries else NOT_A_SITEMAP


def _from_feed(body: bytes, url: Url, content_type: str | None) -> Sitemap:
    feed = parse_feed(body, url, content_type, has_words=False)
    if not feed.kind:
        return NOT_A_SITEMAP
    entries: dict[str, SitemapEntry] = {}
    for item in feed.entries:
        where = item.url or url_of(item.id)  # in a feed used as a sitemap, ids are meant as URLs
        if where is not None:
            changed_at = item.updated_at if item.updated_at is not None else item.published_at
            entries.setdefault(where.text, SitemapEntry(where, changed_at))
    return Sitemap("feed", tuple(entries.values()), flags=feed.flags)


def _from_xml(markup: bytes, url: Url) -> Sitemap:
    entries: dict[str, SitemapEntry] = {}
    maps: dict[str, SitemapEntry] = {}
    kind, looked_at = "", 0
    flags: set[str] = set()
    if (end := markup.rfind(b">")) > markup.rfind(b"<"):
        markup = markup[: end + 1]  # cut in the middle of text, which may be half of a URL
    for part in _parts(markup):
        reader = LenientReader(part, ("url", "sitemap"))
        for element in reader:
            name = _local_name(element)
            parent = element.getparent()
            if parent is None or _local_name(parent) == "loc":
                continue  # nested once too often; its `loc` is read with its parent
            looked_at += 1
            if len(entries) + len(maps) >= MOST_ENTRIES or looked_at > 2 * MOST_ENTRIES:
                flags.add("too-many-entries")
                break
            if name == "sitemap":
                _add_maps(element, url, maps)
            elif (entry := _entry(element, url)) is not None:
                entries.setdefault(entry.url.text, entry)
        kind = kind or _kind_of(reader.root)
    if not kind and (entries or maps):
        kind = "index" if maps and not entries else "urlset"
    return Sitemap(kind, tuple(entries.values()), tuple(maps.values()), tuple(flags)) if kind else NOT_A_SITEMAP


def _parts(markup: bytes) -> Iterator[bytes]:
    starts = [found.start() for found in _AGAIN.finditer(markup, 1)][:_MOST_PARTS]
    at = 0
    for start in starts:
        yield markup[at:start]
        at = start
    yield markup[at:]


def _kind_of(root: etree._Element | None) -> str:
    return {"urlset": "urlset", "sitemapindex": "index"}.get(_local_name(root), "") if root is not None else ""


def _add_maps(element: etree._Element, url: Url, maps: dict[str, SitemapEntry]) -> None:
    """All in one element: some have several, each followed by its date, some only the URL."""
    last: SitemapEntry | None = None
    if not len(element) and (found := _url_in(inner_text(element), url)) is not None:
        maps.setdefault(found.text, SitemapEntry(found))
    for child in element:
        name = _local_name(child)
        if name == "loc" and (found := _url_in(inner_text(child), url)) is not None and len(maps) < MOST_ENTRIES:
            last = maps.setdefault(found.text, SitemapEntry(found))
        elif name == "lastmod" and last is not None and last.changed_at is None:
            maps[last.url.text] = SitemapEntry(last.url, instant_of(inner_text(child)))


def _entry(element: etree._Element, base: Url) -> SitemapEntry | None:
    url: Url | None = None
    changed_at, changefreq, priority = None, "", None
    if not len(element):
        url = _url_in(inner_text(element), base)
    for child in element:
        name = _local_name(child)
        if name == "loc":
            url = url or _url_in(inner_text(child), base)
        elif name == "lastmod":
            changed_at = instant_of(inner_text(child))
        elif name == "changefreq":
            word = inner_text(child).lower()
            changefreq = word if word in EVERY_S else ""
        elif name == "priority":
            priority = _priority(inner_text(child))
    return None if url is None else SitemapEntry(url, changed_at, changefreq, priority)


def _priority(text: str) -> float | None:
    try:
        number = float(text[:16].replace(",", "."))
    except ValueError:
        return None
    return number if 0.0 <= number <= 1.0 else None


MOST_NEW = 200
"""Items taken from a feed per poll, the newest: a feed of made-up items cannot flood the frontier."""
DEEPEST_INDEX = 2
"""Maximum nesting of indexes; indexes named below that are not followed."""
SOONEST_S = 15 * 60.0
USUAL_S = 3600.0
LATEST_S = 7 * 86_400.0
"""How long to wait before the next poll: what the feed asks for, within these; the usual if it does not say."""
STRONGEST = 2
"""The most that a sitemap's priority, or an item's age, moves its page up or down."""
USUAL_PRIORITY = 0.5
EVERY_S = {
    "always": 3600.0, "hourly": 3600.0, "daily": 86_400.0, "weekly": 604_800.0, "monthly": 2_592_000.0,
    "yearly": 31_536_000.0, "never": 315_360_000.0,
}  # fmt: skip
_NAMED = (How.ROBOTS, How.MAP)
"""Found as a sitemap: then plain text and gzip are read as one."""
_MARKUP_TYPES = ("text/html", "text/plain", "application/octet-stream", "")
"""Other media types under which feeds and sitemaps occur."""
_FIRST_LINES = 5
_FEED_ROOT = re.compile(PROLOG + rb"<(?:(?:[\w.-]+:)?(?:rss|feed|RDF|channel))[\s>]", re.DOTALL | re.IGNORECASE)


def listing_of(
    body: bytes, url: Url, content_type: str | None, how: How, at: Instant, nesting: int | None = None
) -> Listing | None:
    """What the response lists; None if it is not a list. Never raises.

    REQUIRES: content codings are decoded. `at` is when it was fetched, `how` how its URL was found, and `nesting` how
    many indexes led to it; by default an index named by an index is the last.
    """
    media_type, is_named = essence(content_type), how in _NAMED or (how is How.SEED and _may_be_sitemap(body))
    if is_json_feed(body) and body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return _listed_by_feed(parse_json_feed(body, url), url, at)
    if not is_named and not is_xml(media_type) and media_type not in _MARKUP_TYPES:
        return None
    head = _head(body, content_type)
    if _FEED_ROOT.match(head):
        return _listed_by_feed(parse_feed(body, url, content_type, has_words=False), url, at)
    if not is_named and not is_sitemap(head, media_type):
        return None
    if nesting is None:
        nesting = DEEPEST_INDEX if how is How.MAP else 0
    found = parse_sitemap(body, url, content_type)
    return _from_index(found, url, at, nesting) if found.kind == "index" else _from_map(found, url, at)


def _may_be_sitemap(body: bytes) -> bool:
    """Whether a seed with this body may be meant as a sitemap: it is gzipped, or begins with URLs only."""
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
    named = [one for one in found.maps if one.url != url]
    entries = [Listed(one.url, 0, _not_future(one.changed_at, at), "", one.url.host != url.host) for one in named]
    return Listing("index", tuple(entries), flags=found.flags)


def _from_map(found: Sitemap, url: Url, at: Instant) -> Listing | None:
    if not found.kind:
        return None
    priorities = [USUAL_PRIORITY if one.priority is None else one.priority for one in found.entries]
    mean = sum(priorities) / len(priorities) if priorities else USUAL_PRIORITY
    entries = []
    for one, priority in zip(found.entries, priorities, strict=True):
        if one.url != url:
            hint = max(-STRONGEST, min(STRONGEST, round((mean - priority) * 2 * STRONGEST)))
            changed_at, is_foreign = _not_future(one.changed_at, at), one.url.host != url.host
            entries.append(Listed(one.url, hint, changed_at, "", is_foreign, EVERY_S.get(one.changefreq)))
    return Listing("sitemap", tuple(entries), flags=found.flags)


def _listed_by_feed(feed: Feed, url: Url, at: Instant) -> Listing | None:
    if not feed.kind:
        return None
    entries: dict[str, Listed] = {}
    ids: set[str] = set()
    for item in feed.entries:
        if item.url is None or item.url == url or (item.id and item.id in ids):
            continue
        ids.add(item.id)
        changed_at = _not_future(item.updated_at if item.updated_at is not None else item.published_at, at)
        is_foreign = item.url.host != url.host
        entries.setdefault(item.url.text, Listed(item.url, _freshness(changed_at, at), changed_at, item.id, is_foreign))
    chosen, flags = list(entries.values()), feed.flags
    if len(chosen) > MOST_NEW:
        chosen = sorted(chosen, key=lambda one: -(one.changed_at or 0))[:MOST_NEW]
        flags = (*flags, "items-left-out")
    again_s = USUAL_S if feed.ttl_s is None else max(SOONEST_S, min(LATEST_S, feed.ttl_s))
    return Listing("feed", tuple(chosen), again_s, flags)


def _freshness(changed_at: Instant | None, at: Instant) -> int:
    """Recent items earlier than old ones; no effect if the age is unknown."""
    if changed_at is None:
        return 0
    age = at - changed_at
    return -STRONGEST if age < DAY else -1 if age < 7 * DAY else 0 if age < 365 * DAY else 1


def _not_future(changed_at: Instant | None, at: Instant) -> Instant | None:
    """Up to a day ahead may be a clock in another zone; later dates are dropped."""
    if changed_at is None or changed_at < 0 or changed_at > at + DAY:
        return None
    return min(changed_at, at)
