"""Widespread vocabularies: their classes and properties, and canonical names of IRIs.

The facts are in a file next to this module (`vocabularies.txt`, its sources in `NOTICE.md`), which is read when first
used. `with_own` adds relations of the user. Only RDFS is understood: rdfs:subClassOf and rdfs:subPropertyOf.

Terms are accepted in every spelling and returned in the canonical one (`canonical`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files as packaged
from typing import Literal, NamedTuple

import ada_url
from pyoxigraph import NamedNode, RdfFormat, parse

from gossamer.base.errors import ConfigError

Kind = Literal["class", "property"]

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
LONGEST_OWN = 1 << 20
"""Bytes of the user's own vocabulary."""
ALSO_CALLED = {"dct": "dcterms", "dc11": "dc", "sdo": "schema"}
_KINDS: dict[str, Kind] = {"+": "class", ".": "property"}
_RELATIONS: dict[str, Kind] = {RDFS + "subClassOf": "class", RDFS + "subPropertyOf": "property"}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+\w?")
_NAMESPACE = re.compile(r".*[#/]|[^:]*:", re.DOTALL)


class VocabularyTerm(NamedTuple):
    iri: str
    kind: Kind
    label: str
    namespace: str

    @property
    def name(self) -> str:
        return self.iri.removeprefix(self.namespace)


