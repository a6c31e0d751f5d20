"""Captures from the archives of other tools: WARC 0.17 to 1.1, ARC, TREC Web and TREC Text."""

from collections.abc import Iterator
from pathlib import Path

from gossamer.archive.foreign.records import ImportReport, byte_stream
from gossamer.archive.foreign.trec import starts_trec, trec_captures
from gossamer.archive.foreign.warc import LAST_DATE, MOST_BODY_BYTES, warc_captures
from gossamer.base.clock import Instant
from gossamer.values.capture import Capture


def foreign(
    path: Path, report: ImportReport, most_body_bytes: int = MOST_BODY_BYTES, latest: Instant = LAST_DATE
) -> Iterator[Capture]:
    """The captures of a file, in order, one in memory at a time; a body beyond the limit is marked as truncated.

    Skipped records are counted in `report`; those set aside, as unreadable or dated after `latest`, are listed too.
    """
    report.archive, report.read_bytes, report.size_bytes = path.name, 0, path.stat().st_size
    with path.open("rb") as file:
        form = trec_captures if starts_trec(file) else warc_captures
        yield from form(byte_stream(file, report), report, most_body_bytes, latest)
