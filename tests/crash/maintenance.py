"""Kills of the maintenance commands: compact, forget, import, rebuild, backup and verify.

A collection is made once. Each trial copies it, starts the real command, and kills the whole process tree at a random
moment; after each kill all that the command must not change is still there and searchable. Then the command runs to its
end, and the collection must have the same content as after a run without a kill.
"""

import hashlib
import io
import random
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.site import Held, command, held, page, person, plain_environment, searchable
from tests.crash.harness import kill_tree
from tests.crash.verify import unreadable
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.archive.catalogue import Catalogue
from gossamer.base.files import DiskFiles
from gossamer.store.directory import Directory
from gossamer.values.capture import Kept

HOSTS, PAGES = 6, 25
FORGOTTEN = "host0.example"
FIRST_DAY = datetime(2026, 3, 1, tzinfo=UTC)
PADDING_BYTES = 6_000
SETTINGS = "[archive]\nvolume_mib = 1\n"
PATIENCE_S = 400.0
MOST_TRIES = 12
"""Starts of a command that ended before its kill, in a row."""

Captured = frozenset[tuple[str, int, bytes]]


@dataclass(frozen=True, slots=True)
class Task:
    """A maintenance command: its arguments, those that complete it after a kill, and the directory of its result."""

    name: str
    words: tuple[str, ...]
    finish: tuple[str, ...] | None = None
    into: str = "collection"

    def start(self, root: Path) -> list[str]:
        return command(*(word.format(root=root) for word in self.words), "--dir", root / "collection")

    def end(self, root: Path) -> list[str]:
        words = self.finish if self.finish is not None else self.words
        return command(*(word.format(root=root) for word in words), "--dir", root / "collection")


