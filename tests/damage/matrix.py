"""The damage matrix: each kind of file, damaged in each way, under each command.

A cell is right when there is no traceback, and the command
- answers as it does over the whole collection, and leaves the same views (`same`), or
- differs only by what a text of the user's says now (`own text`), or
- differs, or leaves a view damaged, by one bit in a file that is too large to be read through each time, and
  `gossamer verify`, run then and there, names it (`left to verify`), or
- names the damaged file or view, and the next step: a `gossamer` command, its owner and mode to check, or the file of
  the user's to mend (`named`). Commands whose purpose is to report may end with exit code 0 then, others may not.
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
"""A flipped bit, a zeroed page, half of it missing, the file missing, a file that its owner may not open."""
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
"""They write: what they leave is compared, not what they print. Of `rebuild --state`, which writes no views and reads
links.db alone, that is state.db; of the others the views."""
REPORTS = frozenset(("status", "top", "serve"))
"""They say how things are: damage may be a part of their answer, with exit code 0."""
NEXT_STEP = re.compile(
    r"gossamer (?:rebuild|verify|crawl|serve|import|backup|forget)\b|check its owner and mode"
    r"|checks who owns it and its mode"
)
TIMES = re.compile(
    r'"(?:took_s|as_of|silent_s|at|pid)": *[\d.]+|as of \S+|\d{4}-\d\d-\d\d[T ][\d:.]+Z?'
    r"|[\d.,]+ (?:ms|s|min|h|seconds?|minutes?|hours?|days?)\b(?: ago)?"
)
SIZES = re.compile(r"[\d.,]+ (?:%|(?:kB|MB|GB|B|bytes)\b)| {2,}")
LIFE = re.compile(r"[●○▲] (?:at rest|late, )")
"""A crawl that ended a moment ago was heard of late, and later is at rest."""
MEASURED = frozenset(("status", "top", "plan", "freshness"))
"""They say how large files and processes are, which differs from run to run."""


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
    "graph digests": beside("graph/digests.json"),
    "graph position": beside("graph/position"),
    "graph folder": beside("graph"),
    "sources.db": beside("graph/sources.db"),
    "checkpoint": lambda root: largest(f"checkpoints/{checkpoint_in(root)}", "MANIFEST-*")(root),
    "checkpoint table": lambda root: largest(f"checkpoints/{checkpoint_in(root)}", "*.sst")(root),
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
CHECKED_BY_VERIFY = frozenset(("index terms", "index store", "graph table", "checkpoint table", "links.db"))
"""Too large to be read through each time: `gossamer verify` does that, and is asked to."""
HOLDS_NOTHING = frozenset([("control.db", "gone")])
"""Signs of life of processes: the file may be deleted at any time, and then nobody has been seen yet."""
CAUGHT_UP = frozenset(("index position", "graph position", "graph digests", "checkpoints"))
"""How far a view is, what its files were like, and the copy of the facts that is queried: every crawl begins by making
them again, without loss, which its own cells show. So `verify` says that the view is behind, and what to do, and does
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
"""What `verify` is for: damage of these that it says nothing of is `unnoticed`."""
WITHOUT_CHECKSUMS = frozenset(("state.db", "links.db", "sources.db"))
"""SQLite has none: its check finds a bit that breaks the structure of the file, not one in a value or in free space."""
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
    """The collection before it is damaged, what each command says of it, and what each leaves."""

    root: Path
    origin: str
    warc: Path
    said: dict[str, Ended] = field(default_factory=dict)
    left: dict[str, object] = field(default_factory=dict)


def checkpoint_in(root: Path) -> str:
    found = newest(DiskFiles(), Directory(root).checkpoints)
    assert found is not None, "no checkpoint"
    return found.folder.name


def left_by(command: str, root: Path) -> object:
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