Relations = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The terms directly above and below each term of one kind."""

    wider: Relations
    narrower: Relations

    def above(self, iri: str) -> tuple[str, ...]:
        return _reached(iri, self.wider)

    def below(self, iri: str) -> tuple[str, ...]:
        return _reached(iri, self.narrower)


@dataclass(frozen=True, slots=True)
class Vocabularies:
    prefixes: Mapping[str, str]
    """Namespace by prefix."""
    terms_by_iri: Mapping[str, VocabularyTerm]
    classes: Hierarchy
    properties: Hierarchy
    own: frozenset[tuple[str, str]] = field(default=frozenset())
    """Relations that were added, narrower first."""

    def superclasses(self, iri: str) -> tuple[str, ...]:
        """All of them, nearest first, without itself."""
        return self.classes.above(canonical(iri))

    def subclasses(self, iri: str) -> tuple[str, ...]:
        return self.classes.below(canonical(iri))

    def superproperties(self, iri: str) -> tuple[str, ...]:
        return self.properties.above(canonical(iri))

    def subproperties(self, iri: str) -> tuple[str, ...]:
        return self.properties.below(canonical(iri))

    def is_a(self, narrower: str, wider: str, kind: Kind = "class") -> bool:
        """Whether it is the same term or below it, however they are spelled."""
        low, high = canonical(narrower), canonical(wider)
        order = self.classes if kind == "class" else self.properties
        return low == high or high in order.above(low)

    def namespace_of(self, iri: str) -> str:
        """A known vocabulary, or else the part before the local name; the whole IRI if there is none."""
        iri = canonical(iri)
        known = [one for one in self.prefixes.values() if iri.startswith(one)]
        if known:
            return max(known, key=len)
        found = _NAMESPACE.match(iri)
        return found[0] if found else iri

    def prefix_of(self, namespace: str) -> str | None:
        wanted = canonical(namespace)
        return next((prefix for prefix, known in self.prefixes.items() if known == wanted), None)

    def expanded(self, short: str) -> str | None:
        """`schema:Person` as an IRI; None if the prefix is unknown."""
        prefix, colon, name = short.partition(":")
        namespace = self.prefixes.get(ALSO_CALLED.get(prefix, prefix))
        return namespace + name if colon and namespace is not None else None

    def term(self, iri: str) -> VocabularyTerm | None:
        return self.terms_by_iri.get(canonical(iri))

    def terms(self, text: str, kind: Kind | None = None, at_most: int = 50) -> list[VocabularyTerm]:
        """Terms that begin so, for completion: `schema:Per`, `schema:` or `per`. Exact case first, short ones first."""
        prefix, colon, name = text.rpartition(":")
        namespace = self.prefixes.get(ALSO_CALLED.get(prefix.lower(), prefix.lower())) if colon else ""
        if namespace is None:
            return []
        wanted = name.lower()
        found = [
            term
            for term in self.terms_by_iri.values()
            if (kind is None or term.kind == kind)
            and term.iri.startswith(namespace)
            and term.name.lower().startswith(wanted)
        ]
        found.sort(key=lambda term: (not term.name.startswith(name), len(term.name), term.iri))
        return found[:at_most]


@lru_cache(maxsize=1)
def bundled() -> Vocabularies:
    """The vocabularies that come with the program."""
    text = (packaged("gossamer.extract") / "vocabularies.txt").read_text("utf-8")
    prefixes: dict[str, str] = {}
    terms: dict[str, VocabularyTerm] = {}
    wider: dict[Kind, dict[str, list[str]]] = {"class": {}, "property": {}}
    namespace = ""
    for line in text.splitlines():
        sign, (name, *others) = line[0], line[1:].split()
        if sign == "=":
            prefixes[name], namespace = others[0], others[0]
        elif sign in _KINDS:
            kind = _KINDS[sign]
            terms[namespace + name] = VocabularyTerm(namespace + name, kind, label_of(name), namespace)
            wider[kind][namespace + name] = [one if "://" in one else namespace + one for one in others]
    return Vocabularies(prefixes, terms, _order(wider["class"]), _order(wider["property"]))


@lru_cache(maxsize=2)
def with_own(turtle: bytes) -> Vocabularies:
    """The bundled ones and the relations of this Turtle; its other statements are skipped. Raises ConfigError.

    Terms that only these relations name are added too, so that they can be completed and shown.
    """
    known = bundled()
    if not turtle.strip():
        return known
    relations, prefixes = _stated(turtle)
    classes = _merged(known.classes, (pair for kind, *pair in relations if kind == "class"))
    properties = _merged(known.properties, (pair for kind, *pair in relations if kind == "property"))
    everywhere = {**{name: iri for name, iri in prefixes.items() if name}, **known.prefixes}
    terms = dict(known.terms_by_iri)
    grown = Vocabularies(everywhere, terms, classes, properties, frozenset((low, high) for _, low, high in relations))
    for kind, low, high in relations:
        for iri in (low, high):
            space = grown.namespace_of(iri)
            terms.setdefault(iri, VocabularyTerm(iri, kind, label_of(iri.removeprefix(space)), space))
    return grown


def _stated(turtle: bytes) -> tuple[list[tuple[Kind, str, str]], dict[str, str]]:
    if len(turtle) > LONGEST_OWN:
        raise ConfigError(f"your vocabulary.ttl is longer than {LONGEST_OWN:,} bytes: shorten it")
    found: list[tuple[Kind, str, str]] = []
    try:
        reader = parse(turtle, RdfFormat.TURTLE)
        for quad in reader:
            kind = _RELATIONS.get(quad.predicate.value)
            if kind is not None and isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
                found.append((kind, canonical(quad.subject.value), canonical(quad.object.value)))
    except SyntaxError as trouble:
        raise ConfigError(f"your vocabulary.ttl is not Turtle ({trouble}): correct or delete it") from trouble
    return found, {name: canonical(iri) for name, iri in reader.prefixes.items()}


def _merged(known: Hierarchy, own: Iterable[list[str]]) -> Hierarchy:
    wider = {iri: list(names) for iri, names in known.wider.items()}
    for low, high in own:
        wider.setdefault(low, []).append(high)
    return _order(wider)


def _order(wider: Mapping[str, list[str]]) -> Hierarchy:
    narrower: dict[str, list[str]] = {}
    for low, names in wider.items():
        for high in names:
            narrower.setdefault(high, []).append(low)
    return Hierarchy(_frozen(wider), _frozen(narrower))


def _frozen(relations: Mapping[str, list[str]]) -> Relations:
    return {iri: tuple(dict.fromkeys(names)) for iri, names in relations.items() if names}


def _reached(iri: str, steps: Relations) -> tuple[str, ...]:
    """Everything reachable, nearest first; a cycle is walked once."""
    found: dict[str, None] = {iri: None}
    ring: tuple[str, ...] = (iri,)
    while ring:
        ring = tuple(further for one in ring for further in steps.get(one, ()) if further not in found)
        found.update(dict.fromkeys(ring))
    return tuple(found)[1:]


def label_of(name: str) -> str:
    """`givenName` as "given name"."""
    parts = _PARTS.findall(name)
    return " ".join(part if part.isupper() and len(part) > 1 else part.lower() for part in parts) or name


@lru_cache(maxsize=4096)
def superclasses(iri: str) -> tuple[str, ...]:
    """Of the bundled vocabularies: all superclasses, nearest first, without itself."""
    return bundled().superclasses(iri)


@lru_cache(maxsize=4096)
def namespace_of(iri: str) -> str:
    return bundled().namespace_of(iri)


_VARIANT = re.compile(r"https?://(?:(?:www\.)?(?=schema\.org/)|(?=ogp\.me/ns[#/]))([^/]*)", re.IGNORECASE)
"""A namespace with several spellings; the canonical one is http:// and the host."""
_WEB = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_UTF8 = re.compile(
    r"%[Cc][2-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Dd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}"
    r"|%[Ff][0-4](?:%[89ABab][0-9A-Fa-f]){3}"
)
_PLANES = "".join([f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)])
UCS = f"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef{_PLANES}\U000e1000-\U000efffd"
"""For a character class: the non-ASCII characters that IRIs allow (RFC 3987, 2.2, `ucschar`)."""
_READABLE = re.compile(f"(?![\u200e\u200f\u202a-\u202e\u2066-\u2069])[{UCS}]")
"""Direction marks stay encoded: they would change how the rest of the IRI is displayed (RFC 3987, 4.1)."""
_LONGEST_HOST = 255


