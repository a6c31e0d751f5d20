"""Records of archives written by other programs: where they begin, their headers, and what damage loses."""

import gzip
import random
from io import BytesIO
from pathlib import Path

import pytest

from gossamer.archive.foreign import records as module
from gossamer.archive.foreign.captures import foreign
from gossamer.archive.foreign.records import (
    GZIP_MAGIC,
    MOST_HEAD_BYTES,
    MOST_NAMED,
    PIECE_BYTES,
    FrameReader,
    ImportReport,
    byte_stream,
)

Found = list[tuple[int, dict[str, str], bytes]]
Aside = list[tuple[int, str, str]]


def reader_of(content: bytes, report: ImportReport) -> FrameReader:
    return FrameReader(byte_stream(BytesIO(content), report), report)


def read(content: bytes, most: int = 1 << 30) -> tuple[Found, Aside]:
    """The start, header and block of each record; and what was skipped."""
    report = ImportReport()
    reader = reader_of(content, report)
    found = [(frame.offset, frame.fields, reader.block(most)) for frame in reader]
    return found, [(one.offset, one.reason, one.url) for one in report.records]


def record(block: bytes = b"block", *lines: str, version: str = "1.0", length: str | None = "") -> bytes:
    given = [*lines] if length is None else [*lines, f"Content-Length: {length or len(block)}"]
    head = "".join(f"{line}\r\n" for line in given)
    return f"WARC/{version}\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def bodies(content: bytes) -> list[bytes]:
    return [block for _, _, block in read(content)[0]]


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
def test_records_of_every_version_have_the_right_offsets(version: str) -> None:
    one, two = record(b"one", "A: b", version=version), record(b"", version=version)
    assert read(one + two) == (
        [(0, {"a": "b", "content-length": "3"}, b"one"), (len(one), {"content-length": "0"}, b"")],
        [],
    )
    for packed in (gzip.compress(one + two), gzip.compress(one) + gzip.compress(two)):
        assert read(packed) == read(one + two), "offsets are counted in plain bytes"


def test_a_record_header_keeps_the_first_value_of_each_field() -> None:
    lines = [" before any name", "A: 1", "a: 2", "B :x:y ", "B: z", " more ", "no colon", " lost",
             ": no name", " lost too", "C:", " filled", "D: \u00e9"]  # fmt: skip
    ((_, fields, block),), aside = read(record(b"x", *lines))
    assert fields == {"a": "1", "b": "x:y", "c": "filled", "d": "\u00e9", "content-length": "1"}
    assert (block, aside) == (b"x", [])
    latin = record(b"x", "A: ?").replace(b"?", b"\xe9")
    assert read(latin)[0][0][1]["a"] == "\u00e9", "a line that is not UTF-8 is Latin-1"
    folded = record(b"x", "A: one", " two", "\tthree")
    assert read(folded)[0][0][1]["a"] == "one two three"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["Content-Length: 5"], ""),
        (["Content-Length: 5", "content-length: 5"], ""),
        (["Content-Length: 000000000000000005"], ""),
        (["Content-Length: 0000000000000000005"], "bad length"),
        (["Content-Length: 5", "Content-Length: 6"], "contradictory lengths"),
        (["Content-Length: 5x"], "bad length"),
        (["Content-Length:"], "bad length"),
        (["Content-Length: -5"], "bad length"),
        (["Content-Length: \u0665"], "bad length"),
        ([], "no length"),
    ],
)
def test_a_record_whose_length_is_not_a_number_is_skipped_with_its_url(lines: list[str], reason: str) -> None:
    broken = record(b"block", "WARC-Target-URI: http://a.test/", *lines, length=None)
    found, aside = read(record(b"before") + broken + record(b"after"))
    at = len(record(b"before"))
    assert aside == ([(at, reason, "http://a.test/")] if reason else [])
    assert [block for _, _, block in found] == [b"before", *([] if reason else [b"block"]), b"after"]


def test_a_record_header_may_be_as_long_as_the_limit() -> None:
    for extra, reasons in ((-2, []), (-1, ["head too long"]), (0, ["head too long"]), (1, ["head too long"])):
        size = MOST_HEAD_BYTES - len("Content-Length: 1\r\n") - len("A: \r\n") + extra
        found, aside = read(record(b"x", "A: " + "a" * size) + record(b"next"))
        assert [reason for _, reason, _ in aside] == reasons
        assert [block for _, _, block in found] == [*([] if reasons else [b"x"]), b"next"]


@pytest.mark.parametrize("end", [b"WARC/1.0\r\n", b"WARC/1.0\r\nA: b\r\n", b"WARC/1.0\r\nA: b", b"WARC/1.0"])
def test_a_record_header_cut_off_by_the_end_of_the_file_is_skipped(end: bytes) -> None:
    before = record()
    found, aside = read(before + end)
    assert len(found) == 1 and aside == [(len(before), "cut short", "")]


