"""Record frames of WARC 0.17 to 1.1 and ARC files of other tools.

The files are gzipped by record, gzipped as a whole, or plain.

Nothing in such a file is trusted. Lines, headers and inflated bytes are limited while they are read, so memory does not
depend on the input. Unreadable parts are reported with their place and a reason, and reading continues after them.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from ipaddress import ip_address
from typing import BinaryIO

import msgspec

from gossamer.archive.record import Field
from gossamer.base.clock import Instant, from_words

PIECE_BYTES = 64 * 1024
MOST_HEAD_BYTES = 64 * 1024
MOST_LENGTH_DIGITS = 18
MOST_NAMED = 1000
"""Set-aside records that are listed; more are only counted."""
BOMB_BYTES, BOMB_RATIO = 32 * 1024 * 1024, 200
"""A gzip member that inflates to more than this, and to more than so many times its size, is a bomb."""
GZIP_MAGIC = b"\x1f\x8b\x08"
WARC_START = (b"WARC/0.", b"WARC/1.")
ARC_START = b"filedesc://"
ARC_LINE = re.compile(rb"[a-z]+:\S[^\r\n]* [0-9a-fA-F.:-]+ \d{4,18} [^\r\n]*\S+\s*")
"""URL, IP address, date, media type, length: how a record of an ARC file begins."""
FIRST_DATE: Instant = from_words("1990-01-01T00:00:00Z")
"""Earlier dates are before the web. Captures from the future are refused: they would stay the newest forever."""
ARC_FIELDS = ("uri", "ip-address", "archive-date", "content-type", "content-length")


class Unusable(Exception):
    """This record gives no capture; the message is the reason."""


class Aside(msgspec.Struct, frozen=True):
    """A record that was not imported."""

    archive: str
    offset: int
    """Where it begins, in uncompressed bytes."""
    reason: str
    url: str = ""


class ImportReport:
    """The progress of an import, and what was left out and why."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """By reason."""
        self.records: list[Aside] = []
        """The first of those that were set aside."""
        self.archive, self.read_bytes, self.size_bytes = "", 0, 0

    def set_aside(self, offset: int, reason: str, url: str = "") -> None:
        self.counts[reason] += 1
        if len(self.records) < MOST_NAMED:
            self.records.append(Aside(self.archive, offset, reason, url[:200]))


class ForeignRecord(msgspec.Struct, frozen=True):
    """A record's header. Its block is read through the `FrameReader`, before the next frame."""

    offset: int
    is_arc: bool
    fields: dict[str, str]
    """The first value of each name, in lower case."""
    length: int


