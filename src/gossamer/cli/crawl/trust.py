"""`gossamer trust`: lists or allows the code and the access that a collection asks for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.files import DiskFiles
from gossamer.cli.flags import Dir
from gossamer.collection.directory import existing
from gossamer.config.load import FILE_NAME, Withheld, load
from gossamer.plugins.code import READERS, kept_in
from gossamer.plugins.filters import GROUP
from gossamer.plugins.settings import PROTOCOLS, split
from gossamer.store.address import shown
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of, stored_in
from gossamer.store.state import SETTING, is_cluster, written_place
from gossamer.store.trust import Code, allow_options, are_allowed, is_allowed
from gossamer.store.trust import allow as allow_code


def trust(
    *,
    dir: Dir = DEFAULT,
    allow: Annotated[bool, Parameter(help="Allow what is listed from now on.", negative=())] = False,
) -> int:
    if not dir.is_dir():
        raise DirectoryUnusable(f"there is no directory {dir}; name another with --dir")
    if is_cluster(Directory(dir)):
        existing(dir)
    codes, options = list(asked_for(dir)), guarded_in(dir)
    if not codes and not options:
        print(f"Nothing in {shown(dir)} asks to run code or to widen access.")
        return 0
    if allow:
        missing = [code for code in codes if code.file is not None and code.content() is None]
        if missing:
            raise ConfigError("missing file: " + ", ".join(str(code.file) for code in missing))
        allow_code(codes)
        allow_options(dir, {one.name: one.value for one in options})
    for one in options:
        print(f"{'allowed' if _is_open(dir, one) else 'not allowed'}  option  {one.shown}  ({one.origin})")
    for code in codes:
        word = "allowed" if is_allowed(code) else "not allowed"
        print(f"{word}  {code.group}  {code.file or code.name}  {code.key()}")
    return 0 if all(map(is_allowed, codes)) and all(_is_open(dir, one) for one in options) else 1


def guarded_in(folder: Path) -> list[Withheld]:
    """The options of the settings file and of the collection that widen access, allowed or not. A cluster is the
    user's own: only code that its nodes would run has to be allowed."""
    if is_cluster(Directory(folder)):
        return []
    stored = {name: (option.value, "this collection") for name, option in stored_in(folder).items()}
    found = list(load(folder / FILE_NAME, {}, {}, stored=stored, allows=lambda _name, _value: False).withheld)
    directory = Directory(folder)
    if (place := written_place(directory)) is not None and place.url not in [one.value for one in found]:
        found.append(Withheld(SETTING, place.url, directory.database.name))
    return found


def _is_open(folder: Path, option: Withheld) -> bool:
    return are_allowed(folder, {option.name: option.value})


def asked_for(folder: Path) -> Iterator[Code]:
    """The code named by the settings, and the readers of the last crawl."""
    given = config_of(folder).settings.crawl
    found = [Code(GROUP, name, folder) for name in given.filters]
    found += [Code(READERS, split(name)[1], folder) for name in given.readers]
    found += [Code(PROTOCOLS, split(name)[1], folder) for name in given.protocols]
    found += [Code(READERS, name, folder) for _, name in kept_in(folder, DiskFiles()).readers]
    return iter({code.key(): code for code in found}.values())
