"""Digests of a store's tables and manifest as of its last checkpoint, in the store and in the checkpoint.

RocksDB has a checksum in every block, but looks at it only when the block is read, and nothing that Oxigraph offers
reads all orders in which it keeps the facts. It also takes a manifest that was cut for one of a store with fewer facts.
Tables never change and a manifest only grows, so that what was there at the last checkpoint can be compared.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import xxhash

from gossamer.base.errors import ViewDamaged
from gossamer.base.files import Files
from gossamer.views.facts.checkpoints import view_of

FILE = "digests.json"
TABLE, MANIFEST = ".sst", "MANIFEST-"
PIECE = 1 << 20


class Digest(msgspec.Struct, frozen=True, array_like=True):
    size: int
    xxh3: str
    """Of the first `size` bytes, in hexadecimal digits."""


def record(store: Path, copy: Path, files: Files) -> None:
    """Note what a copy that was just made of a store consists of, in both; a table that is known is not read again."""
    try:
        known = recorded(store, files)
    except ViewDamaged:
        known = {}
    found: dict[str, Digest] = {}
    for name in files.names(copy):
        if name.endswith(TABLE) or name.startswith(MANIFEST):
            size, old = files.size(copy / name) or 0, known.get(name)
            is_known = old is not None and old.size == size and name.endswith(TABLE)
            found[name] = old if old is not None and is_known else _digest(copy / name, size, files)
    for folder in (copy, store):
        files.write(folder / FILE, msgspec.json.encode(found))


def recorded(folder: Path, files: Files) -> dict[str, Digest]:
    """By the name of the file; empty when no checkpoint was made since there are digests."""
    try:
        if files.size(folder / FILE) is None:
            return {}
        return msgspec.json.decode(files.read(folder / FILE), type=dict[str, Digest])
    except (OSError, ValueError) as trouble:
        raise ViewDamaged(view_of(folder), f"{FILE} cannot be read: {trouble}") from trouble


def unlike_digests(folder: Path, files: Files, says: Callable[[str], None]) -> list[str]:
    """Names of the files that are not as they were. One that is gone was merged into others, or the store misses it."""
    kept = recorded(folder, files)
    unlike: list[str] = []
    for number, (name, digest) in enumerate(kept.items(), 1):
        says(f"checking {folder.name}: file {number:,} of {len(kept):,}")
        size = files.size(folder / name)
        if size is not None and (size < digest.size or _digest(folder / name, digest.size, files) != digest):
            unlike.append(name)
    return unlike


def cut_manifest(folder: Path, files: Files) -> str:
    """The manifest that is shorter than it was; empty when none is."""
    manifests = {name: one.size for name, one in recorded(folder, files).items() if name.startswith(MANIFEST)}
    cut = (name for name, before in manifests.items() if (files.size(folder / name) or before) < before)
    return next(cut, "")


def tables_without(folder: Path, files: Files) -> int:
    """How many tables are newer than the last checkpoint, and so have no digest."""
    kept = recorded(folder, files)
    return sum(name.endswith(TABLE) and name not in kept for name in files.names(folder))


def _digest(path: Path, size: int, files: Files) -> Digest:
    hashed = xxhash.xxh3_128()
    for at in range(0, size, PIECE):
        hashed.update(files.read(path, at, min(PIECE, size - at)))
    return Digest(size, hashed.hexdigest())
