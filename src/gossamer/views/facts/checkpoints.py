"""Checkpoints: the last two copies of the live store, for other processes to read.

Also digests to verify both.

Only the owner of the live store makes them: reading while another process writes is undefined (pyoxigraph,
`Store.read_only`). A copy consists of hard links, so its cost grows with what has changed, not with what there is.

RocksDB has a checksum in every block, but checks it only when the block is read, and nothing that Oxigraph offers
reads every order in which it keeps the facts. It also takes a truncated manifest for one of a store with fewer facts.
Tables never change and a manifest only grows, so both can be compared with the digests of the last checkpoint.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import xxhash

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import ViewDamaged
from gossamer.base.files import Files
from gossamer.base.tell import Tell

PREFIX = "facts-"
MAKING = "making-"
CONFIRMED = "confirmed"
SEAL = "sizes.json"
"""The files of a checkpoint and their sizes."""
FORMAT = "format"
"""The file in a store's folder with the version of its content; older stores have none."""
VERSION = b"2"
"""Since 2 the names in facts are canonical (`extract.vocabularies`)."""
DIGESTS = "digests.json"
"""Size and hash of a store's tables and manifest, in the store and in its last checkpoint."""
TABLE, MANIFEST = ".sst", "MANIFEST-"
PIECE_BYTES = 1 << 20
KEPT = 2
EVERY_S = 30.0


