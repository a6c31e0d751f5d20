"""Positions of elements in the source of a page, and their paths.

The tree does not record positions, so start tags in the source are matched with elements of the tree: the n-th tag with
exactly these attributes is the n-th such element, if there are equally many.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.values.tree import Attributes, Element, ElementParts

_RAW = "script|style|title|textarea|xmp|iframe|noembed|noframes"
_TOKEN = re.compile(  # an unclosed alternative runs to the end, so that nothing is scanned twice
    r"""
      <!--(?s:.*?)(?:-->|\Z)
    | <!\[CDATA\[(?s:.*?)(?:\]\]>|\Z)
    | <(?P<name>[a-zA-Z][^\s/>]*+)
      (?P<attributes>(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+))?+)*+)
      [\s/]*+(?:>|\Z)
    """,
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s>"'][^\s>]*+)))?+"""
)
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW.split("|")}

Signature = tuple[str, frozenset[tuple[str, str]]]
"""A tag's name and attributes, in a form that source and tree share."""


class SourcePosition(NamedTuple):
    """Counted from one, as in editors; columns in characters."""

    line: int
    column: int


def positions_of(wanted: Iterable[Element], every: Iterable[ElementParts], text: str) -> dict[int, SourcePosition]:
    """By `mem_id`: where each of the elements begins, if that is certain.

    REQUIRES: `every` is all elements of the tree of `text`, in document order.
    """
    signatures = {_signature(element.tag or "", element.attributes) for element in wanted}
    in_tree: dict[Signature, list[int]] = {}
    for element, tag, attributes in every:
        signature = _signature(tag, attributes)
        if signature in signatures:
            in_tree.setdefault(signature, []).append(element.mem_id)
    in_text: dict[Signature, list[int]] = {}
    for name, attributes_text, at in _start_tags(text):
        signature = _signature_in_source(name, attributes_text)
        if signature in signatures:
            in_text.setdefault(signature, []).append(at)
    pairs = [
        (at, mem_id)
        for signature, ids in in_tree.items()
        if len(in_text.get(signature, ())) == len(ids)
        for at, mem_id in zip(in_text[signature], ids, strict=True)
    ]
    return dict(_counted(sorted(pairs), text))


def _signature(tag: str, attributes: Attributes) -> Signature:
    """Names without case and namespace, and without namespace declarations: HTML and XML trees treat these
    differently."""
    pairs = [
        (name.lower(), (value or "").replace("\r\n", "\n").replace("\r", "\n")) for name, value in attributes.items()
    ]
    return tag.lower().rpartition(":")[2], frozenset([one for one in pairs if not one[0].startswith("xmlns")])


def _start_tags(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        at = found.end()
        if (name := found["name"]) is None:
            continue
        yield name, found["attributes"], found.start()
        ending = _RAW_END.get(name.lower())
        if ending is not None and not text.endswith("/>", 0, at):
            end = ending.search(text, at)
            at = end.start() if end is not None else len(text)


def _signature_in_source(name: str, text: str) -> Signature:
    attributes: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(text):
        value = next((one for one in found.groups()[1:] if one is not None), "")
        attributes.setdefault(found[1].lower(), unescape(value))
    return _signature(name, attributes)


def _counted(pairs: list[tuple[int, int]], text: str) -> Iterator[tuple[int, SourcePosition]]:
    """REQUIRES: ordered by position, so that lines are counted once."""
    line, begins, counted = 1, 0, 0
    for at, mem_id in pairs:
        line += text.count("\n", counted, at)
        begins = text.rfind("\n", counted, at) + 1 or begins
        counted = at
        yield mem_id, SourcePosition(line, at - begins + 1)


class Paths:
    """XPaths of elements: `/html/body/div[2]/span`. Positions count siblings of the same name, if there are several."""

    def __init__(self) -> None:
        self._steps: dict[int, str] = {}
        """For every child of the elements seen so far."""

    def of(self, element: Element) -> str:
        steps: list[str] = []
        up: Element | None = element
        while up is not None and _is_element(up):
            above = up.parent
            if up.mem_id not in self._steps:
                self._add_children(above, up)
            steps.append(self._steps[up.mem_id])
            up = above
        return "/" + "/".join(reversed(steps))

    def _add_children(self, parent: Element | None, child: Element) -> None:
        children = [child] if parent is None else [one for one in parent.iter() if _is_element(one)]
        names = [one.tag or "" for one in children]
        several = {name for name, count in Counter(names).items() if count > 1}
        numbers: Counter[str] = Counter()
        for one, name in zip(children, names, strict=True):
            numbers[name] += 1
            self._steps[one.mem_id] = f"{name}[{numbers[name]}]" if name in several else name
        self._steps.setdefault(child.mem_id, child.tag or "*")


def _is_element(node: Element) -> bool:
    return (node.tag or "-")[0] not in "-_"


# From an element's path back to the element.

_STEP = re.compile(r"([A-Za-z_*][A-Za-z0-9._-]*)(?:\[(\d{1,9})\])?")
Children = list[tuple[str, LexborNode]]


def elements_at(root: LexborNode, paths: Iterable[str]) -> dict[str, LexborNode]:
    """The elements that exist. Paths are those of facts: `/html/body/div[2]/span`, `*[3]` for a child by number."""
    known: dict[str, LexborNode] = {f"/{root.tag}": root}
    children: dict[int, Children] = {}
    found = {}
    for path in paths:
        node = _element_at(path, known, children)
        if node is not None:
            found[path] = node
    return found


def _element_at(path: str, known: dict[str, LexborNode], children: dict[int, Children]) -> LexborNode | None:
    """Every element on the way is cached: paths share most of their steps."""
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
    parsed = _STEP.fullmatch(step)
    if parsed is None:
        return None
    if node.mem_id not in children:
        children[node.mem_id] = [(child.tag or "", child) for child in node.iter()]
    tag, number = parsed[1], int(parsed[2] or 1)
    matching = [child for name, child in children[node.mem_id] if tag in ("*", name)]
    return matching[number - 1] if 0 < number <= len(matching) else None
