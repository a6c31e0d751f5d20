"""Feeds in all formats: RSS 0.9 to 2.0, Atom 0.3 and 1.0, CDF, JSON Feed. Never raises.

What a crawler needs from them: where the items are, their ids, when they were published and changed, and how long to
wait before the next poll.
"""

import base64
import binascii
import html
import re
from functools import lru_cache
from html.entities import html5
from typing import Any

import msgspec
from ada_url import join_url
from lxml import etree

from gossamer.base.clock import Instant
from gossamer.parse.charset import as_utf8
from gossamer.parse.dates import instant_of
from gossamer.parse.html.tree import folded, parse_html
from gossamer.parse.html.tree import text_of as html_text_of
from gossamer.parse.xml import LenientReader, inner_text, markup_of, name_of, split_name
from gossamer.values.url import Url, url_of

# The names used by feeds of all formats: the module they belong to, and their meaning.

_SPACES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://search.yahoo.com/mrss": "media",
    "http://search.yahoo.com/mrss/": "media",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    **{short: short for short in ("dc", "dcterms", "media", "sy", "itunes")},
}
_OWN = (
    "http://www.w3.org/2005/atom",
    "http://purl.org/atom/",
    "http://purl.org/net/rss",
    "http://purl.org/rss/1.0/",
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://my.netscape.com/publish/formats/rss",
    "http://channel.netscape.com/rdf/simple/0.9/",
    "http://backend.userland.com/",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://example.com/newformat#",
    "http://example.com/necho",
    "http://purl.org/echo/",
    "http://purl.org/pie/",
    "uri/of/echo/namespace#",
)
"""How the namespaces of feeds begin, in lower case, without those of RSS 1.0 modules."""
DATES = {
    **dict.fromkeys((("", "pubdate"), ("", "published"), ("", "issued"), ("dcterms", "issued")), "published"),
    **dict.fromkeys((("", "updated"), ("", "modified"), ("", "lastbuilddate")), "updated"),
    **dict.fromkeys((("dc", "date"), ("dcterms", "modified")), "updated"),
    **dict.fromkeys((("", "created"), ("dcterms", "created")), "created"),
    ("", "expirationdate"): "expires",
}
TITLES = {("", "title"): 0, ("dc", "title"): 1, ("media", "title"): 2, ("itunes", "title"): 3}
"""Which of several titles is used: the lowest."""
NO_RANK = 9


def module_and_name(element: etree._Element) -> tuple[str, str]:
    """("", local) for the feed's own elements, else the module's short name; ("?", local) for unknown namespaces."""
    tag: object = element.tag
    return _known(tag) if isinstance(tag, str) else ("?", "")


@lru_cache(maxsize=512)
def _known(tag: str) -> tuple[str, str]:
    space, local = split_name(tag)
    short = _SPACES.get(space)
    if short is not None:
        return short, local
    is_own = space == "" or (space.startswith(_OWN) and not space.startswith("http://purl.org/rss/1.0/modules/"))
    return ("" if is_own else "?"), local


MOST_ITEMS = 10_000
MOST_LINKS = 100
"""Links kept per item."""
LONGEST_ID = 2_048
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HTML_LINKS = ("text/html", "application/xhtml+xml", "application/xml")
_PERIODS_S = {"hourly": 3600, "daily": 86_400, "weekly": 604_800, "monthly": 2_592_000, "yearly": 31_536_000}


class FeedLink(msgspec.Struct, frozen=True):
    """A link of a feed or an item; empty fields are not given."""

    href: str
    """Absolute if possible; any scheme."""
    rel: str = "alternate"
    media_type: str = ""
    title: str = ""
    language: str = ""
    length: str = ""


class FeedItem(msgspec.Struct, frozen=True):
    id: str
    """Its id as written, or empty."""
    url: Url | None
    title: str
    published_at: Instant | None = None
    """When it was published, or else created."""
    updated_at: Instant | None = None
    expires_at: Instant | None = None
    links: tuple[FeedLink, ...] = ()
    """In order, including `url` and enclosures."""


