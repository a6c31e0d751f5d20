"""Figures of the architecture: `python -m tests.architecture.figures` prints them."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
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
    ["cluster", "demo", "lab"],
    ["web", "api", "testing"],
    ["cli"],
]
"""Which room may import which: each one those on lines before its own. See docs/architecture.md."""
LEVEL = {room: level for level, rooms in enumerate(LINES) for room in rooms}
PARTICIPLES_ALLOWED = {
    "testing": "public: `gossamer.testing` ships the fakes",
    "tuning": "a noun: the settings of one process (nice, gc, malloc)",
    "coding": "a noun: RFC 9110 calls gzip and br content codings",
    "reading": "a noun: what a reader makes of a capture",
}
"""Module names in -ing that are nouns, with the reason. No others."""


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
    """Each import: its statement and the dotted name of what is imported."""
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
    """Imports of a room on the same line or a later one."""
    return [
        f"{module.name} imports {used}"
        for module in modules()
        if module.room not in ("__init__", "__main__")
        for used in sorted(rooms_used(module) & LEVEL.keys())
        if LEVEL[used] >= LEVEL[module.room]
    ]


@cache
def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    known = {module.dotted for module in modules()}
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for _, name in imported(module.tree):
            if name in known and name != module.dotted:
                found[name].add(module.dotted)
    return found


SINGLE_IMPORTERS = {
    "archive/segments/check.py": "what `cluster init` tries of a storage; services.py there tries all four",
    "cli/commands.py": "the list of commands: the one place to edit for a new one",
    "collection/cluster/files.py": "what users may store in a cluster; cli/cluster/files.py prints it",
    "extract/rdfa/notices.py": "what is wrong with the markup, on request; the reader states facts",
    "frontier/sqlite/requeue.py": "the statements of one store; the decisions are in frontier/requeue.py for both",
    "web/exports.py": "the pages of downloads; web/app.py lists all modules of pages",
}
"""Modules below 100 lines with one importer that are ideas of their own, with the reason. No others."""


def single_importers() -> list[str]:
    """Modules below 100 lines that only one other module imports."""
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
    """Public class names that several modules define."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


STORE_ROOMS = {"store", "frontier", "collection"}
DATABASE_ROOMS = STORE_ROOMS | {"views", "monitor"}


def state_named() -> list[str]:
    """Modules that open or name `state.db` although their room should not."""
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
    """Constructors with more than 6 parameters; dataclasses have none of their own."""
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
"""They take any number of arguments of the same kind."""


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


def knots() -> list[str]:
    """Modules in import cycles, and those that import them."""
    sorter: TopologicalSorter[str] = TopologicalSorter({module.dotted: () for module in modules()})
    for used, users in importers().items():
        for user in users:
            sorter.add(user, used)
    with suppress(CycleError):
        sorter.prepare()
    free: set[str] = set()
    while ready := sorter.get_ready():
        free.update(ready)
        sorter.done(*ready)
    return sorted({module.dotted for module in modules()} - free)


NAMED = re.compile(r"gossamer((?:\.\w+)+)(?::(\w+))?")
"""A module, or something in it, named in a string: commands, jobs of workers, processes, the lazy names of the API."""
ROOTS = ("gossamer.__init__", "gossamer.__main__", "gossamer.cli.main", "gossamer.testing")
"""The entry points of programs and of tests of other projects: everything else must be reachable from them."""
OUTSIDE_USE = {
    "router": "web/app.py uses the router of every module of pages",
    "gossamer.testing": "shipped fakes for the tests of other projects",
    "gossamer.api:open": "the public name `gossamer.open`, imported on first use",
    "gossamer.store.postgres.state:open_reader": "called on a module imported on first use: psycopg is an extra",
    "gossamer.store.postgres.state:prepare": "likewise",
    "gossamer.store.postgres.state:refuse_newer_tables": "likewise",
    "gossamer.views.links.service:service_reader": "likewise, by `views.links.place`",
    "gossamer.frontier.postgres.maintenance": "likewise, by `frontier.choice.shared_maintenance`",
    "gossamer.demo.server:read_log": "reads the log of a server that runs as its own process, for the crash harness",
}
"""Public symbols that seem unused in src, by name, module or `module:symbol`, with the reason."""


class Names(NamedTuple):
    """The names in one module that may refer to public symbols of the package."""

    imported: dict[str, str]
    """By local name: the dotted name it was imported from."""
    used: Counter[str]
    """Names that are loaded, also in annotations that are strings."""
    attributes: set[tuple[str, str]]
    """(name, attribute) of a plain name."""
    strings: set[str]
    """Dotted names of the package in strings, with `:` before a symbol."""


@cache
def names_of(module: Module) -> Names:
    names = Names({}, Counter(), set(), set())
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            names.imported.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Import):
            names.imported.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.used[node.id] += 1
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.attributes.add((node.value.id, node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            if "gossamer." in node.value:
                names.strings.update(f"gossamer{path}{':' * bool(symbol)}{symbol}"
                                     for path, symbol in NAMED.findall(node.value))  # fmt: skip
            if not re.search(r"[a-z] [a-z]", node.value):  # no prose: it may be an annotation
                names.used.update(re.findall(r"[A-Za-z_]\w+", node.value))
    return names


def public_symbols(module: Module) -> Iterator[tuple[str, int]]:
    """Functions, classes and constants of a module, with how often each names itself in its own definition."""
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = sum(isinstance(one, ast.Name) and one.id == node.name for one in ast.walk(node))
            names, itself = [node.name], inner
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names, itself = [one.id for one in targets if isinstance(one, ast.Name)], 0
        else:
            continue
        yield from ((name, itself) for name in names if not name.startswith("_"))


def unused_symbols() -> list[str]:
    """Public symbols that nothing in src uses: at most tests do."""
    used: set[str] = set()
    for module in modules():
        names = names_of(module)
        used |= set(names.imported.values()) | {one.replace(":", ".") for one in names.strings}
        used |= {
            f"{names.imported[name]}.{attribute}" for name, attribute in names.attributes if name in names.imported
        }
    return [
        f"{module.name}: {name}"
        for module in modules()
        if module.dotted not in OUTSIDE_USE
        for name, itself in public_symbols(module)
        if f"{module.dotted}.{name}" not in used and names_of(module).used[name] <= itself
        if not {name, f"{module.dotted}:{name}"} & OUTSIDE_USE.keys()
    ]


def unreached_modules() -> list[str]:
    """Modules that no command, page, job, process or public name reaches."""
    known = {module.dotted: module for module in modules()}
    waiting, reached = [name for name in ROOTS if name in known], set()
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        module = known[name]
        named = {one for _, one in imported(module.tree)} | {one.partition(":")[0] for one in names_of(module).strings}
        for one in named:
            waiting += [one] if one in known else [one.rpartition(".")[0]] if one.rpartition(".")[0] in known else []
    return sorted(set(known) - reached - {module.dotted for module in modules() if module.path.name == "__init__.py"})


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
        "modules in import cycles": len(knots()),
        "public symbols that nothing in src uses": len(unused_symbols()),
        "modules that no command, page, job or public name reaches": len(unreached_modules()),
    }


LISTS = (knots, unused_symbols, unreached_modules, single_importers, participles, upward_imports, state_named,
         databases_imported, long_constructors, long_calls)  # fmt: skip

if __name__ == "__main__":
    for name, number in figures().items():
        print(f"{number:7,}  {name}")
    for listed in LISTS:
        print(f"\n{listed.__name__}:", *listed(), sep="\n  ")
