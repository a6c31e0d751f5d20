"""Where each fact of a page stands: its syntaxes and the path of its element, packed small beside the facts.

A path is told as steps, each under another, so that what paths share is written once. A fact is known by a short hash
of itself in the form in which the store gives it back.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from operator import attrgetter
from struct import iter_unpack, pack
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import xxhash
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Store

from gossamer.extract.page import SYNTAXES, Extraction
from gossamer.extract.terms import XSD, quoted
from gossamer.values.page import Triple
from gossamer.values.tree import Element

# Where each fact of a page comes from, read back: the record that `places` packs, and facts in the store's own form.
# Apart from `places`: who asks for the sources of facts need not load what finds them.

PLAIN, DEFLATED = b"\x00", b"\x01"


SHORT, WHOLE = 4, 8
"""Bytes of a hash. The short ones do unless two facts of a page share one, which is rare; unknown facts are told from
known ones by asking the graph, not by the hash."""


CODES = {SHORT: "I", WHOLE: "Q"}


HASHES = {SHORT: xxhash.xxh32_intdigest, WHOLE: xxhash.xxh3_64_intdigest}


_STRING = f"{XSD}string"


_LONGEST_CACHED = 100


IRI_END, _TYPED, _XSD = ord(">"), b'"^^<', f"^^<{XSD}".encode()


_AS_IT_IS = re.compile(
    rb'"(?:(?:0|-?[1-9]\d{0,16})"\^\^<\S+#(?:integer|decimal)>'
    rb'|-?(?:0|[1-9]\d{0,8})\.\d{0,8}[1-9]"\^\^<\S+#decimal>'
    rb'|[1-9]\d{3}-\d\d-\d\d"\^\^<\S+#date>'
    rb'|[1-9]\d{3}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:Z|[+-](?:0[1-9]|1[0-3]):\d\d)?"\^\^<\S+#dateTime>'
    rb'|[1-9]\d{3}"\^\^<\S+#gYear>|(?:true|false)"\^\^<\S+#boolean>)'
)
"""Literals that the store certainly gives back as they are: to ask it costs more than all else a fact needs."""


class Source(NamedTuple):
    """Where one fact comes from."""

    syntaxes: tuple[str, ...]
    """Those that state it, in the order of SYNTAXES."""
    path: str
    """Of the element that states it, as XPath: `/html/body/div[2]/span`; positions count siblings of one name and are
    left out where there is only one."""
    spelling: str = ""
    """The fact as that element spells it, as N-Triples; empty where that is the fact as it is held."""


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """What is on disk, as msgpack."""

    syntaxes: tuple[str, ...]
    steps: list[str]
    """Of all paths, each once: `span`, `div[2]`; a step stands behind the one above it."""
    above: list[int]
    """For each step, how many before it the one above it stands; 0: it is the outermost."""
    hashes: bytes
    """Of the facts; the next two run in step with them."""
    places: list[int]
    """The last step of each fact's path."""
    stated_in: list[int]
    """Bit n is `syntaxes[n]`; empty when there is one syntax only."""
    spelt: list[str] = []
    """IRIs that the page spells differently from the fact, each once."""
    variants: list[tuple[int, int, int]] = []
    """Which of them stand in subject, predicate and object (of a literal: its datatype); 0 where none does, else its
    number in `spelt` counted from 1. Each combination once."""
    varied: dict[int, int] = {}
    """The variant of a fact, by the number of the fact."""


_decoder = msgspec.msgpack.Decoder(Packed)


def stored_form(fact: bytes) -> bytes:
    """A fact as the store would give it back. REQUIRES: three terms as `terms` writes them, a space between."""
    if fact[-1] != IRI_END or fact.rfind(_TYPED) < 0:
        return fact
    start = fact.index(b" ", fact.index(b" ") + 1) + 1
    return fact[:start] + _as_stored(fact[start:])


def _as_stored(literal: bytes) -> bytes:
    """A typed literal in the form in which the store gives it back: it keeps numbers and dates by their value."""
    if _XSD not in literal or _AS_IT_IS.fullmatch(literal):
        return literal
    return _asked(literal) if len(literal) <= _LONGEST_CACHED else _asked.__wrapped__(literal)


@lru_cache(maxsize=4096)
def _asked(literal: bytes) -> bytes:
    """By asking a store."""
    store = Store()
    try:
        store.load(b"<urn:s> <urn:p> %b .\n" % literal, RdfFormat.N_TRIPLES)
    except SyntaxError:  # then the store does not take it either
        return literal
    return next((text_of(quad.object).encode() for quad in store if isinstance(quad.object, Literal)), literal)


def text_of(term: NamedNode | BlankNode | Literal) -> str:
    """A term of the store as this house writes it: the library escapes other characters than `terms` does."""
    if isinstance(term, NamedNode):
        return f"<{term.value}>"
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if term.language is not None:
        return f"{quoted(term.value)}@{term.language}"
    kind = term.datatype.value
    return quoted(term.value) if kind == _STRING else f"{quoted(term.value)}^^<{kind}>"


