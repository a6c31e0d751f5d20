"""The damage matrix: each kind of file, damaged in each way, under each command.

A command passes when it does not end in a traceback, and either answers as it does over the whole collection, or says
in words what is wrong and what to do next.
"""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.app.site import QUICK, gossamer

HOWS = ("bit", "zeros", "short", "gone", "mode")
"""A flipped bit, a zeroed page, half of it missing, the file missing, a file nobody may open."""
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
    "compact": "compact --dry-run --keep last:1",
    "forget": "forget {origin}docs/knots --dry-run",
    "verify": "verify",
    "backup": "backup {scratch}/backup",
    "import": "import {warc}",
    "crawl": "crawl",
    "rebuild": "rebuild",
}
CHANGES = frozenset(("import", "crawl", "rebuild"))
"""They write. Only their exit code is compared, not what they leave."""
MENDS = ("gossamer rebuild", "owner and mode", "written anew", "writes it anew", "gossamer verify", "made anew")
VARIES = re.compile(
    r'"(?:took_s|as_of|silent_s|at)": *[\d.]+|as of \S+|[\d.]+ (?:ms|s|min|h|seconds?|minutes?|hours?|days?)\b(?: ago)?'
)


def view(name: str) -> Callable[[Path], Path]:
    """The largest file of a view."""
    return lambda root: max(
        (one for one in (root / name).rglob("*") if one.is_file()), key=lambda one: one.stat().st_size
    )


KINDS: dict[str, Callable[[Path], Path]] = {
    "state.db": lambda root: root / "state.db",
    "control.db": lambda root: root / "control.db",
    "links.db": lambda root: root / "links.db",
    "index segment": view("index"),
    "index meta": lambda root: root / "index" / "meta.json",
    "index position": lambda root: root / "index" / "position",
    "graph": lambda root: next((root / "graph").glob("MANIFEST-*")),
    "sources.db": lambda root: root / "graph" / "sources.db",
    "checkpoint": lambda root: next(sorted((root / "checkpoints").glob("facts-*"))[-1].glob("MANIFEST-*")),
    "learned": lambda root: root / "learned",
    "chronicle": lambda root: root / "chronicle",
    "plugged.json": lambda root: root / "plugged.json",
    "gossamer.toml": lambda root: root / "gossamer.toml",
    "rules.txt": lambda root: root / "rules.txt",
    "writer.lock": lambda root: root / "writer.lock",
}


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
        return self.verdict in ("same", "named")


@dataclass(slots=True)
class Whole:
    """The collection before it is damaged, and what each command says of it."""

    root: Path
    origin: str
    warc: Path
    said: dict[str, tuple[int, str]] = field(default_factory=dict)


def damage(path: Path, how: str) -> None:
    content = path.read_bytes() if path.is_file() else b""
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


def asked(whole: Whole, root: Path, command: str, scratch: Path) -> tuple[int, str, str]:
    words = COMMANDS[command].format(origin=whole.origin, scratch=scratch, warc=whole.warc).split()
    more = QUICK if command == "crawl" else ()
    done = gossamer(*words, *more, "--dir", root)
    return done.returncode, VARIES.sub("_", done.stdout.replace(str(root), "DIR")), done.stderr


def judged(whole: Whole, command: str, code: int, out: str, told: str) -> str:
    if "Traceback" in told or "PanicException" in told:
        return "traceback"
    if any(words in told + out and words not in whole.said[command][1] for words in MENDS):
        return "named"
    if (code, out) == whole.said[command] or (command in CHANGES and code == whole.said[command][0]):
        return "same"
    return "silent" if code == 0 else "no next step"


def cell(whole: Whole, kind: str, how: str, command: str, scratch: Path) -> Cell:
    root = Path(shutil.copytree(whole.root, scratch / "c"))
    try:
        damage(KINDS[kind](root), how)
        try:
            code, out, told = asked(whole, root, command, scratch)
        except AssertionError as trouble:  # a traceback
            return Cell(kind, how, command, "traceback", str(trouble)[-600:])
        return Cell(kind, how, command, judged(whole, command, code, out, told), f"{code}: {told}{out}"[:600])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def table(cells: list[Cell]) -> str:
    """Kinds and ways down, commands across: + answered as before, ! named with the next step, else the fault."""
    signs = {"same": "+", "named": "!", "traceback": "T", "silent": "S", "no next step": "?"}
    rows = list(dict.fromkeys((one.kind, one.how) for one in cells))
    commands = list(dict.fromkeys(one.command for one in cells))
    lines = [" " * 22 + " ".join(f"{name[:6]:6}" for name in commands)]
    for kind, how in rows:
        found = {one.command: signs[one.verdict] for one in cells if (one.kind, one.how) == (kind, how)}
        lines.append(f"{kind:15}{how:7}" + " ".join(f"{found.get(name, ''):6}" for name in commands))
    return "\n".join([*lines, "+ as before   ! named, with the next step   S silent   T traceback   ? no next step"])


def can_drop() -> bool:
    """Whether modes bind: not for root."""
    return os.geteuid() != 0
