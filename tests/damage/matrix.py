"""The damage matrix: each kind of file, damaged in each way, under each command.

A cell is right when there is no traceback, and the command
- answers as it does over the undamaged collection, and leaves the same views (`same`), or
- differs only because a text of the user's is different (`own text`), or
- differs, or leaves a view damaged, by one bit in a file that is too large to be read completely each time, and
  `gossamer verify`, run immediately, names it (`left to verify`), or
- names the damaged file or view, and the next step: a `gossamer` command, its owner and mode to check, or the
  user's file to repair (`named`). Commands whose purpose is to report may then end with exit code 0, others must not.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.site import QUICK, Held, held
from tests.damage.isolated import Ended, ran
from tests.damage.served import served
from tests.views.digests import facts_digest

from gossamer.base.errors import GossamerError
from gossamer.base.files import DiskFiles
from gossamer.crawler.damage import DAMAGED
from gossamer.store import captures, forgotten, tallies
from gossamer.store.directory import Directory
from gossamer.store.options import stored_options, stored_seeds
from gossamer.store.sqlite.database import read_only
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.store import opened

HOWS = ("bit", "zeros", "short", "gone", "mode")
"""A flipped bit, a zeroed page, half of the file missing, the file missing, a file that its owner must not open."""
COMMANDS = {
    "search": "search keeper --json",
    "sparql": "sparql SELECT(COUNT(*)AS?n){{?s?p?o}}",
    "why": "why {origin}docs/knots",
    "status": "status --json",
    "history": "history {origin}docs/knots",
    "export": "export nquads",
    "jsonl": "export jsonl",
    "warc": "export warc",
    "hosts": "hosts",
    "politeness": "politeness",
    "freshness": "freshness",
    "plan": "plan",
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
    "erase": "forget {origin}docs/knots --yes",
}
CHANGES = frozenset(("import", "crawl", "rebuild", "state", "erase"))
"""They write: their result is compared, not their output. For `rebuild --state`, which writes no views and reads
links.db alone, the result is state.db; for the others the views."""
REPORTS = frozenset(("status", "top", "serve"))
"""They report the state: damage may be a part of their output, with exit code 0."""
NEXT_STEP = re.compile(
    r"gossamer (?:rebuild|verify|crawl|serve|import|backup|forget)\b|check its owner and mode"
    r"|checks who owns it and its mode"
)
TIMES = re.compile(
    r'"(?:took_s|as_of|silent_s|at|pid)": *[\d.]+|as of \S+|\d{4}-\d\d-\d\d[T ][\d:.]+Z?'
    r"|[\d.,]+ (?:ms|s|min|h|seconds?|minutes?|hours?|days?)\b(?: ago)?"
)
SIZES = re.compile(r"[\d.,]+ (?:%|(?:kB|MB|GB|B|bytes)\b)| {2,}")
LIFE = re.compile(r"[✓○▲] (?:alive|idle|late, _)")
"""A machine whose crawl has just ended is shown as alive, then as late, and later as idle."""
MEASURED = frozenset(("status", "top", "plan", "freshness"))
"""They report sizes of files and processes, which differ from run to run."""


def largest(folder: str, pattern: str = "*") -> Callable[[Path], Path]:
    return lambda root: max((root / folder).glob(pattern), key=lambda one: one.stat().st_size)


def file(name: str) -> Callable[[Path], Path]:
    return lambda root: root / name


KINDS: dict[str, Callable[[Path], Path]] = {
    "archive volume": largest("archive"),
    "spool": largest("spool"),
    "state.db": file("state.db"),
    "control.db": file("control.db"),
    "links.db": file("links.db"),
    "index terms": largest("index", "*.term"),
    "index store": largest("index", "*.store"),
    "index meta": file("index/meta.json"),
    "index format": file("index/format"),
    "index position": file("index/position"),
    "index folder": file("index"),
    "graph manifest": largest("graph", "MANIFEST-*"),
    "graph table": largest("graph", "*.sst"),
    "graph digests": file("graph/digests.json"),
    "graph position": file("graph/position"),
    "graph folder": file("graph"),
    "sources.db": file("graph/sources.db"),
    "checkpoint": lambda root: largest(f"checkpoints/{checkpoint_in(root)}", "MANIFEST-*")(root),
    "checkpoint table": lambda root: largest(f"checkpoints/{checkpoint_in(root)}", "*.sst")(root),
    "checkpoints": file("checkpoints"),
    "learned": file("learned"),
    "chronicle": file("chronicle"),
    "plugged.json": file("plugged.json"),
    "gossamer.toml": file("gossamer.toml"),
    "rules.txt": file("rules.txt"),
    "vocabulary.ttl": file("vocabulary.ttl"),
    "token": file("token"),
    "reader-token": file("reader-token"),
    "writer.lock": file("writer.lock"),
    "indexer.lock": file("indexer.lock"),
    "facts.lock": file("facts.lock"),
}
OWN_TEXT = frozenset(("rules.txt", "gossamer.toml", "vocabulary.ttl"))
"""Written by the user and without a checksum: a different valid text is taken as the user's."""
CHECKED_BY_VERIFY = frozenset(("index terms", "index store", "graph table", "checkpoint table", "links.db"))
"""Too large to be read completely each time: `gossamer verify` does that, and is run."""
DISPENSABLE = frozenset([("control.db", "gone")])
"""Heartbeats of processes: the file may be deleted at any time, and then no process is known yet."""
CAUGHT_UP = frozenset(("index position", "graph position", "graph digests", "checkpoints"))
"""How far a view is, the digests of its files, and the copy of the facts that is queried: every crawl starts by making
them again, without loss, as its own cells show. So `verify` reports that the view is behind, and what to do, and does
not fail."""
VERIFIED = frozenset(KINDS) & {
    "archive volume",
    "state.db",
    "links.db",
    "index terms",
    "index store",
    "index meta",
    "index format",
    "index position",
    "index folder",
    "graph manifest",
    "graph table",
    "graph digests",
    "graph position",
    "graph folder",
    "sources.db",
    "checkpoint",
    "checkpoint table",
    "checkpoints",
}
"""The files that `verify` checks: damage of these that it does not report is `unnoticed`."""
WITHOUT_CHECKSUMS = frozenset(("state.db", "links.db", "sources.db"))
"""SQLite has none: its check finds a bit that breaks the file's structure, but not one in a value or in free space."""
FOLDERS = frozenset(("index folder", "graph folder", "checkpoints"))


