"""Which plugins may run, and which options of a collection count.

A collection can come from anyone, so nothing in its directory, including its settings file, is enough to run code or
to lower security: the user allows it once, with `gossamer trust`, or gives the option as a flag. What was allowed is
stored in the user's own configuration folder: code by its content, so that a changed file must be allowed again; an
option by its directory and its value.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer.base.clock import SystemClock
from gossamer.base.errors import ConfigError
from gossamer.base.files import DiskFiles, Files
from gossamer.config.load import without_password

NAME = "trusted.json"
PATIENCE_S = 5.0
MOST_CODE = 8 << 20
"""Bytes of a file with code."""


class AllowedCode(msgspec.Struct, frozen=True):
    name: str
    """Shown to the user: where it was when it was allowed."""
    key: str
    folder: str = ""
    """For an option: the collection it was allowed for."""


@dataclass(frozen=True, slots=True)
class Code:
    """A plugin by its name: `file.py:function`, or an entry point of a group."""

    group: str
    name: str
    folder: Path

    @property
    def file(self) -> Path | None:
        file, colon, _ = self.name.rpartition(":")
        return self.folder / file if colon else None

    def content(self) -> bytes | None:
        """None for an entry point, or a missing file."""
        if self.file is None or not self.file.is_file():
            return None
        return DiskFiles().read(self.file, length=MOST_CODE)

    def key(self, content: bytes | None = None) -> str:
        """Identifies it: the digest of the file, or the name of the entry point in an installed package."""
        if self.file is None:
            return f"{self.group}:{self.name}"
        return "sha256:" + sha256(content or self.content() or b"").hexdigest()


def allowed_file(variables: Mapping[str, str] = os.environ) -> Path:
    """In the user's configuration folder (XDG Base Directory Specification, which says to ignore relative paths)."""
    given = Path(variables.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "gossamer" / NAME


def allowed(files: Files, path: Path) -> tuple[AllowedCode, ...]:
    if not files.size(path):
        return ()
    try:
        return msgspec.json.decode(files.read(path), type=tuple[AllowedCode, ...])
    except msgspec.MsgspecError as trouble:
        raise ConfigError(f"{path} cannot be read ({trouble}); remove it, and allow your plugins again") from trouble


def is_allowed(code: Code, content: bytes | None = None) -> bool:
    """`content`: what was read from its file, and will be run."""
    return code.key(content) in {one.key for one in allowed(DiskFiles(), allowed_file())}


def allow(codes: Iterable[Code]) -> None:
    _add([AllowedCode(str(code.file.resolve()) if code.file else code.name, code.key()) for code in codes])


def are_allowed(root: Path, options: Mapping[str, object]) -> bool:
    """Whether the user has given each of these options, with these values, for this collection."""
    try:
        known = {one.key for one in allowed(DiskFiles(), allowed_file())}
    except (OSError, RuntimeError):  # no home folder, or one that may not be read
        return False
    return {one.key for one in _options(root, options)} <= known


def allow_options(root: Path, options: Mapping[str, object]) -> None:
    """If the configuration folder cannot be written, nothing is stored."""
    with suppress(OSError, RuntimeError):
        if options and not are_allowed(root, options):
            _add(_options(root, options))


def _options(root: Path, options: Mapping[str, object]) -> list[AllowedCode]:
    folder = str(root.resolve())
    texts = {name: msgspec.json.encode(value).decode() for name, value in options.items()}
    return [
        AllowedCode(
            f"{name} = {without_password(text)} in {folder}",
            "option:" + sha256(msgspec.json.encode([folder, name, text])).hexdigest(),
            folder,
        )
        for name, text in texts.items()
    ]


def _add(new: Sequence[AllowedCode]) -> None:
    """Store them with what was allowed before, without options of collections that are gone."""
    files, path, keys = DiskFiles(), allowed_file(), {one.key for one in new}
    files.make_folder(path.parent)
    with turn(files, path):
        before = [one for one in allowed(files, path) if one.key not in keys]
        kept = [one for one in before if not one.folder or Path(one.folder).is_dir()]
        files.write(path, msgspec.json.format(msgspec.json.encode([*kept, *new])) + b"\n")


@contextmanager
def turn(files: Files, path: Path) -> Iterator[None]:
    """One process at a time changes the file. After PATIENCE_S it continues without the lock, which loses at most what
    the other process wrote."""
    clock = SystemClock()
    give_up_s = clock.elapsed_s() + PATIENCE_S
    while isinstance(lock := files.lock(path.with_suffix(".lock"), str(os.getpid())), str):
        if clock.elapsed_s() > give_up_s:
            break
        clock.pause(0.01)
    try:
        yield
    finally:
        if not isinstance(lock, str):
            lock.release()


def refusal(what: str, code: Code) -> str:
    where = f" ({code.file})" if code.file else ""
    return (
        f"the {what} {code.name}{where} has not been allowed to run on this machine. Read it first; "
        "`gossamer trust --dir DIR` lists what a collection asks for, and --allow lets it run"
    )