def canonical(iri: str) -> str:
    """The canonical spelling of an IRI. Idempotent."""
    found = _VARIANT.match(iri)
    if found is not None:
        iri = f"http://{found[1].lower()}{iri[found.end() :]}"
    return iri_of(iri)


def iri_of(url: str) -> str:
    """A URL as the IRI for it (RFC 3987, 3.2), which leads to the same resource; other schemes stay as they are."""
    web = _WEB.match(url)
    if web is None:
        return url
    if "%" in url:
        url = _UTF8.sub(_character, url)
        web = _WEB.match(url) or web
    host = web[1]
    if (not host.isascii() or "xn--" in host.lower()) and len(host) <= _LONGEST_HOST:
        return url[: web.start(1)] + _unicode_host(host) + url[web.end() :]
    return url


def canonical_term(term: str) -> str:
    """The same for an N-Triples term; for a literal, its datatype."""
    if term[0] == "<":
        return f"<{canonical(term[1:-1])}>"
    if term[-1] == ">" and term[0] == '"':
        words, mark, kind = term.rpartition('"^^<')
        return f"{words}{mark}{canonical(kind[:-1])}>"
    return term


def _character(found: re.Match[str]) -> str:
    """The character that the octets encode, if IRIs allow it unescaped."""
    try:
        character = bytes.fromhex(found[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return found[0]
    return character if _READABLE.fullmatch(character) else found[0]


@lru_cache(maxsize=1024)
def _unicode_host(authority: str) -> str:
    """Unchanged if it is no host name, or if the conversion cannot be reversed."""
    name, colon, port = authority.partition(":")
    try:
        plain = ada_url.idna_to_ascii(name)
        readable = ada_url.idna_to_unicode(plain)
        is_same = bool(plain) and ada_url.idna_to_ascii(readable) == plain
    except (ValueError, UnicodeError):
        return authority
    return f"{readable}{colon}{port}" if is_same else authority


_UNICODE_HOST = re.compile(rb"<https?://[^/?#>\x80-\xff]*[\x80-\xff]", re.IGNORECASE).search
_ESCAPED = re.compile(rb"%[C-Fc-f][0-9A-Fa-f]%").search


def may_vary(lines: bytes) -> bool:
    """Whether facts, as N-Triples, may have a non-canonical name: a quick check that never misses one."""
    if b"%" in lines and _ESCAPED(lines):
        return True
    plain = lines.lower()
    return (
        plain.count(b"schema.org/") != lines.count(b"<http://schema.org/")
        or plain.count(b"//ogp.me/ns") != lines.count(b"<http://ogp.me/ns")
        or b"xn--" in plain
        or (not lines.isascii() and _UNICODE_HOST(lines) is not None)
    )