TASKS = (
    Task("compact", ("compact", "--keep", "last:1")),
    Task("forget", ("forget", FORGOTTEN, "--yes"), finish=("forget", FORGOTTEN, "--yes")),
    Task("import", ("import", "{root}/more.warc.gz")),
    Task("rebuild", ("rebuild",)),
    Task("backup", ("backup", "{root}/copy"), into="copy"),
    Task("verify", ("verify",)),
)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a collection: every capture with its digest, and the views."""

    captured: Captured
    views: Held | None


@dataclass(slots=True)
class Report:
    kills: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


def run(kills: int, root: Path, seed: int) -> Report:
    """`kills` distributed evenly over the commands, one or two in each trial."""
    draw, report = random.Random(seed), Report()
    base = make_collection(root / "base")
    for number, task in enumerate(TASKS):
        left = kills // len(TASKS) + (number < kills % len(TASKS))
        if not left:
            continue
        wanted, took_s = reference(task, base, root / f"{task.name}-whole")
        while left:
            at_most = min(left, draw.randint(1, 2))
            trial = root / f"{task.name}-{left}"
            killed = Trial(task, trial, took_s, draw, report).run(base, wanted, at_most)
            left -= killed
            shutil.rmtree(trial)
    return report


def reference(task: Task, base: Path, root: Path) -> tuple[Content, float]:
    """The result without a kill, and how long it takes."""
    shutil.copytree(base, root)
    started = time.monotonic()
    ended = subprocess.run(task.start(root), env=plain_environment(), capture_output=True, text=True, check=False)
    took_s = time.monotonic() - started
    assert ended.returncode == 0, f"{task.name} by itself ends with {ended.returncode}: {ended.stderr}"
    return result_of(task, root), took_s


@dataclass(slots=True)
class Trial:
    task: Task
    root: Path
    took_s: float
    draw: random.Random
    report: Report

    def run(self, base: Path, wanted: Content, kills: int) -> int:
        shutil.copytree(base, self.root)
        before = content_of(self.root / "collection")
        done = 0
        for _ in range(kills):
            if not self._kill_once():
                break
            done += 1
            self._check_after_kill(before, wanted)
        self._finish(wanted)
        return max(done, 1)

    def _kill_once(self) -> bool:
        for _ in range(MOST_TRIES):
            child = subprocess.Popen(
                self.task.start(self.root),
                env=plain_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                child.wait(self.draw.uniform(0.05, self.took_s))
            except subprocess.TimeoutExpired:
                kill_tree(child)
                child.wait()
                self.report.kills[self.task.name] += 1
                return True
            if self.task.into == "copy":
                shutil.rmtree(self.root / "copy", ignore_errors=True)
        return False

    def _check_after_kill(self, before: Content, wanted: Content) -> None:
        """Check that all that the command must not change is still there, readable and searchable."""
        collection = self.root / "collection"
        there = captured_in(collection)
        if lost := (before.captured & wanted.captured if self.task.into == "collection" else before.captured) - there:
            self._error(f"{len(lost)} captures are gone after a kill: {sorted(lost)[:3]}")
        kept = {url for url, _, _ in before.captured & wanted.captured}
        if self.task.into == "collection" and (hidden := kept - searchable(collection)):
            self._error(f"{len(hidden)} pages cannot be found after a kill: {sorted(hidden)[:3]}")
        if (copy := self.root / "copy").exists():  # killed after the copy got its name and before the end
            if captured_in(copy) != wanted.captured:
                self._error("an incomplete backup has the name of a complete one")
            shutil.rmtree(copy)

    def _finish(self, wanted: Content) -> None:
        ended = subprocess.run(
            self.task.end(self.root),
            env=plain_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        if ended.returncode:
            self._error(f"it cannot be completed: exit {ended.returncode}, {ended.stderr[-300:]}")
            return
        found = result_of(self.task, self.root)
        if found.captured != wanted.captured:
            lost, extra = wanted.captured - found.captured, found.captured - wanted.captured
            self._error(f"{len(lost)} captures missing, {len(extra)} too many")
        if found.views != wanted.views:
            self._error("the views differ from those of a run without a kill")
        if bad := unreadable(Directory(self.root / self.task.into)):
            self._error(f"unreadable volumes: {bad}")

    def _error(self, words: str) -> None:
        self.report.errors.append(f"{self.task.name}: {words}")


def result_of(task: Task, root: Path) -> Content:
    return content_of(root / task.into, has_views=task.into == "collection")


def content_of(collection: Path, has_views: bool = True) -> Content:
    return Content(captured_in(collection), held(collection) if has_views else None)


def captured_in(collection: Path) -> Captured:
    """Every capture in the catalogue, with the digest of the body that the archive returns."""
    directory = Directory(collection)
    with Catalogue(directory, DiskFiles()) as catalogue:
        return frozenset((one.url.text, one.fetched_at, digest_of(catalogue, one)) for one in catalogue.in_order())


def digest_of(catalogue: Catalogue, kept: Kept) -> bytes:
    capture = catalogue.read(kept)
    return hashlib.sha256(capture.body).digest() if capture is not None else b""


def make_collection(root: Path) -> Path:
    """Two versions of every page in several volumes, and a file to import with a third version."""
    collection = root / "collection"
    collection.mkdir(parents=True)
    (collection / "gossamer.toml").write_text(SETTINGS)
    for day in (0, 1):
        write_warc(root / f"day{day}.warc.gz", day)
        words = command("import", root / f"day{day}.warc.gz", "--dir", collection)
        subprocess.run(words, env=plain_environment(), check=True, capture_output=True)
    write_warc(root / "more.warc.gz", 2)
    return root


def write_warc(path: Path, day: int) -> None:
    moment = FIRST_DAY + timedelta(days=day)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number in range(HOSTS * PAGES):
            url, text = page_of(number, day)
            writer.write_record(
                writer.create_warc_record(
                    url,
                    "response",
                    payload=io.BytesIO(text.encode()),
                    http_headers=StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1"),
                    warc_headers_dict={"WARC-Date": moment.strftime("%Y-%m-%dT%H:%M:%SZ")},
                )
            )


def page_of(number: int, day: int) -> tuple[str, str]:
    host, padding = f"host{number % HOSTS}.example", random.Random(f"{number} {day}").randbytes(PADDING_BYTES).hex()
    links = [f"http://host{(number + step) % HOSTS}.example/page/{number + step}" for step in (1, 5)]
    text = page(f"Page {number}", f"Version {day}. {padding}", *links, facts=person(f"Ada {number} of day {day}"))
    return f"http://{host}/page/{number}", text
