"""The checksums that tantivy writes at the end of its files: body, footer as JSON, its length, and a magic number."""

import struct
import zlib
from pathlib import Path

import msgspec

TAIL = struct.Struct("<II")
MAGIC = 1337
PIECE = 1 << 20
CHECKED = (".term", ".idx", ".pos", ".store", ".fast", ".fieldnorm", ".del")


class _Footer(msgspec.Struct):
    crc: int


def damaged_files(folder: Path) -> list[str]:
    """Names of the index's files that are not as they were written. Reads all of them."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix in CHECKED)
    return [name for name in names if not _is_whole(folder / name)]


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(size - TAIL.size)
            length, magic = TAIL.unpack(file.read(TAIL.size))
            body = size - TAIL.size - length
            file.seek(body)
            footer = msgspec.json.decode(file.read(length), type=_Footer)
            file.seek(0)
            crc = 0
            while piece := file.read(min(PIECE, body - file.tell())):
                crc = zlib.crc32(piece, crc)
        return magic == MAGIC and crc == footer.crc
    except FileNotFoundError:
        return True  # merged away meanwhile
    except (OSError, ValueError, struct.error, msgspec.MsgspecError):
        return False
