"""What kind of document a ZIP or OLE file is, from its directory."""

import re
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.values.document import DOC, DOCX, EPUB, FORMAT_OF, MSG, ODT, OLE, PPT, PPTX, XLS, XLSX, ZIP

MOST_MEMBERS = 10_000
LARGEST_DIRECTORY = 4 * 1024 * 1024
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
LONGEST_COMMENT = 0xFFFF
UNKNOWN_32 = 0xFFFFFFFF


def zip_directory(body: bytes) -> memoryview | None:
    """The central directory; None if it is missing (a file that was cut), or too large."""
    at = body.rfind(b"PK\x05\x06", max(0, len(body) - LONGEST_COMMENT - _END.size))
    if at < 0 or at + _END.size > len(body):
        return None
    *_, entries, size, start, _ = _END.unpack_from(body, at)
    if UNKNOWN_32 in (size, start):
        far = body.rfind(b"PK\x06\x06", 0, at)
        if far < 0 or far + _END_64.size > len(body):
            return None
        *_, entries, size, start = _END_64.unpack_from(body, far)
        at = far
    if size > min(LARGEST_DIRECTORY, at) or entries > MOST_MEMBERS:
        return None
    return memoryview(body)[at - size : at]


def zip_names(body: bytes) -> Iterator[tuple[bytes, int]]:
    """The names of a ZIP file's members, and where their own headers are said to be; at most MOST_MEMBERS."""
    directory = zip_directory(body) or memoryview(b"")
    at = count = 0
    while at + _ENTRY.size <= len(directory) and count < MOST_MEMBERS:
        signature, *fields = _ENTRY.unpack_from(directory, at)
        if signature != b"PK\x01\x02":
            return
        name, extra, comment, place = fields[9], fields[10], fields[11], fields[-1]
        start = at + _ENTRY.size
        yield bytes(directory[start : start + name]), place
        at, count = start + name + extra + comment, count + 1


_FOLDERS = ((b"word/", DOCX), (b"xl/", XLSX), (b"ppt/", PPTX))
_STORED_TYPE = re.compile(rb"[\x20-\x7e]{5,100}")


def zip_type(body: bytes) -> str:
    """The media type of what is in a ZIP file: a document's, or that of ZIP files."""
    if body[30:38] == b"mimetype" and (found := _declared(body, 0)):
        return found
    names = dict(zip_names(body))
    if not names:  # the directory was cut off
        names = {name.encode(): place.start for name, place in local_parts(body)}
    if b"[Content_Types].xml" in names:
        for folder, kind in _FOLDERS:
            if any(name.startswith(folder) for name in names):
                return kind
    if b"mimetype" in names and (found := _declared(body, names[b"mimetype"])):
        return found
    if b"META-INF/container.xml" in names:
        return EPUB
    if b"content.xml" in names and b"META-INF/manifest.xml" in names:
        return ODT
    return ZIP


class ZipPlace(NamedTuple):
    """Where a member is, by its own header."""

    start: int
    size: int
    """Compressed; 0: up to the end of its data."""
    method: int
    flag_bits: int

    def pieces(self, body: bytes) -> Iterator[bytes]:
        """The member's bytes, inflated piece by piece. Raises zlib.error."""
        end = self.start + self.size if self.size else len(body)
        if self.method == _STORED:
            yield body[self.start : end if self.size else self.start]
        elif self.method == _DEFLATED:
            inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            at = self.start
            while at < end and not inflater.eof:
                piece = inflater.decompress(body[at : min(at + _PIECE, end)], _INFLATED)
                at += _PIECE
                yield piece
                while inflater.unconsumed_tail:
                    yield inflater.decompress(inflater.unconsumed_tail, _INFLATED)


_STORED, _DEFLATED = 0, 8
_PIECE, _INFLATED = 1 << 14, 1 << 18


def local_parts(body: bytes) -> Iterator[tuple[str, ZipPlace]]:
    """The members of a ZIP file without directory, by their own headers; at most MOST_MEMBERS."""
    at = body.find(b"PK\x03\x04")
    for _ in range(MOST_MEMBERS):
        if at < 0 or at + _LOCAL.size > len(body):
            return
        _, _, flags, method, _, _, _, size, _, name, extra = _LOCAL.unpack_from(body, at)
        start = at + _LOCAL.size + name + extra
        yield (
            body[at + _LOCAL.size : at + _LOCAL.size + name].decode("utf-8", "replace"),
            ZipPlace(start, size, method, flags),
        )
        at = body.find(b"PK\x03\x04", max(start + size, at + 4))


def _declared(body: bytes, place: int) -> str:
    """What the member `mimetype` of OpenDocument and EPUB files says; empty if it is no document's type."""
    if place + _LOCAL.size > len(body):
        return ""
    signature, _, _, method, _, _, _, size, _, name, extra = _LOCAL.unpack_from(body, place)
    if signature != b"PK\x03\x04" or method != 0:
        return ""
    start = place + _LOCAL.size + name + extra
    found = _STORED_TYPE.match(body, start, start + min(size or 100, 100))
    said = found[0].decode().strip() if found is not None else ""
    return next((one for one in (said, said.partition("PK")[0]) if one in FORMAT_OF), "")


_ENTRY_BYTES = 128
"""Of a directory: a name elsewhere is text."""
_MOST_LOOKS = 1_000
_ROOT_NAMES = (
    ("WordDocument", DOC), ("PowerPoint Document", PPT), ("Workbook", XLS), ("Book", XLS),
    ("__properties_version1.0", MSG), ("EncryptedPackage", OLE),
)  # fmt: skip


def ole_type(body: bytes, label: str = "") -> str:
    """The media type of an OLE compound file, by the names of its streams. A document may contain others: the label
    decides if it is one of them, else the first in the directory."""
    found: list[tuple[int, str]] = []
    for name, kind in _ROOT_NAMES:
        wide = name.encode("utf-16-le") + b"\x00\x00"
        at = body.find(wide)
        for _ in range(_MOST_LOOKS):
            if at < 0 or at % _ENTRY_BYTES == 0:
                break
            at = body.find(wide, at + 1)
        if at >= 0 and at % _ENTRY_BYTES == 0:
            found.append((at, kind))
    kinds = [kind for _, kind in sorted(found)]
    wanted = FORMAT_OF.get(label, "")
    return wanted if wanted in kinds else kinds[0] if kinds else OLE
