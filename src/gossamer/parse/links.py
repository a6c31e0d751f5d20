"""The links of a page: addresses made absolute, each once, with the words they were given."""

import re
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.parse.html import LexborMet, Seen
from gossamer.parse.text import SEAM, folded, text_of
from gossamer.values.link import Link
from gossamer.values.page import MOST_LINKS
from gossamer.values.url import LONGEST_URL, Url, url_of

LONGEST_TEXT = 512
_MOST_ELEMENTS = 10 * MOST_LINKS
"""The same address may stand in a page many times; so often it is looked at."""
_RELS = "alternate author canonical contents first help index last license me next prev previous start up"
_FOLLOWED_RELS = frozenset(_RELS.split())
_FRAMES = frozenset(("iframe", "frame"))
_LINKING = _FRAMES | {"a", "area"}
_MOST_UP = 8
_TEXT_SHARE = 4
"""Anchors may lie in one another: together they are not asked for more than so many times the page's text."""
_LEAST_SHARE = 1 << 16

# Addresses that are canonical as they stand, so that joining them needs no parser: a lower-case name that ends in
# letters (no number, so no IPv4 address), no port, nothing to be escaped. Dot segments and punycode are told apart.
_SAFE = r"[A-Za-z0-9_~!$&()*+,;=:@./?-]*"
_ABSOLUTE = re.compile(rf"https?://[a-z0-9.-]*\.[a-z]{{2,24}}(?:/{_SAFE})?\Z")
_ROOTED = re.compile(rf"/{_SAFE}\Z")
_RELATIVE = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_~!$&()*+,;=@./?-]*\Z")


class Links(NamedTuple):
    base: Url
    """What relative addresses are relative to: the page's own, or the first `<base>` that is http(s)."""
    links: tuple[Link, ...]
    canonical: Url | None
    flags: tuple[str, ...]


def links_of(seen: Seen, page: Url, may_follow: bool = True) -> Links:
    """REQUIRES: the tree is whole (`content.blocks_of` takes it apart). `may_follow`: what the page itself allows."""
    elements = [one for one in seen.elements if "href" in one[2] or one[1] in _FRAMES][:_MOST_ELEMENTS]
    base = _base(elements, page)
    join = _Joiner(base)
    own, left = page.text, _TEXT_SHARE * seen.size + _LEAST_SHARE
    found: dict[str, tuple[str, bool]] = {}
    canonical: Url | None = None
    flags: tuple[str, ...] = ("too-many-links",) if len(elements) == _MOST_ELEMENTS else ()
    for element, tag, attributes in elements:
        rels = (attributes["rel"] or "").lower().split() if "rel" in attributes else ()
        if tag != "a" and not _is_link(tag, rels):
            continue
        address = attributes.get("src" if tag in _FRAMES else "href")
        if not address or address[0] == "#" or (text := join(address)) is None:
            continue
        if tag == "link" and "canonical" in rels and canonical is None:
            canonical = Url(text)
        if text == own:
            continue
        known = found.get(text)
        if known is None and len(found) == MOST_LINKS:
            flags = ("too-many-links",)
            break
        words = known[0] if known else ""
        if not words and left > 0:
            seamed = element.text(separator=SEAM)
            left -= len(seamed) + 16
            if SEAM in seamed or not (words := folded(seamed)[:LONGEST_TEXT]) or tag != "a":
                words = _words(element, tag, attributes, seamed)
        found[text] = (words, "nofollow" not in rels or (known is not None and known[1]))
    links = tuple([Link(Url(text), words, free and may_follow) for text, (words, free) in found.items()])
    return Links(base, links, canonical, flags)


def _is_link(tag: str, rels: list[str] | tuple[str, ...]) -> bool:
    if tag == "link":
        return not _FOLLOWED_RELS.isdisjoint(rels) and "stylesheet" not in rels
    return tag in _LINKING


def _words(element: LexborNode, tag: str, attributes: dict[str, str | None], seamed: str) -> str:
    if tag == "a":
        if words := text_of(element, seamed)[:LONGEST_TEXT]:
            return words
        image = element.css_first("img[alt]")
        if image is not None and (shown := folded(image.attributes.get("alt") or "")):
            return shown[:LONGEST_TEXT]
    return folded(attributes.get("alt") or attributes.get("title") or "")[:LONGEST_TEXT]


def _base(elements: list[LexborMet], page: Url) -> Url:
    """The first `<base href>` counts, and only when it is http(s) (WHATWG HTML 4.2.3; FAULTS M4)."""
    href = next((attributes.get("href") for _, tag, attributes in elements if tag == "base"), None)
    return page if href is None else url_of(href, page) or page


class _Joiner:
    """Joins addresses with one base; the same address twice is joined once."""

    def __init__(self, base: Url) -> None:
        self._base = base
        self._origin = base.origin
        self._folder = base.origin + base.path.rpartition("/")[0] + "/"
        self._known: dict[str, str | None] = {}

    def __call__(self, address: str) -> str | None:
        known = self._known
        if address in known:
            return known[address]
        joined = self._plainly(address)
        if joined is None and (url := url_of(address, self._base)) is not None:
            joined = url.text
        known[address] = joined
        return joined

    def _plainly(self, address: str) -> str | None:
        """The joined address when it needs no parser; None when it may."""
        plain = address.partition("#")[0] if "#" in address else address
        folder, is_above = self._folder, plain.startswith("..")
        for _ in range(_MOST_UP if is_above else 0):
            if not plain.startswith("../"):
                break
            plain, folder = plain[3:], self._above(folder)
        if "/." in plain or len(plain) + len(folder) > LONGEST_URL:
            return None
        if plain.startswith("/"):
            return self._origin + plain if not is_above and plain[1:2] != "/" and _ROOTED.match(plain) else None
        if plain.startswith("http") and ":" in plain:
            if is_above or "xn--" in plain or not _ABSOLUTE.match(plain):
                return None
            return plain if plain.count("/") > 2 else plain + "/"
        return folder + plain if _RELATIVE.match(plain) else None

    def _above(self, folder: str) -> str:
        return folder[: max(folder.rfind("/", 0, len(folder) - 1), len(self._origin)) + 1]
