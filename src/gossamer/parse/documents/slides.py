"""Presentations (pptx): slides in order, with notes, tables, charts and their masters' text."""

from collections.abc import Mapping

from gossamer.parse.documents.draft import Draft
from gossamer.parse.documents.package import Package, Relation
from gossamer.parse.documents.word import DrawnText, add_properties, described, is_on
from gossamer.values.document import CUT, BlockKind

MOST_SLIDES = 2_000
_TITLES = ("title", "ctrTitle")
_FILLED_IN = frozenset(
    ("title", "ctrTitle", "body", "subTitle", "obj", "pic", "tbl", "chart", "dgm", "media", "clipArt")
)
"""Places of a master that slides fill in; the master has only a prompt there."""
_SIDE = ("sldNum", "dt", "ftr", "hdr")


def add_slides(body: bytes, draft: Draft) -> None:
    """The text of a pptx file."""
    package = Package(body, draft)
    main = next(package.related("", "officeDocument"), "ppt/presentation.xml")
    add_properties(package, draft)
    order = _Order()
    package.feed(main, order)
    relations = package.relations(main)
    slides = [relations[one].target for one in order.ids if one in relations]
    if not slides:
        slides = list(package.related(main, "slide"))
    if len(slides) > MOST_SLIDES:
        draft.flag(CUT)
    masters: dict[str, None] = {}
    for name in dict.fromkeys(slides[:MOST_SLIDES]):
        _add_slide(package, name, draft, masters)
    for name in package.related(main, "slideMaster", "notesMaster", "handoutMaster"):
        masters[name] = None
    for name in masters:
        package.feed(name, SlideText(draft, {}, kind="aside"))
        draft.end("aside")


def _add_slide(package: Package, name: str, draft: Draft, masters: dict[str, None]) -> None:
    relations = package.relations(name)
    package.feed(name, SlideText(draft, relations))
    draft.end()
    for one in dict.fromkeys(relations.values()):
        if one.is_external or not package.has(one.target):
            continue
        if one.kind in ("diagramData", "chart"):
            package.feed(one.target, DrawnText(draft))
        elif one.kind in ("notesSlide", "comments", "comment"):
            package.feed(one.target, SlideText(draft, package.relations(one.target), has_titles=False))
        elif one.kind == "slideLayout":
            masters.setdefault(one.target, None)
        draft.end()


class _Order:
    def __init__(self) -> None:
        self.ids: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sldId":
            self.ids.append(attributes.get("r:id", ""))

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...


class SlideText:
    """Receives the events of a slide, of notes, or of a master (kind "aside"), of which only its own text counts."""

    def __init__(
        self, draft: Draft, relations: Mapping[str, Relation], kind: BlockKind = "paragraph", has_titles: bool = True
    ) -> None:
        self._draft, self._relations, self._kind, self._has_titles = draft, relations, kind, has_titles
        self._skipped = 0
        self._is_text = self._is_bold = self._in_cell = False
        self._place = ""
        self._shape_depth = 0
        self._level = 0
        self._size = 0.0
        self._link = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped or name == "Fallback":
            self._skipped += 1
            return
        if name in ("t", "text"):
            self._is_text = self._is_wanted()
        elif name in ("sp", "graphicFrame", "pic"):
            self._place = ""
        elif name == "ph":
            self._place = attributes.get("type", "obj")
        elif name == "cNvPr" and self._kind != "aside":
            self._draft.run(described(attributes))
            self._draft.end(self._kind)
        elif name == "pPr":
            level = attributes.get("lvl", "0")
            self._level = int(level) if level.isdecimal() and len(level) == 1 else 0
        elif name in ("rPr", "defRPr") and name == "rPr":
            self._is_bold = is_on(attributes.get("b", "0"))
            size = attributes.get("sz", "")
            self._size = int(size) / 100 if size.isdecimal() and len(size) < 7 else 0.0
        elif name == "hlinkClick":
            found = self._relations.get(attributes.get("r:id", ""))
            self._link = found.target if found is not None and found.is_external else ""
        elif name == "r":
            self._is_bold, self._size, self._link = False, 0.0, ""
        elif name == "br":
            self._draft.break_line()
        elif name == "tc":
            self._in_cell = True

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name in ("t", "text"):
            self._is_text = False
            if name == "text":
                self._draft.end(self._kind)
        elif name == "p":
            self._ended()
        elif name == "tc":
            self._in_cell = False
            self._draft.end_cell()
        elif name == "tr":
            self._draft.end_row()

    def data(self, text: str) -> None:
        if self._is_text and not self._skipped:
            is_title = self._place in _TITLES
            size = 0.0 if is_title else self._size
            self._draft.run(text, is_bold=self._is_bold, size=size, link=self._link)

    def _is_wanted(self) -> bool:
        return self._kind != "aside" or self._place not in _FILLED_IN

    def _ended(self) -> None:
        if self._in_cell:
            self._draft.break_line()
        elif self._place in _TITLES and self._kind != "aside" and self._has_titles:
            self._draft.end("heading", 2)
        elif self._place in _SIDE:
            self._draft.end("aside")
        elif self._place in ("body", "obj") and self._kind != "aside" and self._has_titles:
            self._draft.end("item", self._level)
        else:
            self._draft.end(self._kind)
        self._level = 0
