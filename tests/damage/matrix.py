"""The damage matrix: each kind of file, damaged in each way, under each command.

A cell is right when there is no traceback, and the command
- answers as it does over the whole collection, and leaves the same views (`same`), or
- differs only by what a text of the user's says now (`own text`), or by a bit in a file of the index whose checksum
  `verify` compares (`left to verify`), or
- names the damage with the next step, a `gossamer` command or the file to mend (`named`). A command that writes must
  end with an exit code other than 0 then, and so must one that answers something else than before.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.app.site import QUICK, Held, held
from tests.damage.isolated import Ended, ran
from tests.damage.served import served

from gossamer.app.directory import Directory
from gossamer.errors import GossamerError
from gossamer.files import DiskFiles
from gossamer.graph.checkpoints import newest
from gossamer.graph.export import digest, opened

HOWS = ("bit", "zeros", "short", "gone", "mode")
"""A flipped bit, a zeroed page, half of it missing, the file missing, a file that its owner may not open."""
COMMANDS = {
    "search": "search keeper --json",
    "sparql": "sparql SELECT(COUNT(*)AS?n){{?s?p?o}}",
    "why": "why {origin}docs/knots",
    "status": "status --json",
    "history": "history {origin}docs/knots",
    "export": "export nquads",
    "hosts": "hosts",
    "politeness": "politeness",
    "freshness": "freshness",
    "top": "top --once",
    "config": "config show",
    "rules": "rules list",
    "compact": "compact --dry-run --keep last:1",
    "forget": "forget {origin}docs/knots --dry-run",
    "verify": "verify",
    "backup": "backup {scratch}/backup",
    "serve": "serve --port 0",
    "import": "import {warc}",
    "crawl": "crawl",
    "rebuild": "rebuild",
    "state": "rebuild --state",
}
CHANGES = frozenset(("import", "crawl", "rebuild", "state"))
"""They write: what they leave is compared, not what they print."""
REPORTS = frozenset(("status", "top", "serve", "config", "verify"))
"""They say how things are: damage may be a part of their answer, with exit code 0."""
NEXT_STEP = re.compile(r"gossamer (?:rebuild|verify|crawl|serve|import|backup|forget)\b")
VARIES = re.compile(
    r'"(?:took_s|as_of|silent_s|at|pid)": *[\d.]+|as of \S+|\d{4}-\d\d-\d\d[T ][\d:.]+Z?'
    r"|[\d.,]+ (?:%|ms|s|min|h|kB|MB|GB|B|bytes|seconds?|minutes?|hours?|days?)\b(?: ago)?"
)


def largest(folder: str, pattern: str = "*") -> Callable[[Path], Path]:
    return lambda root: max((root / folder).glob(pattern), key=lambda one: one.stat().st_size)


def beside(name: str) -> Callable[[Path], Path]:
    return lambda root: root / name


KINDS: dict[str, Callable[[Path], Path]] = {
    "archive volume": largest("archive"),
    "spool": largest("spool"),
    "state.db": beside("state.db"),
    "control.db": beside("control.db"),
    "links.db": beside("links.db"),
    "index terms": largest("index", "*.term"),
    "index store": largest("index", "*.store"),
    "index meta": beside("index/meta.json"),
    "index format": beside("index/format"),
    "index position": beside("index/position"),
    "index folder": beside("index"),
    "graph manifest": largest("graph", "MANIFEST-*"),
    "graph table": largest("graph", "*.sst"),
    "graph position": beside("graph/position"),
    "graph folder": beside("graph"),
    "sources.db": beside("graph/sources.db"),
    "checkpoint": lambda root: largest(f"checkpoints/{checkpoint_in(root)}", "MANIFEST-*")(root),
    "checkpoints": beside("checkpoints"),
    "learned": beside("learned"),
    "chronicle": beside("chronicle"),
    "plugged.json": beside("plugged.json"),
    "gossamer.toml": beside("gossamer.toml"),
    "rules.txt": beside("rules.txt"),
    "vocabulary.ttl": beside("vocabulary.ttl"),
    "token": beside("token"),
    "reader-token": beside("reader-token"),
    "writer.lock": beside("writer.lock"),
    "indexer.lock": beside("indexer.lock"),
    "facts.lock": beside("facts.lock"),
}
OWN_TEXT = frozenset(("rules.txt", "gossamer.toml", "vocabulary.ttl"))
"""Written by the user and without a checksum: another text that is valid is taken as what they wrote."""
CHECKED_BY_VERIFY = frozenset(("index terms", "index store"))
"""Too large to be read through for a question: `gossamer verify` compares their checksums, and its own cells say so."""
HOLDS_NOTHING = frozenset([("control.db", "gone")])
"""Signs of life of processes: the file may be deleted at any time, and then nobody has been seen yet."""
FOLDERS = frozenset(("index folder", "graph folder", "checkpoints"))


@dataclass(slots=True)
class Cell:
    kind: str
    how: str
    command: str
    verdict: str
    """"same", "named", or what is wrong."""
    told: str = ""

    @property
    def is_right(self) -> bool:
        return self.verdict in ("same", "named", "own text", "left to verify")


@dataclass(slots=True)
class Whole:
    """The collection before it is damaged, what each command says of it, and the views that each leaves."""

    root: Path
    origin: str
    warc: Path
    said: dict[str, Ended] = field(default_factory=dict)
    views: dict[str, tuple[Held, str]] = field(default_factory=dict)


def checkpoint_in(root: Path) -> str:
    found = newest(DiskFiles(), Directory(root).checkpoints)
    assert found is not None, "no checkpoint"
    return found.folder.name


def views_in(root: Path) -> tuple[Held, str]:
    found = newest(DiskFiles(), Directory(root).checkpoints)
    return held(root), digest(opened(found.folder)) if found is not None else ""


def damage(path: Path, how: str) -> None:
    if path.is_dir():
        path.chmod(0) if how == "mode" else shutil.rmtree(path)
        return
    content = path.read_bytes()
    match how:
        case "bit":
            at = len(content) // 3
            path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :] if content else b"\x10")
        case "zeros":
            page = min(4096, len(content))
            path.write_bytes(b"\0" * page + content[page:])
        case "short":
            path.write_bytes(content[: len(content) // 2])
        case "gone":
            path.unlink()
        case "mode":
            path.chmod(0)


def asked(whole: Whole, root: Path, command: str, scratch: Path) -> Ended:
    words = COMMANDS[command].format(origin=whole.origin, scratch=scratch, warc=whole.warc).split()
    words += [*(QUICK if command == "crawl" else ()), "--dir", str(root)]
    for _ in range(5):
        done = served(words, whole.origin, scratch) if command == "serve" else ran(words, scratch, obeys_modes=True)
        if "The query was stopped" not in done.told:  # on a busy machine it may be, whatever the damage
            break
    plain = [
        VARIES.sub("_", text.replace(str(root), "DIR").replace(str(scratch), "SCRATCH"))
        for text in (done.out, done.told)
    ]
    return Ended(done.code, *plain)


def unlike(before: Ended, done: Ended) -> list[str]:
    """The lines that were not there before the damage."""
    known = set((before.out + "\n" + before.told).splitlines())
    return [line for line in (done.out + "\n" + done.told).splitlines() if line not in known]


def judged(whole: Whole, asked_for: Cell, done: Ended, root: Path, name: str) -> str:
    kind, how, command = asked_for.kind, asked_for.how, asked_for.command
    before = whole.said[command]
    if any(word in done.told for word in ("Traceback", "PanicException", "panicked at")):
        return "traceback"
    is_named = any(NEXT_STEP.search(line) or name in line for line in unlike(before, done))
    if is_named and (done.code or command in REPORTS):
        return "named"
    if command in CHANGES:
        if done.code:
            return "no next step"
        try:
            return "same" if views_in(root) == whole.views[command] else "other views"
        except GossamerError:  # named to whoever reads it; a crawl without new pages does not
            return "left to verify" if how == "bit" and command != "rebuild" else "damage left"
        except (OSError, ValueError, RuntimeError, sqlite3.Error):
            return "damage left"
    if (done.code, done.out) == (before.code, before.out) or (kind, how) in HOLDS_NOTHING:
        return "same"
    if kind in OWN_TEXT and not done.code:
        return "own text"
    if how == "bit" and kind in CHECKED_BY_VERIFY and command != "verify" and not done.code:
        return "left to verify"
    return "no next step" if done.code else "silent"


def cell(whole: Whole, kind: str, how: str, command: str, scratch: Path) -> Cell:
    root = Path(shutil.copytree(whole.root, scratch / "c"))
    path = KINDS[kind](root)
    try:
        damage(path, how)
        done = asked(whole, root, command, scratch)
        if how == "mode" and path.exists():
            path.chmod(0o700)
        found = Cell(kind, how, command, "")
        found.verdict = judged(whole, found, done, root, path.name)
        told = "\n    ".join(line[:400] for line in unlike(whole.said[command], done))
        found.told = f"exit code {done.code}\n    {told}"
        return found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


SIGNS = {
    "same": "+",
    "own text": "o",
    "left to verify": "v",
    "named": "!",
    "traceback": "T",
    "silent": "S",
    "other views": "V",
    "damage left": "L",
    "no next step": "?",
}


def table(cells: list[Cell]) -> str:
    """Kinds and ways down, commands across."""
    rows = list(dict.fromkeys((one.kind, one.how) for one in cells))
    commands = list(dict.fromkeys(one.command for one in cells))
    lines = [" " * 22 + " ".join(f"{name[:6]:6}" for name in commands)]
    for kind, how in rows:
        found = {one.command: SIGNS[one.verdict] for one in cells if (one.kind, one.how) == (kind, how)}
        lines.append(f"{kind:15}{how:7}" + " ".join(f"{found.get(name, ''):6}" for name in commands))
    counts = {name: sum(one.verdict == name for one in cells) for name in SIGNS}
    summary = ", ".join(f"{name} {number}" for name, number in counts.items())
    return "\n".join(
        [*lines, "   ".join(f"{sign} {name}" for name, sign in SIGNS.items()), f"{len(cells)} cells: {summary}"]
    )
