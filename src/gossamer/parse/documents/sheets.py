"""Workbooks (xlsx): rows of cells, with dates, notes, drawings, and what is printed around."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from gossamer.parse.documents.draft import Draft
from gossamer.parse.documents.package import Package, Relation
from gossamer.parse.documents.word import DrawnText, add_properties, described
from gossamer.values.document import CUT, LinkText

MOST_STRINGS = 500_000
MOST_CELLS = 500_000
LONGEST_CELL = 32_767
"""Characters, as in Excel."""
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
"""Built-in number formats of dates and times (ECMA-376, 18.8.30)."""
_DATE_FORM = re.compile(r"[ymdhs]", re.I)
_NOT_FORM = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.|\*.|General', re.I)
_PRINT_CODE = re.compile(r'&(?:[LCRPNDTFAZGBIUESXY&]|"[^"]*"|\d{1,3}|K[0-9A-Fa-f+-]{5,6})')
_PRINTED = frozenset(("oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"))
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_MOST_DAYS = 2_958_466


def add_workbook(body: bytes, draft: Draft) -> None:
    """The text of an xlsx file."""
    package = Package(body, draft)
    main = next(package.related("", "officeDocument"), "xl/workbook.xml")
    add_properties(package, draft)
    book, strings, styles = _Book(), _Strings(draft), _Styles()
    package.feed(main, book)
    for name in package.related(main, "sharedStrings"):
        package.feed(name, strings)
    for name in package.related(main, "styles"):
        package.feed(name, styles)
    relations = package.relations(main)
    for title, one in book.sheets:
        sheet = relations.get(one)
        if sheet is not None and not sheet.is_external:
            draft.line(title, "heading", 2)
            _add_sheet(package, sheet.target, draft, SheetText(draft, strings.every, styles.dates, book.has_1904))


def _add_sheet(package: Package, name: str, draft: Draft, reader: "SheetText") -> None:
    package.feed(name, reader)
    draft.end_row()
    relations = package.relations(name)
    for one in reader.links(relations):
        draft.link(*one)
    for text in reader.printed:
        draft.line(text, "aside")
    for relation in dict.fromkeys(relations.values()):
        if relation.is_external:
            continue
        if relation.kind in ("comments", "threadedComment"):
            package.feed(relation.target, DrawnText(draft))
        elif relation.kind == "drawing":
            _add_drawing(package, relation.target, draft)
        draft.end()


def _add_drawing(package: Package, name: str, draft: Draft) -> None:
    package.feed(name, _Drawing(draft))
    draft.end()
    for part in package.related(name, "diagramData", "chart"):
        package.feed(part, DrawnText(draft))
        draft.end()


class _Drawing(DrawnText):
    """Text boxes and descriptions of pictures."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft)
        self._draft = draft

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        if name == "cNvPr":
            self._draft.run(described(attributes))


class _Book:
    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.has_1904 = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sheet" and len(self.sheets) < 1_000:
            self.sheets.append((attributes.get("name", ""), attributes.get("r:id", "")))
        elif name == "workbookPr":
            self.has_1904 = attributes.get("date1904", "0") in ("1", "true")

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...


class _Strings:
    """The strings that cells refer to by number; how they are read aloud (`rPh`) is left out."""

    def __init__(self, draft: Draft) -> None:
        self.every: list[str] = []
        self._draft = draft
        self._parts: list[str] = []
        self._is_text = False
        self._aside = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "si":
            self._parts = []
        elif name == "rPh":
            self._aside += 1
        self._is_text = name == "t" and not self._aside

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "rPh":
            self._aside -= 1
        elif name == "si":
            if len(self.every) < MOST_STRINGS:
                self.every.append("".join(self._parts)[:LONGEST_CELL])
            else:
                self._draft.flag(CUT)

    def data(self, text: str) -> None:
        if self._is_text:
            self._parts.append(text)


class _Styles:
    """Which cell styles are dates."""

    def __init__(self) -> None:
        self.dates: set[int] = set()
        self._forms: set[str] = set()
        self._is_used = False
        self._count = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "numFmt" and _DATE_FORM.search(_NOT_FORM.sub("", attributes.get("formatCode", "")[:500])):
            self._forms.add(attributes.get("numFmtId", ""))
        elif name == "cellXfs":
            self._is_used = True
        elif name == "xf" and self._is_used:
            number = attributes.get("numFmtId", "")
            if number in self._forms or (number.isdecimal() and len(number) < 4 and int(number) in _DATES):
                self.dates.add(self._count)
            self._count += 1

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_used = False

    def data(self, text: str) -> None: ...


class SheetText:
    """Receives the events of a sheet. Only cells that are there are read, however far apart they are."""

    def __init__(self, draft: Draft, strings: list[str], dates: set[int], has_1904: bool) -> None:
        self.printed: list[str] = []
        self._draft, self._strings, self._dates = draft, strings, dates
        self._epoch = _EPOCH_1904 if has_1904 else _EPOCH
        self._kind = self._style = ""
        self._parts: list[str] | None = None
        self._cells = 0
        self._found_links: list[Mapping[str, str]] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "c":
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._cells += 1
            if self._cells > MOST_CELLS:
                self._draft.spend(self._cells)
        elif name in ("v", "t") or name in _PRINTED:
            self._parts = []
        elif name == "hyperlink" and len(self._found_links) < 5_000:
            self._found_links.append(dict(attributes))

    def end(self, name: str) -> None:
        if name in ("v", "t") and self._parts is not None:
            self._draft.run(self._value("".join(self._parts)[:LONGEST_CELL], name))
        elif name == "c":
            self._draft.end_cell()
        elif name == "row":
            self._draft.end_row()
        elif name in _PRINTED and self._parts is not None:
            self.printed.append(_PRINT_CODE.sub(" ", "".join(self._parts)[:2_000]))
        self._parts = None

    def data(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(text)

    def links(self, relations: Mapping[str, Relation]) -> list[LinkText]:
        found = []
        for one in self._found_links:
            relation = relations.get(one.get("r:id", ""))
            if relation is not None and relation.is_external:
                found.append(LinkText(relation.target, one.get("display", "")))
        return found

    def _value(self, text: str, name: str) -> str:
        if name == "t" or self._kind in ("str", "inlineStr", "e", "d"):
            return text
        if self._kind == "s":
            number = int(text) if text.isdecimal() and len(text) < 8 else -1
            return self._strings[number] if 0 <= number < len(self._strings) else ""
        if self._kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(text, text)
        return self._number(text)

    def _number(self, text: str) -> str:
        try:
            value = float(text)
        except ValueError:
            return text
        if self._style.isdecimal() and int(self._style[:6]) in self._dates and 0 <= value < _MOST_DAYS:
            moment = self._epoch + timedelta(days=value, microseconds=500)
            if value < 1:
                return f"{moment:%H:%M:%S}"
            return f"{moment:%Y-%m-%d}" if value == int(value) else f"{moment:%Y-%m-%d %H:%M:%S}"
        if value == value and abs(value) < 1e15 and value == int(value):
            return str(int(value))
        return f"{value:.15g}"
