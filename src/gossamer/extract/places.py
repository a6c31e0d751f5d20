"""The origin of each fact of a page, packed: its syntaxes and the path of its element.

A path is a chain of steps, so that common parts are stored once. A fact is identified by a short hash of the form in
which the store returns it.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from operator import attrgetter
from struct import pack
from types import MappingProxyType

import msgspec

from gossamer.extract.origins import CODES, DEFLATED, HASHES, IRI_END, PLAIN, SHORT, WHOLE, Packed, iri_in, stored_form
from gossamer.extract.page import SYNTAXES, Extraction
from gossamer.values.page import Triple
from gossamer.values.tree import Element

LONGEST_TAG = 40
"""Characters. Longer tags, and those that XPath cannot express, become numbers: `*[3]`."""
MANY = 100
"""Children of one element."""
WORTH_DEFLATING = 512
AS_THEY_ARE: Mapping[int, Triple] = MappingProxyType({})
_ANY = "*"
_PLAIN_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_encoder = msgspec.msgpack.Encoder()


def packed(facts: Extraction, lines: bytes, spelt: Mapping[int, Triple] = AS_THEY_ARE) -> bytes:
    """The record of a page; empty if it has no facts. `spelt`: by number, facts as the page spells them.

    REQUIRES: `lines` are the facts as N-Triples, in the same order, written by `terms`; and the tree is whole."""
    if not facts.triples:
        return b""
    said = [line if line[-1] != IRI_END else stored_form(line) for line in lines[:-3].split(b" .\n")]
    steps, places = _steps_of(facts.places)
    syntaxes, masks = _own_masks(facts.stated_in)
    if len(said) != len(places):
        return b""
    kept: Sequence[int] = range(len(said))
    if len(set(said)) < len(said):
        kept = _distinct(said, masks)
        said, places = [said[at] for at in kept], [places[at] for at in kept]
        masks = [masks[at] for at in kept] if masks else []
    length, hashes = SHORT, list(map(HASHES[SHORT], said))
    if len(set(hashes)) < len(hashes):
        length, hashes = WHOLE, list(map(HASHES[WHOLE], said))
    record = _encoder.encode(
        Packed(
            syntaxes,
            steps.names,
            steps.above,
            pack(f"<{len(hashes)}{CODES[length]}", *hashes),
            places,
            masks,
            *_variants_of(facts.triples, spelt, kept),
        )
    )
    if len(record) >= WORTH_DEFLATING and len(deflated := zlib.compress(record, 1, -15)) < len(record):
        return DEFLATED + deflated
    return PLAIN + record


def _own_masks(stated_in: list[int]) -> tuple[tuple[str, ...], list[int]]:
    """The syntaxes of this page, and masks over these instead of all, as the order of SYNTAXES may change. No masks if
    there is only one."""
    several, union = set(stated_in), 0
    for mask in several:
        union |= mask
    bits = [bit for bit in range(union.bit_length()) if union >> bit & 1]
    names = tuple([SYNTAXES[bit] for bit in bits])
    if len(names) == 1:
        return names, []
    own = {mask: sum([1 << at for at, bit in enumerate(bits) if mask >> bit & 1]) for mask in several}
    return names, [own[mask] for mask in stated_in]


def _variants_of(
    facts: Sequence[Triple], spelt: Mapping[int, Triple], kept: Sequence[int]
) -> tuple[list[str], list[tuple[int, int, int]], dict[int, int]]:
    """The spellings in the record: see `Packed`. `kept`: the facts in the record."""
    iris: dict[str, int] = {"": 0}
    variants: dict[tuple[int, int, int], int] = {}
    varied: dict[int, int] = {}
    for number, at in enumerate(kept) if spelt else ():
        if at in spelt:
            named = [iri_in(one) if one != held else "" for held, one in zip(facts[at], spelt[at], strict=True)]
            subject, predicate, thing = [iris.setdefault(iri, len(iris)) for iri in named]
            varied[number] = variants.setdefault((subject, predicate, thing), len(variants))
    return list(iris)[1:], list(variants), varied


def _distinct(said: list[bytes], masks: list[int]) -> list[int]:
    """The first of each group of facts that are one in the store (`01` and `1`, both integers), with all their
    syntaxes."""
    first: dict[bytes, int] = {}
    for at, fact in enumerate(said):
        one = first.setdefault(fact, at)
        if masks:
            masks[one] |= masks[at]
    return list(first.values())


def _steps_of(places: list[Element]) -> tuple["_Steps", list[int]]:
    """All steps, and the last step of each place. Facts of one element are mostly adjacent."""
    steps = _Steps()
    found: list[int] = []
    last: Element | None = None
    step = -1
    for place in places:
        if place is not last:
            last, step = place, steps.of(place)
        found.append(step)
    return steps, found


class _Steps:
    """The elements on the paths to those with facts, each once, parents first."""

    def __init__(self) -> None:
        self.above: list[int] = []
        self.names: list[str] = []
        self._at: dict[int, int] = {}
        self._children: dict[int, _Children] = {}

    def of(self, element: Element) -> int:
        """The number of the element's step."""
        known, children_of = self._at, self._children
        element_id = element.mem_id
        at = known.get(element_id)
        chain: list[tuple[int, str]] = []
        while at is None:
            parent = element.parent
            if parent is None:
                at = -1
                if (tag := element.tag or "-")[0] != "-":  # else it is the document
                    chain.append((element_id, tag if _is_plain(tag) else _ANY))
                break
            parent_id = parent.mem_id
            children = children_of.get(parent_id)
            if children is None:
                children = children_of[parent_id] = _children_of(parent)
            chain.append((element_id, _name(children, element, element_id)))
            element, element_id = parent, parent_id
            at = known.get(element_id)
        new = len(self.names)
        while chain:
            element_id, name = chain.pop()
            self.names.append(name)
            self.above.append(new - at if at >= 0 else 0)
            known[element_id] = at = new
            new += 1
        return at


