"""A volume walked past damage."""

from itertools import islice
from pathlib import Path

from gossamer.archive.members import Damaged, members
from gossamer.base.files import DiskFiles


class Closed(DiskFiles):
    """Files that may not be read."""

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))


def test_F_X12_a_volume_that_may_not_be_read_is_damaged_once_and_not_for_ever(tmp_path: Path) -> None:
    volume = tmp_path / "a.warc.gz"
    volume.write_bytes(b"x" * 1000)
    (found,) = islice(members(Closed(), volume), 5)
    assert isinstance(found, Damaged) and (found.offset, found.length) == (0, 1000)
