"""RTF files: groups and control words, read once, with a stack of formats (RTF Specification 1.9.1)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gossamer.parse.documents.draft import Draft, DraftFull
from gossamer.values.document import CUT, BlockKind

LARGEST = 32 * 1024 * 1024
MOST_NESTED = 1_000
MOST_FONTS = 5_000
LONGEST_FIELD = 4_000
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9A-Fa-f]{2})|\\(.)|([{}])|([\r\n\x00]+)|([^\\{}\r\n\x00]+)|(\\)",
    re.DOTALL,
)
_LINK = re.compile(r'\s*HYPERLINK\s+(?:"([^"]+)"|([^\s"\\]+))', re.IGNORECASE)
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|kop)\s*([1-9])", re.IGNORECASE)
_CODE_PAGES = {
    77: "mac_roman", 78: "shift_jis", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
"""By the character set of a font."""
_CHARACTERS = {
    "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "tab": " ", "line": " ", "emspace": " ", "enspace": " ", "qmspace": " ", "softline": " ", "lbr": " ",
}  # fmt: skip
_SYMBOLS = {b"~": "\xa0", b"_": "\u2011", b"-": "\xad", b"\\": "\\", b"{": "{", b"}": "}", b"\t": " "}
_SKIPPED_WORDS = """
    colortbl listtable listoverridetable rsidtbl generator themedata colorschememapping datastore latentstyles xmlnstbl
    pict nonshppict shppict objdata objclass objname sp sn sv bkmkstart bkmkend xe tc atnid atnauthor atntime atnicn
    atnref atndate filetbl revtbl panose falt fontemb fontfile template operator private pgdsctbl mmathPr userprops
    wgrffmtfilter fchars lchars ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn pnseclvl passwordhash protusertbl blipuid
    picprop