class LiveStore(Protocol):
    """`views.facts.store.Graph`, as a protocol: processes that only look for the newest checkpoint do not load it."""

    changes: int

    def copy_to(self, folder: Path) -> None: ...

    def copy_position(self, folder: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class Checkpoint:
    folder: Path
    as_of: Instant
    """The facts are those of this moment."""


class Checkpoints:
    """Makes checkpoints and deletes old ones. REQUIRES: one maker, though not necessarily the thread that writes.

    Readers take `newest` for each query and keep it no longer than `every_s`, so it is always one of the two kept."""

    def __init__(self, folder: Path, files: Files, clock: Clock, tell: Tell, every_s: float = EVERY_S) -> None:
        self._folder = folder
        self._files = files
        self._clock = clock
        self._tell = tell
        self._every_s = every_s
        self._made_of: int | None = None
        """`Graph.changes` when the newest was made; None: made by an earlier process."""
        self._checked_at: Instant | None = None

    def is_due(self) -> bool:
        """Whether `every_s` has passed since the last one was made or found up to date."""
        last_at, now = self._checked_at, self._clock.now()
        if last_at is None and (present := newest(self._files, self._folder)) is not None:
            last_at = present.as_of
        return last_at is None or now < last_at or now - last_at >= self._every_s * SECOND

    def made_elsewhere(self) -> None:
        """Another process has just made one: the next is due after the interval."""
        self._checked_at = self._clock.now()

    def make(self, graph: LiveStore) -> Checkpoint | None:
        """Make one now; None when nothing has changed since the newest."""
        now = self._clock.now()
        self._checked_at = now
        present = newest(self._files, self._folder)
        if present is not None and self._made_of == graph.changes:
            graph.copy_position(present.folder)
            self._files.write(self._folder / CONFIRMED, f"{present.folder.name} {now}".encode())
            return None
        self._files.make_folder(self._folder)
        for name in self._files.names(self._folder):
            if name.startswith(MAKING):
                self._files.remove(self._folder / name)
        changes = graph.changes
        if present is not None and now <= (last := _instant_in(present.folder.name)):
            now = last + 1  # the clock stepped back: the newest must still sort last
        making, made = self._folder / f"{MAKING}{now:020}", self._folder / f"{PREFIX}{now:020}"
        graph.copy_to(making)
        sizes = {name: self._files.size(making / name) or 0 for name in self._files.names(making)}
        self._files.write(making / SEAL, json.dumps(sizes).encode())
        self._files.rename(making, made)
        self._tell("checkpoint.renamed", checkpoint=made.name)
        self._made_of = changes
        for name in _names(self._files, self._folder)[:-KEPT]:
            self._files.remove(self._folder / name)
            self._tell("checkpoint.removed", checkpoint=name)
        return Checkpoint(made, now)


def newest(files: Files, folder: Path, damaged: Collection[str] = ()) -> Checkpoint | None:
    """The checkpoint to read now, skipping the `damaged` ones; None when there is none."""
    names = [name for name in _names(files, folder) if name not in damaged]
    if not names:
        return None
    as_of = _instant_in(names[-1])
    if files.size(folder / CONFIRMED) is not None:
        name, _, confirmed_at = files.read(folder / CONFIRMED).decode("ascii", "replace").partition(" ")
        if name == names[-1] and confirmed_at.isdigit():
            as_of = max(as_of, int(confirmed_at))
    return Checkpoint(folder / names[-1], as_of)


def format_mismatch(folder: Path) -> str:
    """Why this version cannot read a store; empty when it can."""
    try:
        found = (folder / FORMAT).read_bytes()
    except FileNotFoundError:
        found = b"1"
    except OSError as trouble:
        return f"{FORMAT} cannot be read: {trouble}"
    version = found.decode("ascii", "replace")
    return "" if found == VERSION else f"it has format {version}, and this version of Gossamer reads {VERSION.decode()}"


def seal_mismatch(folder: Path) -> str:
    """What is missing or truncated in a checkpoint; empty when nothing is, or for an older one without a seal."""
    try:
        sizes = json.loads((folder / SEAL).read_bytes())
        for name, size in sizes.items():
            if (folder / name).stat().st_size != size:
                return f"{name} has changed its size"
    except FileNotFoundError as trouble:
        return "" if str(trouble.filename).endswith(SEAL) else f"{Path(trouble.filename).name} is missing"
    except (OSError, ValueError, AttributeError) as trouble:
        return f"{SEAL} cannot be read: {trouble}"
    return ""


def view_of(folder: Path) -> Path:
    """The view a store belongs to: checkpoints have a folder of their own."""
    return folder.parent if folder.parent.name == "checkpoints" else folder


def _instant_in(name: str) -> Instant:
    return int(name.removeprefix(PREFIX))


def _names(files: Files, folder: Path) -> list[str]:
    """Oldest first: the instant in the name has a fixed width."""
    return [name for name in files.names(folder) if name.startswith(PREFIX) and name.removeprefix(PREFIX).isdigit()]


class Digest(msgspec.Struct, frozen=True, array_like=True):
    size: int
    xxh3: str
    """Of the first `size` bytes, in hexadecimal digits."""


def write_digests(store: Path, copy: Path, files: Files) -> None:
    """Save the digests of a copy just made of a store, in both; a known table is not read again."""
    try:
        known = digests_of(store, files)
    except ViewDamaged:
        known = {}
    found: dict[str, Digest] = {}
    for name in files.names(copy):
        if name.endswith(TABLE) or name.startswith(MANIFEST):
            size, old = files.size(copy / name) or 0, known.get(name)
            is_known = old is not None and old.size == size and name.endswith(TABLE)
            found[name] = old if old is not None and is_known else _digest(copy / name, size, files)
    for folder in (copy, store):
        files.write(folder / DIGESTS, msgspec.json.encode(found))


def digests_of(folder: Path, files: Files) -> dict[str, Digest]:
    """By file name; empty for a store whose checkpoints were made before digests existed."""
    try:
        if files.size(folder / DIGESTS) is None:
            return {}
        return msgspec.json.decode(files.read(folder / DIGESTS), type=dict[str, Digest])
    except (OSError, ValueError) as trouble:
        raise ViewDamaged(view_of(folder), f"{DIGESTS} cannot be read: {trouble}") from trouble


def changed_files(folder: Path, files: Files, says: Callable[[str], None]) -> list[str]:
    """Files that do not match their digest. A missing one was merged into others, or the store itself reports it."""
    digests = digests_of(folder, files)
    changed: list[str] = []
    for number, (name, digest) in enumerate(digests.items(), 1):
        says(f"checking {folder.name}: file {number:,} of {len(digests):,}")
        size = files.size(folder / name)
        if size is not None and (size < digest.size or _digest(folder / name, digest.size, files) != digest):
            changed.append(name)
    return changed


def truncated_manifest(folder: Path, files: Files) -> str:
    """A manifest that was truncated; empty when none was."""
    manifests = {name: one.size for name, one in digests_of(folder, files).items() if name.startswith(MANIFEST)}
    return next((name for name, before in manifests.items() if (files.size(folder / name) or before) < before), "")


def tables_without(folder: Path, files: Files) -> int:
    """How many tables are newer than the last checkpoint, and have no digest yet."""
    kept = digests_of(folder, files)
    return sum(name.endswith(TABLE) and name not in kept for name in files.names(folder))


def _digest(path: Path, size: int, files: Files) -> Digest:
    hashed = xxhash.xxh3_128()
    for at in range(0, size, PIECE_BYTES):
        hashed.update(files.read(path, at, min(PIECE_BYTES, size - at)))
    return Digest(size, hashed.hexdigest())