class Feed(msgspec.Struct, frozen=True):
    kind: str = ""
    """"rss", "atom", "cdf" or "json"; empty if it is not a feed."""
    title: str = ""
    id: str = ""
    url: Url | None = None
    """The page that the feed belongs to."""
    ttl_s: float | None = None
    published_at: Instant | None = None
    updated_at: Instant | None = None
    links: tuple[FeedLink, ...] = ()
    entries: tuple[FeedItem, ...] = ()
    flags: tuple[str, ...] = ()
    """What was odd: "not-a-feed", "too-many-items"."""


NOT_A_FEED = Feed(flags=("not-a-feed",))


def parse_feed(body: bytes, url: Url, content_type: str | None = None, has_words: bool = True) -> Feed:
    """REQUIRES: content codings are decoded; `url` is what relative URLs are relative to (RFC 9110, 8.7).

    `has_words`: whether to read titles, which a crawl does not need and which take time.
    """
    if body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return NOT_A_FEED
    reader = LenientReader(markup_of(body, content_type), ("item", "entry", "ITEM", "Item"))
    entries: list[FeedItem] = []
    flags: tuple[str, ...] = ()
    kind = ""
    for element in reader:
        kind = kind or _kind_of(reader.root)
        if not kind:
            return NOT_A_FEED
        if len(entries) == MOST_ITEMS:
            flags = ("too-many-items",)
            break
        entries.append(_Fields(element, url, kind, has_words).item())
    kind = kind or _kind_of(reader.root)
    if not kind or reader.root is None:
        return NOT_A_FEED
    return _feed(reader.root, url, kind, tuple(entries), flags, has_words)


def _kind_of(root: etree._Element | None) -> str:
    local = name_of(root)[1] if root is not None else ""
    if local == "channel":
        return "cdf"
    return {"rss": "rss", "rdf": "rss", "feed": "atom", "redirect": "rss"}.get(local, "")


def _feed(
    root: etree._Element, url: Url, kind: str, entries: tuple[FeedItem, ...], flags: tuple[str, ...], has_words: bool
) -> Feed:
    channel = root
    if kind == "rss":
        channel = next((child for child in root.iterchildren() if module_and_name(child) == ("", "channel")), root)
    fields = _Fields(channel, url, kind, has_words)
    return Feed(
        kind=kind,
        title=fields.title,
        id=fields.id,
        url=fields.url(),
        ttl_s=fields.ttl_s(),
        published_at=fields.published_at(),
        updated_at=fields.dates.get("updated"),
        links=tuple(fields.links),
        entries=entries,
        flags=flags,
    )


