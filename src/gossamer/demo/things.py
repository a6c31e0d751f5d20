"""What the pages of the demonstration web state: things, and the triples a correct reader gets from them.

The markup (`markup.py`) and the triples are both made from these values, so the manifest never needs an extractor.
Sources of the triple rules: RDFa 1.1 Core and HTML+RDFa 1.1, JSON-LD 1.1 with schema.org's context, Microdata to RDF.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import count
from typing import NamedTuple

SCHEMA = "http://schema.org/"
PREFIXES = {
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "og": "http://ogp.me/ns#",
}
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
USES_VOCABULARY = "http://www.w3.org/ns/rdfa#usesVocabulary"
XSD = "http://www.w3.org/2001/XMLSchema#"
COERCED_TO_ADDRESSES = frozenset({"url", "image", "sameAs"})
"""Properties whose plain strings are addresses by schema.org's JSON-LD context (those we use)."""


class Plain(NamedTuple):
    words: str


class Day(NamedTuple):
    day: str
    """`2026-03-21`."""


class At(NamedTuple):
    """An address that is the value itself."""

    address: str


class Number(NamedTuple):
    number: int


class Node(NamedTuple):
    type: str
    says: "tuple[tuple[str, Value], ...]"
    address: str = ""
    """Absolute; empty for a blank node."""


Value = Plain | Day | At | Number | Node


class Syntax(StrEnum):
    """How a thing is written into its page."""

    RDFA = "rdfa"
    JSONLD = "json-ld"
    MICRODATA = "microdata"


class Statements(NamedTuple):
    """Everything a page states. The first thing is what the page is about, whatever syntax it is in."""

    things: tuple[tuple[Syntax, Node], ...] = ()
    social: tuple[tuple[str, str], ...] = ()
    """`og:` properties, which are RDFa."""

    def said_in(self, syntax: Syntax) -> tuple[Node, ...]:
        return tuple(thing for way, thing in self.things if way is syntax)


NOTHING = Statements()
Fact = tuple[str, str, str]


class FactCounts(NamedTuple):
    """Distinct triples of one page, by syntax, and in all."""

    rdfa: int = 0
    jsonld: int = 0
    microdata: int = 0
    facts: int = 0
    """All syntaxes together, duplicates removed."""


def iri_of(name: str) -> str:
    """A property or class: schema.org's, unless it names another vocabulary's prefix."""
    prefix, colon, local = name.partition(":")
    return PREFIXES[prefix] + local if colon else SCHEMA + name


def counts_of(statements: Statements, page: str, language: str) -> FactCounts:
    """Blank nodes are never shared between two things, so the sets may be counted together."""
    rdfa, jsonld = rdfa_facts(statements, page, language), jsonld_facts(statements)
    microdata = microdata_facts(statements, language)
    return FactCounts(len(rdfa), len(jsonld), len(microdata), len(rdfa | jsonld | microdata))


def rdfa_facts(statements: Statements, page: str, language: str) -> set[Fact]:
    things = statements.said_in(Syntax.RDFA)
    facts: set[Fact] = {(page, iri_of(name), _literal(value, language)) for name, value in statements.social}
    if things:
        facts.add((page, USES_VOCABULARY, SCHEMA))
    labels = count()
    for thing in things:
        facts.update(_facts_of(thing, Syntax.RDFA, language, labels)[1])
    return facts


def jsonld_facts(statements: Statements) -> set[Fact]:
    labels = count()
    return {
        fact
        for thing in statements.said_in(Syntax.JSONLD)
        for fact in _facts_of(thing, Syntax.JSONLD, "", labels, "_:j")[1]
    }


def microdata_facts(statements: Statements, language: str) -> set[Fact]:
    labels = count()
    return {
        fact
        for thing in statements.said_in(Syntax.MICRODATA)
        for fact in _facts_of(thing, Syntax.MICRODATA, language, labels, "_:m")[1]
    }


def _facts_of(
    thing: Node, syntax: Syntax, language: str, labels: Iterator[int], blank: str = "_:r"
) -> tuple[str, set[Fact]]:
    subject = thing.address or f"{blank}{next(labels)}"
    facts = {(subject, TYPE, iri_of(thing.type))}
    for name, value in thing.says:
        if isinstance(value, Node):
            found, below = _facts_of(value, syntax, language, labels, blank)
            facts |= below
        else:
            found = _term(name, value, syntax, language)
        facts.add((subject, iri_of(name), found))
    return subject, facts


def _term(name: str, value: Plain | Day | At | Number, syntax: Syntax, language: str) -> str:
    match value:
        case At(address):
            return address
        case Day(day):
            return _literal(day, of_type=SCHEMA + "Date" if syntax is Syntax.JSONLD else XSD + "date")
        case Number(number):
            return (
                _literal(str(number), of_type=XSD + "integer")
                if syntax is Syntax.JSONLD
                else _literal(str(number), language)
            )
        case Plain(said):
            if syntax is Syntax.JSONLD:
                return said if name in COERCED_TO_ADDRESSES else _literal(said)
            return _literal(said, language)


def _literal(said: str, language: str = "", of_type: str = "") -> str:
    tail = f"@{language}" if language else f"^^<{of_type}>" if of_type else ""
    return f'"{said}"{tail}'
