"""The origin of each fact of a page: its syntaxes and the path of its element, in a packed record.

A path is a chain of steps, so that common parts are stored once. A fact is identified by a short hash of the form in
which the store returns it. Imports no reader of a syntax, so that a process that looks up origins loads none.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from operator import attrgetter
from struct import iter_unpack, pack
from typing import NamedTuple

import msgspec
import xxhash
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Store

from gossamer.extract.source import ORIGINS, Extraction
from gossamer.extract.terms import XSD, quoted
from gossamer.values.page import Triple
from gossamer.values.tree import Element

PLAIN, DEFLATED = b"\x00", b"\x01"
WORTH_DEFLATING = 512
SHORT, WHOLE = 4, 8
"""Bytes of a hash. Short ones are enough unless two facts of a page share one, which is rare; whether a page states a
fact is a question for the graph, not for the hash."""
CODES = {SHORT: "I", WHOLE: "Q"}
HASHES = {SHORT: xxhash.xxh32_intdigest, WHOLE: xxhash.xxh3_64_intdigest}


class FactOrigin(NamedTuple):
    """The origin of one fact."""

    syntaxes: tuple[str, ...]
    """Those that state it, in the order of ORIGINS."""
    path: str
    """The XPath of the element that states it, `/html/body/div[2]/span`; positions count siblings with that tag, if
    there are several."""
    spelling: str = ""
    """The fact as spelled in that element, as N-Triples; empty if that is the same."""


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """The record on disk, as msgpack."""

    syntaxes: tuple[str, ...]
    steps: list[str]
    """The steps of all paths, each once, parents first: `span`, `div[2]`."""
    above: list[int]
    """For each step, how far before it its parent is; 0: it is the outermost."""
    hashes: bytes
    """Of the facts; the next two lists are parallel."""
    places: list[int]
    """The last step of the path of each fact."""
    stated_in: list[int]
    """Bit n is `syntaxes[n]`; empty if there is only one syntax."""
    spellings: list[str] = []
    """Different spellings of IRIs in the page, each once."""
    variants: list[tuple[int, int, int]] = []
    """Which of them occur in subject, predicate and object (for a literal: its datatype), as numbers in `spellings`
    from 1; 0: none. Each combination once."""
    varied: dict[int, int] = {}
    """The variant of a fact, by number of the fact."""


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Packed)

# Facts in the form of the store.

_STRING = f"{XSD}string"
_LONGEST_CACHED = 100
_IRI_END, _TYPED, _XSD = ord(">"), b'"^^<', f"^^<{XSD}".encode()
_UNCHANGED = re.compile(
    rb'"(?:(?:0|-?[1-9]\d{0,16})"\^\^<\S+#(?:integer|decimal)>'
    rb'|-?(?:0|[1-9]\d{0,8})\.\d{0,8}[1-9]"\^\^<\S+#decimal>'
    rb'|[1-9]\d{3}-\d\d-\d\d"\^\^<\S+#date>'
    rb'|[1-9]\d{3}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:Z|[+-](?:0[1-9]|1[0-3]):\d\d)?"\^\^<\S+#dateTime>'
    rb'|[1-9]\d{3}"\^\^<\S+#gYear>|(?:true|false)"\^\^<\S+#boolean>)'
)
"""Literals that the store certainly returns unchanged: asking it would be the most expensive step."""


def stored_form(fact: bytes) -> bytes:
    """A fact as the store returns it, which keeps numbers and dates by value. REQUIRES: three terms written by `terms`,
    separated by spaces."""
    if fact[-1] != _IRI_END or fact.rfind(_TYPED) < 0:
        return fact
    start = fact.index(b" ", fact.index(b" ") + 1) + 1
    literal = fact[start:]
    if _XSD not in literal or _UNCHANGED.fullmatch(literal):
        return fact
    return fact[:start] + (_stored(literal) if len(literal) <= _LONGEST_CACHED else _stored.__wrapped__(literal))


@lru_cache(maxsize=4096)
def _stored(literal: bytes) -> bytes:
    """A typed literal as a store returns it."""
    store = Store()
    try:
        store.load(b"<urn:s> <urn:p> %b .\n" % literal, RdfFormat.N_TRIPLES)
    except SyntaxError:  # then the real store does not accept it either
        return literal
    return next((text_of(quad.object).encode() for quad in store if isinstance(quad.object, Literal)), literal)


def text_of(term: NamedNode | BlankNode | Literal) -> str:
    """A term of the store, written like `terms` does: the library escapes other characters."""
    if isinstance(term, NamedNode):
        return f"<{term.value}>"
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if term.language is not None:
        return f"{quoted(term.value)}@{term.language}"
    kind = term.datatype.value
    return quoted(term.value) if kind == _STRING else f"{quoted(term.value)}^^<{kind}>"


# Writing a record.


def packed(facts: Extraction, lines: bytes, spellings: Mapping[int, Triple] | None = None) -> bytes:
    """The record of a page; empty if it has no facts. `spellings`: by number, facts as the page spells them.

    REQUIRES: `lines` are the facts as N-Triples, in the same order, written by `terms`; and the tree is whole."""
    if not facts.triples:
        return b""
    stored = [line if line[-1] != _IRI_END else stored_form(line) for line in lines[:-3].split(b" .\n")]
    steps, places = _steps_of(facts.places)
    syntaxes, masks = _own_masks(facts.stated_in)
    if len(stored) != len(places):
        return b""
    kept: Sequence[int] = range(len(stored))
    if len(set(stored)) < len(stored):
        kept = _distinct(stored, masks)
        stored, places = [stored[at] for at in kept], [places[at] for at in kept]
        masks = [masks[at] for at in kept] if masks else []
    length, hashes = SHORT, list(map(HASHES[SHORT], stored))
    if len(set(hashes)) < len(hashes):
        length, hashes = WHOLE, list(map(HASHES[WHOLE], stored))
    digests = pack(f"<{len(hashes)}{CODES[length]}", *hashes)
    variants = _variants_of(facts.triples, spellings or {}, kept)
    record = _encoder.encode(Packed(syntaxes, steps.names, steps.above, digests, places, masks, *variants))
    if len(record) >= WORTH_DEFLATING and len(deflated := zlib.compress(record, 1, -15)) < len(record):
        return DEFLATED + deflated
    return PLAIN + record


def _own_masks(stated_in: list[int]) -> tuple[tuple[str, ...], list[int]]:
    """The syntaxes of this page, and masks over these instead of all, as the order of ORIGINS may change. No masks if
    there is only one."""
    several, union = set(stated_in), 0
    for mask in several:
        union |= mask
    bits = [bit for bit in range(union.bit_length()) if union >> bit & 1]
    names = tuple([ORIGINS[bit] for bit in bits])
    if len(names) == 1:
        return names, []
    own = {mask: sum([1 << at for at, bit in enumerate(bits) if mask >> bit & 1]) for mask in several}
    return names, [own[mask] for mask in stated_in]


def _variants_of(
    facts: Sequence[Triple], spellings: Mapping[int, Triple], kept: Sequence[int]
) -> tuple[list[str], list[tuple[int, int, int]], dict[int, int]]:
    """The spellings in the record: see `Packed`. `kept`: the facts in the record."""
    iris: dict[str, int] = {"": 0}
    variants: dict[tuple[int, int, int], int] = {}
    varied: dict[int, int] = {}
    for number, at in enumerate(kept) if spellings else ():
        if at in spellings:
            named = [_iri_in(one) if one != held else "" for held, one in zip(facts[at], spellings[at], strict=True)]
            subject, predicate, value = [iris.setdefault(iri, len(iris)) for iri in named]
            varied[number] = variants.setdefault((subject, predicate, value), len(variants))
    return list(iris)[1:], list(variants), varied


def _iri_in(term: str) -> str:
    """The IRI of an N-Triples term; for a typed literal, its datatype."""
    return term[1:-1] if term[0] == "<" else term.rpartition('"^^<')[2][:-1]


def _distinct(stored: list[bytes], masks: list[int]) -> list[int]:
    """The first of each group of facts that are one in the store (`01` and `1`, both integers), with all their
    syntaxes."""
    first: dict[bytes, int] = {}
    for at, fact in enumerate(stored):
        one = first.setdefault(fact, at)
        if masks:
            masks[one] |= masks[at]
    return list(first.values())


# Paths of elements.

LONGEST_TAG = 40
"""Characters. Longer tags, and those that XPath cannot express, become numbers: `*[3]`."""
MANY = 100
"""Children of one element."""
_ANY = "*"
_PLAIN_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")


def _steps_of(places: Iterable[Element]) -> tuple["_Steps", list[int]]:
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


# Reading a record.


class Record:
    """The origins of the facts of one page, unpacked."""

    __slots__ = ("_at", "_hash", "_packed")

    def __init__(self, record: Packed) -> None:
        self._packed = record
        length = SHORT if len(record.hashes) == SHORT * len(record.places) else WHOLE
        self._hash = HASHES[length]
        self._at = {found: at for at, (found,) in enumerate(iter_unpack(f"<{CODES[length]}", record.hashes))}

    def __len__(self) -> int:
        return len(self._at)

    def of(self, fact: bytes) -> FactOrigin | None:
        """The origin of a fact; None if it is not in the record. Hashes may collide (1 in 4,000,000,000): only ask for
        facts that the page states. REQUIRES: see `stored_form`."""
        at = self._at.get(self._hash(stored_form(fact)))
        if at is None:
            return None
        record = self._packed
        mask = record.stated_in[at] if record.stated_in else 1
        names = [name for bit, name in enumerate(record.syntaxes) if mask >> bit & 1]
        return FactOrigin(tuple(names), self._path(record.places[at]), self._spelling(at, fact))

    def _spelling(self, at: int, fact: bytes) -> str:
        variant = self._packed.varied.get(at)
        if variant is None:
            return ""
        numbers = self._packed.variants[variant]
        iris = [self._packed.spellings[number - 1] if number else "" for number in numbers]
        terms = fact.decode().split(" ", 2)
        return " ".join([_with_iri(term, iri) if iri else term for term, iri in zip(terms, iris, strict=True)])

    def places(self) -> dict[str, int]:
        """The paths of elements with facts, and how many each states."""
        return {self._path(at): times for at, times in sorted(Counter(self._packed.places).items())}

    def _path(self, at: int) -> str:
        steps, above = self._packed.steps, self._packed.above
        parts: list[str] = []
        while 0 <= at < len(steps):
            parts.append(steps[at])
            if above[at] <= 0:
                break
            at -= above[at]
        return "/" + "/".join(reversed(parts))


def _with_iri(term: str, iri: str) -> str:
    """The term with this IRI instead of its own; for a literal, as its datatype."""
    return f"<{iri}>" if term[0] == "<" else f"{term.rpartition('^^<')[0]}^^<{iri}>"


def unpacked(record: bytes) -> Record | None:
    """The inverse of `packed`; None if the record is damaged or of another version."""
    try:
        held = _decoder.decode(zlib.decompress(record[1:], -15) if record[:1] == DEFLATED else record[1:])
    except (zlib.error, msgspec.DecodeError):
        return None
    is_whole = (
        record[:1] in (PLAIN, DEFLATED)
        and len(held.steps) == len(held.above)
        and len(held.hashes) in (SHORT * len(held.places), WHOLE * len(held.places))
        and all(0 <= number <= len(held.spellings) for variant in held.variants for number in variant)
        and all(0 <= variant < len(held.variants) for variant in held.varied.values())
    )
    return Record(held) if is_whole else None