class _Fields:
    """The child elements of an item, or of the feed itself."""

    def __init__(self, element: etree._Element, url: Url, kind: str, has_words: bool) -> None:
        self._is_atom = kind == "atom"
        self._base = _base_of(element, url)
        self.title = ""
        self._title_rank = NO_RANK if has_words else -1
        self.id = (element.get(_ABOUT) or "").strip()[:LONGEST_ID]
        self._permalink = ""
        self._ttl = self._period = self._frequency = ""
        self.links: list[FeedLink] = []
        self.dates: dict[str, Instant] = {}
        if kind == "cdf":
            self._add_attributes(element)
        for child in element.iterchildren():
            self._add(child, module_and_name(child))

    def _add(self, child: etree._Element, name: tuple[str, str]) -> None:
        if (rank := TITLES.get(name)) is not None:
            if rank < self._title_rank and (words := text_construct(child, self._is_atom)):
                self.title, self._title_rank = words, rank
        elif (field := DATES.get(name)) is not None:
            if (at := instant_of(inner_text(child))) is not None:
                self.dates[field] = at
        elif name in (("", "link"), ("", "enclosure"), ("", "a")):
            self._add_link(child, is_enclosure=name[1] == "enclosure")
        elif name in (("", "id"), ("", "guid")):
            self._set_id(child, name[1])
        elif name == ("", "ttl"):
            self._ttl = inner_text(child)
        elif name == ("sy", "updateperiod"):
            self._period = inner_text(child).lower()
        elif name == ("sy", "updatefrequency"):
            self._frequency = inner_text(child)

    def _add_attributes(self, element: etree._Element) -> None:
        """CDF has attributes where the others have elements."""
        given = _attributes(element)
        if href := given.get("href", ""):
            self.links.append(FeedLink(joined(href, self._base)))
        if (at := instant_of(given.get("lastmod", ""))) is not None:
            self.dates["updated"] = at

    def _add_link(self, child: etree._Element, is_enclosure: bool) -> None:
        given = _attributes(child)
        written = given.get("url" if is_enclosure else "href")
        href = written or inner_text(child)
        if (not href and written is None) or len(self.links) >= MOST_LINKS:
            return  # an empty URL that is written out means the base
        rel = "enclosure" if is_enclosure else given.get("rel") or "alternate"
        usual = "" if is_enclosure else "application/atom+xml" if rel == "self" else "text/html"
        others = (given.get(name, "") for name in ("title", "hreflang", "length"))
        self.links.append(FeedLink(self._joined(href, child), rel, given.get("type", usual), *others))

    def _set_id(self, child: etree._Element, local: str) -> None:
        text = inner_text(child)[:LONGEST_ID]
        is_url = local == "id" or (child.get("isPermaLink") or "true").lower() != "false"
        # absolute ids, and those that are words, stay exactly as written (RFC 4287, 4.2.6.1)
        is_relative = is_url and "/" in text and not _SCHEME.match(text)
        self.id = self._joined(text, child) if is_relative else text
        self._permalink = self.id if local == "guid" and is_url else ""

    def _joined(self, href: str, child: etree._Element) -> str:
        return joined(href, _base_of(child, self._base) if _XML_BASE in child.attrib else self._base)

    def ttl_s(self) -> float | None:
        """RSS gives `ttl` in minutes; the syndication module gives a period and a frequency."""
        if self._ttl.isdecimal() and len(self._ttl) < 10:
            return float(int(self._ttl) * 60)
        period_s = _PERIODS_S.get(self._period)
        often = int(self._frequency) if self._frequency.isdecimal() and len(self._frequency) < 6 else 1
        return period_s / max(1, often) if period_s else None

    def url(self) -> Url | None:
        """The first alternate that is a page, or the first alternate, or a permanent id."""
        alternates = [link for link in self.links if link.rel == "alternate"]
        pages = [link for link in alternates if link.media_type.lower() in _HTML_LINKS]
        for link in pages or alternates:
            if (found := url_of(link.href)) is not None:
                return found
        return url_of(self._permalink) if self._permalink else None

    def item(self) -> FeedItem:
        updated_at, expires_at, links = self.dates.get("updated"), self.dates.get("expires"), tuple(self.links)
        return FeedItem(self.id, self.url(), self.title, self.published_at(), updated_at, expires_at, links)

    def published_at(self) -> Instant | None:
        return self.dates.get("published", self.dates.get("created"))


def _base_of(element: etree._Element, url: Url) -> Url:
    """xml:base of the element and its ancestors, outermost first; invalid ones are ignored."""
    given = [base for node in (element, *element.iterancestors()) if (base := node.get(_XML_BASE))]
    for base in reversed(given):
        url = url_of(base.strip(), url) or url
    return url


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(name).lower(): str(value).strip() for name, value in element.attrib.items()}


def joined(href: str, base: Url) -> str:
    if href.startswith(("http://", "https://")):
        return href
    try:
        return join_url(base.text, href)
    except (ValueError, UnicodeEncodeError):
        return href


# JSON Feed 1.0 and 1.1 (jsonfeed.org).

MARK = b"jsonfeed.org/version/1"
_LOOKED_AT = 4096


def is_json_feed(body: bytes) -> bool:
    """A cheap test: the version must be named near the start, where everyone writes it."""
    return MARK in body[:_LOOKED_AT].replace(b"\\/", b"/")


