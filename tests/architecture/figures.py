"""The figures of the house, counted: `python -m tests.architecture.figures` prints them."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "gossamer"

LINES = [
    ["base"],
    ["values"],
    ["config"],
    ["rules", "parse", "extract", "recrawl"],
    ["store", "workers", "spool"],
    ["frontier", "fetch", "archive", "views"],
    ["search", "monitor"],
    ["plugins"],
    ["reader"],
    ["crawler", "indexer"],
    ["collection"],
    ["demo", "lab"],
    ["web", "api", "testing"],
    ["cli"],
]
"""Who may import whom: what stands above, from what stands before it in this list. See docs/architecture.md."""
LEVEL = {room: level for level, rooms in enumerate(LINES) for room in rooms}
PARTICIPLES_ALLOWED = {"testing", "tuning", "coding", "reading"}
"""Nouns of the plan: a content coding is RFC 9110's word, a reading what a reader makes of a capture."""


class Module(NamedTuple):
    path: Path
    name: str
    """Relative to the package: "frontier/api.py"."""
    tree: ast.Module
    lines: int

    @property
    def room(self) -> str:
        return self.name.partition("/")[0].removesuffix(".py")

    @property
    def dotted(self) -> str:
        return "gossamer." + self.name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


@cache
def modules() -> list[Module]:
    return [
        Module(path, str(path.relative_to(SRC)), ast.parse(text := path.read_text()), len(text.splitlines()))
        for path in sorted(SRC.rglob("*.py"))
    ]


def imported(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Each import: its statement, and the dotted name of what is imported (of a package's module, the module's)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room"
            yield node, node.module or ""
            if (node.module or "").partition(".")[0] == "gossamer":
                for alias in node.names:
                    yield node, f"{node.module}.{alias.name}"


def rooms_used(module: Module) -> set[str]:
    return {name.split(".")[1] for _, name in imported(module.tree) if name.startswith("gossamer.")} - {module.room}


def upward_imports() -> list[str]:
    """Imports of a room on the same line, or above."""
    return [
        f"{module.name} imports {used}"
        for module in modules()
        if module.room not in ("__init__", "__main__")
        for used in sorted(rooms_used(module) & LEVEL.keys())
        if LEVEL[used] >= LEVEL[module.room]
    ]


@cache
def importers() -> dict[str, set[str]]:
    """By module: who imports it."""
    known = {module.dotted for module in modules()}
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for _, name in imported(module.tree):
            if name in known and name != module.dotted:
                found[name].add(module.dotted)
    return found


def single_importers() -> list[str]:
    """Modules below 100 lines that exist for one other."""
    return [
        f"{module.name} ({module.lines}) only for {min(users)}"
        for module in modules()
        if module.lines < 100 and len(users := importers().get(module.dotted, set())) == 1
        if module.path.name != "__init__.py"
    ]


def folders() -> Counter[str]:
    return Counter(
        str(module.path.parent.relative_to(SRC)) for module in modules() if module.path.name != "__init__.py"
    )


def participles() -> list[str]:
    return [m.name for m in modules() if m.path.stem.endswith("ing") and m.path.stem not in PARTICIPLES_ALLOWED]


def shared_class_names() -> dict[str, list[str]]:
    """Public class names that mean several things."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


STORE_ROOMS = {"store", "frontier", "collection"}
DATABASE_ROOMS = STORE_ROOMS | {"views", "monitor"}


def state_named() -> list[str]:
    """Modules that open or name `state.db` and should not."""
    return [
        module.name
        for module in modules()
        if module.room not in STORE_ROOMS and module.name != "base/errors.py"
        if any(isinstance(node, ast.Attribute) and node.attr == "state" and "irectory" in ast.unparse(node.value)
               for node in ast.walk(module.tree))
        or any(name == "gossamer.store.sqlite.database.read_only" for _, name in imported(module.tree))
    ]  # fmt: skip


def databases_imported() -> list[str]:
    return [
        module.name
        for module in modules()
        if module.room not in DATABASE_ROOMS
        if any(name.partition(".")[0] in ("sqlite3", "psycopg") for _, name in imported(module.tree))
    ]


def long_constructors() -> list[str]:
    """Constructors of more than 6 parameters; a frozen value is none."""
    found = []
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                        amount = len(method.args.args) + len(method.args.kwonlyargs) - 1
                        if amount > 6:
                            found.append(f"{module.name} {node.name}: {amount}")
    return found


VARIADIC = {"about", "Group"}
"""They take any number of things that are alike."""


def long_calls() -> list[str]:
    """Calls with nine or more arguments by position."""
    return [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and len(node.args) >= 9
        and ast.unparse(node.func).rpartition(".")[2] not in VARIADIC
    ]


def figures() -> dict[str, int]:
    return {
        "files": len(modules()),
        "lines": sum(module.lines for module in modules()),
        "modules in the fullest folder": max(folders().values()),
        "module names ending in -ing": len(participles()),
        "public class names with two meanings": len(shared_class_names()),
        "modules below 100 lines with a single importer": len(single_importers()),
        "upward or sideways imports": len(upward_imports()),
        "modules that name state.db": len(state_named()),
        "modules that import a database": len(databases_imported()),
        "constructors with more than 6 parameters": len(long_constructors()),
        "calls with 9 or more positional arguments": len(long_calls()),
    }


if __name__ == "__main__":
    for name, number in figures().items():
        print(f"{number:7,}  {name}")