class FrameReader:
    """The frames of one file, in order."""

    def __init__(self, stream: "PlainStream | GzipStream", report: ImportReport) -> None:
        self._stream, self._report = stream, report
        self._ahead, self._next = b"", 0
        """Bytes read ahead, and how many of them were used."""
        self._at = 0
        self._left = 0
        self._is_arc = self._is_lost = False

    def __iter__(self) -> Iterator[ForeignRecord]:
        while self._stream.next_part():
            self._ahead, self._next = b"", 0
            while line := self._line(MOST_HEAD_BYTES):
                frame = self._frame_at(line) if line.strip() else None
                if frame is None:
                    continue
                self._is_lost, self._left = False, frame.length
                yield frame
                while self.read(PIECE_BYTES):
                    pass
                self._left = 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes of the current block; empty at its end, or where the file ends inside it."""
        piece = self._take(min(size, self._left)) if self._left > 0 else b""
        self._left -= len(piece)
        return piece

    def block(self, most: int) -> bytes:
        """Up to `most` bytes of the block."""
        found = BytesIO()
        while found.tell() < most and (piece := self.read(min(PIECE_BYTES, most - found.tell()))):
            found.write(piece)
        return found.getvalue()

    def is_short(self) -> bool:
        """Whether the file ended inside the block. REQUIRES: the wanted part of the block was read."""
        return self._left > 0 and not self.read(1)

    def _frame_at(self, line: bytes) -> ForeignRecord | None:
        offset = self._at - len(line)
        self._is_arc = self._is_arc or line.startswith(ARC_START)
        if line.startswith(WARC_START):
            return self._checked(offset, self._warc_head(), is_arc=False)
        if self._is_arc and ARC_LINE.fullmatch(line):
            return self._checked(offset, _arc_head(line), is_arc=True)
        if not line.endswith(b"\n"):
            self._pass_line()
        if not self._is_lost:
            self._report.set_aside(offset, "not a record")
        self._is_lost = True
        return None

    def _checked(self, offset: int, head: dict[str, list[str]] | str, is_arc: bool) -> ForeignRecord | None:
        """The frame, if its block can be delimited. The block of an unusable header is skipped."""
        length = _length_of(head) if not isinstance(head, str) else head
        if isinstance(head, str) or isinstance(length, str):
            url = "" if isinstance(head, str) else first(head, "uri" if is_arc else "warc-target-uri")
            self._report.set_aside(offset, str(length), url)
            self._is_lost = True
            return None
        return ForeignRecord(offset, is_arc, {name: values[0] for name, values in head.items()}, length)

    def _warc_head(self) -> dict[str, list[str]] | str:
        """Header values by name; or why they cannot be read."""
        fields: dict[str, list[str]] = {}
        name, left = "", MOST_HEAD_BYTES
        while (line := self._line(left)).strip(b"\r\n"):
            left -= len(line)
            if left < len(b"\r\n"):  # no room for the empty line
                return "head too long"
            if not line.endswith(b"\n"):
                return "cut short"
            text = _decoded(line)
            if text[0] in " \t":
                if name:
                    fields[name][-1] = f"{fields[name][-1]} {text.strip()}".strip()
                continue
            key, colon, value = text.partition(":")
            name = key.strip().lower() if colon else ""
            if name:
                fields.setdefault(name, []).append(value.strip())
        return fields if line else "cut short"

    def _line(self, most: int) -> bytes:
        """Up to and including the next line feed, at most `most` bytes; empty at the end of the part."""
        pieces, size = [], 0
        while size < most and self._has_more():
            end = self._ahead.find(b"\n", self._next, self._next + most - size) + 1
            piece = self._ahead[self._next : end or self._next + most - size]
            self._next += len(piece)
            pieces.append(piece)
            size += len(piece)
            if end:
                break
        self._at += size
        return b"".join(pieces)

    def _pass_line(self) -> None:
        while (piece := self._line(PIECE_BYTES)) and not piece.endswith(b"\n"):
            pass

    def _take(self, size: int) -> bytes:
        piece = self._ahead[self._next : self._next + size] if self._has_more() else b""
        self._next += len(piece)
        self._at += len(piece)
        return piece

    def _has_more(self) -> bool:
        if self._next >= len(self._ahead):
            self._ahead, self._next = self._stream.read(PIECE_BYTES), 0
        return bool(self._ahead)


class PlainStream:
    """An uncompressed file: one part."""

    def __init__(self, file: BinaryIO, report: ImportReport) -> None:
        self._file, self._report, self._is_open = file, report, False

    def next_part(self) -> bool:
        was_open, self._is_open = self._is_open, True
        return not was_open

    def read(self, size: int) -> bytes:
        piece = self._file.read(size)
        self._report.read_bytes += len(piece)
        return piece


class GzipStream:
    """The plain bytes of gzip members. A member that starts with a record starts a new part, so that a record with a
    wrong length affects only itself. After damage the next part starts at the next member with a record."""

    def __init__(self, file: BinaryIO, report: ImportReport) -> None:
        self._file, self._report = file, report
        self._raw = b""
        self._begun = 0
        """Where the current member begins in the file."""
        self._given = 0
        """Plain bytes it has returned."""
        self._inflater = zlib.decompressobj(31)
        self._plain = b""
        self._is_part_open = self._is_over = False
        if not self._start(0):
            self._break_off("gzip damaged", 1)

    def next_part(self) -> bool:
        """Move to the next part. REQUIRES: the one before was read to its end."""
        self._is_part_open = not self._is_over
        return self._is_part_open

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end of the part."""
        while self._is_part_open:
            if self._plain:
                piece, self._plain = self._plain[:size], self._plain[size:]
                return piece
            if self._inflater.eof:
                self._is_part_open = self._next_member()
            elif piece := self._inflated(size):
                return piece
        return b""

    def _inflated(self, size: int) -> bytes:
        """More of the member; empty at its end, or where it cannot continue."""
        if not self._raw and not self._fill():
            self._break_off("gzip cut short", self._file.tell())
            return b""
        try:
            plain = self._inflater.decompress(self._raw, size)
        except zlib.error:
            self._break_off("gzip damaged", self._begun + 1)
            return b""
        self._raw = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
        self._given += len(plain)
        here = self._file.tell() - len(self._raw)
        if self._given > BOMB_BYTES and self._given > BOMB_RATIO * (here - self._begun):
            self._break_off("unpacks to far more than its size", here)
            return b""
        return plain

    def _next_member(self) -> bool:
        """Whether the part continues with the next member."""
        while self._raw or self._fill():
            self._raw = self._raw.lstrip(b"\0")  # padding of tape blocks
            if self._raw:
                break
        here = self._file.tell() - len(self._raw)
        if not self._raw:
            self._is_over = True
        elif not self._start(here):
            self._break_off("gzip damaged", here + 1)
        else:
            return not _begins_record(self._plain)
        return False

    def _start(self, at: int) -> bool:
        """Start the member at this offset, with its first plain bytes buffered. False when there is none."""
        self._file.seek(at)
        self._raw, self._begun, self._given, self._plain = b"", at, 0, b""
        self._inflater = zlib.decompressobj(31)
        while len(self._plain) < len(ARC_START) and not self._inflater.eof and self._fill():
            try:
                self._plain += self._inflater.decompress(self._raw, PIECE_BYTES)
            except zlib.error:
                return False
            self._raw = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
        self._given = len(self._plain)
        return True

    def _break_off(self, reason: str, look_from: int) -> None:
        """After damage, continue at the next member that starts with a record."""
        self._report.set_aside(self._begun, reason)
        self._is_part_open, at = False, look_from
        while (at := _find(self._file, GZIP_MAGIC, at)) >= 0:
            if self._start(at) and _begins_record(self._plain):
                return
            at += 1
        self._plain, self._is_over = b"", True

    def _fill(self) -> bool:
        self._raw = self._file.read(PIECE_BYTES)
        self._report.read_bytes = self._file.tell()
        return bool(self._raw)