@dataclass(slots=True)
class Cell:
    kind: str
    how: str
    command: str
    verdict: str
    """"same", "named", or the error."""
    output: str = ""

    @property
    def is_right(self) -> bool:
        return self.verdict in ("same", "named", "own text", "left to verify")


@dataclass(slots=True)
class Undamaged:
    """The collection before it is damaged, with the output of each command and the result that it leaves."""

    root: Path
    origin: str
    warc: Path
    outputs: dict[str, Ended] = field(default_factory=dict)
    results: dict[str, object] = field(default_factory=dict)


def checkpoint_in(root: Path) -> str:
    found = newest(DiskFiles(), Directory(root).checkpoints)
    assert found is not None, "no checkpoint"
    return found.folder.name


def result_of(command: str, root: Path) -> object:
    return state_in(root) if command == "state" else views_in(root)


def state_in(root: Path) -> object:
    with closing(read_only(Directory(root).state)) as state:
        kept = [(one.url.text, one.fetched_at, one.digest, one.is_page) for one in captures.in_order(state)]
        return kept, stored_seeds(state), forgotten.every(state), stored_options(state), tallies.counts(state)


def views_in(root: Path) -> tuple[Held, str]:
    found = newest(DiskFiles(), Directory(root).checkpoints)
    return held(root), facts_digest(opened(found.folder)) if found is not None else ""


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


def run(undamaged: Undamaged, root: Path, command: str, scratch: Path) -> Ended:
    words = COMMANDS[command].format(origin=undamaged.origin, scratch=scratch, warc=undamaged.warc).split()
    words += [*(QUICK if command == "crawl" else ()), "--dir", str(root)]
    for _ in range(5):
        done = served(words, undamaged.origin, scratch) if command == "serve" else ran(words, scratch, obeys_modes=True)
        if "The query was stopped" not in done.errors:  # it may be stopped on a busy machine, with any damage
            break
    return Ended(done.code, *(comparable(text, command, root, scratch) for text in (done.out, done.errors)))


def comparable(text: str, command: str, root: Path, scratch: Path) -> str:
    text = TIMES.sub("_", text.replace(str(root), "DIR").replace(str(scratch), "SCRATCH"))
    return LIFE.sub("_", SIZES.sub("_", text)) if command in MEASURED else text


def unlike(before: Ended, done: Ended) -> list[str]:
    """The lines that are not in the output before the damage."""
    known = set((before.out + "\n" + before.errors).splitlines())
    return [line for line in (done.out + "\n" + done.errors).splitlines() if line not in known]


