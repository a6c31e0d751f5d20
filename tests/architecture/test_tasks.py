"""Every task has an owner: a TaskGroup, or `base/tasks.py`."""

import ast

from tests.architecture.figures import modules

STARTS = {"ensure_future", "create_task"}


def starts_without_owner(tree: ast.Module) -> list[int]:
    """Lines that start a task on the event loop itself; `create_task` of a TaskGroup is called on the group."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "asyncio" and STARTS & {one.name for one in node.names}:
            lines.append(node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTS:
            owner = ast.unparse(node.func.value)
            if node.func.attr == "ensure_future" or owner == "asyncio" or "loop" in owner:
                lines.append(node.lineno)
    return lines


def test_no_task_is_started_without_an_owner() -> None:
    found = {one.name: lines for one in modules() if (lines := starts_without_owner(one.tree))}
    found.pop("base/tasks.py")
    assert found == {}
