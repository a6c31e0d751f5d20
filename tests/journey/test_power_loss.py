"""Power cuts at every sync of a crawl: no acknowledged page is lost, and the collection repairs itself (P3, X16).

POWERLOSS_STEP=1 (`make powerloss`) checks every sync; the suite checks a sample of them.
"""

import asyncio
import hashlib
import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.journey.crawling import EventLog, crawl, page

from gossamer.archive.catalogue import ArchivePlaces, Catalogue, acknowledged, adopt
from gossamer.archive.compaction import Compaction, tidy
from gossamer.archive.reader import read_capture
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.crawler.pace import Pace
from gossamer.spool.frames import Follower, SpoolPosition, SpoolWriter
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.testing import PowerCuts

PAGES = 300
STEP = int(os.environ.get("POWERLOSS_STEP", "9"))
HOME = "http://a.test/"


@dataclass
class Cut:
    """A moment at which the power may fail: committed database, possible states of the files, acknowledged pages."""

    state: Path
    files: dict[str, dict[Path, bytes | None]]
    acknowledged_urls: set[str]


@dataclass
class Cutter:
    root: Path
    aside: Path
    cuts: list[Cut] = field(default_factory=list)
    acknowledged_urls: set[str] = field(default_factory=set)
    seen: int = 0

    def __post_init__(self) -> None:
        self.disk = PowerCuts(self.root, self.cut)

    def record(self, event: str, /, **facts: object) -> None:
        if event == "visit.settled" and facts["is_page"]:
            self.acknowledged_urls.add(str(facts["url"]))
        if event == "group.settled":
            self.cut()

    def cut(self) -> None:
        self.seen += 1
        if self.seen % STEP:
            return
        copy = self.aside / f"{len(self.cuts)}.db"
        acknowledged_urls = set(self.acknowledged_urls)
        states = {kind: self.disk.state(kind) for kind in PowerCuts.KINDS}
        if (self.root / "state.db").exists():
            uri = f"{(self.root / 'state.db').as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as live, closing(sqlite3.connect(copy)) as copied:
                live.backup(copied)  # committed data: it was on disk when the commit returned
        self.cuts.append(Cut(copy, states, acknowledged_urls))


class CutterLog(EventLog):
    cutter: Cutter

    def __call__(self, event: str, /, **facts: object) -> None:
        super().__call__(event, **facts)
        self.cutter.record(event, **facts)


def restore(cut: Cut, kind: str, root: Path) -> None:
    for path, content in sorted(cut.files[kind].items()):
        if content is None:
            (root / path).mkdir(exist_ok=True)
        else:
            (root / path).write_bytes(content)
    if cut.state.exists():
        (root / "state.db").write_bytes(cut.state.read_bytes())


async def repaired(root: Path) -> tuple[str, ...]:
    """Open the collection as a crawl does, and close it; return the damaged volumes."""
    files = DiskFiles()
    async with Database(root / "state.db", SystemClock(), silent) as database:
        await tidy(database, files, root / "archive", silent)
        volumes = Volumes(files, root / "archive", SystemClock(), silent)
        recovered = volumes.open(await acknowledged(database))
        await adopt(database, files, root / "archive", silent)
        spool = SpoolWriter(files, root / "spool", silent)
        spool.open(recovered.last_volume)
        spool.close()
        volumes.close()
    return recovered.damaged


def check(cut: Cut, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        restore(cut, kind, root)
        assert asyncio.run(repaired(root)) == (), kind
        files = DiskFiles()
        with Catalogue(Directory(root), files) as catalogue:
            kept = list(catalogue.in_order())
        for one in kept:
            capture = read_capture(files, root / "archive", one.place)
            assert capture is not None and capture.url == one.url, (kind, one)
            assert hashlib.sha256(capture.body).digest() == one.digest, (kind, one)
        assert cut.acknowledged_urls <= {one.url.text for one in kept if one.is_page}, kind
        followed = Follower(files, root / "spool", ArchivePlaces(files, root / "archive")).follow(
            SpoolPosition(), 10_000
        )
        assert {frame.place for frame in followed} >= {one.place for one in kept}, "every capture reaches the views"


def web() -> dict[str, str]:
    names = [f"{HOME}p{number}" for number in range(PAGES - 1)]
    return {HOME: page(*names), **{name: page(HOME, body=f"words of {name}") for name in names}}


def test_F_X16_F_P3_a_power_cut_at_any_sync_of_a_crawl_loses_nothing_acknowledged(tmp_path: Path) -> None:
    root, aside = tmp_path / "c", tmp_path / "aside"
    for folder in (root, aside):
        folder.mkdir()
    cutter = Cutter(root, aside)
    log = CutterLog()
    log.cutter = cutter
    files = DiskFiles(cutter.disk)
    asyncio.run(crawl(root, web(), [HOME], files, log=log, pace=Pace(group=16)))
    assert len(cutter.acknowledged_urls) == PAGES and len(cutter.cuts) >= PAGES // 16 // STEP
    for cut in cutter.cuts:
        for kind in PowerCuts.KINDS:
            check(cut, kind)
    print(f"{len(cutter.cuts)} of {cutter.seen} power cuts, {len(PowerCuts.KINDS)} states each: nothing lost")

    before, acknowledged_urls, cutter.cuts = cutter.seen, set(cutter.acknowledged_urls), []
    asyncio.run(compacted(root, files))
    for cut in cutter.cuts:
        for kind in PowerCuts.KINDS:
            check(cut, kind)
    assert acknowledged_urls == cutter.acknowledged_urls and cutter.seen > before


async def compacted(root: Path, files: DiskFiles) -> None:
    """Rewrite every volume without its robots.txt: the new files are put in place by a rename."""
    async with Database(root / "state.db", SystemClock(), silent) as database:
        with Catalogue(Directory(root), files) as catalogue:
            removed: dict[str, dict[int, int]] = {}
            for one in catalogue.in_order():
                gone = removed.setdefault(one.place.volume, {})
                if not one.is_page:
                    gone[one.place.offset] = one.place.length
        work = Compaction(database, files, root / "archive", root / "spool", SystemClock(), silent)
        await work.rewrite({name: gone for name, gone in removed.items() if gone})
