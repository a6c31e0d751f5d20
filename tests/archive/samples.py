"""Captures for the tests of the archive, and other programs' ways to read a volume."""

import subprocess
from pathlib import Path

import fastwarc
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.clock import SECOND, Instant
from gossamer.values.capture import Capture
from gossamer.values.url import Url

START_AT: Instant = 1_700_000_000 * SECOND


def capture(number: int = 0, body: bytes = b"<p>Hello</p>", **changed: object) -> Capture:
    given: dict[str, object] = {
        "url": Url(f"https://example.org/page/{number}"),
        "fetched_at": START_AT + number,
        "status": 200,
        "reason": "OK",
        "headers": (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))),
        "body": body,
        "address": "20.0.0.1",
        "truncated": None,
        "took_s": 0.125,
    }
    return Capture(**{**given, **changed})  # type: ignore[arg-type]


def body_of(number: int, size: int = 400) -> bytes:
    return (f"<title>{number}</title>" + f"<p>{number * 7919 % 1000}</p>" * size).encode()[:size]


def warcio_count(path: Path) -> int:
    """How many records warcio reads, every digest checked."""
    count = 0
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            count += 1
    return count


def fastwarc_count(path: Path) -> int:
    count = 0
    with path.open("rb") as file:
        for record in fastwarc.ArchiveIterator(file, parse_http=False):
            assert record.verify_block_digest()
            if record.record_type == fastwarc.WarcRecordType.response:
                record.parse_http()
                assert record.verify_payload_digest()
            count += 1
    return count


def passes_gzip(path: Path) -> bool:
    return subprocess.run(["gzip", "-t", str(path)], check=False, capture_output=True).returncode == 0
