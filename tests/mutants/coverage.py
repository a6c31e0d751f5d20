"""Which tests run which statements of the mutated modules, in every process that a test starts.

The modules are copied with a store into a shared memory map before each statement, so that a child, also one that is
killed, reports what it ran, at the cost of one assignment. Tracing would not follow children, and is far slower.
"""

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

RECORDER = "mutant_hits"
"""The module, next to the package, that instrumented modules import."""
TEXT = """import mmap
with open({path!r}, "r+b") as file:
    HITS = mmap.mmap(file.fileno(), 0)
"""


@dataclass(frozen=True)
class Place:
    """A statement. Its line is relative to its function, so that it stays the same when the function moves."""

    module: str
    where: str
    line: int

    @property
    def function(self) -> str:
        return f"{self.module} {self.where}"

    def __str__(self) -> str:
        return f"{self.function} {self.line}"


@dataclass
class Measured:
    """A test: how long it took, and which statements it ran."""

    name: str
    seconds: float
    places: frozenset[str]
    opening_s: float = 0.0
    """The time of the slowest test of its file: the first one to run sets up shared fixtures."""
    functions: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.functions = frozenset(place.rpartition(" ")[0] for place in self.places)

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Instrument(ast.NodeTransformer):
    """Puts `HITS[n] = 1` before each statement; `places[n]` is the statement."""

    def __init__(self, places: list[Place]) -> None:
        self.places = places
        self._module = ""
        self._where: list[tuple[str, int]] = []

    def of(self, module: str, source: str) -> str:
        self._module = module
        tree = self.visit(ast.parse(source))
        after = next((at for at, node in enumerate(tree.body) if not _comes_first(node)), 0)
        tree.body.insert(after, ast.parse(f"from {RECORDER} import HITS as _hits").body[0])
        return ast.unparse(ast.fix_missing_locations(tree))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        is_scope = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_scope:
            self._where.append((node.name, node.lineno))  # type: ignore[attr-defined]
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and self._where:
                setattr(node, name, [made for statement in body for made in self._marked(statement)])
        if is_scope:
            self._where.pop()
        return node

    def _marked(self, node: ast.stmt) -> Sequence[ast.stmt]:
        if _comes_first(node):
            return [node]
        self.places.append(place_of(self._module, self._where, node.lineno))
        return [*ast.parse(f"_hits[{len(self.places) - 1}] = 1").body, node]


def _comes_first(node: ast.stmt) -> bool:
    """A docstring or an import from __future__, which must come first."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def place_of(module: str, scopes: Sequence[tuple[str, int]], line: int) -> Place:
    return Place(module, ".".join(name for name, _ in scopes) or "<module>", line - scopes[-1][1] if scopes else line)


def scopes_at(tree: ast.AST, line: int) -> list[tuple[str, int]]:
    """The classes and functions around a line, outermost first, each with its first line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= (node.end_lineno or line):
                found.append((node.name, node.lineno))
    return sorted(found, key=lambda scope: scope[1])


def statement_line(tree: ast.AST, line: int) -> int:
    """The first line of the innermost statement that contains `line`."""
    starts = [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno
    ]
    return max(starts, default=line)


def digest(*texts: bytes) -> str:
    made = hashlib.sha256()
    for text in texts:
        made.update(text)
    return made.hexdigest()[:16]


def save(path: Path, key: str, tests: Sequence[Measured], sources: Mapping[str, str]) -> None:
    """`key` stands for the test file; `sources` are the modules that were measured."""
    names = sorted({place for test in tests for place in test.places})
    numbers = {name: number for number, name in enumerate(names)}
    rows = [[test.name, round(test.seconds, 2), sorted(numbers[place] for place in test.places)] for test in tests]
    ran = {name.partition(" ")[0] for name in names}
    digests = {module: digest(sources[module].encode()) for module in sorted(ran)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "modules": digests, "places": names, "tests": rows}))


def load(path: Path, key: str, sources: Mapping[str, str]) -> list[Measured] | None:
    """Earlier measurements; None if the test file, or a module that it ran, has changed."""
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    same = (module in sources and digest(sources[module].encode()) == was for module, was in kept["modules"].items())
    if kept["key"] != key or not all(same):
        return None
    places = kept["places"]
    opening_s = max((seconds for _, seconds, _ in kept["tests"]), default=0.0)
    return [
        Measured(name, seconds, frozenset(places[at] for at in hits), opening_s)
        for name, seconds, hits in kept["tests"]
    ]