class Record:
    """The sources of one page's facts, unpacked."""

    __slots__ = ("_at", "_hash", "_packed")

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        length = SHORT if len(packed.hashes) == SHORT * len(packed.places) else WHOLE
        self._hash = HASHES[length]
        self._at = {found: at for at, (found,) in enumerate(iter_unpack(f"<{CODES[length]}", packed.hashes))}

    def __len__(self) -> int:
        return len(self._at)

    def of(self, fact: bytes) -> Source | None:
        """Of a fact as `stored_form` wants it; None when it is not in the record. One fact in 4,000,000,000 that is not
        would be taken for one that is: ask only for facts that the page states."""
        at = self._at.get(self._hash(stored_form(fact)))
        if at is None:
            return None
        packed = self._packed
        mask = packed.stated_in[at] if packed.stated_in else 1
        names = [name for bit, name in enumerate(packed.syntaxes) if mask >> bit & 1]
        return Source(tuple(names), self._path(packed.places[at]), self._spelling(at, fact))

    def _spelling(self, at: int, fact: bytes) -> str:
        variant = self._packed.varied.get(at)
        if variant is None:
            return ""
        numbers = self._packed.variants[variant]
        spelt = [self._packed.spelt[number - 1] if number else "" for number in numbers]
        terms = fact.decode().split(" ", 2)
        return " ".join([respelt(term, iri) if iri else term for term, iri in zip(terms, spelt, strict=True)])

    def places(self) -> dict[str, int]:
        """The paths of the elements that state something, and how many facts each states."""
        tally: dict[int, int] = {}
        for at in self._packed.places:
            tally[at] = tally.get(at, 0) + 1
        return {self._path(at): times for at, times in sorted(tally.items())}

    def _path(self, at: int) -> str:
        steps, above = self._packed.steps, self._packed.above
        parts: list[str] = []
        while 0 <= at < len(steps):
            parts.append(steps[at])
            if above[at] <= 0:
                break
            at -= above[at]
        return "/" + "/".join(reversed(parts))


def unpacked(record: bytes) -> Record | None:
    """The inverse of `packed`; None when there is no such record, or it is damaged or of another version."""
    try:
        plain = zlib.decompress(record[1:], -15) if record[:1] == DEFLATED else record[1:]
        held = _decoder.decode(plain)
    except (zlib.error, msgspec.DecodeError):
        return None
    lengths = SHORT * len(held.places), WHOLE * len(held.places)
    is_whole = len(held.steps) == len(held.above) and len(held.hashes) in lengths and _is_told(held)
    return Record(held) if is_whole and record[:1] in (PLAIN, DEFLATED) else None


def _is_told(held: Packed) -> bool:
    """Whether what it says of spellings can be followed."""
    is_spelt = all(0 <= number <= len(held.spelt) for variant in held.variants for number in variant)
    return is_spelt and all(0 <= variant < len(held.variants) for variant in held.varied.values())


def iri_in(term: str) -> str:
    """Of an N-Triples term its IRI; of a typed literal its datatype."""
    return term[1:-1] if term[0] == "<" else term.rpartition('"^^<')[2][:-1]


def respelt(term: str, iri: str) -> str:
    """The term with this IRI in the place of its own."""
    return f"<{iri}>" if term[0] == "<" else f"{term.rpartition('^^<')[0]}^^<{iri}>"


LONGEST_TAG = 40
"""Characters. Longer names, and those that XPath could not read, are told by number alone: `*[3]`."""
MANY = 100
"""Children of one element."""
WORTH_DEFLATING = 512
AS_THEY_ARE: Mapping[int, Triple] = MappingProxyType({})
_ANY = "*"
_PLAIN_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_encoder = msgspec.msgpack.Encoder()


def packed(facts: Extraction, lines: bytes, spelt: Mapping[int, Triple] = AS_THEY_ARE) -> bytes:
    """The record of a page; empty when it states nothing. `spelt`: by its number, a fact as the page spells it.

    REQUIRES: `lines` are the facts as N-Triples, in step with them, as `terms` writes them; and the tree is whole."""
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
    """The syntaxes of this page, and masks over these in place of masks over all: a record outlives the order of
    SYNTAXES. No masks when there is one syntax only."""
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
    """What the record says of spellings: see `Packed`. `kept`: the facts that are in the record."""
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
    """Facts that are one in the store (`01` and `1`, both integers) are one here: the first of each counts, and gets
    the syntaxes of the others."""
    first: dict[bytes, int] = {}
    for at, fact in enumerate(said):
        one = first.setdefault(fact, at)
        if masks:
            masks[one] |= masks[at]
    return list(first.values())


def _steps_of(places: list[Element]) -> tuple["_Steps", list[int]]:
    """The steps to all of them, and the last step to each. Facts of one element mostly follow one another."""
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
    """The elements on the way to those that state something, each once, those above first."""

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
"""Their ids and tags, none for an only child. Of MANY children, the name of each instead: to count anew for each of
them would take time that grows with their square."""
_id_of, _tag_of = attrgetter("mem_id"), attrgetter("tag")


def _children_of(parent: Element) -> _Children:
    """Each parent is looked into once: all of it together is one pass over the page at the most."""
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
    """A child's step: its tag, and its number among those of that tag when there are several."""
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
