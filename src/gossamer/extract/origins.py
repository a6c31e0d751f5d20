"""Where each fact of a page comes from, read back: the record that `places` packs, and facts in the store's own form.

Apart from `places`: a process that looks up sources need not load the readers of every syntax.
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


class FactOrigin(NamedTuple):
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

    def of(self, fact: bytes) -> FactOrigin | None:
        """Of a fact as `stored_form` wants it; None when it is not in the record. One fact in 4,000,000,000 that is not
        would be taken for one that is: ask only for facts that the page states."""
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
