"""`gossamer trust`: the code that a collection asks to be run, listed or allowed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.app.allowed_code import Code, is_allowed
from gossamer.app.allowed_code import allow as allow_code
from gossamer.app.config import FILE_NAME, load
from gossamer.app.directory import DEFAULT
from gossamer.app.own_filters import GROUP
from gossamer.app.plugged import READERS, kept_in
from gossamer.app.plugins import PROTOCOLS, split
from gossamer.errors import ConfigError
from gossamer.files import DiskFiles


def trust(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    allow: Annotated[bool, Parameter(help="Let what is listed run from now on.", negative=())] = False,
) -> int:
    """List the code that a collection asks to be run, or allow it."""
    codes = list(asked_for(dir))
    if not codes:
        print(f"Nothing in {dir} asks for code to be run.")
        return 0
    if allow:
        missing = [code for code in codes if code.file is not None and code.content() is None]
        if missing:
            raise ConfigError("there is no file " + ", ".join(str(code.file) for code in missing))
        allow_code(codes)
    for code in codes:
        print(
            f"{'allowed' if is_allowed(code) else 'not allowed'}  {code.group}  {code.file or code.name}  {code.key()}"
        )
    return 0 if all(map(is_allowed, codes)) else 1


def asked_for(folder: Path) -> Iterator[Code]:
    """By the settings, and by what the collection was last crawled with."""
    given = load(folder / FILE_NAME, os.environ, {}).settings.crawl
    found = [Code(GROUP, name, folder) for name in given.filters]
    found += [Code(READERS, split(name)[1], folder) for name in given.readers]
    found += [Code(PROTOCOLS, split(name)[1], folder) for name in given.protocols]
    found += [Code(READERS, name, folder) for _, name in kept_in(folder, DiskFiles()).readers]
    return iter({code.key(): code for code in found}.values())