def parse_json_feed(body: bytes, url: Url) -> Feed:
    try:
        feed = msgspec.json.decode(as_utf8(body, "utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NOT_A_FEED
    if not isinstance(feed, dict) or MARK.decode() not in _text(feed, "version"):
        return NOT_A_FEED
    items = _objects(feed, "items")
    flags = ("too-many-items",) if len(items) > MOST_ITEMS else ()
    links = [FeedLink(joined(home, url))] if (home := _text(feed, "home_page_url")) else []
    return Feed(
        "json",
        title=folded(_text(feed, "title")),
        url=url_of(links[0].href) if links else None,
        links=tuple(links),
        entries=tuple([_item(one, url) for one in items[:MOST_ITEMS]]),
        flags=flags,
    )


def _item(item: dict[str, Any], base: Url) -> FeedItem:
    href = _text(item, "url") or _text(item, "external_url")
    links = [FeedLink(joined(href, base), media_type="text/html")] if href else []
    links += [
        FeedLink(joined(attached, base), "enclosure", _text(one, "mime_type"), _text(one, "title"))
        for one in _objects(item, "attachments")[:MOST_LINKS]
        if (attached := _text(one, "url"))
    ]
    return FeedItem(
        _id(item)[:LONGEST_ID],
        url_of(links[0].href) if href else None,
        folded(_text(item, "title")),
        instant_of(_text(item, "date_published")),
        instant_of(_text(item, "date_modified")),
        links=tuple(links),
    )


def _objects(parent: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = parent.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(parent: dict[str, Any], name: str) -> str:
    found = parent.get(name)
    return found.strip() if isinstance(found, str) else ""


def _id(item: dict[str, Any]) -> str:
    """An id should be a string; numbers occur, and are used as written (version 1.1, "id")."""
    found = item.get("id")
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return str(found) if is_number else _text(item, "id")


LONGEST = 4_096
"""Characters of a title that are read."""
_TAG = re.compile(r"<\s*(/?)\s*([A-Za-z][A-Za-z0-9]*)[^<>]*>")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9A-Fa-f]+|([A-Za-z][A-Za-z0-9]*));")
_HIDDEN = ("script", "style", "template", "iframe")
_MARKUP_TYPES = ("html", "text/html", "xhtml", "application/xhtml+xml")
_PLAIN_TYPES = ("text", "text/plain")
_NAMES = (
    "a abbr acronym address area article aside audio b bdi bdo big blockquote br button caption center cite code col "
    "colgroup command datalist dd del details dfn dialog dir div dl dt em fieldset figure figcaption font footer form "
    "frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd keygen label legend li link map "
    "mark menu meta meter multicol nav nobr noscript object ol optgroup option output p param pre progress q rp rt "
    "ruby s samp script section select small source span strike strong style sub sup table tbody td textarea tfoot th "
    "thead time title tr tt u ul var video wbr"
)
_HTML_TAGS = frozenset(_NAMES.split())


def text_construct(element: etree._Element, is_atom: bool) -> str:
    """The text of a text construct (RFC 4287, 3.1; Atom 0.3; RSS, which never specified it), white space folded."""
    kind = (element.get("type") or "").strip().lower()
    if len(element):
        return folded("".join(_texts(element))[:LONGEST])
    text = (element.text or "")[:LONGEST]
    is_binary = "/" in kind and not kind.startswith("text/") and not kind.endswith(("/xml", "+xml"))
    if is_binary or element.get("mode") == "base64":
        text = _base64_decoded(text)
        is_markup = "<" in text
    elif kind in _MARKUP_TYPES:
        is_markup = True
    else:
        is_markup = not (is_atom or kind in _PLAIN_TYPES) and looks_like_markup(text)
    return html_to_text(text) if is_markup else folded(text)


def html_to_text(markup: str) -> str:
    """HTML as the text a reader sees, without scripts and styles."""
    if "<" not in markup:
        return folded(html.unescape(markup))
    body = parse_html(markup.encode("utf-8", "replace")).tree.body
    if body is None:
        return ""
    for element in body.css(", ".join(_HIDDEN)):
        element.decompose()
    return html_text_of(body)


def looks_like_markup(text: str) -> bool:
    """Whether unlabelled text was written as HTML: it has an end tag or entity, and none that HTML lacks."""
    if "<" not in text and "&" not in text:
        return False
    tags = _TAG.findall(text)
    if any(name.lower() not in _HTML_TAGS for _, name in tags):
        return False
    entities = list(_ENTITY.finditer(text))
    if any(found[1] and f"{found[1]};" not in html5 for found in entities):
        return False
    return bool(entities) or any(slash for slash, _ in tags) or "/>" in text


def _texts(element: etree._Element) -> list[str]:
    """The texts of an element and its descendants, in order, without scripts and styles."""
    texts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and child.tag.rpartition("}")[2].lower() not in _HIDDEN:
            texts += _texts(child)
        texts.append(child.tail or "")
    return texts


def _base64_decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text
