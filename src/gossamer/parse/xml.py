"""XML to a tree, and a lenient reader for sitemaps and feeds; over lxml.

For pages that are XML (XHTML, SVG).

Nothing is loaded, and libxml2 expands no entity: the document type is removed first, and the few entities that are
plain words are replaced. A page that is not well-formed then is not XML (None), and the caller reads it as HTML.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html.entities import html5
from typing import Any

from lxml import etree

from gossamer.parse.charset import as_utf8, charset_of
from gossamer.values.tree import RELEVANT_ATTRIBUTES, RELEVANT_TAGS, Attributes, ElementParts, Survey

LARGEST = 16 * 1024 * 1024
"""Bytes. libxml2 itself refuses pages deeper than 256 elements."""
MOST_TAGS = 400_000
"""Start and end tags together. Every element becomes an object here, and memory is limited."""
MOST_ATTRIBUTES = 1000
"""Per tag, including namespace declarations: libxml2 takes quadratic time in their number."""
MOST_ENTITIES = 250
LONGEST_ENTITY = 1024
MOST_GROWTH = 1 << 20
"""Bytes that the entities of a page may add to it."""

XHTML = "http://www.w3.org/1999/xhtml"
_XML = "http://www.w3.org/XML/1998/namespace"
_RELEVANT = frozenset(RELEVANT_ATTRIBUTES)
_RELEVANT_TAGS = frozenset(RELEVANT_TAGS)
_PREDEFINED = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
_QUOTED = rb"""(?:"[^"]*+"|'[^']*+')"""
_PROLOG = rb"(?:\xef\xbb\xbf)?+(?:\s++|<\?.*?\?>|<!--.*?-->)*+"
_SUBSET = rb"(?:[^\]<\"']|" + _QUOTED + rb"|<!--.*?(?:-->|\Z)|<)*+"
_DOCTYPE = re.compile(
    _PROLOG + rb"(<!DOCTYPE(?:[^\[>\"']|" + _QUOTED + rb")*+(?:\[(" + _SUBSET + rb")\]\s*+)?+>)",
    re.DOTALL,
)
_ENTITY = re.compile(
    rb"""<!ENTITY\s+([A-Za-z_][\w.-]*)\s+(?:"((?:[^"&%<]|&\#\w{1,8};)*+)"|'((?:[^'&%<]|&\#\w{1,8};)*+)')\s*>"""
)
_TOO_MANY = re.compile(  # never beyond the next `<`, which no value may contain
    rb"<(?![!?])[^<>\"'=]*+(?:=\s*+(?:\"[^\"<]*+\"|'[^'<]*+')[^<>\"'=]*+){%d}+" % (MOST_ATTRIBUTES + 1)
)
_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z_]")
_REFERENCE = re.compile(  # an unclosed alternative runs to the end, so that nothing is scanned twice
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|&([A-Za-z_][\w.-]{0,63});", re.DOTALL
)


class XmlElement:
    """An XML element; implements `values.tree.Element`."""

    __slots__ = ("_node", "_tree", "attributes", "mem_id", "parent", "tag", "written_name")

    def __init__(
        self, tree: "_Tree", node: etree._Element, parent: "XmlElement | None", tag: str, attributes: Attributes
    ) -> None:
        self._tree = tree
        self._node = node
        self.parent = parent
        self.tag = tag
        """The local name as written: XML is case-sensitive."""
        self.attributes = attributes
        """By qualified name; the element's namespace declarations (`xmlns`, `xmlns:p`) come last."""
        self.mem_id = len(tree.adapted) + 1
        self.written_name = f"{node.prefix}:{tag}" if node.prefix else tag

    def text(self, deep: bool = True, separator: str = "", strip: bool = False) -> str:
        node = self._node
        parts = map(str, node.itertext()) if deep else iter([node.text or "", *[child.tail or "" for child in node]])
        return separator.join([part.strip() for part in parts] if strip else parts)

    def traverse(self, include_text: bool = False) -> "Iterator[XmlElement | XmlText]":
        for event, node in etree.iterwalk(self._node, events=("start", "end")):
            element = self._tree.adapted[node]
            if event == "start":
                yield element
                if include_text and node.text:
                    yield XmlText(node.text, element)
            elif include_text and node.tail and element is not self:
                yield XmlText(node.tail, element.parent)

    def iter(self, include_text: bool = False) -> "Iterator[XmlElement | XmlText]":
        if include_text and self._node.text:
            yield XmlText(self._node.text, self)
        for child in self._node:
            yield self._tree.adapted[child]
            if include_text and child.tail:
                yield XmlText(child.tail, self)

    def css(self, query: str) -> "Sequence[XmlElement]":
        """Supports only lists of tag names: `meta, title`."""
        wanted = {name.strip() for name in query.split(",")}
        found = (self._tree.adapted[node] for node in self._node.iterdescendants())
        return [element for element in found if element.tag in wanted]


