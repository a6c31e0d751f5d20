"""Facts as nested entities with types and properties, as plain dicts.

    {"type": [IRI, ...], "id": IRI, "properties": {IRI: [value, ...]}}

A value is a string (a plain literal), `{"value", "language"}` or `{"value", "datatype"}` (other literals), `{"list"}`
(an RDF list), an entity, or `{"id"}` (an entity without facts, or that is written elsewhere).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from html import unescape
from typing import Any

from gossamer.extract.rdfa.entailment import USES_VOCABULARY
from gossamer.extract.rdfa.reader import HTML_LITERAL, XML_LITERAL
from gossamer.extract.terms import RDF_FIRST, RDF_NIL, RDF_REST, RDF_TYPE, XSD
from gossamer.values.page import MOST_ENTITIES, MOST_PROPERTIES, NamedEntity, Triple

DEEPEST = 32
"""Entities inside entities; deeper ones are at the top and referred to by id."""

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}

Thing = dict[str, Any]
Told = Mapping[str, list[tuple[str, str]]]
"""The predicates and objects of each subject, in document order."""


def entities_of(triples: Iterable[Triple]) -> list[Thing]:
    """Every subject once: inside the first entity that refers to it, or at the top if none does. The vocabularies that
    a page uses are left out, as they describe no entity."""
    told: dict[str, list[tuple[str, str]]] = {}
    for subject, predicate, thing in triples:
        if predicate != USES_VOCABULARY:
            told.setdefault(subject, []).append((predicate, thing))
    return _Telling(told).all()


class _Telling:
    def __init__(self, told: Told) -> None:
        self._told = told
        self._mentions = Counter(
            thing for subject, said in told.items() for _, thing in said if thing in told and thing != subject
        )
        self._placed: set[str] = set()
        self._unlisted: set[str] = set()
        """Cells of broken lists, so that a long one is not walked once for each of its cells."""
        self._waiting: list[tuple[str, Thing, int]] = []

    def all(self) -> list[Thing]:
        """First those that nothing refers to; the rest is in cycles or too deep, and is cut at the first in document
        order."""
        tops = {subject: self._top(subject) for subject in self._told if not self._mentions[subject]}
        for subject in self._told:
            if subject not in self._placed:
                tops[subject] = self._top(subject)
        return [tops[subject] for subject in self._told if subject in tops]

    def _top(self, subject: str) -> Thing:
        shell = self._shell(subject, is_top=True)
        self._waiting.append((subject, shell, 1))
        while self._waiting:
            self._fill(*self._waiting.pop())
        return shell

    def _shell(self, subject: str, is_top: bool) -> Thing:
        """An entity without content yet. The label of a blank node is only written if something refers to it."""
        self._placed.add(subject)
        shell: Thing = {"type": []}
        refers_to_itself = any(thing == subject for _, thing in self._told[subject])
        if subject[0] == "<" or self._mentions[subject] > (0 if is_top else 1) or refers_to_itself:
            shell["id"] = _id(subject)
        shell["properties"] = {}
        return shell

    def _fill(self, subject: str, shell: Thing, depth: int) -> None:
        for predicate, thing in self._told[subject]:
            if predicate == RDF_TYPE and thing[0] == "<":
                shell["type"].append(thing[1:-1])
            else:
                shell["properties"].setdefault(predicate[1:-1], []).append(self._value(thing, depth))

    def _value(self, term: str, depth: int) -> Any:
        cells = self._cells(term) if term[0] != '"' else None
        if cells is None:
            return self._one(term, depth)
        self._placed.update(cells)
        # lists in lists stay the cells they are: nobody nests them, and depth stays bounded
        return {"list": [self._one(dict(self._told[cell])[RDF_FIRST], depth) for cell in cells]}

    def _one(self, term: str, depth: int) -> str | Thing:
        if term[0] == '"':
            return literal(term)
        if term in self._placed or term not in self._told or depth >= DEEPEST:
            return {"id": _id(term)}
        shell = self._shell(term, is_top=False)
        self._waiting.append((term, shell, depth + 1))
        return shell

    def _cells(self, term: str) -> list[str] | None:
        """The cells of a well-formed list that nothing else refers to; None if it is no such list."""
        cells: dict[str, None] = {}
        while term != RDF_NIL:
            if term in cells or not self._is_cell(term):
                self._unlisted.update(cells)
                return None
            cells[term] = None
            term = dict(self._told[term])[RDF_REST]
        return list(cells)

    def _is_cell(self, term: str) -> bool:
        said = self._told.get(term, ())
        return (
            len(said) == 2
            and term[0] == "_"
            and {predicate for predicate, _ in said} == {RDF_FIRST, RDF_REST}
            and self._mentions[term] == 1
            and term not in self._placed
            and term not in self._unlisted
        )


def _id(term: str) -> str:
    return term[1:-1] if term[0] == "<" else term


def literal(term: str) -> str | dict[str, str]:
    """The text of a literal, with its language or datatype if it has one. REQUIRES: an N-Triples literal."""
    end = term.rindex('"')
    words, suffix = words_of(term), term[end + 1 :]
    if suffix.startswith("@"):
        return {"value": words, "language": suffix[1:]}
    if suffix.startswith("^^") and suffix != f"^^<{XSD}string>":
        return {"value": words, "datatype": suffix[3:-1]}
    return words


def words_of(term: str) -> str:
    """The text between the quotation marks, unescaped."""
    inside = term[1 : term.rindex('"')]
    return _ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _PLAIN.get(found[3], found[3])


LONGEST_NAME = 200
"""Characters; longer names are descriptions."""
MOST_TYPES = 10
_TAG = re.compile(r"<[^>]*>")
_SCHEMA = "http://schema.org/"
_FOAF = "http://xmlns.com/foaf/0.1/"
NAMES = frozenset(
    f"<{iri}>"
    for iri in (
        *(_SCHEMA + name for name in ("name", "headline", "legalName")),
        f"{_FOAF}name",
        "http://www.w3.org/2000/01/rdf-schema#label",
        "http://www.w3.org/2004/02/skos/core#prefLabel",
        "http://purl.org/dc/terms/title",
        "http://purl.org/dc/elements/1.1/title",
        "http://www.w3.org/2006/vcard/ns#fn",
        "http://purl.org/goodrelations/v1#name",
        "http://rdf.data-vocabulary.org/#name",
        "https://www.w3.org/ns/activitystreams#name",
        "http://rdfs.org/sioc/ns#name",
    )
)
"""Properties with the name of an entity."""
GIVEN = frozenset((f"<{_SCHEMA}givenName>", f"<{_FOAF}givenName>", f"<{_FOAF}firstName>"))
FAMILY = frozenset((f"<{_SCHEMA}familyName>", f"<{_FOAF}familyName>", f"<{_FOAF}lastName>"))


def said_of(triples: Iterable[Triple]) -> tuple[tuple[str, ...], tuple[NamedEntity, ...]]:
    """The properties other than rdf:type and the named entities; each once, in document order, within the limits.
    REQUIRES: canonical names (`vocabularies.canonical`)."""
    properties: dict[str, None] = {}
    names: dict[str, str] = {}
    given: dict[str, str] = {}
    family: dict[str, str] = {}
    types: dict[str, list[str]] = {}
    for subject, predicate, value in triples:
        if predicate == RDF_TYPE:
            if value[0] == "<":
                types.setdefault(subject, []).append(value[1:-1])
            continue
        properties[predicate] = None
        if predicate in NAMES:
            names.setdefault(subject, value)
        elif predicate in GIVEN:
            given.setdefault(subject, value)
        elif predicate in FAMILY:
            family.setdefault(subject, value)
    for subject in [one for one in given | family if one not in names]:
        whole = [one[1 : one.rindex('"')] for one in (given.get(subject), family.get(subject)) if one and one[0] == '"']
        names[subject] = f'"{" ".join(whole)}"'
    return tuple([one[1:-1] for one in properties][:MOST_PROPERTIES]), _things(names, types)


def _things(names: Mapping[str, str], types: Mapping[str, list[str]]) -> tuple[NamedEntity, ...]:
    found = []
    for subject, literal in names.items():
        words = words_of(literal) if literal[0] == '"' else ""
        if literal.endswith((XML_LITERAL, HTML_LITERAL)):
            words = unescape(_TAG.sub("", words))
        name = " ".join(words.split())
        if name and len(name) <= LONGEST_NAME:
            known = tuple(dict.fromkeys(types.get(subject, ())))[:MOST_TYPES]
            found.append(NamedEntity(subject[1:-1] if subject[0] == "<" else subject, name, known))
            if len(found) == MOST_ENTITIES:
                break
    return tuple(found)