def test_each_stretch_that_is_no_record_is_reported_once() -> None:
    garbage = b"one\ntwo\nthree\n"
    content = garbage + record(b"a") + garbage + b"\r\n\n" + record(b"b") + b"end"
    found, aside = read(content)
    assert [block for _, _, block in found] == [b"a", b"b"]
    one, two = len(garbage) + len(record(b"a")), len(content) - len(b"end")
    assert aside == [(at, "not a record", "") for at in (0, one, two)]
    unusable = record(b"no\nlength\n", length=None)
    assert read(unusable + garbage + record(b"b"))[1] == [(0, "no length", "")], "the bytes after it belong to it"


def test_a_line_that_is_no_record_is_skipped_at_any_length() -> None:
    for size in (MOST_HEAD_BYTES - 1, MOST_HEAD_BYTES, MOST_HEAD_BYTES + 1, 3 * MOST_HEAD_BYTES):
        line = b"x" * size
        assert bodies(line + b"WARC/1.0\r\nContent-Length: 1\r\n\r\nn\n" + record(b"next")) == [b"next"], size


ARC = b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain 6\n1 0 x\n\n"


def test_arc_records_have_header_lines_of_five_values() -> None:
    line = b"http://a.test/b c 1.2.3.4 20200101000000 text/html 4\n"
    content = ARC + line + b"page\n" + b"http://a.test/2 ::1 2020 text/html;a b 2\r\nno\n"
    found, aside = read(content)
    names = ("uri", "ip-address", "archive-date", "content-type", "content-length")
    assert found[0] == (
        0, dict(zip(names, ("filedesc://x.arc", "0.0.0.0", "20200101000000", "text/plain", "6"), strict=True)),
        b"1 0 x\n",
    )  # fmt: skip
    assert found[1][:2] == (
        len(ARC), dict(zip(names, ("http://a.test/b c", "1.2.3.4", "20200101000000", "text/html", "4"), strict=True)),
    )  # fmt: skip
    assert [block for _, _, block in found] == [b"1 0 x\n", b"page", b"no"] and aside == []
    assert [offset for offset, _, _ in found[1:]] == [len(ARC), len(ARC) + len(line) + 5]
    assert bodies(gzip.compress(ARC) + gzip.compress(line + b"page\n")) == [b"1 0 x\n", b"page"]


def test_an_invalid_arc_line_is_skipped_and_an_arc_line_outside_an_arc_file_is_ignored() -> None:
    line = b"http://a.test/b 1.2.3.4 20200101000000 text/html "
    assert read(ARC + line + b"x\npage\n")[1] == [(len(ARC), "bad length", "http://a.test/b")]
    assert read(ARC + line + b"4\npage\n")[1] == []
    for wrong in (b"HTTP://a.test/ 1.2.3.4 2020 x 4\n", b"http://a.test/ 1.2.3.4 202 x 4\n", b"a b c d e\n"):
        assert read(ARC + wrong)[1] == [(len(ARC), "not a record", "")]
    assert read(line + b"4\npage\n")[1] == [(0, "not a record", "")]


def test_a_block_may_be_read_in_part_and_the_next_record_is_still_found() -> None:
    large = bytes(range(256)) * 1024
    report = ImportReport()
    reader = reader_of(record(large) + record(b"next"), report)
    going = iter(reader)
    assert next(going).length == len(large)
    assert reader.read(3) == large[:3] and reader.block(PIECE_BYTES + 5) == large[3 : PIECE_BYTES + 8]
    assert not reader.is_short()
    next(going)
    assert reader.block(99) == b"next" and reader.read(5) == b"" and not reader.is_short()
    assert list(going) == [] and reader.read(9) == b""


@pytest.mark.parametrize(("missing", "is_short"), [(4, False), (5, True), (9, True)])
def test_a_block_cut_off_by_the_end_of_the_file_is_short(missing: int, is_short: bool) -> None:
    reader = reader_of(record(b"blocks")[:-missing], ImportReport())
    next(iter(reader))
    reader.block(99)
    assert reader.is_short() is is_short


def test_skipped_records_are_counted_and_the_first_thousand_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "some.warc"
    long = record(b"", f"WARC-Target-URI: {'u' * 300}", length=None)
    path.write_bytes(long * (MOST_NAMED + 7))
    report = ImportReport()
    assert list(foreign(path, report)) == []
    assert report.counts == {"no length": MOST_NAMED + 7} and len(report.records) == MOST_NAMED
    assert {(one.archive, one.url) for one in report.records} == {("some.warc", "u" * 200)}
    assert (report.archive, report.read_bytes, report.size_bytes) == ("some.warc", *[path.stat().st_size] * 2)
    path.write_bytes(gzip.compress(record()))
    assert (
        list(foreign(path, report)) == []
        and report.counts["no kind"] == 1
        and report.read_bytes == report.size_bytes == path.stat().st_size
    )


