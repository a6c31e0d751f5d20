"""The links of a page: absolute URLs, each once, with their anchor text."""

import re
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.parse.html.tree import SEAM, LexborParts, ParsedHtml, folded, text_of
from gossamer.values.link import Link
from gossamer.values.page import MOST_LINKS
from gossamer.values.url import LONGEST_URL, Url, url_of

LONGEST_TEXT = 512
_MOST_ELEMENTS = 10 * MOST_LINKS
"""The same URL may occur many times in a page; this many elements are looked at."""
_RELS = "alternate author canonical contents first help index last license me next prev previous start up"
_FOLLOWED_RELS = frozenset(_RELS.split())
_FRAMES = frozenset(("iframe", "frame"))
_LINKING = _FRAMES | {"a", "area"}
_MOST_UP = 8
_TEXT_SHARE = 4
"""Anchors may be nested: their texts together are limited to this many times the page's text."""
_LEAST_SHARE = 1 << 16

# URLs that are canonical as written, so that joining them needs no parser: a lower-case host that ends in letters (so
# it is no IPv4 address), no default port, nothing to escape. Dot segments and punycode are checked separately.
_SAFE = r"[A-Za-z0-9_~!$&()*+,;=:@./?-]*"
_PORT = r":(?!(?:80|443)(?:/|\Z))(?:[1-9][0-9]{0,3}|[1-5][0-9]{4})"
_ABSOLUTE = re.compile(rf"https?://[a-z0-9.-]*\.[a-z]{{2,24}}(?:{_PORT})?(?:/{_SAFE})?\Z")
_ROOTED = re.compile(rf"/(?!/){_SAFE}\Z")
_RELATIVE = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_~!$&()*+,;=@./?-]*\Z")


class HtmlLinks(NamedTuple):
    base: Url
    """What relative URLs are relative to: the page's URL, or the first http(s) `<base>`."""
    links: tuple[Link, ...]
    canonical: Url | None
    flags: tuple[str, ...]


def links_of(seen: ParsedHtml, page: Url, may_follow: bool = True) -> HtmlLinks:
    """REQUIRES: the tree is whole (`content.content_of` takes it apart). `may_follow`: whether the page allows it."""
    elements = [one for one in seen.elements if "href" in one[2] or one[1] in _FRAMES][:_MOST_ELEMENTS]
    base = _base(elements, page)
    join = _Joiner(base).join
    own, left = page.text, _TEXT_SHARE * seen.size + _LEAST_SHARE
    found: dict[str, Link] = {}
    canonical: Url | None = None
    flags: tuple[str, ...] = ("too-many-links",) if len(elements) == _MOST_ELEMENTS else ()
    for element, tag, attributes in elements:
        rels = (attributes["rel"] or "").lower().split() if "rel" in attributes else ()
        if tag != "a" and not _is_link(tag, rels):
            continue
        href = attributes.get("src" if tag in _FRAMES else "href")
        if not href or href[0] == "#" or (text := join(href)) is None:
            continue
        if tag == "link" and "canonical" in rels and canonical is None:
            canonical = Url(text)
        if text == own:
            continue
        known = found.get(text)
        if known is None and len(found) == MOST_LINKS:
            flags = ("too-many-links",)
            break
        is_free = may_follow and ("nofollow" not in rels or (known is not None and known.may_follow))
        anchor = known.text if known is not None else ""
        if known is not None and anchor and known.may_follow == is_free:
            continue
        if not anchor and left > 0:
            seamed = element.text(separator=SEAM)
            left -= len(seamed) + 16
            plain = folded(seamed)[:LONGEST_TEXT] if tag == "a" and SEAM not in seamed else ""
            anchor = plain or _anchor_text(element, tag, attributes, seamed)
        found[text] = Link(Url(text), anchor, is_free)
    return HtmlLinks(base, tuple(found.values()), canonical, flags)


def _is_link(tag: str, rels: list[str] | tuple[str, ...]) -> bool:
    if tag == "link":
        return not _FOLLOWED_RELS.isdisjoint(rels) and "stylesheet" not in rels
    return tag in _LINKING


def _anchor_text(element: LexborNode, tag: str, attributes: dict[str, str | None], seamed: str) -> str:
    if tag == "a":
        if text := text_of(element, seamed)[:LONGEST_TEXT]:
            return text
        image = element.css_first("img[alt]")
        if image is not None and (alt := folded(image.attributes.get("alt") or "")):
            return alt[:LONGEST_TEXT]
    return folded(attributes.get("alt") or attributes.get("title") or "")[:LONGEST_TEXT]


def _base(elements: list[LexborParts], page: Url) -> Url:
    """The first `<base href>` counts, and only when it is http(s) (WHATWG HTML 4.2.3; FAULTS M4)."""
    href = next((attributes.get("href") for _, tag, attributes in elements if tag == "base"), None)
    return page if href is None else url_of(href, page) or page


class _Joiner:
    """Joins URLs with one base; each distinct URL is joined once."""

    def __init__(self, base: Url) -> None:
        self._base = base
        self._scheme = f"{base.scheme}:"
        self._origin = base.origin
        self._folder = base.origin + base.path.rpartition("/")[0] + "/"
        self._room = LONGEST_URL - len(base.origin)
        self._known: dict[str, str | None] = {}

    def join(self, href: str) -> str | None:
        known = self._known
        if href in known:
            return known[href]
        if _ROOTED.match(href) and "/." not in href and len(href) <= self._room:
            joined: str | None = self._origin + href  # most links
        elif (joined := self._plainly(href)) is None and (url := url_of(href, self._base)) is not None:
            joined = url.text
        known[href] = joined
        return joined

    def _plainly(self, href: str) -> str | None:
        """The joined URL if it needs no parser, or None."""
        plain = href.partition("#")[0] if "#" in href else href
        folder, is_above = self._folder, plain.startswith("..")
        for _ in range(_MOST_UP if is_above else 0):
            if not plain.startswith("../"):
                break
            plain, folder = plain[3:], self._above(folder)
        if "/." in plain or len(plain) + len(folder) > LONGEST_URL:
            return None
        if plain.startswith("//") or (plain.startswith("http") and ":" in plain):
            whole = self._scheme + plain if plain[0] == "/" else plain
            if is_above or "xn--" in plain or not _ABSOLUTE.match(whole):
                return None
            return whole if whole.count("/") > 2 else whole + "/"
        if plain.startswith("/"):
            return self._origin + plain if not is_above and _ROOTED.match(plain) else None
        return folder + plain if _RELATIVE.match(plain) else None

    def _above(self, folder: str) -> str:
        return folder[: max(folder.rfind("/", 0, len(folder) - 1), len(self._origin)) + 1]
