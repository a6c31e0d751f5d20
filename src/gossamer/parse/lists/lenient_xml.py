"""XML as the web writes it, for sitemaps and feeds: read as far as it goes, and nothing but what is written.

Nothing is loaded and no entity is left to libxml2 (see `parse.xml`). Elements are handed out as they end and let go of
afterwards, so that a large file never stands in memory as a whole tree.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from lxml import etree

from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.xml import SAFELY, without_entities

MOST_TAGS = 1_500_000
"""Start and end tags together: what comes after them is left out."""
MOST_ESCAPED = 200_000
"""Faults that are mended; a file with more is not worth the time."""
_STEP = 1 << 16
_BARE = re.compile(rb"&(?!#\d+;|#x[0-9A-Fa-f]+;|(?:amp|lt|gt|quot|apos);)")
"""An ampersand that begins no reference XML knows: libxml2 would leave out what it stands in."""
_SURROGATE = re.compile(
    rb"&#(?:[xX]0*[dD][89a-fA-F][0-9a-fA-F]{2}|0*5(?:529[6-9]|5[3-9]\d\d|6\d{3}|7(?:[0-2]\d\d|3[0-3]\d|34[0-3])));"
)
"""References to halves of characters (U+D800 to U+DFFF), which no text can hold."""
_BARE_OR_KEPT = re.compile(rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|" + _BARE.pattern, re.DOTALL)


def markup_of(body: bytes, content_type: str | None) -> bytes:
    """UTF-8 from the first `<` on, without document type; empty when its entities would swell it."""
    markup = _whole(as_utf8(body, charset_of(content_type, body).encoding))
    markup = without_entities(markup[max(0, markup.find(b"<")) :]) or b""
    markup = _SURROGATE.sub(b"\xef\xbf\xbd", markup)
    if _BARE.search(markup):
        markup = _BARE_OR_KEPT.sub(_escaped, markup.replace(b"&#X", b"&#x"), count=MOST_ESCAPED)
    return _within(markup)


def _whole(markup: bytes) -> bytes:
    """Without faults in the UTF-8: libxml2 mends some of them to what cannot be read as text again."""
    try:
        markup.decode()
    except UnicodeDecodeError:
        return markup.decode("utf-8", "replace").encode()
    return markup


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"&amp;" if found[0] == b"&" else found[0]


def _within(markup: bytes) -> bytes:
    if markup.count(b"<") <= MOST_TAGS:
        return markup
    at, left = 0, MOST_TAGS
    while (tags := markup.count(b"<", at, at + _STEP)) <= left:
        at, left = at + _STEP, left - tags
    return markup[:at]


class LenientReader:
    """Iterating gives the elements of these names (any namespace) as they end, then those that never did.

    An element is emptied once the next is asked for. `root` is there afterwards, or after a `break`.
    """

    def __init__(self, markup: bytes, names: tuple[str, ...]) -> None:
        self._markup = markup
        self._names = [f"{{*}}{name}" for name in names]
        self.root: etree._Element | None = None

    def __iter__(self) -> Iterator[etree._Element]:
        parser = etree.XMLPullParser(
            events=("end",),
            tag=self._names,
            encoding="utf-8",
            recover=True,
            **SAFELY,
        )
        try:
            for at in range(0, len(self._markup), _STEP):
                parser.feed(self._markup[at : at + _STEP])
                yield from self._ended(parser)
            self.root = parser.close()
            yield from self._ended(parser)
        except etree.XMLSyntaxError:
            pass
        if self.root is not None:
            yield from [left for left in self.root.iter(*self._names) if len(left)]

    def _ended(self, parser: etree.XMLPullParser) -> Iterator[etree._Element]:
        for _, element in parser.read_events():
            if not isinstance(element, etree._Element):
                continue
            if self.root is None:
                self.root = element.getroottree().getroot()
            yield element
            if len(element):  # one that holds words only is small, and what is around it may want them
                element.clear()


@lru_cache(maxsize=512)
def split_name(tag: str) -> tuple[str, str]:
    """Namespace (or, where none was declared for it, the prefix) and local name, both in small letters."""
    if tag[:1] == "{":
        space, _, local = tag[1:].partition("}")
    else:
        space, _, local = tag.rpartition(":")
    return space.lower(), local.lower()


def name_of(element: etree._Element) -> tuple[str, str]:
    """As `split_name`; two empty words for what is no element."""
    tag: object = element.tag
    return split_name(tag) if isinstance(tag, str) else ("", "")


def text_of(element: etree._Element) -> str:
    """The words of an element and those below it."""
    return ("".join(map(str, element.itertext())) if len(element) else element.text or "").strip()
