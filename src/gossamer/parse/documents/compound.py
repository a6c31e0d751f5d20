"""OLE files: Word, Excel and PowerPoint 97 with office-oxide, Outlook with olefile."""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from gossamer.base.clock import SECOND, in_words
from gossamer.parse.charset import charset_of, decode
from gossamer.parse.documents.draft import Draft, NoText
from gossamer.parse.documents.mail import add_lines
from gossamer.parse.documents.markup import add_markup
from gossamer.parse.documents.package import PROTECTED
from gossamer.values.document import CUT, DAMAGED, DOC, PPT, XLS

LARGEST_STREAM = 32 * 1024 * 1024
MOST_STREAMS = 5_000
_FORMATS: Mapping[str, Literal["doc", "xls", "ppt"]] = {DOC: "doc", XLS: "xls", PPT: "ppt"}
_ABSENT = "Files of Word, Excel and PowerPoint 97 and of Outlook are read with the extra `documents`."
_FAULTS = (
    ValueError, TypeError, LookupError, AttributeError, OverflowError, RuntimeError, AssertionError, OSError, EOFError,
    struct.error,
)  # fmt: skip
_TEXT_OBJECT, _CONTINUE = 0x01B6, 0x003C
_LINK = re.compile(r'HYPERLINK\s+"([^"]{1,2000})"\s*(?:\\[a-z]\s*(?:"[^"]*")?\s*)*')


def add_office97(body: bytes, draft: Draft, kind: str) -> None:
    """The text of a doc, xls or ppt file."""
    try:
        import office_oxide
    except ImportError:
        raise NoText("needs-extra", _ABSENT) from None
    try:
        file = office_oxide.Document.from_bytes(body, _FORMATS[kind])
        held = file.to_ir()
    except (office_oxide.OfficeOxideError, *_FAULTS) as trouble:
        says = str(trouble).lower()
        if "encrypt" in says or "password" in says:
            raise NoText("encrypted", PROTECTED) from trouble
        raise NoText("damaged", "The file is damaged.") from trouble
    _OfficeText(draft, kind).over(held)
    draft.end()
    with_ole(body, draft, kind)


class _OfficeText:
    """Walks what office-oxide found: nested dictionaries with a `type`."""

    def __init__(self, draft: Draft, kind: str) -> None:
        self._draft, self._kind = draft, kind

    def over(self, held: Mapping[str, Any]) -> None:
        said = held.get("metadata", {})
        self._draft.state(
            authors=[_repaired(said.get("author") or "")],
            subject=_repaired(said.get("subject") or ""),
            keywords=[_repaired(one) for one in said.get("keywords") or ()],
            created=said.get("created") or "",
            modified=said.get("modified") or "",
        )
        title, first = _repaired(said.get("title") or ""), ""
        for section in held.get("sections", ()):
            name = section.get("title") or ""
            first = first or name
            if self._kind == XLS:
                self._draft.line(name, "heading", 2)
            self._elements(section.get("elements", ()))
            for part in ("footnotes", "endnotes", "notes", "headers", "footers", "comments"):
                if isinstance(section.get(part), list):
                    self._elements(section[part])
        if title and title != first:
            self._draft.state(title=title)

    def _elements(self, elements: Sequence[Mapping[str, Any]], depth: int = 0) -> None:
        for one in elements[:100_000]:
            self._draft.spend()
            if not isinstance(one, Mapping) or depth > 20:
                continue
            kind = one.get("type")
            if kind == "table":
                self._table(one)
            elif kind == "list":
                for item in one.get("items", ()):
                    self._inline(item.get("content", ()), depth + 1)
                    self._draft.end("item", min(depth, 8))
                    self._elements(item.get("children") or (), depth + 1)
            elif kind == "code_block":
                self._draft.code(str(one.get("content") or one.get("text") or ""))
            elif kind in ("image", "page_break", "thematic_break"):
                self._draft.run(str(one.get("alt") or one.get("alt_text") or ""))
                self._draft.end()
            else:
                self._inline(one.get("content") or one.get("elements") or (), depth + 1)
                level = one.get("level")
                if kind == "heading" and self._kind == PPT:
                    self._draft.end("heading", 2)
                elif kind == "heading" and isinstance(level, int):
                    self._draft.end("heading", min(max(level, 1), 6))
                else:
                    self._draft.end()

    def _table(self, table: Mapping[str, Any]) -> None:
        self._draft.end()
        for row in table.get("rows", ()):
            for cell in row.get("cells", ()):
                self._inline(cell.get("content", ()), 1)
                self._draft.end_cell()
            self._draft.end_row()

    def _inline(self, parts: Any, depth: int) -> None:
        if isinstance(parts, str):
            self._draft.run(_without_fields(parts))
            return
        for one in parts if isinstance(parts, list) else ():
            self._draft.spend()
            if not isinstance(one, Mapping):
                continue
            if isinstance(text := one.get("text"), str):
                size = one.get("font_size_half_pt")
                self._draft.run(
                    _without_fields(text),
                    is_bold=bool(one.get("bold")),
                    size=size / 2 if isinstance(size, int) and self._kind != PPT else 0.0,
                    link=str(one.get("hyperlink") or ""),
                )
            elif depth < 20:
                self._draft.break_line()
                self._inline(one.get("content") or one.get("elements") or (), depth + 1)


def _without_fields(text: str) -> str:
    return text.replace("\x13", " ").replace("\x14", " ").replace("\x15", " ")


