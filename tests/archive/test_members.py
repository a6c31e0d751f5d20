"""Reading the gzip members of a volume past damage."""

import random
import zlib
from itertools import islice
from pathlib import Path

import pytest

from gossamer.archive.reader import GZIP_MAGIC, PIECE_BYTES, DamagedBytes, Member, Torn, member_at, members
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import DiskFiles
from gossamer.spool.codec import gzip_member


class ForbiddenFiles(DiskFiles):
    """Files that may not be read."""

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))


def test_F_X12_a_volume_without_read_permission_is_reported_as_damaged_once(tmp_path: Path) -> None:
    volume = tmp_path / "a.warc.gz"
    volume.write_bytes(b"x" * 1000)
    (found,) = islice(members(ForbiddenFiles(), volume), 5)
    assert isinstance(found, DamagedBytes) and (found.offset, found.length) == (0, 1000)


FILES = DiskFiles()
Row = list[tuple[type, int, int]]


def member(body: bytes = b"x", start: bytes = b"WARC/1.1\r\n") -> bytes:
    return gzip_member(start + body)


def row_of(path: Path, content: bytes, offset: int = 0) -> Row:
    path.write_bytes(content)
    return [(type(one), one.offset, one.length) for one in islice(members(FILES, path, offset), 50)]


def test_undamaged_members_are_read_in_order_from_any_of_them_on(tmp_path: Path) -> None:
    large = random.Random(1).randbytes(3 * PIECE_BYTES)
    parts = [member(b"a"), member(large), member(b""), member(b"end")]
    starts = [sum(map(len, parts[:number])) for number in range(5)]
    for first in range(5):
        found = row_of(tmp_path / "v", b"".join(parts), starts[first])
        assert found == [(Member, starts[n], len(parts[n])) for n in range(first, 4)]
    plain = [one.plain for one in members(FILES, tmp_path / "v") if isinstance(one, Member)]
    assert plain == [b"WARC/1.1\r\n" + body for body in (b"a", large, b"", b"end")]


def test_a_member_that_holds_no_record_is_damage_of_its_own_length(tmp_path: Path) -> None:
    html = gzip_member(b"<html>")
    for other in (html, gzip_member(b""), gzip_member(b"WARC-"), gzip_member(b" WARC/")):
        found = row_of(tmp_path / "v", member() + other + member())
        at = len(member())
        assert found == [(Member, 0, at), (DamagedBytes, at, len(other)), (Member, at + len(other), at)]
    (_, damage, _) = members(FILES, tmp_path / "v")
    assert isinstance(damage, DamagedBytes) and damage.why == "a gzip member without a WARC record"


@pytest.mark.parametrize(
    "size", [1, 3, 4, 5, 1024, PIECE_BYTES - 4, PIECE_BYTES - 3, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1,
             2 * PIECE_BYTES - 3, 2 * PIECE_BYTES + 7],
)  # fmt: skip
@pytest.mark.parametrize("fill", [b"x", b"\0", GZIP_MAGIC[:1], GZIP_MAGIC])
def test_damage_extends_to_the_next_undamaged_record_or_the_end(tmp_path: Path, size: int, fill: bytes) -> None:
    junk = (fill * size)[:size]
    length = len(member())
    found = row_of(tmp_path / "v", member() + junk + member() + member())
    assert found == [(Member, 0, length), (DamagedBytes, length, size), (Member, length + size, length),
                     (Member, 2 * length + size, length)]  # fmt: skip
    (*_, last) = row_of(tmp_path / "v", member() + junk)
    assert last[1:] == (length, size) and last[0] in (DamagedBytes, Torn)


def test_a_cut_append_at_the_end_is_torn_and_one_before_other_records_is_damage(tmp_path: Path) -> None:
    whole = member(random.Random(2).randbytes(600))
    for cut in (1, 5, 20, len(whole) - 1):
        assert row_of(tmp_path / "v", member() + whole[:cut]) == [
            (Member, 0, len(member())), (Torn, len(member()), cut),
        ]  # fmt: skip
    behind = whole[:-20] + member()
    assert row_of(tmp_path / "v", behind) == [
        (DamagedBytes, 0, len(whole) - 20),
        (Member, len(whole) - 20, len(member())),
    ]
    assert row_of(tmp_path / "v", b"") == []


