"""`gossamer verify`: checks that everything stored is intact, and says what to do if it is not."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import Progress, note
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.copy_check import Repairs
from gossamer.collection.maintenance.verification import Verification, VerifyReport
from gossamer.crawler.damage import DAMAGED
from gossamer.store.directory import DEFAULT, Directory, has_lost_state
from gossamer.store.options import config_of, withheld_in_words
from gossamer.values.format import as_json, counted, harmless

MOST_SHOWN = 50


def verify(
    *,
    dir: Dir = DEFAULT,
    volume: Annotated[str | None, Parameter(help="Check only this volume of the archive.")] = None,
    repair_from: Annotated[
        Path | None, Parameter(help="A backup made by `gossamer backup`: damaged records are restored from it.")
    ] = None,
    repair: Annotated[
        bool,
        Parameter(
            help="Of an archive on several disks: make missing and damaged copies again from good ones, and move the "
            "volumes of directories that are no longer in archive.directories."
        ),
    ] = False,
    new_disk: Annotated[
        Path | None,
        Parameter(help="With --repair: use this directory of the archive again, which is on a new, empty disk."),
    ] = None,
    acknowledge: Annotated[
        bool, Parameter(help="Accept the damaged records as lost; they are listed, but no longer an error.")
    ] = False,
    json: Json = False,
) -> int:
    directory = Directory(dir)
    outside = with_archive(directory, real_outside())
    if not has_lost_state(directory):
        existing(dir)
    if repair_from is not None and not (repair_from / directory.archive.name).is_dir():
        raise ConfigError(f"there is no backup in {repair_from}: give a directory made by `gossamer backup`")
    if new_disk is not None and not repair:
        raise ConfigError("--new-disk needs --repair: gossamer verify --repair --new-disk DIRECTORY")
    loaded = config_of(dir)
    note(*withheld_in_words(loaded.withheld, dir))
    repairs = Repairs(loaded.settings, new_disk) if repair else None
    with Progress("verifying", outside.clock) as progress:
        verification = Verification(directory, outside, loaded.settings.agent, progress.show)
        report = asyncio.run(verification.run(volume, repair_from, acknowledge, repairs))
    if json:
        print(as_json(report))
    else:
        show(report)
        note(*next_steps(report, dir))
    return 0 if report.is_whole else DAMAGED


def show(report: VerifyReport) -> None:
    whole = f"{counted(report.volumes, 'volume')}: {counted(report.records, 'record')} intact"
    print(f"{whole}, {len(report.damaged):,} damaged")
    for one in report.repaired[:MOST_SHOWN]:
        print(f"  repaired: {one.in_words()}")
    for one in report.damaged[:MOST_SHOWN]:
        print(f"  {'acknowledged' if one.is_acknowledged else 'damaged'}: {one.in_words()}")
    if len(report.damaged) > MOST_SHOWN:
        print(f"  and {len(report.damaged) - MOST_SHOWN:,} more; --json lists them all")
    if report.copies_made:
        print(f"  {counted(report.copies_made, 'copy')} made again")
    for copy in report.copies[:MOST_SHOWN]:
        print(f"  {harmless(copy.in_words())}")
    if len(report.copies) > MOST_SHOWN:
        print(f"  and {len(report.copies) - MOST_SHOWN:,} more copies; --json lists them all")
    if report.unknown_records:
        print(f"  {counted(report.unknown_records, 'record')} not in the catalogue: the next crawl adds them")
    for state in [*report.databases, *report.views]:
        print(f"  {state.name}: {'; '.join(filter(None, (state.error, state.says)))}")
        for url in state.missing_urls:
            print(f"    missing: {harmless(url)}")
        for url in state.unreadable_urls:
            print(f"    cannot be read: {harmless(url)}")


def next_steps(report: VerifyReport, dir: Path) -> list[str]:
    lines: list[str] = []
    if not all(one.is_acknowledged for one in report.damaged):
        lines.append(f"restore it from a backup:  gossamer verify --dir {dir} --repair-from BACKUP_DIR")
        if report.due_again:
            pages = counted(report.due_again, "page")
            lines.append(f"{pages} will be fetched again by:  gossamer crawl --dir {dir}  (the history stays damaged)")
        lines.append(f"or accept the loss:  gossamer verify --dir {dir} --acknowledge")
    if report.copies:
        lines.append(f"make copies again from good ones:  gossamer verify --dir {dir} --repair")
    if any(not one.volume for one in report.copies):
        lines.append("mount the disk that is away; or, if it was replaced by an empty one, add  --new-disk DIRECTORY")
    if not report.is_marked:
        lines.append(
            "another process is writing to the collection: nothing was marked. Verify again when it has ended."
        )
    return [*lines, *dict.fromkeys(state.fix for state in [*report.databases, *report.views] if state.fix)]
