"""The origin of each fact, read from the record that `places` packs, and facts in the form of the store.

Apart from `places`, so that a process that looks up origins need not load the readers of all syntaxes.
"""

import re
import zlib
from functools import lru_cache
from struct import iter_unpack
from typing import NamedTuple

import msgspec
import xxhash
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Store

from gossamer.extract.terms import XSD, quoted

PLAIN, DEFLATED = b"\x00", b"\x01"
SHORT, WHOLE = 4, 8
"""Bytes of a hash. Short ones are enough unless two facts of a page share one, which is rare; whether a page states a
fact is a question for the graph, not for the hash."""
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
"""Literals that the store certainly returns unchanged: asking it would be the most expensive step."""


class FactOrigin(NamedTuple):
    """The origin of one fact."""

    syntaxes: tuple[str, ...]
    """Those that state it, in the order of SYNTAXES."""
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
    spelt: list[str] = []
    """Different spellings of IRIs in the page, each once."""
    variants: list[tuple[int, int, int]] = []
    """Which of them occur in subject, predicate and object (for a literal: its datatype), as numbers in `spelt` from 1;
    0: none. Each combination once."""
    varied: dict[int, int] = {}
    """The variant of a fact, by number of the fact."""


_decoder = msgspec.msgpack.Decoder(Packed)


def stored_form(fact: bytes) -> bytes:
    """A fact as the store returns it, which keeps numbers and dates by value. REQUIRES: three terms written by `terms`,
    separated by spaces."""
    if fact[-1] != IRI_END or fact.rfind(_TYPED) < 0:
        return fact
    start = fact.index(b" ", fact.index(b" ") + 1) + 1
    literal = fact[start:]
    if _XSD not in literal or _AS_IT_IS.fullmatch(literal):
        return fact
    return fact[:start] + (_asked(literal) if len(literal) <= _LONGEST_CACHED else _asked.__wrapped__(literal))


@lru_cache(maxsize=4096)
def _asked(literal: bytes) -> bytes:
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


class Record:
    """The origins of the facts of one page, unpacked."""

    __slots__ = ("_at", "_hash", "_packed")

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        length = SHORT if len(packed.hashes) == SHORT * len(packed.places) else WHOLE
        self._hash = HASHES[length]
        self._at = {found: at for at, (found,) in enumerate(iter_unpack(f"<{CODES[length]}", packed.hashes))}

    def __len__(self) -> int:
        return len(self._at)

    def of(self, fact: bytes) -> FactOrigin | None:
        """The origin of a fact; None if it is not in the record. Hashes may collide (1 in 4,000,000,000): only ask for
        facts that the page states. REQUIRES: see `stored_form`."""
        at = self._at.get(self._hash(stored_form(fact)))
        if at is None:
            return None
        packed = self._packed
        mask = packed.stated_in[at] if packed.stated_in else 1
        names = [name for bit, name in enumerate(packed.syntaxes) if mask >> bit & 1]
        return FactOrigin(tuple(names), self._path(packed.places[at]), self._spelling(at, fact))

    def _spelling(self, at: int, fact: bytes) -> str:
        variant = self._packed.varied.get(at)
        if variant is None:
            return ""
        numbers = self._packed.variants[variant]
        spelt = [self._packed.spelt[number - 1] if number else "" for number in numbers]
        terms = fact.decode().split(" ", 2)
        return " ".join([respelt(term, iri) if iri else term for term, iri in zip(terms, spelt, strict=True)])

    def places(self) -> dict[str, int]:
        """The paths of elements with facts, and how many each states."""
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
    """The inverse of `packed`; None if the record is damaged or of another version."""
    try:
        plain = zlib.decompress(record[1:], -15) if record[:1] == DEFLATED else record[1:]
        held = _decoder.decode(plain)
    except (zlib.error, msgspec.DecodeError):
        return None
    lengths = SHORT * len(held.places), WHOLE * len(held.places)
    is_whole = (
        record[:1] in (PLAIN, DEFLATED)
        and len(held.steps) == len(held.above)
        and len(held.hashes) in lengths
        and all(0 <= number <= len(held.spelt) for variant in held.variants for number in variant)
        and all(0 <= variant < len(held.variants) for variant in held.varied.values())
    )
    return Record(held) if is_whole else None


def iri_in(term: str) -> str:
    """The IRI of an N-Triples term; for a typed literal, its datatype."""
    return term[1:-1] if term[0] == "<" else term.rpartition('"^^<')[2][:-1]


def respelt(term: str, iri: str) -> str:
    """The term with this IRI instead of its own."""
    return f"<{iri}>" if term[0] == "<" else f"{term.rpartition('^^<')[0]}^^<{iri}>"
