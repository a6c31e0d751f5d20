"""Word documents (docx): paragraphs, headings, lists, tables, notes and comments."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.parse.documents.draft import Draft
from gossamer.parse.documents.labels import ListLabels
from gossamer.parse.documents.markup import add_markup
from gossamer.parse.documents.package import Package, Properties, Relation
from gossamer.values.document import MACROS, BlockKind

_HEADING = re.compile(r"(?:heading|überschrift|titre|título|título|titolo|kop|rubrik|overskrift|标题)\s*([1-9])", re.I)
_LINK_FIELD = re.compile(r'\s*HYPERLINK\s+(?!\\)"?([^"\s]+)', re.I)
_NOTES = ("footnotes", "endnotes", "comments")
_DRAWN = ("diagramData", "chart")
_SKIPPED = frozenset(("Fallback", "delText", "delInstrText", "moveFrom", "rPrChange", "pPrChange", "binData"))
_OFF = frozenset(("0", "false", "off", "none"))
PLAIN_PICTURE = re.compile(r"\D{0,20}\s*\d*")
"""Names that programs give to pictures: `Picture 4`."""


class _Style(NamedTuple):
    level: int = 0
    is_bold: bool = False
    size: float = 0.0


def add_word(body: bytes, draft: Draft) -> None:
    """The text of a docx file."""
    package = Package(body, draft)
    main = next(package.related("", "officeDocument"), "word/document.xml")
    add_properties(package, draft)
    styles, labels = _Styles(), ListLabels()
    for name in package.related(main, "styles"):
        package.feed(name, styles)
    for name in package.related(main, "numbering"):
        package.feed(name, labels)
    relations = package.relations(main)
    reader = WordText(draft, relations, styles.found(), labels)
    package.feed(main, reader)
    draft.end()
    for kind in _NOTES:
        for name in package.related(main, kind):
            package.feed(name, WordText(draft, package.relations(name), reader.styles))
            draft.end()
    for name in package.related(main, *_DRAWN):
        package.feed(name, DrawnText(draft))
        draft.end()
    for name in package.related(main, "aFChunk"):
        add_markup(package.part(name) or b"", draft)
    for name in package.related(main, "header", "footer"):
        package.feed(name, WordText(draft, package.relations(name), reader.styles, kind="aside"))
        draft.end("aside")
    for one in relations.values():
        if one.is_external and one.kind == "subDocument":
            draft.run(one.target, link=one.target)
            draft.end()


def add_properties(package: Package, draft: Draft) -> None:
    """The metadata of any Office document in a ZIP file."""
    found = Properties(draft)
    for name in package.related("", "core-properties"):
        package.feed(name, found)
    for name in package.related("", "extended-properties"):
        package.feed(name, found)
    found.state()
    if any(name.endswith("vbaProject.bin") for name in package.names):
        draft.flag(MACROS)


class _Styles:
    """The styles of paragraphs, by id."""

    def __init__(self) -> None:
        self._own: dict[str, dict[str, str]] = {}
        self._now: dict[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "style":
            self._now = self._own.setdefault(attributes.get("styleId", ""), {})
        elif name in ("name", "basedOn", "outlineLvl", "b", "sz"):
            self._now.setdefault(name, attributes.get("val", "1"))

    def end(self, name: str) -> None:
        if name == "style":
            self._now = {}

    def data(self, text: str) -> None: ...

    def found(self) -> dict[str, _Style]:
        return {name: self._style(name) for name in self._own}

    def _style(self, name: str) -> _Style:
        chain: list[dict[str, str]] = []
        while name in self._own and len(chain) < 10:
            chain.append(self._own[name])
            name = chain[-1].get("basedOn", "")
        values = {key: value for one in reversed(chain) for key, value in one.items()}
        title = chain[0].get("name", "") if chain else ""
        named = _HEADING.match(title)
        level = int(named[1]) if named is not None else 1 if title.lower() == "title" else 0
        outline = values.get("outlineLvl", "")
        if not level and outline.isdecimal() and int(outline) < 9:
            level = int(outline) + 1
        return _Style(min(level, 6), is_on(values.get("b", "0")), _points(values.get("sz", ""), 2))


def is_on(value: str) -> bool:
    return value.lower() not in _OFF


def _points(text: str, parts: int) -> float:
    return int(text) / parts if text.isdecimal() and len(text) < 6 else 0.0


class WordText:
    """Receives the events of a part with paragraphs. REQUIRES: the caller ends the draft's last block."""

    def __init__(
        self,
        draft: Draft,
        relations: Mapping[str, Relation],
        styles: Mapping[str, _Style],
        labels: ListLabels | None = None,
        kind: BlockKind = "paragraph",
    ) -> None:
        self.styles = styles
        self._draft, self._relations, self._labels, self._kind = draft, relations, labels, kind
        self._skipped = self._cells = 0
        self._is_text = self._is_code = self._is_bold = False
        self._size = 0.0
        self._style = _Style()
        self._numbering: tuple[str, str] | None = None
        self._list_level = "0"
        self._is_labelled = False
        self._links: list[str] = []
        self._fields: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
            return
        if name in ("t", "instrText"):
            self._is_text, self._is_code = name == "t", name != "t"
            if self._is_text:
                self._label()
        elif name == "r":
            self._is_bold, self._size = self._style.is_bold, self._style.size
        elif name == "p":
            self._break()
            self._style, self._numbering, self._list_level, self._is_labelled = _Style(), None, "0", False
        elif name in _INLINE:
            self._draft.run(_INLINE[name])
        elif name in ("b", "sz", "pStyle", "ilvl", "numId"):
            self._formatted(name, attributes.get("val", "1"))
        elif name == "tc":
            if self._cells:
                self._draft.break_line()
            self._cells += 1
        elif name == "tr" and not self._cells:
            self._draft.end(self._kind)
        elif name in ("hyperlink", "hlinkClick"):
            self._link(name, attributes)
        elif name == "fldChar":
            self._field(attributes.get("fldCharType", ""))
        elif name == "sym":
            self._draft.run(_symbol(attributes.get("char", "")))
        elif name in ("docPr", "cNvPr", "imagedata"):
            self._draft.run(described(attributes))

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name in ("t", "instrText"):
            self._is_text = self._is_code = False
        elif name == "p":
            self._ended()
        elif name == "tc":
            self._cells -= 1
            if not self._cells:
                self._draft.end_cell()
        elif name == "tr" and not self._cells:
            self._draft.end_row()
        elif name == "hyperlink" and self._links:
            self._links.pop()

    def data(self, text: str) -> None:
        if self._skipped:
            return
        if self._is_text:
            self._draft.run(text, is_bold=self._is_bold, size=self._size, link=self._links[-1] if self._links else "")
        elif self._is_code and self._fields:
            self._fields[-1] += text[:4_000]

    def _ended(self) -> None:
        if self._cells:
            self._draft.break_line()
        elif self._style.level and self._kind == "paragraph":
            self._draft.end("heading", self._style.level)
        elif self._numbering is not None and self._kind == "paragraph":
            self._draft.end("item", int(self._numbering[1]))
        else:
            self._draft.end(self._kind)

    def _break(self) -> None:
        """A paragraph inside another one, of a text box, begins."""
        if self._cells:
            self._draft.break_line()
        else:
            self._draft.end(self._kind)

    def _label(self) -> None:
        """Before the first text of a paragraph: its number in a list."""
        if self._is_labelled:
            return
        self._is_labelled = True
        if self._labels is not None and self._numbering is not None:
            self._draft.run(self._labels.next(*self._numbering) + " ")

    def _formatted(self, name: str, value: str) -> None:
        if name == "b":
            self._is_bold = is_on(value)
        elif name == "sz":
            self._size = _points(value, 2) or self._size
        elif name == "pStyle":
            self._style = self.styles.get(value, _Style())
        elif name == "ilvl":
            self._list_level = value if value.isdecimal() and len(value) == 1 else "0"
        elif name == "numId":
            self._numbering = (value, self._list_level) if value != "0" else None

    def _link(self, name: str, attributes: Mapping[str, str]) -> None:
        found = self._relations.get(attributes.get("r:id", ""))
        target = found.target if found is not None and found.is_external else ""
        if name == "hyperlink":
            self._links.append(target)
        elif target:
            self._draft.link(target)

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._fields.append("")
            self._links.append("")
            del self._fields[:-50], self._links[:-50]
        elif kind == "separate" and self._fields and self._links:
            found = _LINK_FIELD.match(self._fields[-1])
            self._links[-1] = found[1] if found is not None else ""
        elif kind == "end" and self._fields:
            self._fields.pop()
            if self._links:
                self._links.pop()


