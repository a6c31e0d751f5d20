"""`gossamer config show` and `config unset`: the settings, and where each comes from.

Also a collection's options.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir, Json, folder_given
from gossamer.cli.output import console, table
from gossamer.collection.cluster.settings import unset_setting
from gossamer.collection.directory import existing
from gossamer.config.load import GUARDED, Config, Key, in_toml, keys, sample, without_password
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of, readable_options, stored_in, unset_option, withheld_in_words
from gossamer.store.state import is_cluster
from gossamer.values.format import as_json

WIDE = 140
"""Columns of a terminal in which the descriptions fit, too."""
LONGEST_SHORT_ORIGIN = len("gossamer.toml")


def show(
    *,
    dir: Annotated[
        Path,
        Parameter(
            help="The collection's data directory; its gossamer.toml is read. Or the address of a cluster.",
            converter=folder_given,
        ),
    ] = DEFAULT,
    config: Annotated[Path | None, Parameter(help="Another settings file.")] = None,
    sample_file: Annotated[bool, Parameter(name="--sample", help="Print a commented gossamer.toml to start with.")] = (
        False
    ),
    markdown: Annotated[bool, Parameter(help="Print docs/settings.md.", show=False)] = False,
    json: Json = False,
) -> int:
    if sample_file or markdown:
        print(sample() if sample_file else documented(keys()), end="")
        return 0
    if is_cluster(Directory(dir)):
        existing(dir)
    readable_options(dir)  # otherwise defaults would be shown instead of unreadable options
    print_settings(config_of(dir, config), dir, json)
    return 0


def print_settings(loaded: Config, dir: Path, json: bool) -> None:
    rows = {key.name: (without_password(loaded.value(key.name)), loaded.origins[key.name], key.says) for key in keys()}
    if json:
        answer = {name: {"value": value, "origin": origin} for name, (value, origin, _) in rows.items()}
        for one in loaded.withheld:
            answer[one.name] |= {"withheld": without_password(one.value), "asked_by": one.origin}
        print(as_json(answer))
        return
    out = console()
    is_wide = out.width >= WIDE
    settings = table("setting", "value", "from", *(("what it means",) if is_wide else ()))
    settings.columns[0].no_wrap = True
    settings.columns[1].overflow = "fold"
    settings.columns[2].min_width = LONGEST_SHORT_ORIGIN
    for name, (value, origin, says) in rows.items():
        shown = "\n".join(value) if isinstance(value, tuple) else _shown(value)
        cells = (name, shown, origin, says) if is_wide else (name, shown, origin)
        settings.add_row(*cells, style=None if origin == "default" else "bold")
    out.print(settings)
    if not is_wide:
        out.print("what they mean: gossamer config show --sample", style="dim")
    print(*withheld_in_words(loaded.withheld, dir), sep="\n", end="\n" if loaded.withheld else "")


def _shown(value: object) -> str:
    """As in gossamer.toml, but without quotes."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def unset(
    name: Annotated[str, Parameter(help="The option, as listed by `gossamer config show`.")],
    *,
    dir: Dir = DEFAULT,
) -> int:
    directory, stored = existing(dir), stored_in(dir)
    if is_cluster(directory):
        asyncio.run(unset_setting(directory, name, real_outside()))
    elif name not in stored:
        known = ", ".join(sorted(stored)) or "none"
        raise ConfigError(f"this collection has no option {name}; its options: {known}")
    else:
        asyncio.run(unset_option(directory, name, real_outside()))
    loaded = config_of(dir)
    print(f"{name} is {loaded.value(name)} again, from: {loaded.origins[name]}")
    return 0


def documented(known: Sequence[Key]) -> str:
    """The text of docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "<!-- made by `gossamer config show --markdown`; a test keeps it up to date -->",
        "",
        "Settings come from `gossamer.toml` in the data directory (or the file given with `--config`), then from the",
        "collection's options, then from variables, then from flags; later sources win. Unknown names are refused, and",
        "the nearest known one is suggested.",
        "",
        "The flags of a crawl stay with its collection: `--allow-address`, `--scope`, `--max-depth`, `--max-pages`,",
        "`--delay`, `--keep` and `--contact` apply to later crawls of the same directory until they are given again or",
        "unset (`gossamer config unset crawl.max_pages --dir DIR`). `--forever` applies to the crawl it is given to.",
        "",
        "A collection may come from someone else. A setting in its `gossamer.toml` or its options that widens",
        f"access ({', '.join(f'`{name}`' for name in sorted(GUARDED))})",
        "takes effect only when you have given it for that directory on this machine, as a flag or with",
        "`gossamer trust --dir DIR --allow`; until then it is not applied, and commands say so. A file given with",
        "`--config` is your own.",
        "",
        "`gossamer config show` prints the current settings and their origins; `gossamer config show --sample` prints",
        "a commented file to start with. Names ending in `_s` are seconds, in `_mib` mebibytes.",
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
