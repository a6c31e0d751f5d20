"""Archives that others made: WARC 0.17 to 1.1 and ARC, gzipped by record, gzipped as a whole, or plain.

warcio reads the frames; what it cannot make sense of is skipped and counted, never raised, for one bad record in
a million must not stop an import.
"""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from io import BufferedReader, BytesIO
from pathlib import Path

import msgspec
from warcio.bufferedreaders import BufferedReader as LineReader
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord, ArcWarcRecordLoader

from gossamer.archive.record import Field, original_fields
from gossamer.clock import Instant, from_words
from gossamer.values.capture import Capture, Truncated
from gossamer.values.url import url_of

MOST_BODY_BYTES = 64 * 1024 * 1024
MOST_HEAD_BYTES = 64 * 1024
PIECE_BYTES = 64 * 1024
GZIP_MAGIC = b"\x1f\x8b"
WARC_START = (b"WARC/0.", b"WARC/1.")
ARC_START = b"filedesc://"
ARC_LINE = re.compile(rb"[a-z]+:\S.* [0-9a-fA-F.:-]+ \d{4,18} .*\S+\s*", re.DOTALL)
"""Address, IP address, date, media type, length: how a record of an ARC file begins."""
DAY_OF_YEAR = re.compile(r"(\d{4})-\d\d-(\d{2,3})(T.*)")
PASSED_OVER = frozenset({"warcinfo", "request", "metadata", "revisit", "conversion", "arc_header"})
"""Kinds that hold no page as it was received; they are counted under their own name."""


class _Skip(Exception):
    """This record yields no capture; the message is the reason it is counted under."""


def foreign(path: Path, skipped: Counter[str], most_body_bytes: int = MOST_BODY_BYTES) -> Iterator[Capture]:
    """The captures of a file, in order, one in memory at a time; a body beyond the limit is cut and says so.

    What is left out is counted in `skipped` by reason, such as "revisit", "cut short" or "no address".
    """
    with path.open("rb") as file:
        plain = _Stream(file)
        for record in _records(plain, skipped):
            try:
                yield _capture_of(record, most_body_bytes)
            except _Skip as reason:
                skipped[str(reason)] += 1
        if plain.trouble:
            skipped[plain.trouble] += 1


class _Stream:
    """The file's plain bytes, gzip or not. Damage ends the stream early and is kept in `trouble`."""

    def __init__(self, file: BufferedReader) -> None:
        is_gzip = file.read(2) == GZIP_MAGIC
        file.seek(0)
        self._source = gzip.GzipFile(fileobj=file) if is_gzip else file
        self._at = 0
        self.trouble = ""

    def read(self, size: int = PIECE_BYTES) -> bytes:
        if self.trouble:
            return b""
        try:
            piece = self._source.read1(size)  # `read` would drop the whole records before a torn one
        except EOFError:
            self.trouble = "gzip cut short"
        except (zlib.error, gzip.BadGzipFile):
            self.trouble = "gzip damaged"
        else:
            self._at += len(piece)
            return piece
        return b""

    def tell(self) -> int:
        return self._at


def _records(plain: _Stream, skipped: Counter[str]) -> Iterator[ArcWarcRecord]:
    """Each record that has a readable head; between them, anything that has none is passed over line by line."""
    reader = LineReader(plain, block_size=PIECE_BYTES)
    loader = ArcWarcRecordLoader(verify_http=False, arc2warc=False)
    is_lost = is_arc = False
    while line := reader.readline(MOST_HEAD_BYTES):
        if not line.strip():
            continue
        is_arc = is_arc or line.startswith(ARC_START)
        starts = line.startswith(WARC_START) or (is_arc and ARC_LINE.fullmatch(line) is not None)
        record = _record_at(loader, reader, line) if starts else None
        if record is None:
            skipped["not a record"] += not is_lost
            is_lost = True
            continue
        is_lost = False
        yield record
        while record.raw_stream.read(PIECE_BYTES):
            pass


def _record_at(loader: ArcWarcRecordLoader, reader: LineReader, line: bytes) -> ArcWarcRecord | None:
    try:
        record = loader.parse_record_stream(reader, line, no_record_parse=True)
    except (ArchiveLoadFailed, EOFError, ValueError, IndexError):
        return None
    return record if record.length is not None and record.rec_type else None


def _capture_of(record: ArcWarcRecord, most_body_bytes: int) -> Capture:
    kind = record.rec_type
    if kind in PASSED_OVER:
        raise _Skip(kind)
    if kind not in ("response", "resource"):
        raise _Skip("unknown kind")
    if record.rec_headers.get_header("WARC-Segment-Number"):
        raise _Skip("in segments")
    return _response(record, most_body_bytes) if kind == "response" else _resource(record, most_body_bytes)


def _response(record: ArcWarcRecord, most_body_bytes: int) -> Capture:
    shell = _shell(record)
    block = _block(record, most_body_bytes + MOST_HEAD_BYTES)
    head, body = _split(block)
    status, reason, headers = _http_head(head)
    is_chunked = any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers)
    if _is_short(record, block) and (is_chunked or not _is_as_long_as_declared(headers, body)):
        raise _Skip("cut short")
    if is_chunked:
        body = _without_chunks(body)
    is_cut = len(block) > most_body_bytes + MOST_HEAD_BYTES or len(body) > most_body_bytes
    return msgspec.structs.replace(
        shell,
        status=status,
        reason=reason,
        headers=original_fields(headers),
        body=body[:most_body_bytes],
        truncated=Truncated.LENGTH if is_cut else shell.truncated,
    )


