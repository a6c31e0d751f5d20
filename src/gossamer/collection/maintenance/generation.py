"""New views made beside the present ones: where they are begun or resumed, what room they need, and the swap.

They are made in `views-N.new`. Renaming it to `views-N` is the swap: readers take the complete folder with the highest
number, so before that one system call they find the old views and after it the new ones. What is older is removed
afterwards, by the rebuild or, when that was killed, by the next writer (`directory.lock_directory`).
"""

import hashlib

import msgspec

from gossamer import __version__
from gossamer.archive.reader import volumes_in
from gossamer.base.environment import Outside
from gossamer.base.errors import DiskFull
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.cli.plan import size_of
from gossamer.plugins import code as plugged
from gossamer.plugins.code import FOLDER, contexts_in
from gossamer.store.directory import GENERATION, UNFINISHED, Directory, outdated

ORIGIN = "origin"
PER_ARCHIVE_BYTE = 3
"""A guess, not measured: views of small pages are larger than their compressed archive."""
SPARE = 1.25
"""While segments are merged, old and new ones are both there."""
LEAST_BYTES = 32 << 20
"""Even an empty store preallocates its logs."""


class Origin(msgspec.Struct, frozen=True):
    """What views in the making are made from, so that a later run can tell whether to go on with them."""

    program: str
    reads: str
    """Digest of what else decides how a capture is read: settings, agent, plug-ins."""
    volumes: dict[str, int]
    """Their sizes; an archive only grows by new volumes, unless it is compacted or something is forgotten."""

    def leads_to(self, now: "Origin") -> bool:
        """Whether what was made of this is a beginning of what would be made now."""
        is_read_alike = (self.program, self.reads) == (now.program, now.reads)
        return is_read_alike and all(now.volumes.get(name) == size for name, size in self.volumes.items())


def origin_of(directory: Directory, agent: str, outside: Outside) -> Origin:
    files = outside.files
    decides = [agent.encode()]
    for path in (directory.config, directory.root / plugged.NAME):
        decides.append(files.read(path) if files.size(path) is not None else b"")
    for url, document in sorted(contexts_in(directory.root / FOLDER).items()):
        decides += [url.encode(), document]
    reads = hashlib.sha256(msgspec.msgpack.encode(decides)).hexdigest()
    names = volumes_in(files, directory.archive)
    return Origin(__version__, reads, {name: files.size(directory.archive / name) or 0 for name in names})


def unfinished(directory: Directory, files: Files) -> list[str]:
    """Folders of views that a rebuild has begun and not completed."""
    names = files.names(directory.root)
    return [name for name in names if name.endswith(UNFINISHED) and GENERATION.fullmatch(name[: -len(UNFINISHED)])]


def begin(directory: Directory, origin: Origin, files: Files, is_fresh: bool) -> tuple[Directory, bool]:
    """Where to make the new views, and whether those of an earlier run are gone on with. Others are removed.

    REQUIRES: the writer's lock, and no indexer at work.
    """
    kept = ""
    for name in unfinished(directory, files):
        before = _origin_in(directory, name, files)
        if not is_fresh and not kept and before is not None and before.leads_to(origin):
            kept = name
        else:
            files.remove(directory.root / name)
    if not kept:
        numbers = [int(match[1]) for name in files.names(directory.root) if (match := GENERATION.fullmatch(name))]
        making = f"views-{max(numbers, default=0) + 1:04}{UNFINISHED}"
        files.make_folder(directory.root / making)
        files.write(directory.root / making / ORIGIN, msgspec.json.encode(origin))
    going = Directory(directory.root, kept or making)
    for folder in going.folders():
        files.make_folder(folder)
    return going, bool(kept)


def _origin_in(directory: Directory, name: str, files: Files) -> Origin | None:
    path = directory.root / name / ORIGIN
    try:
        return msgspec.json.decode(files.read(path), type=Origin) if files.size(path) is not None else None
    except msgspec.MsgspecError:
        return None


def refuse_without_room(directory: Directory, outside: Outside) -> None:
    """Raises DiskFull, with the figures and what to do, when new views beside the old ones would not fit."""
    there = sum(size_of([directory.root / name], outside) for name in unfinished(directory, outside.files))
    needed = round(SPARE * _expected_bytes(directory, outside)) + LEAST_BYTES - there
    room = outside.files.room(directory.root)
    if room < needed:
        raise DiskFull(
            f"new views need about {_megabytes(needed)} beside the present ones, and {directory.root} has "
            f"{_megabytes(room)} left; nothing was changed. Make room, or give up the present views first with "
            f"`gossamer rebuild --discard-old --dir {directory.root}`: nothing can be found until it is done"
        )


def _expected_bytes(directory: Directory, outside: Outside) -> int:
    """As large as the present ones; without any, by the archive. Checkpoints are mostly links to files of the graph."""
    present = size_of([directory.index, directory.graph, directory.links], outside)
    return present or PER_ARCHIVE_BYTE * size_of([directory.archive], outside)


def _megabytes(amount: int) -> str:
    return f"{amount / 1e6:,.0f} MB"


def swap(making: Directory, outside: Outside, tell: Tell) -> Directory:
    """The new views in the place of the old ones. REQUIRES: they are complete, and nobody has them open."""
    files = outside.files
    files.remove(making.spool)
    tell("rebuild.built")
    folder = making.views_folder
    files.rename(folder, folder.with_name(folder.name.removesuffix(UNFINISHED)))
    tell("rebuild.swapped")
    for path in outdated(making.root):
        files.remove(path)
        tell("rebuild.removed")
    return Directory(making.root)
