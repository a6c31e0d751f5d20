"""Captures from the archives of other tools: WARC 0.17 to 1.1, ARC, TREC Web and TREC Text.

A `FrameReader` reads the records; each becomes a capture or is counted under a reason. One bad record in a million must
not stop an import, and none is skipped silently.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import msgspec

from gossamer.archive.foreign.records import (
    FIRST_DATE,
    MOST_HEAD_BYTES,
    ForeignRecord,
    FrameReader,
    GzipStream,
    ImportReport,
    PlainStream,
    Unusable,
    arc_instant,
    byte_stream,
    http_head,
    ip_of,
)
from gossamer.archive.foreign.trec import starts_trec, trec_captures
from gossamer.archive.record import Field, original_fields
from gossamer.base.clock import Instant, from_words
from gossamer.values.capture import Capture, Truncated
from gossamer.values.url import url_of

MOST_BODY_BYTES = 64 * 1024 * 1024
LAST_DATE: Instant = from_words("9999-12-31T23:59:59Z")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
CHUNK = re.compile(rb"\s*([0-9a-fA-F]{1,15})[ \t]*(?:;[^\n]{0,4096})?\r?\n")
DAY_OF_YEAR = re.compile(r"([0-9]{4})-[0-9]{2}-([0-9]{2,3})(T.*)")
OTHER_SCHEME = "not http or https"
WITHOUT_PAGE = frozenset(
    {"warcinfo", "request", "metadata", "revisit", "conversion", "arc_header", OTHER_SCHEME, "forgotten"}
)
"""Records without a received or wanted page, counted by kind. All other reasons mean a loss."""


def foreign(
    path: Path, report: ImportReport, most_body_bytes: int = MOST_BODY_BYTES, latest: Instant = LAST_DATE
) -> Iterator[Capture]:
    """The captures of a file, in order, one in memory at a time; a body beyond the limit is marked as truncated.

    Skipped records are counted in `report`; those set aside, as unreadable or dated after `latest`, are listed too.
    """
    report.archive, report.read_bytes, report.size_bytes = path.name, 0, path.stat().st_size
    with path.open("rb") as file:
        form = trec_captures if starts_trec(file) else _warc_captures
        yield from form(byte_stream(file, report), report, most_body_bytes, latest)


def _warc_captures(
    stream: PlainStream | GzipStream, report: ImportReport, most_body_bytes: int, latest: Instant
) -> Iterator[Capture]:
    reader = FrameReader(stream, report)
    for frame in reader:
        try:
            yield _capture_of(frame, reader, most_body_bytes, latest)
        except Unusable as reason:
            if str(reason) in WITHOUT_PAGE:
                report.counts[str(reason)] += 1
            else:
                report.set_aside(frame.offset, str(reason), _target(frame))


def _capture_of(frame: ForeignRecord, reader: FrameReader, most_body_bytes: int, latest: Instant) -> Capture:
    kind = _kind_of(frame)
    if kind in WITHOUT_PAGE:
        raise Unusable(kind)
    if kind not in ("response", "resource"):
        raise Unusable("unknown kind" if kind else "no kind")
    if "warc-segment-number" in frame.fields:
        raise Unusable("in segments")
    shell = _shell(frame, latest)
    return (_response if kind == "response" else _resource)(frame, reader, shell, most_body_bytes)


def _kind_of(frame: ForeignRecord) -> str:
    if frame.is_arc:
        return "arc_header" if _target(frame).startswith("filedesc://") else "response"
    return frame.fields.get("warc-type", "").lower()


def _response(frame: ForeignRecord, reader: FrameReader, shell: Capture, most_body_bytes: int) -> Capture:
    start = reader.block(MOST_HEAD_BYTES)
    head, first = _split(start)
    status, reason, headers = http_head(head)
    is_chunked = any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers)
    body = first + reader.block(most_body_bytes + 1 - len(first))
    if reader.is_short() and (is_chunked or not _is_as_long_as_declared(headers, body)):
        raise Unusable("cut short")
    if is_chunked:
        body = _without_chunks(body)
    is_cut = len(body) > most_body_bytes or frame.length > most_body_bytes + MOST_HEAD_BYTES
    return msgspec.structs.replace(
        shell,
        status=status,
        reason=reason,
        headers=original_fields(headers),
        body=body[:most_body_bytes],
        truncated=Truncated.LENGTH if is_cut else shell.truncated,
    )


def _resource(frame: ForeignRecord, reader: FrameReader, shell: Capture, most_body_bytes: int) -> Capture:
    body = reader.block(most_body_bytes + 1)
    if reader.is_short():
        raise Unusable("cut short")
    media_type = frame.fields.get("content-type", "")
    return msgspec.structs.replace(
        shell,
        headers=(("Content-Type", media_type),) if media_type else (),
        body=body[:most_body_bytes],
        truncated=Truncated.LENGTH if len(body) > most_body_bytes else shell.truncated,
    )


def _target(frame: ForeignRecord) -> str:
    return frame.fields.get("uri" if frame.is_arc else "warc-target-uri", "").strip().strip("<>")


def _shell(frame: ForeignRecord, latest: Instant) -> Capture:
    """What the frame gives: URL, time, IP address, truncation."""
    fields, target = frame.fields, _target(frame)
    url = url_of(target) if target else None
    if url is None:
        is_other = SCHEME.match(target) and not target.lower().startswith(("http:", "https:"))
        raise Unusable(OTHER_SCHEME if is_other else "no URL")
    try:
        fetched_at = arc_instant(fields["archive-date"]) if frame.is_arc else _warc_instant(fields["warc-date"])
    except (KeyError, ValueError, OverflowError):
        raise Unusable("no date") from None
    if not FIRST_DATE <= fetched_at <= latest:
        raise Unusable("date before the web" if fetched_at < FIRST_DATE else "date in the future")
    return Capture(
        url=url,
        fetched_at=fetched_at,
        status=200,
        reason="OK",
        headers=(),
        body=b"",
        address=ip_of(fields.get("ip-address" if frame.is_arc else "warc-ip-address", "")),
        truncated=_truncation(fields.get("warc-truncated")),
    )


def _warc_instant(text: str) -> Instant:
    """RFC 3339; also `2008-10-294T05:21:46-0700` as in the ClueWeb collections, with the day of the year."""
    try:
        return from_words(text)
    except ValueError:
        found = DAY_OF_YEAR.fullmatch(text)
        if found is None or not 1 <= int(found[2]) <= 366:
            raise
        year, day, rest = found.groups()
        return from_words(f"{date(int(year), 1, 1) + timedelta(days=int(day) - 1)}{rest}")


def _truncation(said: str | None) -> Truncated | None:
    """Unknown reasons ("unspecified") count as our worst one, so that they never replace a good copy."""
    if not said:
        return None
    return Truncated(said) if said in set(Truncated) else Truncated.DISCONNECT


def _is_as_long_as_declared(headers: list[Field], body: bytes) -> bool:
    """Some writers count a few bytes too many in the frame, though the page is whole."""
    declared = next((value for name, value in headers if name.lower() == "content-length"), "")
    return declared.isascii() and declared.isdigit() and len(declared) < 19 and len(body) >= int(declared)


def _split(block: bytes) -> tuple[bytes, bytes]:
    """Split at the first empty line; bad servers use bare line feeds (RFC 9112, 2.2)."""
    ends = [(at, len(mark)) for mark in (b"\r\n\r\n", b"\n\n") if (at := block.find(mark, 0, MOST_HEAD_BYTES)) >= 0]
    if not ends:
        return block[:MOST_HEAD_BYTES], b""
    at, width = min(ends)
    return block[:at], block[at + width :]


def _without_chunks(body: bytes) -> bytes:
    """Remove chunked coding. A body that is not chunked despite its header stays unchanged, and so does the rest of one
    that stops being chunked half way."""
    view, pieces, at = memoryview(body), list[memoryview](), 0
    while found := CHUNK.match(body, at):
        size = int(found[1], 16)
        at = found.end()
        if size == 0:
            return b"".join(pieces)
        pieces.append(view[at : at + size])
        at += size
    return b"".join([*pieces, view[at:]]) if pieces else body
