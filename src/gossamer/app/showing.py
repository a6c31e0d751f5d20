"""`gossamer config show`: the settings in force, and where each comes from."""

import json as json_format
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gossamer.app.config import Key, in_toml, keys, load, named_file, sample
from gossamer.app.directory import DEFAULT


def show(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory; its gossamer.toml is read.")] = DEFAULT,
    config: Annotated[Path | None, Parameter(help="Another settings file.")] = None,
    sample_file: Annotated[bool, Parameter(name="--sample", help="Print a commented gossamer.toml to begin with.")] = (
        False
    ),
    markdown: Annotated[bool, Parameter(help="Print docs/settings.md.", show=False)] = False,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    if sample_file or markdown:
        print(sample() if sample_file else documented(keys()), end="")
        return 0
    loaded = load(named_file(config, dir), os.environ, {})
    rows = {key.name: (loaded.value(key.name), loaded.origins[key.name], key.says) for key in keys()}
    if json:
        print(json_format.dumps({name: {"value": row[0], "origin": row[1]} for name, row in rows.items()}, indent=2))
        return 0
    table = Table(box=None)
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", no_wrap=True)
    table.add_column("what it means")
    for name, (value, origin, says) in rows.items():
        shown = "" if value is None else ", ".join(value) if isinstance(value, tuple) else str(value)
        table.add_row(name, shown, origin, says, style=None if origin == "default" else "bold")
    Console().print(table)
    return 0


def documented(known: Sequence[Key]) -> str:
    """docs/settings.md, whole."""
    lines = [
        "# Settings",
        "",
        "<!-- made by `gossamer config show --markdown`; a test keeps it up to date -->",
        "",
        "Settings come from `gossamer.toml` in the data directory (or the file named with `--config`), then from",
        "variables, then from flags; the later win. Unknown names are refused, and the nearest known one is named.",
        "`gossamer config show` says what is in force and where it comes from; `gossamer config show --sample` prints",
        "a commented file to begin with. Names ending in `_s` are seconds, in `_mib` mebibytes.",
    ]
    group = None
    for key in known:
        head, _, last = key.name.rpartition(".")
        if head != group:
            title = f"`[{head}]`" if head else "At the top of the file"
            lines += ["", f"## {title}", "", "| setting | default | variable | what it means |", "|---|---|---|---|"]
            group = head
        default = "unset" if key.default is None else f"`{in_toml(key.default)}`"
        lines.append(f"| `{last}` | {default} | `{key.variable}` | {key.says}{_choices(key)} |")
    return "\n".join(lines) + "\n"


def _choices(key: Key) -> str:
    words = [word for word in get_args(key.kind) if isinstance(word, str)]
    return f" ({', '.join(f'`{word}`' for word in words)})" if words else ""
