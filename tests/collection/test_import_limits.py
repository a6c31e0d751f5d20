"""Hostile archives: an import limits its memory, reports records set aside, and continues (FAULTS X5, X6)."""

import gzip
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.archive.test_foreign import warc

MIB = 1024 * 1024
MOST_RSS = 512 * MIB
MEASURED = """
import sys
from gossamer.cli.main import main
try:
    main()
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak.split()[1], file=sys.stderr)
"""
GOOD = warc(**{"WARC-Target-URI": "http://example.org/good"})


def imported(tmp_path: Path, *files: Path) -> tuple[int, dict[str, Any], int]:
    """Exit code, summary and peak resident bytes of a real `gossamer import`."""
    command = [sys.executable, "-c", MEASURED, "import", *map(str, files), "--dir", str(tmp_path / "c"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "NO_COLOR": "1"})
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), int(done.stderr.split()[-1]) * 1024


def head(length: int, url: str) -> bytes:
    fields = f"WARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n"
    return f"WARC/1.0\r\n{fields}Content-Length: {length}\r\n\r\n".encode()


def packed(pieces: Iterable[bytes]) -> bytes:
    deflate = zlib.compressobj(1, wbits=31)
    return b"".join([*map(deflate.compress, pieces), deflate.flush()])


def large(size: int, url: str) -> bytes:
    """A compressed record with `size` zero bytes."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    zeros = [bytes(MIB)] * (size // MIB)
    return packed([head(len(start) + size, url), start, *zeros, b"\r\n\r\n"])


def test_F_X5_records_that_unpack_to_gigabytes_cost_no_memory(tmp_path: Path) -> None:
    bombs = b"".join(large(64 * MIB, f"http://example.org/{number}") for number in range(24))
    file = tmp_path / "bombs.warc.gz"
    file.write_bytes(bombs + gzip.compress(GOOD))
    code, report, peak = imported(tmp_path, file)
    assert (code, report["captures"], report["set_aside"]["unpacks to far more than its size"]) == (4, 1, 24)
    assert peak < MOST_RSS, peak


def test_F_X5_large_bodies_that_are_no_bombs_are_imported_one_at_a_time(tmp_path: Path) -> None:
    noise = os.urandom(MIB)
    records = [
        head(64 * MIB, f"http://example.org/{number}")
        + b"HTTP/1.1 200 OK\r\nContent-Type: application/x-noise\r\n\r\n".ljust(100, b" ")
        + (noise * 64)[: 64 * MIB - 100]
        + b"\r\n\r\n"
        for number in range(3)
    ]
    file = tmp_path / "large.warc"
    file.write_bytes(b"".join(records) + GOOD)
    code, report, peak = imported(tmp_path, file)
    assert (code, report["captures"]) == (0, 4)
    assert peak < MOST_RSS, peak


@pytest.mark.parametrize("wrapped", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_F_X5_endless_heads_and_lines_are_skipped(tmp_path: Path, wrapped: Any) -> None:
    fields = b"WARC/1.0\r\nWARC-Type: response\r\n" + b"X: y\r\n" * (4 * MIB // 6) + b"\r\n\r\n"
    line = b"x" * (64 * MIB) + b"\n"
    inside = b"WARC/1.0\r\nWARC-Type: response\r\nX: " + line + b"\r\n"
    arc = b"filedesc://x 0.0.0.0 20200101 text/plain 0\nhttp://a.test/" + line
    for number, content in enumerate((fields, line, inside, arc)):
        file = tmp_path / f"{number}.warc"
        file.write_bytes(wrapped(content) + wrapped(GOOD))
        code, report, peak = imported(tmp_path / str(number), file)
        assert (code, report["captures"]) == (4, 1), report
        assert peak < 256 * MIB


def test_F_X6_invalid_heads_are_set_aside_by_reason_and_the_import_continues(tmp_path: Path) -> None:
    def sized(length: str) -> bytes:
        return GOOD.replace(b"Content-Length: 29", f"Content-Length: {length}".encode())

    assert sized("1") != GOOD
    bad = {
        "no date": [
            warc(**{"WARC-Date": text})
            for text in (
                "0000-01-01T00:00:00Z",
                "2020-01-999T00:00:00Z",
                "٢٠٢٠-01-01",
                "9999-99-99T99:99:99Z",
                "x" * 999,
            )
        ],
        "date before the web": [
            warc(**{"WARC-Date": text}) for text in ("0001-01-01T00:00:00Z", "1969-12-31T23:00:00Z")
        ],
        "date in the future": [warc(**{"WARC-Date": "9999-12-31T23:59:59Z"})],
        "bad length": [sized(text) for text in ("9" * 5000, "-5", "٢٩", "29.0", "0x1d", "+29", "1 2", "2_9")],
        "no length": [GOOD.replace(b"Content-Length: 29\r\n", b"")],
        "contradictory lengths": [sized("29\r\nContent-Length: 30")],
        "no URL": [warc(**{"WARC-Target-URI": text}) for text in ("http://", "http://[::1", "//x", "%%%")],
        "unknown kind": [warc("response" * 500)],
        "no HTTP status": [
            warc(block=text) for text in (b"", b"HTTP/1.1", b"\xff\x00", b"HTTP/1.1 \xb2\xb2\xb2 O\n\n")
        ],
    }
    file = tmp_path / "bad.warc.gz"
    file.write_bytes(b"".join(gzip.compress(one) for some in bad.values() for one in some) + gzip.compress(GOOD))
    code, report, _ = imported(tmp_path, file)
    assert (code, report["captures"]) == (4, 1)
    assert report["set_aside"] == {reason: len(some) for reason, some in bad.items()}
    assert len(report["records"]) == sum(map(len, bad.values()))
    plain = tmp_path / "bad.warc"
    plain.write_bytes(b"".join(one for some in bad.values() for one in some) + GOOD)
    code, report, _ = imported(tmp_path / "plain", plain)
    assert code == 4 and report["captures"] == 1
    assert {reason for reason in bad if reason not in report["set_aside"]} == set()