def _repaired(text: str) -> str:
    """A property in UTF-8 that was read as Latin-1."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def with_ole(body: bytes, draft: Draft, kind: str) -> None:
    """What office-oxide leaves out: text boxes of workbooks, and the names of embedded files."""
    try:
        import olefile
    except ImportError:
        return
    try:
        with olefile.OleFileIO(body) as file:
            for path in file.listdir()[:MOST_STREAMS]:
                if path[-1] == "\x01Ole10Native":
                    for name in _embedded(_stream(file, path)):
                        draft.line(name)
                elif path in (["Workbook"], ["Book"]) and kind == XLS:
                    for text in _text_boxes(_stream(file, path)):
                        draft.line(text)
            if kind == DOC:
                for text in _savers(file):
                    draft.line(text, "aside")
    except _FAULTS:
        draft.flag(DAMAGED)


def _stream(file: Any, path: Sequence[str]) -> bytes:
    with file.openstream(list(path)) as stream:
        found: bytes = stream.read(LARGEST_STREAM)
    return found


def _embedded(native: bytes) -> Iterator[str]:
    """The names of a packed file: as shown, where it was, and where its temporary copy was."""
    parts = native[6:4_000].split(b"\x00")
    names = [part for part in parts[:16] if 3 < len(part) < 300 and re.fullmatch(rb"[\x20-\xff]+", part)]
    yield from dict.fromkeys([one.decode("cp1252", "replace") for one in names])


def _savers(file: Any) -> Iterator[str]:
    """Who saved the last versions of a Word file, and where ([MS-DOC], 2.5.6 and 2.9.270)."""
    head = _stream(file, ["WordDocument"])[:_FIB]
    if len(head) < _FIB:
        return
    start, length = struct.unpack_from("<2L", head, _SAVERS_AT)
    is_first = struct.unpack_from("<H", head, _FLAGS_AT)[0] & _FIRST_TABLE
    if not 6 < length < _LONGEST_TABLE:
        return
    table = _stream(file, ["1Table" if is_first else "0Table"])[start : start + length]
    at = 6
    while at + 2 <= len(table):
        (count,) = struct.unpack_from("<H", table, at)
        yield table[at + 2 : at + 2 + count * 2].decode("utf-16-le", "replace")
        at += 2 + count * 2


_FIB, _SAVERS_AT, _FLAGS_AT, _FIRST_TABLE = 0x2DA, 0x2D2, 0x0A, 0x0200
_LONGEST_TABLE = 1 << 16


def _text_boxes(book: bytes) -> Iterator[str]:
    """The records TXO of a workbook, each followed by its text ([MS-XLS], 2.4.329)."""
    at, is_box = 0, False
    while at + 4 <= len(book):
        kind, length = struct.unpack_from("<HH", book, at)
        if kind == _CONTINUE and is_box and length > 1:
            text = book[at + 5 : at + 4 + length]
            yield text.decode("utf-16-le", "replace") if book[at + 4] else text.decode("latin-1")
        is_box = kind == _TEXT_OBJECT
        at += 4 + length


# Outlook's messages ([MS-OXMSG]): each property is a stream named after its number and type.

_SUBJECT, _BODY, _HTML, _SENDER, _SENDER_ADDRESS = "0037", "1000", "1013", "0C1A", "0C1F"
_TO, _CC, _FILE, _SHORT_FILE, _PAGE = "0E04", "0E03", "3707", "3704", "3FFD"
_SENT_AT = (0x0039, 0x0E06)
_EPOCH_1601_S = 11_644_473_600


def add_outlook(body: bytes, draft: Draft) -> None:
    """The text of an Outlook message."""
    try:
        import olefile
    except ImportError:
        raise NoText("needs-extra", _ABSENT) from None
    try:
        with olefile.OleFileIO(body) as file:
            _add_item(file, draft)
    except _FAULTS as trouble:
        raise NoText("damaged", "The message is damaged.") from trouble


def _add_item(file: Any, draft: Draft) -> None:
    streams = {tuple(path) for path in file.listdir()[:MOST_STREAMS]}
    if len(streams) >= MOST_STREAMS:
        draft.flag(CUT)

    def text(number: str, folder: tuple[str, ...] = ()) -> str:
        for kind in ("001F", "001E"):
            path = (*folder, f"__substg1.0_{number}{kind}")
            if path in streams:
                held = _stream(file, path)
                return (
                    held.decode("utf-16-le", "replace")
                    if kind == "001F"
                    else decode(held, charset_of(None, held).encoding)
                )
        return ""

    subject = text(_SUBJECT)
    sender = " ".join([one for one in (text(_SENDER), text(_SENDER_ADDRESS)) if one])
    draft.state(title=subject, authors=[text(_SENDER) or sender])
    if ("__properties_version1.0",) in streams:
        draft.state(created=_sent_at(_stream(file, ("__properties_version1.0",))))
    draft.line(subject, "heading", 1)
    for name, value in (("From", sender), ("To", text(_TO)), ("Cc", text(_CC))):
        if value:
            draft.line(f"{name}: {value}")
    html = next((path for path in streams if len(path) == 1 and path[0].startswith(f"__substg1.0_{_HTML}")), None)
    if plain := text(_BODY):
        add_lines(plain.replace("\r", ""), draft)
    elif html is not None:
        add_markup(_stream(file, html), draft)
    for folder in sorted({path[:1] for path in streams if path[0].startswith("__attach")}):
        if name := text(_FILE, folder) or text(_SHORT_FILE, folder):
            draft.line(f"Attachment: {name}")


def _sent_at(properties: bytes) -> str:
    """The time of a property of 16 bytes: type, number, flags, and hundreds of nanoseconds since 1601."""
    for at in range(32, len(properties) - 15, 16):
        kind, number = struct.unpack_from("<HH", properties, at)
        if kind == 0x0040 and number in _SENT_AT:
            (ticks,) = struct.unpack_from("<Q", properties, at + 8)
            return in_words((ticks // 10_000_000 - _EPOCH_1601_S) * SECOND)
    return ""