def is_named(lines: list[str], kind: str, path: Path, root: Path) -> bool:
    """Whether these lines name the damaged file, or the view it is of, and the next step."""
    parts = path.relative_to(root).parts
    names = any(re.search(rf"(?<![\w.-]){re.escape(part)}(?![\w-])", line) for part in parts for line in lines)
    return names and (kind in OWN_TEXT or any(map(NEXT_STEP.search, lines)))


def is_noticed_by_verify(undamaged: Undamaged, kind: str, path: Path, root: Path, scratch: Path) -> bool:
    done = run(undamaged, root, "verify", scratch)
    return done.code == DAMAGED and is_named((done.out + done.errors).splitlines(), kind, path, root)


def judged(undamaged: Undamaged, one: Cell, done: Ended, path: Path, root: Path) -> str:
    before = undamaged.outputs[one.command]
    if any(word in done.errors for word in ("Traceback", "PanicException", "panicked at")):
        return "traceback"
    may_succeed = one.command in REPORTS or (one.command == "verify" and one.kind in CAUGHT_UP)
    if (done.code or may_succeed) and is_named(unlike(before, done), one.kind, path, root):
        return "named"
    if one.command in CHANGES:
        return "no next step" if done.code else result_verdict(undamaged, one, path, root)
    if (done.code, done.out) == (before.code, before.out):
        is_seen = one.command != "verify" or one.kind not in VERIFIED
        return "same" if is_seen or (one.how == "bit" and one.kind in WITHOUT_CHECKSUMS) else "unnoticed"
    if (one.kind, one.how) in DISPENSABLE and done.code == before.code:
        return "same"
    if one.kind in OWN_TEXT and not done.code:
        return "own text"
    return "no next step" if done.code else unless_verify_finds(undamaged, one, path, root, "silent")


def result_verdict(undamaged: Undamaged, one: Cell, path: Path, root: Path) -> str:
    """The verdict on the result of a command that writes and reports no error."""
    try:
        if result_of(one.command, root) == undamaged.results[one.command]:
            return "same"
        return unless_verify_finds(undamaged, one, path, root, "other views")
    except (GossamerError, OSError, ValueError, RuntimeError, sqlite3.Error):
        return unless_verify_finds(undamaged, one, path, root, "damage left")


def unless_verify_finds(undamaged: Undamaged, one: Cell, path: Path, root: Path, otherwise: str) -> str:
    is_allowed = one.how == "bit" and one.kind in CHECKED_BY_VERIFY and one.command != "verify"
    is_fine = is_allowed and is_noticed_by_verify(undamaged, one.kind, path, root, root.parent)
    return "left to verify" if is_fine else otherwise


def cell(undamaged: Undamaged, kind: str, how: str, command: str, scratch: Path) -> Cell:
    root = Path(shutil.copytree(undamaged.root, scratch / "c"))
    path = KINDS[kind](root)
    try:
        damage(path, how)
        done = run(undamaged, root, command, scratch)
        if how == "mode" and path.exists():
            path.chmod(0o700)
        found = Cell(kind, how, command, "")
        found.verdict = judged(undamaged, found, done, path, root)
        new_lines = "\n    ".join(line[:400] for line in unlike(undamaged.outputs[command], done))
        found.output = f"exit code {done.code}\n    {new_lines}"
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
    "unnoticed": "U",
    "other views": "V",
    "damage left": "L",
    "no next step": "?",
}


def table(cells: list[Cell]) -> str:
    """Kinds of files and of damage in rows, commands in columns."""
    rows = list(dict.fromkeys((one.kind, one.how) for one in cells))
    commands = list(dict.fromkeys(one.command for one in cells))
    lines = [" " * 24 + " ".join(f"{name[:6]:6}" for name in commands)]
    for kind, how in rows:
        found = {one.command: SIGNS[one.verdict] for one in cells if (one.kind, one.how) == (kind, how)}
        lines.append(f"{kind:17}{how:7}" + " ".join(f"{found.get(name, ''):6}" for name in commands))
    counts = {name: sum(one.verdict == name for one in cells) for name in SIGNS}
    summary = ", ".join(f"{name} {number}" for name, number in counts.items())
    return "\n".join(
        [*lines, "   ".join(f"{sign} {name}" for name, sign in SIGNS.items()), f"{len(cells)} cells: {summary}"]
    )
