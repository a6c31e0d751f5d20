"""The members of an archive (ZIP, tar, gzip), each under a heading with its name.

Nothing is ever written by a member's name. Members that are archives themselves are opened too, up to a depth; what
all of them inflate to counts against the limits of one document.
"""

import tarfile
import zlib
from collections.abc import Iterator
from io import BytesIO

from gossamer.parse.documents.draft import Draft, NoText
from gossamer.parse.documents.mail import AddInner
from gossamer.parse.documents.package import Package
from gossamer.values.document import CUT, DAMAGED, GZIP, TAR, ZIP

MOST_MEMBERS = 1_000
LARGEST_MEMBER = 16 * 1024 * 1024
LONGEST_NAME = 300
_TAR_AT, _TAR_MARK = 257, b"ustar"
_CHUNK = 1 << 18
_GZIP_NAMED, _GZIP_HEAD, _HAS_EXTRA = 0x08, 10, 0x04


def add_archive(body: bytes, draft: Draft, kind: str, inner: AddInner) -> None:
    """The text of the members that are documents, and the names of all."""
    count = 0
    for name, held in _members(body, kind, draft):
        count += 1
        if count > MOST_MEMBERS:
            draft.flag(CUT)
            return
        draft.spend(10)
        draft.line(name[-LONGEST_NAME:], "heading", 2)
        if held:
            inner(held, name, draft)
    if not count:
        raise NoText("empty", "The archive has no members that can be read.")


def _members(body: bytes, kind: str, draft: Draft) -> Iterator[tuple[str, bytes]]:
    if kind == ZIP:
        package = Package(body, draft)
        for name in package.names:
            if not name.endswith("/"):
                yield name, package.part(name) or b""
        return
    if kind == GZIP:
        name, body = _unzipped(body, draft)
        if body[_TAR_AT : _TAR_AT + len(_TAR_MARK)] != _TAR_MARK:
            yield name, body
            return
        kind = TAR
    yield from _tar_members(body, draft)


def _tar_members(body: bytes, draft: Draft) -> Iterator[tuple[str, bytes]]:
    """Regular files only: no links, no devices."""
    try:
        with tarfile.open(fileobj=BytesIO(body), mode="r:") as file:
            for member in file:
                draft.spend()
                if not member.isreg():
                    continue
                part = file.extractfile(member)
                held = part.read(LARGEST_MEMBER + 1) if part is not None else b""
                draft.inflate(len(held))
                if len(held) > LARGEST_MEMBER:
                    draft.flag(CUT)
                yield member.name, held[:LARGEST_MEMBER]
    except (tarfile.TarError, EOFError):
        draft.flag(DAMAGED)


def _unzipped(body: bytes, draft: Draft) -> tuple[str, bytes]:
    """The name in the header of a gzip file, and its content as far as the limits allow."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    pieces: list[bytes] = []
    rest = body
    try:
        while rest and not inflater.eof:
            piece = inflater.decompress(rest, _CHUNK)
            rest = inflater.unconsumed_tail
            if draft.may_inflate < len(piece):
                draft.flag(CUT)
                break
            draft.inflate(len(piece))
            pieces.append(piece)
    except zlib.error:
        draft.flag(DAMAGED)
    name = ""
    if len(body) > _GZIP_HEAD and body[3] & _GZIP_NAMED and not body[3] & _HAS_EXTRA:
        name = body[_GZIP_HEAD : body.find(b"\x00", _GZIP_HEAD)][:LONGEST_NAME].decode("latin-1")
    return name or "content", b"".join(pieces)
