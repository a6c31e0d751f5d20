"""The rules of the architecture: imports between rooms, access to the outside, sizes."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.architecture.figures import (
    LEVEL,
    LINES,
    ROOT,
    SINGLE_IMPORTERS,
    figures,
    imported,
    modules,
    single_importers,
)

LIMITS = {
    "files": 496,
    "lines": 89_300,
    "modules in the fullest folder": 16,
    "module names ending in -ing": 0,
    "public class names with two meanings": 0,
    "modules below 100 lines with a single importer": 7,
    "upward or sideways imports": 0,
    "modules that name state.db": 0,
    "modules that import a database": 0,
    "constructors with more than 6 parameters": 0,
    "calls with 9 or more positional arguments": 0,
    "modules in import cycles": 0,
    "public symbols that nothing in src uses": 0,
    "modules that no command, page, job or public name reaches": 0,
}
"""The current figures. Make a number smaller, never larger: only new features may add files and lines."""

PURE = ("values", "config", "rules", "parse", "extract", "recrawl")
OUTSIDE = {
    "asyncio", "socket", "ssl", "sqlite3", "os", "time", "random", "logging", "subprocess",
    "multiprocessing", "threading", "shutil", "tempfile", "urllib", "http", "aiohttp", "httptools",
}  # fmt: skip
READS_FILES = {"config/load.py"}
"""It reads gossamer.toml and environment variables."""
BANNED_NAMES = re.compile(
    r"(Manager|Handler|Helper|Processor|Context|Impl)$|^Base[A-Z]|^(do|process|handle)_|^run_all$"
)
BANNED_MODULES = {"util", "utils", "misc", "common", "helpers", "data", "info"}
# Names that a library requires.
OBLIGED: set[str] = set()
# Functions allowed past 60 lines, each with its profile in docs/decisions/. At most three.
LONG_ALLOWED: dict[str, str] = {}


def test_every_room_is_in_the_plan() -> None:
    assert {module.room for module in modules()} - {"__init__", "__main__"} == set(LEVEL)


def test_the_figures_of_the_architecture_do_not_grow(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures()
    with capsys.disabled():
        print("", *(f"{number:7,} of at most {LIMITS[name]:7,}  {name}" for name, number in found.items()), sep="\n")
    assert {name: number for name, number in found.items() if number > LIMITS[name]} == {}


def test_modules_with_a_single_importer_are_listed_with_reasons() -> None:
    assert [one.partition(" ")[0] for one in single_importers()] == sorted(SINGLE_IMPORTERS)


def test_the_stores_of_the_frontier_do_not_import_each_other() -> None:
    """Decisions that both need belong next to them."""
    wrong = [
        f"{module.name} imports {used}"
        for module in modules()
        if module.room == "frontier" and module.name != "frontier/choice.py"
        for _, used in imported(module.tree)
        if used.startswith("gossamer.frontier.") and used.split(".")[2] in ("sqlite", "postgres")
        if used.split(".")[2] != module.name.split("/")[1]
    ]
    assert wrong == [], "\n".join(wrong)


def test_the_architecture_page_has_the_same_lines() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    drawn = text.partition("## Who may import whom")[2].split("```")[1]
    names = [re.split(r"\s{2,}", line.strip())[0].split(" | ") for line in drawn.strip().splitlines()]
    assert names == LINES[::-1]


def test_pure_rooms_do_no_input_or_output() -> None:
    wrong = []
    for module in modules():
        if module.room not in PURE or module.name in READS_FILES:
            continue
        for _, used in imported(module.tree):
            parts = used.split(".")
            if parts[0] in OUTSIDE | {"pathlib"} or (parts[:2] == ["gossamer", "base"] and parts[2:3] in IO_OF_BASE):
                wrong.append(f"{module.name} imports {used}")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id in ("SystemClock", "open"):
                wrong.append(f"{module.name}:{node.lineno} uses {node.id}")
    assert wrong == [], "\n".join(wrong)


IO_OF_BASE = [["files"], ["processes"], ["environment"], ["tuning"]]

# The modules behind each seam, and the only ones that may import them.
SEAMS = {
    "time": {"base/clock.py"},
    "random": {"base/environment.py"},
    "secrets": {"base/environment.py"},
    "subprocess": {"base/processes.py"},
    "multiprocessing": set(),
    "pickle": set(),
    "shelve": set(),
    "socket": {"base/processes.py", "workers/pool.py", "workers/child.py",
               "fetch/pool.py", "fetch/dns.py", "demo/server.py",
               "web/access/connections.py",  # drops a connection that reads too slowly
               "cli/serve.py", "monitor/supervisor.py", "cluster/roles.py", "indexer/process.py",
               "indexer/graph_client.py", "indexer/graph_process.py"},
    "urllib.request": set(),
    "http.client": set(),
    "requests": set(),
    "httpx": set(),
    "urllib3": {"store/service.py"},
}  # fmt: skip


def test_no_module_bypasses_a_seam() -> None:
    wrong = []
    for _, name, tree, _ in modules():
        for node, used in imported(tree):
            for seam, allowed in SEAMS.items():
                if (used == seam or used.startswith(seam + ".")) and name not in allowed:
                    wrong.append(f"{name}:{node.lineno} imports {used}")
        if name not in EXEMPT:
            wrong += [f"{name}:{line} {what}" for line, what in reaching_calls(tree)]
    assert wrong == [], "\n".join(wrong)


# The seams themselves (also the file layers with errors), and two that act on their own process: the limits of a
# worker, and a simulated crash.
EXEMPT = {"base/files.py", "testing.py", "base/processes.py", "base/clock.py", "workers/child.py", "base/tell.py"}
WRITING = {"write_text", "write_bytes", "unlink", "rename", "touch", "rmdir", "mkdir", "symlink_to", "rmtree"}
OS_CALLS = {"open", "fork", "system", "popen", "remove", "unlink", "rename", "replace", "mkdir", "makedirs", "kill",
            "killpg", "posix_spawn"}  # fmt: skip
CLOCK_CALLS = {"now", "utcnow", "today"}


def reaching_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls that write files, start or signal processes, or read the clock without a seam."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        target = node.func
        if isinstance(target, ast.Name) and target.id == "open" and not reads_only(node):
            yield node.lineno, "opens a file for writing"
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            owner, verb = target.value.id, target.attr
            if owner == "os" and verb in OS_CALLS:
                yield node.lineno, f"calls os.{verb}"
            elif owner in ("datetime", "date") and verb in CLOCK_CALLS:
                yield node.lineno, f"calls {owner}.{verb}"
            elif verb in WRITING and owner not in ("files", "self") and not owner.endswith("files"):
                yield node.lineno, f"calls {owner}.{verb}"
            elif owner == "asyncio" and verb.startswith("create_subprocess"):
                yield node.lineno, f"calls asyncio.{verb}"


def reads_only(call: ast.Call) -> bool:
    modes = [a.value for a in call.args[1:2] if isinstance(a, ast.Constant)]
    modes += [k.value.value for k in call.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)]
    return all(mode in ("r", "rb") for mode in modes)


def test_modules_and_functions_keep_their_size_limits() -> None:
    wrong = []
    for path, name, tree, _ in modules():
        lines = len(path.read_text().splitlines())
        if lines > 500:
            wrong.append(f"{name}: {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > 60 and f"{name}:{node.name}" not in LONG_ALLOWED:
                    wrong.append(f"{name}:{node.lineno} {node.name}: {size} lines")
    assert wrong == [], "\n".join(wrong)
    assert len(LONG_ALLOWED) <= 3
    for record in LONG_ALLOWED.values():
        assert (ROOT / "docs" / "decisions" / record).is_file()


def test_the_docstring_of_a_module_begins_with_a_short_line() -> None:
    """Below 100 characters, telling a stranger what this is."""
    firsts = {module.name: (ast.get_docstring(module.tree) or "").partition("\n")[0] for module in modules()}
    assert {name: first for name, first in firsts.items() if not 0 < len(first) < 100} == {}


def test_names_are_not_vague() -> None:
    wrong = []
    for path, name, tree, _ in modules():
        if path.stem in BANNED_MODULES:
            wrong.append(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if BANNED_NAMES.search(node.name) and node.name not in OBLIGED:
                    wrong.append(f"{name}:{node.lineno} {node.name}")
    assert wrong == [], "\n".join(wrong)


def test_imports_are_not_hidden() -> None:
    """An import in a function hides a cycle. Two kinds are allowed: lazy imports of the commands, which keep `--help`
    quick, and optional extras with an ImportError branch."""
    wrong = []
    for path, name, tree, _ in modules():
        if name.startswith("cli/"):
            continue
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            extras = {id(n) for t in ast.walk(function) if isinstance(t, ast.Try) for n in ast.walk(t)}
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in extras:
                    wrong.append(f"{name}:{node.lineno}")
        if "TYPE_CHECKING" in path.read_text():
            wrong.append(f"{name}: TYPE_CHECKING")
    assert wrong == [], "\n".join(wrong)


def test_no_module_catches_every_exception() -> None:
    wrong = []
    for _, name, tree, _ in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                caught = ast.unparse(node.type) if node.type else "everything"
                if caught in ("everything", "Exception", "BaseException") and not may_catch_all(name):
                    wrong.append(f"{name}:{node.lineno} catches {caught}")
    assert wrong == [], "\n".join(wrong)


def may_catch_all(name: str) -> bool:
    """A worker process reports any exception of its job, by name, and continues. Code of users (a filter, a reader, a
    protocol) may raise anything, and must not end the crawl."""
    return name in (
        "workers/child.py",
        "plugins/filters.py",
        "plugins/code.py",
        "reader/reading.py",
        "fetch/protocols.py",
    )


def test_sql_is_in_sql_files() -> None:
    verbs = re.compile(
        r"^\s*(SELECT\s.+\sFROM|INSERT\s+(OR\s|INTO)|UPDATE\s.+\sSET|DELETE\s+FROM|CREATE\s+TABLE)\s", re.I
    )
    wrong = []
    for _, name, tree, _ in modules():
        if name.startswith(("views/facts/", "web/", "demo/")):  # SPARQL looks alike
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and verbs.match(node.value):
                wrong.append(f"{name}:{node.lineno}")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("word", ["TODO", "FIXME", "NotImplementedError"])
def test_no_work_is_left_open(word: str) -> None:
    assert [name for path, name, _, _ in modules() if word in path.read_text()] == []