def _resource(record: ArcWarcRecord, most_body_bytes: int) -> Capture:
    shell = _shell(record)
    body = _block(record, most_body_bytes)
    if _is_short(record, body):
        raise _Skip("cut short")
    media_type = record.content_type
    return msgspec.structs.replace(
        shell,
        headers=(("Content-Type", media_type),) if media_type else (),
        body=body[:most_body_bytes],
        truncated=Truncated.LENGTH if len(body) > most_body_bytes else shell.truncated,
    )


def _shell(record: ArcWarcRecord) -> Capture:
    """What the frame itself says: address, instant, IP address, truncation."""
    fields, is_arc = record.rec_headers, record.format == "arc"
    target = fields.get_header("uri" if is_arc else "WARC-Target-URI")
    url = url_of(target.strip().strip("<>")) if target else None
    if url is None:
        raise _Skip("no address")
    try:
        moment = fields.get_header("archive-date" if is_arc else "WARC-Date") or ""
        fetched_at = _arc_instant(moment) if is_arc else _warc_instant(moment)
    except ValueError:
        raise _Skip("no date") from None
    return Capture(
        url=url,
        fetched_at=fetched_at,
        status=200,
        reason="OK",
        headers=(),
        body=b"",
        address=fields.get_header("ip-address" if is_arc else "WARC-IP-Address") or "",
        truncated=_truncation(fields.get_header("WARC-Truncated")),
    )


def _warc_instant(text: str) -> Instant:
    """RFC 3339; also the ClueWeb collections' `2008-10-294T05:21:46-0700`, where the day is the day of the year."""
    try:
        return from_words(text)
    except ValueError:
        found = DAY_OF_YEAR.fullmatch(text)
        if found is None:
            raise
        year, day, rest = found.groups()
        return from_words(f"{date(int(year), 1, 1) + timedelta(days=int(day) - 1)}{rest}")


def _arc_instant(digits: str) -> Instant:
    """ARC writes `20260102030405`; shorter ones are padded from the left end of the year, as old crawls did."""
    full = (digits + "00000101000000"[len(digits) :])[:14]
    if len(digits) < 4 or not full.isdigit():
        raise ValueError(f"{digits!r} is no ARC date")
    return from_words(f"{full[:4]}-{full[4:6]}-{full[6:8]}T{full[8:10]}:{full[10:12]}:{full[12:]}Z")


def _truncation(said: str | None) -> Truncated | None:
    """Words we do not use ("unspecified") count as the worst of ours: never replace a good copy with it."""
    if not said:
        return None
    return Truncated(said) if said in set(Truncated) else Truncated.DISCONNECT


def _block(record: ArcWarcRecord, most: int) -> bytes:
    """The block as far as the file goes, and no more than a byte beyond `most`."""
    pieces, left = [], min(most + 1, record.length)
    while left > 0 and (piece := record.raw_stream.read(min(left, PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _is_short(record: ArcWarcRecord, block: bytes) -> bool:
    """Whether the file ended inside the record. REQUIRES: `block` was read by `_block`."""
    return len(block) < record.length and not record.raw_stream.read(1)


def _is_as_long_as_declared(headers: list[Field], body: bytes) -> bool:
    """Some writers count a few bytes too many in the frame; the page itself is whole all the same."""
    declared = next((value for name, value in headers if name.lower() == "content-length"), "")
    return declared.isascii() and declared.isdigit() and len(body) >= int(declared)


def _split(block: bytes) -> tuple[bytes, bytes]:
    """Head and body at the first empty line, which bad servers end with a bare line feed (RFC 9112, 2.2)."""
    ends = [(at, len(mark)) for mark in (b"\r\n\r\n", b"\n\n") if (at := block.find(mark, 0, MOST_HEAD_BYTES)) >= 0]
    if not ends:
        return block[:MOST_HEAD_BYTES], b""
    at, width = min(ends)
    return block[:at], block[at + width :]


def _http_head(head: bytes) -> tuple[int, str, list[Field]]:
    status_line, *lines = head.decode("latin-1").split("\n")
    version, _, rest = status_line.strip().partition(" ")
    status, _, reason = rest.strip().partition(" ")
    if not version.upper().startswith("HTTP/") or not (status.isascii() and status.isdigit() and len(status) == 3):
        raise _Skip("no HTTP status")
    headers: list[Field] = []
    for line in lines:
        if line[:1] in (" ", "\t") and headers:
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {line.strip()}")
        elif ":" in line:
            name, _, value = line.partition(":")
            headers.append((name.strip(), value.strip()))
    return int(status), reason.strip(), headers


def _without_chunks(body: bytes) -> bytes:
    """Chunked coding taken off. A body that is not chunked, although its head says so, stays as it is."""
    reader = ChunkedDataReader(BytesIO(body), decomp_type=None)
    pieces = []
    while piece := reader.read(PIECE_BYTES):
        pieces.append(piece)
    return b"".join(pieces)
