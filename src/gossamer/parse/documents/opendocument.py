"""OpenDocument files (odt, ods, odp, odg), and books (EPUB)."""

import re
from collections.abc import Mapping
from posixpath import join, normpath

from gossamer.parse.documents.draft import Draft, NoText
from gossamer.parse.documents.markup import add_markup
from gossamer.parse.documents.package import PROTECTED, Package, Properties, feed_xml
from gossamer.values.document import MACROS, BlockKind

MOST_CHAPTERS = 2_000
_SKIPPED = frozenset(
    ("tracked-changes", "deletion", "forms", "scripts", "font-face-decls", "binary-data", "user-field-decls")
)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_SIDE = frozenset(("header", "footer", "header-left", "footer-left", "header-first", "footer-first"))
_ALTERNATIVES = frozenset(("title", "desc", "footer-decl", "header-decl", "date-time-decl"))
_LENGTH = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)pt")
_LINKED = ("http:", "https:", "ftp:", "mailto:")


def add_opendocument(body: bytes, draft: Draft) -> None:
    """The text of an OpenDocument file, in a ZIP file or as one XML file."""
    properties = Properties(draft)
    if not body.startswith(b"PK"):
        feed_xml(body, properties, draft)
        properties.state()
        feed_xml(body, OpenText(draft, {}), draft)
        return
    package = Package(body, draft)
    manifest = package.part("META-INF/manifest.xml") or b""
    if b"encryption-data" in manifest:
        raise NoText("encrypted", PROTECTED)
    package.feed("meta.xml", properties)
    properties.state()
    styles: dict[str, tuple[bool, float, str]] = {}
    side = OpenText(draft, styles, is_side=True)
    held = package.part("styles.xml")
    if held is not None:
        feed_xml(held, _StyleNames(styles), draft)
    content = package.part("content.xml")
    if content is None:
        raise NoText("damaged", "The file has no content.")
    feed_xml(content, OpenText(draft, styles), draft)
    draft.end()
    if held is not None:
        feed_xml(held, side, draft)
        draft.end("aside")
    for name in package.names:
        if (
            name.startswith("Basic/")
            and name.endswith(".xml")
            and not name.endswith(("script-lb.xml", "script-lc.xml"))
        ):
            draft.flag(MACROS)
            module = _Module()
            package.feed(name, module)
            draft.code("".join(module.parts))