def byte_stream(file: BinaryIO, report: ImportReport) -> PlainStream | GzipStream:
    """The plain bytes of a file, compressed or not."""
    return GzipStream(file, report) if _starts_gzip(file) else PlainStream(file, report)


def first(head: dict[str, list[str]], name: str) -> str:
    return head.get(name, [""])[0]


def _length_of(head: dict[str, list[str]]) -> int | str:
    """The block's length, or what is wrong with it."""
    given = set(head.get("content-length", ()))
    if len(given) != 1:
        return "contradictory lengths" if given else "no length"
    text = given.pop()
    is_number = text.isascii() and text.isdigit() and len(text) <= MOST_LENGTH_DIGITS
    return int(text) if is_number else "bad length"


def _arc_head(line: bytes) -> dict[str, list[str]] | str:
    values = _decoded(line).strip().rsplit(" ", len(ARC_FIELDS) - 1)
    if len(values) < len(ARC_FIELDS):
        return "bad ARC line"
    return {name: [value] for name, value in zip(ARC_FIELDS, values, strict=True)}


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _begins_record(plain: bytes) -> bool:
    return plain.startswith((*WARC_START, ARC_START)) or ARC_LINE.match(plain) is not None


def _starts_gzip(file: BinaryIO) -> bool:
    start = file.read(2)
    file.seek(0)
    return start == GZIP_MAGIC[:2]


def _find(file: BinaryIO, mark: bytes, at: int) -> int:
    """Where `mark` next occurs; -1 when it does not."""
    file.seek(at)
    ahead = b""
    while piece := file.read(PIECE_BYTES):
        text = ahead + piece
        if (found := text.find(mark)) >= 0:
            return at - len(ahead) + found
        at += len(piece)
        ahead = text[1 - len(mark) :]
    return -1


# What both kinds of files say in the same words.


def arc_instant(digits: str) -> Instant:
    """ARC writes `20260102030405`; the shorter dates of old crawls are padded to the start of their period."""
    full = (digits + "00000101000000"[len(digits) :])[:14]
    if len(digits) < 4:
        raise ValueError(f"{digits!r} is not an ARC date")
    return from_words(f"{full[:4]}-{full[4:6]}-{full[6:8]}T{full[8:10]}:{full[10:12]}:{full[12:]}Z")


def ip_of(text: str) -> str:
    """Empty if it is not valid."""
    try:
        ip_address(text)
    except ValueError:
        return ""
    return text


def http_head(head: bytes) -> tuple[int, str, list[Field]]:
    status_line, *lines = head.decode("latin-1").split("\n")
    version, _, rest = status_line.strip().partition(" ")
    status, _, reason = rest.strip().partition(" ")
    is_status = status.isascii() and status.isdigit() and len(status) == 3 and status[0] != "0"
    if not version.upper().startswith("HTTP/") or not is_status:
        raise Unusable("no HTTP status")
    headers: list[Field] = []
    for line in lines:
        if line[:1] in (" ", "\t") and headers:
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {line.strip()}")
        elif ":" in line:
            name, _, value = line.partition(":")
            headers.append((name.strip(), value.strip()))
    return int(status), reason.strip(), headers