def asked(whole: Whole, root: Path, command: str, scratch: Path) -> Ended:
    words = COMMANDS[command].format(origin=whole.origin, scratch=scratch, warc=whole.warc).split()
    words += [*(QUICK if command == "crawl" else ()), "--dir", str(root)]
    for _ in range(5):
        done = served(words, whole.origin, scratch) if command == "serve" else ran(words, scratch, obeys_modes=True)
        if "The query was stopped" not in done.told:  # on a busy machine it may be, whatever the damage
            break
    return Ended(done.code, *(comparable(text, command, root, scratch) for text in (done.out, done.told)))


def comparable(text: str, command: str, root: Path, scratch: Path) -> str:
    text = TIMES.sub("_", text.replace(str(root), "DIR").replace(str(scratch), "SCRATCH"))
    return LIFE.sub("_", SIZES.sub("_", text)) if command in MEASURED else text


def unlike(before: Ended, done: Ended) -> list[str]:
    """The lines that were not there before the damage."""
    known = set((before.out + "\n" + before.told).splitlines())
    return [line for line in (done.out + "\n" + done.told).splitlines() if line not in known]


def is_named(lines: list[str], kind: str, path: Path, root: Path) -> bool:
    """Whether these lines name the damaged file, or the view it is of, and the next step."""
    parts = path.relative_to(root).parts
    names = any(re.search(rf"(?<![\w.-]){re.escape(part)}(?![\w-])", line) for part in parts for line in lines)
    return names and (kind in OWN_TEXT or any(map(NEXT_STEP.search, lines)))


def is_noticed_by_verify(whole: Whole, kind: str, path: Path, root: Path, scratch: Path) -> bool:
    done = asked(whole, root, "verify", scratch)
    return done.code == DAMAGED and is_named((done.out + done.told).splitlines(), kind, path, root)


def judged(whole: Whole, one: Cell, done: Ended, path: Path, root: Path) -> str:
    before = whole.said[one.command]
    if any(word in done.told for word in ("Traceback", "PanicException", "panicked at")):
        return "traceback"
    may_succeed = one.command in REPORTS or (one.command == "verify" and one.kind in CAUGHT_UP)
    if (done.code or may_succeed) and is_named(unlike(before, done), one.kind, path, root):
        return "named"
    if one.command in CHANGES:
        return "no next step" if done.code else left(whole, one, path, root)
    if (done.code, done.out) == (before.code, before.out):
        is_seen = one.command != "verify" or one.kind not in VERIFIED
        return "same" if is_seen or (one.how == "bit" and one.kind in WITHOUT_CHECKSUMS) else "unnoticed"
    if (one.kind, one.how) in HOLDS_NOTHING and done.code == before.code:
        return "same"
    if one.kind in OWN_TEXT and not done.code:
        return "own text"
    return "no next step" if done.code else passed_over(whole, one, path, root, "silent")


def left(whole: Whole, one: Cell, path: Path, root: Path) -> str:
    """What a command that writes, and says that all is well, has left."""
    try:
        if left_by(one.command, root) == whole.left[one.command]:
            return "same"
        return passed_over(whole, one, path, root, "other views")
    except (GossamerError, OSError, ValueError, RuntimeError, sqlite3.Error):
        return passed_over(whole, one, path, root, "damage left")


def passed_over(whole: Whole, one: Cell, path: Path, root: Path, otherwise: str) -> str:
    is_allowed = one.how == "bit" and one.kind in CHECKED_BY_VERIFY and one.command != "verify"
    is_fine = is_allowed and is_noticed_by_verify(whole, one.kind, path, root, root.parent)
    return "left to verify" if is_fine else otherwise


def cell(whole: Whole, kind: str, how: str, command: str, scratch: Path) -> Cell:
    root = Path(shutil.copytree(whole.root, scratch / "c"))
    path = KINDS[kind](root)
    try:
        damage(path, how)
        done = asked(whole, root, command, scratch)
        if how == "mode" and path.exists():
            path.chmod(0o700)
        found = Cell(kind, how, command, "")
        found.verdict = judged(whole, found, done, path, root)
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
    "unnoticed": "U",
    "other views": "V",
    "damage left": "L",
    "no next step": "?",
}


def table(cells: list[Cell]) -> str:
    """Kinds and ways down, commands across."""
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