"""
_SKIPPED = frozenset(_SKIPPED_WORDS.split())
_SIDE = frozenset(("header", "footer", "headerl", "headerr", "headerf", "footerl", "footerr", "footerf"))
_SHOWN = frozenset(
    ("fldrslt", "shptxt", "footnote", "annotation", "ud", "shpinst", "shprslt", "result", "pntext", "listtext")
)
_INFO = {
    "title": "title", "author": "authors", "subject": "subject", "keywords": "keywords", "doccomm": "description",
    "company": "publisher", "creatim": "created", "revtim": "modified",
}  # fmt: skip
_MOMENT = ("yr", "mo", "dy", "hr", "min", "sec")


@dataclass(frozen=True, slots=True)
class _Format:
    """What applies inside a group."""

    target: str = "text"
    """Where its text goes: "text", "skip", "fonts", "styles", "field", or a value of the metadata."""
    is_bold: bool = False
    is_hidden: bool = False
    size: float = 12.0
    font: int = -1
    fallback: int = 1
    """Characters after `\\u` that stand for it in old readers."""
    link: str = ""
    kind: BlockKind = "paragraph"


@dataclass(slots=True)
class _Paragraph:
    in_table: bool = False
    level: int = 0
    """Of a heading; 0: none."""
    is_item: bool = False
    depth: int = 0


def add_rtf(body: bytes, draft: Draft) -> None:
    """The text of an RTF file."""
    if len(body) > LARGEST:
        draft.flag(CUT)
    _Rtf(draft).over(body[:LARGEST])


@dataclass(slots=True)
class _Rtf:
    draft: Draft
    stack: list[_Format] = field(default_factory=list)
    now: _Format = field(default_factory=_Format)
    paragraph: _Paragraph = field(default_factory=_Paragraph)
    encoding: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    styles: dict[int, int] = field(default_factory=dict)
    """Heading levels by number of style."""
    waiting: bytearray = field(default_factory=bytearray)
    """Bytes of text that are not decoded yet: characters may have two."""
    to_skip: int = 0
    """Characters that stand for the last `\\u`."""
    is_optional: bool = False
    """`\\*` came: the group may be skipped by those who do not know it."""
    values: dict[str, list[str]] = field(default_factory=dict)
    moment: dict[str, int] = field(default_factory=dict)
    fields: list[str] = field(default_factory=list)
    high: int = 0
    """The first half of a character that `\\u` writes as two."""
    number: int = 0
    """Of the font or style that is being defined."""

    def over(self, body: bytes) -> None:
        at = 0
        try:
            while (found := _TOKEN.match(body, at)) is not None:
                at = found.end()
                self.draft.spend()
                if found[1] is not None:
                    at += self._word(found[1].decode("ascii"), int(found[2]) if found[2] is not None else None)
                elif found[3] is not None:
                    self._bytes(bytes((int(found[3], 16),)))
                elif found[4] is not None:
                    self._symbol(found[4])
                elif found[5] is not None:
                    self._group(found[5] == b"{")
                elif found[7] is not None:
                    self._bytes(found[7])
        finally:
            self._flush()
            self._state()

    def _group(self, is_start: bool) -> None:
        self._flush()
        self.is_optional, self.to_skip = False, 0
        if is_start:
            if len(self.stack) >= MOST_NESTED:
                self.draft.flag(CUT)
                raise DraftFull
            self.stack.append(self.now)
        elif self.stack:
            before, self.now = self.now, self.stack.pop()
            if before.kind != self.now.kind:
                self.draft.end(before.kind)
            if before.target in ("created", "modified") and self.now.target != before.target:
                self._date(before.target)

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self.is_optional = True
        elif symbol in (b"\n", b"\r"):
            self._word("par", None)
        elif (text := _SYMBOLS.get(symbol)) is not None:
            if self.to_skip:
                self.to_skip -= 1
            else:
                self._text(text)

    def _word(self, word: str, number: int | None) -> int:
        """How many bytes follow that are no text."""
        is_optional, self.is_optional = self.is_optional, False
        if word == "u":
            self._unicode(number or 0)
            return 0
        if word == "bin":
            return max(0, number or 0)
        self._flush()
        if self._destination(word, is_optional):
            return 0
        if (text := _CHARACTERS.get(word)) is not None:
            self._text(text)
        elif word in ("par", "sect", "page", "cell", "nestcell", "row", "nestrow", "pard"):
            self._structure(word)
        else:
            self._format(word, number)
        return 0

    def _destination(self, word: str, is_optional: bool) -> bool:
        """Whether the word says where the text of this group goes."""
        now = self.now
        if word in _SKIPPED:
            self.now = replace(now, target="skip")
        elif now.target == "skip":
            return True
        elif word in ("fonttbl", "stylesheet", "info"):
            self.now = replace(now, target={"fonttbl": "fonts", "stylesheet": "styles", "info": "skip-info"}[word])
        elif now.target == "skip-info":
            self.now = replace(now, target=_INFO.get(word, "skip-info"))
        elif word in _SIDE and now.target == "text":
            self.draft.end()
            self.now = replace(now, kind="aside")
        elif word == "fldinst":
            self.fields.append("")
            del self.fields[:-50]
            self.now = replace(now, target="field")
        elif word in _SHOWN:
            self._shown(word)
        elif is_optional:
            self.now = replace(now, target="skip")
        else:
            return False
        return True

    def _shown(self, word: str) -> None:
        if word == "fldrslt" and self.fields:
            found = _LINK.match(self.fields.pop())
            if found is not None and self.now.target == "text":
                self.now = replace(self.now, link=found[1] or found[2])
        elif word in ("pntext", "listtext"):
            self.paragraph.is_item = True
        elif word in ("footnote", "annotation", "shptxt"):
            self._text(" ")

    def _structure(self, word: str) -> None:
        if self.now.target != "text":
            return
        if word == "pard":
            self.paragraph = _Paragraph()
        elif word in ("cell", "nestcell"):
            self.draft.end_cell()
        elif word in ("row", "nestrow"):
            self.draft.end_row()
        elif self.paragraph.in_table:
            self.draft.break_line()
        elif self.paragraph.level and self.now.kind == "paragraph":
            self.draft.end("heading", self.paragraph.level)
        elif self.paragraph.is_item and self.now.kind == "paragraph":
            self.draft.end("item", self.paragraph.depth)
            self.paragraph.is_item = False
        else:
            self.draft.end(self.now.kind)

    def _format(self, word: str, number: int | None) -> None:
        now, paragraph = self.now, self.paragraph
        is_on = number != 0
        if word == "b":
            self.now = replace(now, is_bold=is_on)
        elif word in ("v", "deleted"):
            self.now = replace(now, is_hidden=is_on)
        elif word == "fs" and number is not None and 0 < number < 4_000:
            self.now = replace(now, size=number / 2)
        elif word == "plain":
            self.now = replace(now, is_bold=False, is_hidden=False, size=12.0)
        elif word == "f" and number is not None:
            self.number = number
            self.now = replace(now, font=number)
        elif word == "fcharset" and now.target == "fonts" and len(self.fonts) < MOST_FONTS:
            self.fonts[self.number] = _CODE_PAGES.get(number or 0, "")
        elif word == "ansicpg":
            self.encoding = {10000: "mac_roman", 65001: "utf-8", 932: "cp932"}.get(number or 0, f"cp{number or 1252}")
        elif word == "mac":
            self.encoding = "mac_roman"
        elif word == "uc":
            self.now = replace(now, fallback=min(max(number or 0, 0), 20))
        elif word == "s" and number is not None:
            self.number = number
            paragraph.level = self.styles.get(number, 0) if now.target == "text" else paragraph.level
        elif word == "outlinelevel" and number is not None and 0 <= number < 6:
            paragraph.level = number + 1
        elif word == "intbl":
            paragraph.in_table = True
        elif word == "ilvl":
            paragraph.depth = min(max(number or 0, 0), 8)
        elif word in _MOMENT and number is not None:
            self.moment[word] = number

    def _unicode(self, number: int) -> None:
        self._flush()
        self.to_skip = 0
        code = number + 0x10000 if number < 0 else number
        if 0xD800 <= code < 0xDC00:
            self.high = code
        elif 0xDC00 <= code < 0xE000:
            self._text(chr(0x10000 + (self.high - 0xD800 << 10) + code - 0xDC00) if self.high else "\ufffd")
            self.high = 0
        elif 0 < code < 0x110000:
            self._text(chr(code))
        self.to_skip = self.now.fallback

    def _bytes(self, text: bytes) -> None:
        if self.to_skip:
            skipped = min(self.to_skip, len(text))
            self.to_skip -= skipped
            text = text[skipped:]
        if self.now.target != "skip":
            self.waiting += text

    def _flush(self) -> None:
        if not self.waiting:
            return
        held, self.waiting = bytes(self.waiting), bytearray()
        encoding = self.fonts.get(self.now.font) or self.encoding
        try:
            text = held.decode(encoding, "replace")
        except (LookupError, UnicodeError):
            text = held.decode("cp1252", "replace")
        self._text(text)

    def _text(self, text: str) -> None:
        now = self.now
        if now.target == "text":
            if self.waiting:
                self._flush()
            if not now.is_hidden:
                self.draft.run(text, is_bold=now.is_bold, size=now.size, link=now.link)
        elif now.target == "field" and self.fields:
            self.fields[-1] = (self.fields[-1] + text)[:LONGEST_FIELD]
        elif now.target == "styles":
            found = _HEADING.match(text.strip())
            if found is not None:
                self.styles[self.number] = min(int(found[1]), 6)
        elif now.target in _INFO.values():
            self.values.setdefault(now.target, []).append(text[:LONGEST_FIELD])

    def _date(self, name: str) -> None:
        year, month, day, hour, minute, second = [self.moment.get(part, 0) for part in _MOMENT]
        self.moment = {}
        if 1900 < year < 2200 and 0 < month < 13 and 0 < day < 32 and hour < 24 and minute < 60 and second < 60:
            self.values[name] = [f"{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"]

    def _state(self) -> None:
        for name, parts in self.values.items():
            value = "".join(parts)
            self.draft.state(**{name: list(_separate(value)) if name in ("authors", "keywords") else value})


def _separate(value: str) -> Iterator[str]:
    for part in value.replace(";", ",").split(","):
        if part.strip():
            yield part.strip()
