"""Which plug-ins may run. A collection can be received from anybody, so nothing in its directory, its settings file
included, is enough to run code: the user allows it once, with `gossamer trust`. What was allowed stands in the user's
own configuration folder, by its content: a file that changes must be allowed again."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer.errors import ConfigError
from gossamer.files import DiskFiles, Files

NAME = "trusted.json"
MOST_CODE = 8 << 20
"""Bytes of a file with code."""


class Allowed(msgspec.Struct, frozen=True):
    name: str
    """For people: where it was when it was allowed."""
    key: str


@dataclass(frozen=True, slots=True)
class Code:
    """A plug-in by its name: `file.py:function`, or an entry point of a group."""

    group: str
    name: str
    folder: Path

    @property
    def file(self) -> Path | None:
        file, colon, _ = self.name.rpartition(":")
        return self.folder / file if colon else None

    def content(self) -> bytes | None:
        """None for an entry point, or a file that is not there."""
        if self.file is None or not self.file.is_file():
            return None
        return DiskFiles().read(self.file, length=MOST_CODE)

    def key(self, content: bytes | None = None) -> str:
        """What it is allowed by: the digest of the file, or the name of the entry point in an installed package."""
        if self.file is None:
            return f"{self.group}:{self.name}"
        return "sha256:" + sha256(content or self.content() or b"").hexdigest()


def allowed_file(variables: Mapping[str, str] = os.environ) -> Path:
    """In the user's configuration folder (XDG Base Directory Specification); a relative one is to be ignored."""
    given = Path(variables.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "gossamer" / NAME


def allowed(files: Files, path: Path) -> tuple[Allowed, ...]:
    if not files.size(path):
        return ()
    try:
        return msgspec.json.decode(files.read(path), type=tuple[Allowed, ...])
    except msgspec.MsgspecError as trouble:
        raise ConfigError(f"{path} cannot be read ({trouble}); remove it, and allow again what may run") from trouble


def is_allowed(code: Code, content: bytes | None = None) -> bool:
    """`content`: what was read of its file, and is to be run."""
    return code.key(content) in {one.key for one in allowed(DiskFiles(), allowed_file())}


def allow(codes: Iterable[Code]) -> None:
    files, path = DiskFiles(), allowed_file()
    new = [Allowed(str(code.file.resolve()) if code.file else code.name, code.key()) for code in codes]
    keys = {one.key for one in new}
    files.make_folder(path.parent)
    kept = [one for one in allowed(files, path) if one.key not in keys]
    files.write(path, msgspec.json.format(msgspec.json.encode([*kept, *new])) + b"\n")


def refusal(what: str, code: Code) -> str:
    where = f" ({code.file})" if code.file else ""
    return (
        f"the {what} {code.name}{where} has not been allowed to run on this machine. Look at it; "
        "`gossamer trust --dir DIR` lists what a collection asks for, and --allow lets it run"
    )