_Children = tuple[list[int], list[str]] | dict[int, str]
"""Their ids and tags, none for an only child. From MANY children on, the name of each instead: counting for each would
take quadratic time."""
_id_of, _tag_of = attrgetter("mem_id"), attrgetter("tag")


def _children_of(parent: Element) -> _Children:
    """Called once per parent: at most one pass over the page in total."""
    children = list(parent.iter())
    if len(children) == 1:
        return [], []
    ids, tags = list(map(_id_of, children)), list(map(_tag_of, children))
    if len(ids) < MANY:
        return ids, tags
    times = Counter(tags)
    numbers = {tag: count(1) for tag in times}
    return {
        one: (f"{tag}[{next(numbers[tag])}]" if times[tag] > 1 else tag) if _is_plain(tag) else f"{_ANY}[{position}]"
        for position, (one, tag) in enumerate(zip(ids, tags, strict=True), 1)
    }


def _name(children: _Children, child: Element, child_id: int) -> str:
    """The step of a child: its tag, and its number if there are several with that tag."""
    if isinstance(children, dict):
        return children.get(child_id, _ANY)
    ids, tags = children
    if not ids:  # an only child
        tag = child.tag or ""
        return tag if _is_plain(tag) else _ANY
    try:
        at = ids.index(child_id)
    except ValueError:  # the parser's tree does not agree with itself
        return _ANY
    tag = tags[at]
    if not _is_plain(tag):
        return f"{_ANY}[{at + 1}]"
    return tag if tags.count(tag) == 1 else f"{tag}[{tags[: at + 1].count(tag)}]"


@lru_cache(maxsize=256)
def _is_plain(tag: str) -> bool:
    return len(tag) <= LONGEST_TAG and _PLAIN_TAG.fullmatch(tag) is not None