_INLINE = {"tab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-", "softHyphen": "\xad", "ptab": " "}


def _symbol(code: str) -> str:
    """A character by number; symbol fonts use a private range for their own."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    return chr(number - 0xF000 if 0xF020 <= number <= 0xF0FF else number) if 0x20 <= number < 0xD800 or (
        0xE000 <= number < 0x110000
    ) else ""  # fmt: skip


def described(attributes: Mapping[str, str]) -> str:
    """What a picture says for those who cannot see it, and its name if someone chose it."""
    name, says = attributes.get("name", ""), attributes.get("descr", "") or attributes.get("title", "")
    if says[1:3] == ":\\":  # where the picture was on its author's disk
        says = says.rpartition("\\")[2]
    if PLAIN_PICTURE.fullmatch(name) and "." not in name and "_" not in name:
        name = ""
    words = " ".join(dict.fromkeys([one for one in (says, name) if one]))
    return f" {words[:1_000]} " if words else ""


class DrawnText:
    """The text of a diagram or chart: paragraphs, and the values of its data."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._is_text = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._is_text = name in ("t", "v")

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "p":
            self._draft.end()
        elif name in ("pt", "tx"):
            self._draft.break_line()
        elif name in ("cat", "val", "ser"):
            self._draft.end()

    def data(self, text: str) -> None:
        if self._is_text:
            self._draft.run(text)