class XmlText:
    """A text node, for `traverse(include_text=True)`."""

    __slots__ = ("_text", "attributes", "mem_id", "parent", "tag")

    def __init__(self, text: str, parent: XmlElement | None) -> None:
        self._text = text
        self.parent = parent
        self.tag = "-text"
        self.attributes: Attributes = {}
        self.mem_id = -1

    def text(self, deep: bool = True, separator: str = "", strip: bool = False) -> str:
        return self._text.strip() if strip else self._text

    def traverse(self, include_text: bool = False) -> "Iterator[XmlText]":
        yield self

    def iter(self, include_text: bool = False) -> "Iterator[XmlText]":
        return iter(())

    def css(self, query: str) -> "Sequence[XmlElement]":
        return ()


SAFELY: dict[str, Any] = {
    **dict.fromkeys(("no_network", "remove_comments", "remove_pis"), True),
    **dict.fromkeys(("resolve_entities", "load_dtd", "dtd_validation", "attribute_defaults"), False),
    **dict.fromkeys(("huge_tree", "collect_ids"), False),
}
"""Options for untrusted XML: nothing is fetched, nothing is expanded, nothing grows without bound."""


def parse_xml(body: bytes) -> Survey | None:
    """REQUIRES: UTF-8, even if the XML declaration differs. None if it is not well-formed or exceeds a limit."""
    if len(body) > LARGEST or body.count(b"<") > MOST_TAGS:
        return None
    plain = without_entities(body)
    if plain is None or has_too_many_attributes(plain):
        return None
    parser = etree.XMLParser(encoding="utf-8", **SAFELY)
    try:
        root = etree.fromstring(plain, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or root.getroottree().docinfo.internalDTD is not None:
        return None
    if b"template" in plain:  # its content is not part of the page (WHATWG HTML, 4.12.3)
        for template in list(root.iter(f"{{{XHTML}}}template")):
            del template[:]
            template.text = None
    tree = _Tree()
    tree.grow(root)
    return Survey(tree.every[0][0], tree.relevant, lambda: tree.every)


def has_too_many_attributes(body: bytes) -> bool:
    """Whether a tag has more than MOST_ATTRIBUTES."""
    return body.count(b"=") > MOST_ATTRIBUTES and _TOO_MANY.search(body) is not None


def doctype_of(body: bytes) -> bytes:
    """The document type declaration, or nothing."""
    found = _DOCTYPE.match(body)
    return found[1] if found is not None else b""


def without_entities(body: bytes) -> bytes | None:
    """The page without its document type, and with entities replaced: those it declares as plain words, and HTML's.
    None if they would make it too large."""
    found = _DOCTYPE.match(body)
    declared: dict[bytes, bytes] = {}
    if found is not None:
        for name, one, other in _ENTITY.findall(found[2] or b"")[:MOST_ENTITIES]:
            if len(value := one or other) <= LONGEST_ENTITY:
                declared.setdefault(name, value.replace(b'"', b"&#34;").replace(b"'", b"&#39;").replace(b">", b"&#62;"))
        start, end = found.span(1)
        body = body[:start] + b"\n" * found[1].count(b"\n") + body[end:]
    if _NAMED.search(body) is None:
        return body
    room = MOST_GROWTH + len(body)

    def words(found: re.Match[bytes]) -> bytes:
        nonlocal room
        name = found[1]
        if name is None or name in _PREDEFINED or room < 0:
            return found[0]
        written = declared.get(name) or _character(name) or found[0]
        room -= len(written)
        return written

    body = _REFERENCE.sub(words, body)
    return body if room >= 0 else None


def _character(name: bytes) -> bytes:
    """An HTML entity as character references, which can never be markup; empty for others."""
    return "".join([f"&#{ord(char)};" for char in html5.get(f"{name.decode('ascii')};", "")]).encode()


class _Tree:
    """The adapters for one page's elements. They keep lxml's own nodes alive."""

    def __init__(self) -> None:
        self.adapted: dict[etree._Element, XmlElement] = {}
        self.every: list[ElementParts] = []
        self.relevant: list[ElementParts] = []

    def grow(self, root: etree._Element) -> None:
        parent: XmlElement | None = None
        declared: list[tuple[str, str]] = []
        known: dict[str, list[str]] = {}
        """The prefixes in force by namespace, the nearest last."""
        opened: list[list[str]] = []
        """The namespaces for which each open element declares a prefix."""
        for event, one in etree.iterwalk(root, events=("start", "end", "start-ns")):
            if event == "start-ns":
                declared.append(one)
            elif event == "start":
                for prefix, uri in declared:
                    if prefix:
                        known.setdefault(uri, []).append(prefix)
                opened.append([uri for prefix, uri in declared if prefix])
                parent = self._adapt(one, parent, declared, known)
                declared = []
            else:
                parent = parent.parent if parent is not None else None
                for uri in opened.pop():
                    known[uri].pop()

    def _adapt(
        self,
        node: etree._Element,
        parent: XmlElement | None,
        declared: list[tuple[str, str]],
        known: dict[str, list[str]],
    ) -> XmlElement:
        attributes: dict[str, str | None] = {}
        for name, value in node.attrib.items():
            attributes[_qualified(str(name), known) if name[0] == "{" else str(name)] = str(value)
        for prefix, uri in declared:
            attributes[f"xmlns:{prefix}" if prefix else "xmlns"] = uri
        tag = str(node.tag).rpartition("}")[2]
        element = self.adapted[node] = XmlElement(self, node, parent, tag, attributes)
        parts: ElementParts = (element, tag, attributes)
        self.every.append(parts)
        if tag in _RELEVANT_TAGS or not _RELEVANT.isdisjoint(attributes):
            self.relevant.append(parts)
        return element


def _qualified(name: str, known: dict[str, list[str]]) -> str:
    """An attribute in a namespace, `{uri}local`, with the prefix in force."""
    uri, _, local = name[1:].partition("}")
    if uri == _XML:
        return f"xml:{local}"
    prefixes = known.get(uri)
    return f"{prefixes[-1]}:{local}" if prefixes else local


MOST_LIST_TAGS = 1_500_000
"""Start and end tags together: the rest is left out."""
MOST_ESCAPED = 200_000
"""Errors that are repaired; a file with more is not worth the time."""
_STEP = 1 << 16
_BARE = re.compile(rb"&(?!#\d+;|#x[0-9A-Fa-f]+;|(?:amp|lt|gt|quot|apos);)")
"""An ampersand that begins no XML reference: libxml2 would drop what it is in."""
_SURROGATE = re.compile(
    rb"&#(?:[xX]0*[dD][89a-fA-F][0-9a-fA-F]{2}|0*5(?:529[6-9]|5[3-9]\d\d|6\d{3}|7(?:[0-2]\d\d|3[0-3]\d|34[0-3])));"
)
"""References to surrogates (U+D800 to U+DFFF), which no text can contain."""
_BARE_OR_KEPT = re.compile(rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|" + _BARE.pattern, re.DOTALL)


def markup_of(body: bytes, content_type: str | None) -> bytes:
    """UTF-8 from the first `<` on, without document type; empty if its entities would make it too large."""
    markup = _whole(as_utf8(body, charset_of(content_type, body).encoding))
    markup = without_entities(markup[max(0, markup.find(b"<")) :]) or b""
    markup = _SURROGATE.sub(b"\xef\xbf\xbd", markup)
    if _BARE.search(markup):
        markup = _BARE_OR_KEPT.sub(_escaped, markup.replace(b"&#X", b"&#x"), count=MOST_ESCAPED)
    return _within(markup)


def _whole(markup: bytes) -> bytes:
    """Without errors in the UTF-8: libxml2 repairs some of them to something that cannot be read as text."""
    try:
        markup.decode()
    except UnicodeDecodeError:
        return markup.decode("utf-8", "replace").encode()
    return markup


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"&amp;" if found[0] == b"&" else found[0]


def _within(markup: bytes) -> bytes:
    if markup.count(b"<") <= MOST_LIST_TAGS:
        return markup
    at, left = 0, MOST_LIST_TAGS
    while (tags := markup.count(b"<", at, at + _STEP)) <= left:
        at, left = at + _STEP, left - tags
    return markup[:at]


class LenientReader:
    """XML as it occurs on the web, read as far as possible.

    Iterating gives the elements of these names (any namespace) as they end, then those that never did. An element is
    emptied when the next is requested, so that a large file is never a whole tree in memory. `root` is available
    afterwards, or after a `break`.
    """

    def __init__(self, markup: bytes, names: tuple[str, ...]) -> None:
        self._markup = markup
        self._names = [f"{{*}}{name}" for name in names]
        self.root: etree._Element | None = None

    def __iter__(self) -> Iterator[etree._Element]:
        parser = etree.XMLPullParser(events=("end",), tag=self._names, encoding="utf-8", recover=True, **SAFELY)
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
            if len(element):  # one with text only is small, and its parent may need it
                element.clear()


@lru_cache(maxsize=512)
def split_name(tag: str) -> tuple[str, str]:
    """Namespace (or the prefix, if none was declared for it) and local name, both in lower case."""
    if tag[:1] == "{":
        space, _, local = tag[1:].partition("}")
    else:
        space, _, local = tag.rpartition(":")
    return space.lower(), local.lower()


def name_of(element: etree._Element) -> tuple[str, str]:
    """Like `split_name`; two empty strings for what is not an element."""
    tag: object = element.tag
    return split_name(tag) if isinstance(tag, str) else ("", "")


def inner_text(element: etree._Element) -> str:
    """The text of an element and its descendants."""
    return ("".join(map(str, element.itertext())) if len(element) else element.text or "").strip()
