"""From the path of an element back to the element."""

import re
from collections.abc import Iterable

from selectolax.lexbor import LexborNode

_STEP = re.compile(r"([A-Za-z_*][A-Za-z0-9._-]*)(?:\[(\d{1,9})\])?")
Children = list[tuple[str, LexborNode]]


def elements_at(root: LexborNode, paths: Iterable[str]) -> dict[str, LexborNode]:
    """Those that are there. Paths are as facts have them: `/html/body/div[2]/span`, `*[3]` for a child by number."""
    known: dict[str, LexborNode] = {f"/{root.tag}": root}
    children: dict[int, Children] = {}
    found = {}
    for path in paths:
        node = _element_at(path, known, children)
        if node is not None:
            found[path] = node
    return found


def _element_at(path: str, known: dict[str, LexborNode], children: dict[int, Children]) -> LexborNode | None:
    """Every element on the way is remembered: paths share most of their steps."""
    missing: list[str] = []
    above = path
    while above not in known:
        above, slash, step = above.rpartition("/")
        if not slash or not above:
            return None
        missing.append(step)
    node = known[above]
    while missing:
        step = missing.pop()
        below = _child(node, step, children)
        if below is None:
            return None
        above, node = f"{above}/{step}", below
        known[above] = node
    return node


def _child(node: LexborNode, step: str, children: dict[int, Children]) -> LexborNode | None:
    told = _STEP.fullmatch(step)
    if told is None:
        return None
    if (those := children.get(node.mem_id)) is None:
        those = children[node.mem_id] = [(child.tag or "", child) for child in node.iter()]
    tag, number = told[1], int(told[2] or 1)
    fitting = [child for name, child in those if tag in ("*", name)]
    return fitting[number - 1] if 0 < number <= len(fitting) else None
