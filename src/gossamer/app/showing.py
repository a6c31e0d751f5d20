"""`gossamer config show`: the settings in force, and where each comes from."""

import json as json_format
import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gossamer.app.config import FILE_NAME, keys, load, sample
from gossamer.app.directory import DEFAULT


def show(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory; its gossamer.toml is read.")] = DEFAULT,
    config: Annotated[Path | None, Parameter(help="Another settings file.")] = None,
    sample_file: Annotated[
        bool, Parameter(name="--sample", negative="", help="Print a commented gossamer.toml to begin with.")
    ] = False,
    json: Annotated[bool, Parameter(negative="", help="As JSON.")] = False,
) -> int:
    """Show every setting, its value, and where it comes from: default, file, variable or flag."""
    if sample_file:
        print(sample(), end="")
        return 0
    loaded = load(config or dir / FILE_NAME, os.environ, {})
    rows = {key.name: (loaded.value(key.name), loaded.origins[key.name], key.says) for key in keys()}
    if json:
        print(json_format.dumps({name: {"value": row[0], "origin": row[1]} for name, row in rows.items()}, indent=2))
        return 0
    table = Table("setting", "value", "from", "what it means", box=None)
    for name, (value, origin, says) in rows.items():
        shown = "" if value is None else ", ".join(value) if isinstance(value, tuple) else str(value)
        table.add_row(name, shown, origin, says, style=None if origin == "default" else "bold")
    Console().print(table)
    return 0
