"""`gossamer backup DIR`: a copy from which everything can be had again, made while the crawl runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import real_outside
from gossamer.cli.steps import Working
from gossamer.cli.upkeep.verify import in_a_line
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.backup import back_up
from gossamer.collection.maintenance.verification import record_of
from gossamer.crawler.damage import DAMAGED
from gossamer.store.directory import DEFAULT, Directory
from gossamer.values.format import counted

MOST_NAMED = 20


def backup(
    to: Annotated[Path, Parameter(help="A directory that does not exist yet, or is empty.")],
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
) -> int:
    source, outside = existing(dir), real_outside()
    with Working("copying", outside.clock) as progress:
        copied = back_up(source, Directory(to), outside, progress.says)
    lines = [f"damaged: {in_a_line(record_of(one, False))}" for one in copied.damaged[:MOST_NAMED]]
    if copied.damaged:
        lines.append(
            f"{counted(len(copied.damaged), 'damaged record')} in the collection; everything else is in the backup. "
            f"`gossamer verify --dir {dir}` says what to do"
        )
    volumes = counted(copied.volumes, "volume")
    lines.append(f"{volumes} copied to {to} and verified. Make it searchable with: gossamer rebuild --dir {to}")
    for line in lines:
        Console(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)
    return DAMAGED if copied.damaged else 0