class _Module:
    """The source of a macro, as text."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None:
        self.parts.append(text)


class _StyleNames:
    """Which named styles are bold, and how large their letters are."""

    def __init__(self, styles: dict[str, tuple[bool, float, str]]) -> None:
        self._styles = styles
        self._name = self._parent = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "style":
            self._name, self._parent = attributes.get("name", ""), attributes.get("parent-style-name", "")
            if self._parent in self._styles and len(self._styles) < 20_000:
                self._styles[self._name] = self._styles[self._parent]
        elif name == "text-properties" and self._name and len(self._styles) < 20_000:
            is_bold, size, _ = self._styles.get(self._name, (False, 0.0, ""))
            weight = attributes.get("font-weight")
            found = _LENGTH.fullmatch(attributes.get("font-size", ""))
            size = float(found[1]) if found is not None else size
            self._styles[self._name] = (is_bold if weight is None else weight in ("bold", "700"), size, self._parent)

    def end(self, name: str) -> None:
        if name == "style":
            self._name = ""

    def data(self, text: str) -> None: ...


class OpenText:
    """Receives the events of `content.xml`, or, for what is printed around pages, of `styles.xml`."""

    def __init__(self, draft: Draft, styles: dict[str, tuple[bool, float, str]], *, is_side: bool = False) -> None:
        self._draft, self._styles, self._is_side = draft, styles, is_side
        self._names = _StyleNames(styles)
        self._kind: BlockKind = "aside" if is_side else "paragraph"
        self._skipped = self._texts = self._cells = self._lists = self._sides = 0
        self._levels: list[int] = []
        self._formats: list[tuple[bool, float, str]] = [(False, 0.0, "")]
        self._links: list[str] = [""]
        self._alt = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
            return
        if name in ("h", "p"):
            self._paragraph(name, attributes)
        elif name in ("span", "a"):
            self._formats.append(self._styles.get(attributes.get("style-name", ""), self._formats[-1]))
            href = attributes.get("href", "") if name == "a" else self._links[-1]
            self._links.append(href if href.lower().startswith(_LINKED) else "")
        elif name in ("s", "tab", "line-break"):
            self._draft.break_line()
        elif name in ("table-cell", "covered-table-cell"):
            self._cells += 1
        elif name == "list":
            self._lists += 1
        elif name == "table" and "name" in attributes and not self._cells:
            self._sheet(attributes["name"])
        elif name in _SIDE:
            self._sides += 1
        elif name in _ALTERNATIVES and not self._is_side:
            self._alt = True
        else:
            self._names.start(name, attributes)

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name in ("h", "p"):
            self._ended(name)
        elif name in ("span", "a") and len(self._formats) > 1:
            self._formats.pop()
            self._links.pop()
        elif name in ("table-cell", "covered-table-cell"):
            self._cells -= 1
            if not self._cells:
                self._draft.end_cell()
        elif name == "table-row" and not self._cells:
            self._draft.end_row()
        elif name == "list":
            self._lists -= 1
        elif name in _SIDE:
            self._sides -= 1
        elif name in _ALTERNATIVES:
            self._alt = False
            self._draft.end("aside") if name.endswith("-decl") else self._draft.break_line()
        else:
            self._names.end(name)

    def data(self, text: str) -> None:
        if self._skipped or (self._is_side and not self._sides):
            return
        if self._texts or self._alt:
            is_bold, size, _ = self._formats[-1]
            self._draft.run(text, is_bold=is_bold, size=size, link=self._links[-1])

    def _sheet(self, name: str) -> None:
        if not self._is_side:
            self._draft.line(name, "heading", 2) if not self._texts and not re.fullmatch(r"\D{3,12}\d+", name) else None

    def _paragraph(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._texts and not self._cells:
            self._draft.end(self._kind)
        elif self._texts or self._cells:
            self._draft.break_line()
        self._texts += 1
        level = attributes.get("outline-level", "1")
        self._levels.append(int(level) if name == "h" and level.isdecimal() and 0 < len(level) < 3 else 0)
        style = self._styles.get(attributes.get("style-name", ""), (False, 0.0, ""))
        self._formats.append(style)
        self._links.append("")

    def _ended(self, name: str) -> None:
        self._texts = max(0, self._texts - 1)
        level = self._levels.pop() if self._levels else 0
        if len(self._formats) > 1:
            self._formats.pop()
            self._links.pop()
        if self._cells:
            self._draft.break_line()
        elif level and not self._is_side:
            self._draft.end("heading", min(max(level, 1), 6))
        elif self._lists and not self._is_side:
            self._draft.end("item", self._lists - 1)
        else:
            self._draft.end(self._kind)


def add_book(body: bytes, draft: Draft) -> None:
    """The text of an EPUB file: its chapters, in the order of reading."""
    package = Package(body, draft)
    container = _Container()
    package.feed("META-INF/container.xml", container)
    name = container.path or next((one for one in package.names if one.lower().endswith(".opf")), "")
    if not package.has(name):
        raise NoText("damaged", "The book has no list of its contents.")
    contents = _Contents()
    properties = Properties(draft)
    package.feed(name, contents)
    package.feed(name, properties)
    properties.state()
    folder = name.rpartition("/")[0]
    chapters = [contents.items[one] for one in contents.spine if one in contents.items] or contents.pages
    for href in list(dict.fromkeys(chapters))[:MOST_CHAPTERS]:
        chapter = package.part(normpath(join("/", folder, _unescaped(href.partition("#")[0]))).lstrip("/"))
        if chapter is not None:
            add_markup(chapter, draft, are_links_own=True)


def _unescaped(href: str) -> str:
    """The name of a part, from its URL in the list of contents."""
    return _ESCAPES.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), href)


class _Container:
    def __init__(self) -> None:
        self.path = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "rootfile" and not self.path:
            self.path = attributes.get("full-path", "")

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...


class _Contents:
    """The files of a book and the order in which they are read."""

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        self.spine: list[str] = []
        self.pages: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "item":
            href = attributes.get("href", "")
            self.items[attributes.get("id", "")] = href
            if attributes.get("media-type", "") in ("application/xhtml+xml", "text/html"):
                self.pages.append(href)
        elif name == "itemref":
            self.spine.append(attributes.get("idref", ""))

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...