@pytest.mark.parametrize("at", [-8, -5, -4, -1])
def test_a_damaged_trailer_loses_its_record_and_nothing_inside_is_taken_for_a_record(tmp_path: Path, at: int) -> None:
    """A page may contain bytes that look like one of our records."""
    inside = member(b"not a record of the volume")
    noise = random.Random(3).randbytes(1000)
    whole = bytearray(zlib_stored(b"WARC/1.1\r\n" + noise + inside + noise))
    assert inside in whole
    whole[at] ^= 1
    for end in (member(), b""):
        found = row_of(tmp_path / "v", bytes(whole) + end)
        assert found == [(DamagedBytes, 0, len(whole)), *([(Member, len(whole), len(end))] if end else [])]
    whole[at] ^= 1
    assert row_of(tmp_path / "v", bytes(whole)) == [(Member, 0, len(whole))]


def zlib_stored(plain: bytes) -> bytes:
    """A gzip member with the bytes stored uncompressed."""
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    return packer.compress(plain) + packer.flush()


def test_a_record_is_read_from_its_exact_place_or_the_reason_is_given(tmp_path: Path) -> None:
    path = tmp_path / "v"
    bodies = [b"a", random.Random(4).randbytes(20 * PIECE_BYTES), b"c"]
    parts = [member(body) for body in bodies]
    path.write_bytes(b"".join(parts))
    at = 0
    for body, part in zip(bodies, parts, strict=True):
        assert member_at(FILES, path, at, len(part)) == b"WARC/1.1\r\n" + body
        for wrong in (len(part) - 1, len(part) + 1):
            with pytest.raises(ArchiveDamaged, match=rf"v is damaged at byte {at}: .*(not where|ends before|whole)"):
                member_at(FILES, path, at, wrong)
        at += len(part)
    for offset, why in ((at, "the file ends before"), (1, "its compressed data is damaged")):
        with pytest.raises(ArchiveDamaged, match=why):
            member_at(FILES, path, offset, 40)
    with pytest.raises(ArchiveDamaged, match="there is no such volume"):
        member_at(FILES, tmp_path / "none", 0, 9)
    with pytest.raises(ArchiveDamaged, match=r"the disk cannot read it \(Permission denied\)"):
        member_at(ForbiddenFiles(), path, 0, 9)


class WatchedFiles(DiskFiles):
    """Files that are readable in part, and count the bytes read."""

    def __init__(self, unreadable: range = range(0)) -> None:
        self.unreadable, self.read_bytes = unreadable, 0

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        if offset in self.unreadable:
            raise OSError(5, "Input/output error", str(path))
        piece = super().read(path, offset, length)
        self.read_bytes += len(piece)
        return piece


def test_unreadable_bytes_are_skipped_and_the_records_after_them_are_found(tmp_path: Path) -> None:
    first, last = member(random.Random(5).randbytes(10)), member(b"last")
    content = first + bytes(3 * PIECE_BYTES) + last
    (tmp_path / "v").write_bytes(content)
    bad = range(len(first), len(first) + 2 * PIECE_BYTES)
    found = [(type(one), one.offset, one.length) for one in members(WatchedFiles(bad), tmp_path / "v")]
    assert found == [(Member, 0, len(first)), (DamagedBytes, len(first), 3 * PIECE_BYTES),
                     (Member, len(content) - len(last), len(last))]  # fmt: skip


def test_looking_for_the_next_record_reads_little_more_than_it_skips(tmp_path: Path) -> None:
    junk = (GZIP_MAGIC + b"\xff" * 60) * 20_000
    (tmp_path / "v").write_bytes(junk + member())
    files = WatchedFiles()
    assert [type(one) for one in members(files, tmp_path / "v")] == [DamagedBytes, Member]
    assert files.read_bytes < 2 * len(junk) + 10 * PIECE_BYTES