def test_a_record_may_begin_in_one_gzip_member_and_end_in_another() -> None:
    content = record(b"a" * 100) + record(b"b")
    halves = gzip.compress(content[:90]) + gzip.compress(content[90:])
    assert bodies(halves) == [b"a" * 100, b"b"]
    short = record(b"a", length="999") + b"rest"
    found, _ = read(gzip.compress(short) + gzip.compress(record(b"b")))
    assert found[1][2] == b"b", "a record with a wrong length ends where the next member begins with a record"


@pytest.mark.parametrize("padding", [b"", b"\0", b"\0" * 511, b"\0" * (PIECE_BYTES + 3)])
def test_zeros_between_and_after_gzip_members_are_padding(padding: bytes) -> None:
    packed = padding.join([gzip.compress(record(b"a")), gzip.compress(record(b"b")), b""])
    found, aside = read(packed)
    assert [block for _, _, block in found] == [b"a", b"b"] and aside == []


@pytest.mark.parametrize("start", [b"WARC/0.18", b"WARC/1.0", b"filedesc://", b"http://a.test/ 1.2.3.4 2020 x 4\n"])
def test_after_damage_reading_continues_at_the_next_member_that_begins_with_a_record(start: bytes) -> None:
    good, other = gzip.compress(record(b"good")), gzip.compress(b"no record at all")
    last = {b"WARC/0.18": record(b"last", version="0.18"), b"WARC/1.0": record(b"last")}.get(start, ARC)
    if start.startswith(b"http"):
        last = start + b"page"
    for damage in (b"not gzip", GZIP_MAGIC + b"\xff" * 40, good[:-12]):
        content = good + damage + other + gzip.compress(last)
        report = ImportReport()
        reader = reader_of(content, report)
        found = [reader.block(99) for _ in reader]
        assert found[0] == b"good" and report.counts.total() >= 1
        if start.startswith(b"WARC"):
            assert found[-1] == b"last"
        elif start == b"filedesc://":
            assert found[-1] == b"1 0 x\n"
    assert read(good[:9] + gzip.compress(record(b"b")))[1][0][:2] == (0, "gzip damaged")


def test_a_gzip_file_that_is_cut_short_or_invalid_is_reported_as_such() -> None:
    chance = random.Random(1)
    packed = gzip.compress(record(chance.randbytes(3 * PIECE_BYTES)))
    found, aside = read(packed[:-1000])
    assert len(found) == 1 and aside == [(0, "gzip cut short", "")]
    assert read(GZIP_MAGIC[:2] + b"nothing") == ([], [(0, "gzip damaged", "")])
    assert read(b"") == ([], []) and read(GZIP_MAGIC[:1]) == ([], [(0, "not a record", "")])
    one = gzip.compress(record(b"a"))
    assert read(one + b"garbage") == ([(0, {"content-length": "1"}, b"a")], [(len(one), "gzip damaged", "")])


def test_a_file_that_unpacks_to_far_more_than_its_size_is_no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BOMB_BYTES", 10 * PIECE_BYTES)
    zeros, noise = bytes(20 * PIECE_BYTES), random.Random(2).randbytes(20 * PIECE_BYTES)
    next_one = gzip.compress(record(b"next"))
    found, aside = read(gzip.compress(record(zeros)) + next_one)
    assert [reason for _, reason, _ in aside] == ["unpacks to far more than its size"]
    assert len(found[0][2]) < 12 * PIECE_BYTES and found[1][2] == b"next"
    assert bodies(gzip.compress(record(noise)) + next_one) == [noise, b"next"]
    assert bodies(gzip.compress(record(zeros[: 9 * PIECE_BYTES])) + next_one)[1] == b"next"
    monkeypatch.setattr(module, "BOMB_RATIO", 2000)
    assert bodies(gzip.compress(record(zeros)) + next_one) == [zeros, b"next"]


@pytest.mark.parametrize(
    "at", [0, 1, 9, PIECE_BYTES - 3, PIECE_BYTES - 2, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES]
)
def test_a_magic_number_is_found_wherever_it_is_split_between_pieces(at: int) -> None:
    content = b"\x1f" * at + GZIP_MAGIC + b"xx" + GZIP_MAGIC
    for start in {0, max(0, at - 1), at}:
        assert module._find(BytesIO(content), GZIP_MAGIC, start) == at
    assert module._find(BytesIO(content), GZIP_MAGIC, at + 1) == at + 5
    assert module._find(BytesIO(content), GZIP_MAGIC, at + 6) == -1
