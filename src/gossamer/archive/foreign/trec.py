"""Captures from the TREC Web and TREC Text files of test collections.

Both have one document after another between `<DOC>` lines, named by `<DOCNO>`. TREC Web keeps the URL and the header
of the response in `<DOCHDR>`. TREC Text has neither: its documents get addresses of a host that cannot exist, and their
markup is read as HTML. A document without a date gets the first one of the web, so that a second import adds nothing.
"""

import io
import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from gossamer.archive.foreign.records import (
    FIRST_DATE,
    MOST_HEAD_BYTES,
    PIECE_BYTES,
    GzipStream,
    ImportReport,
    PlainStream,
    Unusable,
    arc_instant,
    http_head,
    ip_of,
)
from gossamer.archive.record import Field, original_fields
from gossamer.base.clock import Instant
from gossamer.parse.dates import instant_of
from gossamer.values.capture import Capture, Truncated
from gossamer.values.url import Url, url_of

TEXT_HOST = "trec.invalid"
"""The host of the documents of TREC Text (RFC 2606: no such name exists)."""
_START = re.compile(rb"\s*<DOC>\s*", re.IGNORECASE)
_END = re.compile(rb"</DOC>\s*", re.IGNORECASE)
_NUMBER = re.compile(rb"<DOCNO>\s*([^<]{1,1000}?)\s*</DOCNO>", re.IGNORECASE)
_HEAD = re.compile(rb"<DOCHDR>\s*(.*?)</DOCHDR>(?:\r?\n)?", re.IGNORECASE | re.DOTALL)


def starts_trec(file: BinaryIO) -> bool:
    """Whether the file, compressed or not, begins with a document. It is back at its start afterwards."""
    start = file.read(PIECE_BYTES)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        try:
            start = zlib.decompressobj(31).decompress(start, MOST_HEAD_BYTES)
        except zlib.error:
            return False
    return _START.match(start) is not None


def trec_captures(
    stream: PlainStream | GzipStream, report: ImportReport, most_body_bytes: int, latest: Instant
) -> Iterator[Capture]:
    """As `captures.foreign`."""
    while stream.next_part():
        for offset, document, is_cut in _documents(stream, report, most_body_bytes + MOST_HEAD_BYTES):
            number = _NUMBER.search(document, 0, MOST_HEAD_BYTES)
            name = number[1].decode("utf-8", "replace") if number else ""
            try:
                if number is None:
                    raise Unusable("no DOCNO")
                yield _capture_of(name, document[number.end() :], is_cut, most_body_bytes, latest)
            except Unusable as reason:
                report.set_aside(offset, str(reason), name)


class _Part(io.RawIOBase):
    """The current part of a stream, as Python's readers want it."""

    def __init__(self, stream: PlainStream | GzipStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        piece = self._stream.read(len(view))
        view[: len(piece)] = piece
        return len(piece)


def _documents(stream: PlainStream | GzipStream, report: ImportReport, most: int) -> Iterator[tuple[int, bytes, bool]]:
    """Where each document begins, what is in it, and whether more than `most` bytes of it were left out."""
    lines, at, begun, is_lost = io.BufferedReader(_Part(stream), PIECE_BYTES), 0, -1, False
    kept, size = io.BytesIO(), 0
    while line := lines.readline(PIECE_BYTES):
        at += len(line)
        if begun < 0:
            if _START.fullmatch(line):
                begun, kept, size, is_lost = at - len(line), io.BytesIO(), 0, False
            elif line.strip() and not is_lost:
                report.set_aside(at - len(line), "not a document")
                is_lost = True
        elif _END.fullmatch(line):
            yield begun, kept.getvalue(), size > most
            begun = -1
        else:
            kept.write(line[: max(0, most - size)])
            size += len(line)
    if begun >= 0:
        report.set_aside(begun, "cut short")


def _capture_of(name: str, document: bytes, is_cut: bool, most_body_bytes: int, latest: Instant) -> Capture:
    head = _HEAD.search(document, 0, MOST_HEAD_BYTES)
    body = document[head.end() :] if head else document
    url, fetched_at, address, status, headers = _head_of(head[1]) if head else _text_head(name)
    if not FIRST_DATE <= fetched_at <= latest:
        raise Unusable("date before the web" if fetched_at < FIRST_DATE else "date in the future")
    is_cut = is_cut or len(body) > most_body_bytes
    return Capture(
        url=url,
        fetched_at=fetched_at,
        status=status[0],
        reason=status[1],
        headers=original_fields(headers),
        body=body[:most_body_bytes],
        address=address,
        truncated=Truncated.LENGTH if is_cut else None,
    )


Head = tuple[Url, Instant, str, tuple[int, str], list[Field]]
"""URL, instant, IP address, status and header fields."""


def _text_head(name: str) -> Head:
    url = url_of(f"http://{TEXT_HOST}/{quote(name)}")
    assert url is not None, "the name is quoted"
    return url, FIRST_DATE, "", (200, "OK"), [("Content-Type", "text/html")]


def _head_of(head: bytes) -> Head:
    """The first line is a URL, often followed by address, date, media type and length; then comes the response's."""
    first, _, rest = head.partition(b"\n")
    target, *more = first.decode("latin-1").split()[:5] or [""]
    if (url := url_of(target)) is None:
        raise Unusable("no URL")
    has_status = rest.lstrip()[:5].upper() == b"HTTP/"
    code, reason, headers = http_head(rest.strip()) if has_status else (200, "OK", list[Field]())
    if len(more) > 2 and not any(one.lower() == "content-type" for one, _ in headers):
        headers.append(("Content-Type", more[2]))
    # the body is stored as it was read: without chunks or compression
    headers = [(one, value) for one, value in headers if one.lower() not in ("transfer-encoding", "content-encoding")]
    return (
        url,
        _instant(more[1] if len(more) > 1 else "", headers),
        ip_of(more[0]) if more else "",
        (code, reason),
        headers,
    )


def _instant(digits: str, headers: list[Field]) -> Instant:
    try:
        return arc_instant(digits)
    except (ValueError, OverflowError):
        said = next((value for name, value in headers if name.lower() == "date"), "")
        return instant_of(said) or FIRST_DATE
