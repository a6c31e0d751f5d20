"""Facts as nested entities with types and properties, as plain dicts.

    {"type": [IRI, ...], "id": IRI, "properties": {IRI: [value, ...]}}

A value is a string (a plain literal), `{"value", "language"}` or `{"value", "datatype"}` (other literals), `{"list"}`
(an RDF list), an entity, or `{"id"}` (an entity without facts, or that is written elsewhere).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gossamer.extract.rdfa.prefixes import USES_VOCABULARY
from gossamer.extract.terms import RDF_FIRST, RDF_NIL, RDF_REST, RDF_TYPE, XSD, literal_text
from gossamer.values.page import Triple

DEEPEST = 32
"""Entities inside entities; deeper ones are at the top and referred to by id."""

EntityDict = dict[str, Any]


def entities_of(triples: Iterable[Triple]) -> list[EntityDict]:
    """Every subject once: inside the first entity that refers to it, or at the top if none does. The vocabularies that
    a page uses are left out, as they describe no entity."""
    facts: dict[str, list[tuple[str, str]]] = {}
    for subject, predicate, value in triples:
        if predicate != USES_VOCABULARY:
            facts.setdefault(subject, []).append((predicate, value))
    return _Nesting(facts).all()


class _Nesting:
    def __init__(self, facts: Mapping[str, list[tuple[str, str]]]) -> None:
        """`facts`: the predicates and values of each subject, in document order."""
        self._facts = facts
        self._mentions = Counter(
            value for subject, stated in facts.items() for _, value in stated if value in facts and value != subject
        )
        self._placed: set[str] = set()
        self._unlisted: set[str] = set()
        """Cells of broken lists, so that a long one is not walked once for each of its cells."""
        self._waiting: list[tuple[str, EntityDict, int]] = []

    def all(self) -> list[EntityDict]:
        """First those that nothing refers to; the rest is in cycles or too deep, and is cut at the first in document
        order."""
        tops = {subject: self._top(subject) for subject in self._facts if not self._mentions[subject]}
        for subject in self._facts:
            if subject not in self._placed:
                tops[subject] = self._top(subject)
        return [tops[subject] for subject in self._facts if subject in tops]

    def _top(self, subject: str) -> EntityDict:
        entity = self._empty(subject, is_top=True)
        self._waiting.append((subject, entity, 1))
        while self._waiting:
            self._fill(*self._waiting.pop())
        return entity

    def _empty(self, subject: str, is_top: bool) -> EntityDict:
        """An entity without content yet. The label of a blank node is only written if something refers to it."""
        self._placed.add(subject)
        entity: EntityDict = {"type": []}
        refers_to_itself = any(value == subject for _, value in self._facts[subject])
        if subject[0] == "<" or self._mentions[subject] > (0 if is_top else 1) or refers_to_itself:
            entity["id"] = _id(subject)
        entity["properties"] = {}
        return entity

    def _fill(self, subject: str, entity: EntityDict, depth: int) -> None:
        for predicate, value in self._facts[subject]:
            if predicate == RDF_TYPE and value[0] == "<":
                entity["type"].append(value[1:-1])
            else:
                entity["properties"].setdefault(predicate[1:-1], []).append(self._value(value, depth))

    def _value(self, term: str, depth: int) -> Any:
        cells = self._cells(term) if term[0] != '"' else None
        if cells is None:
            return self._one(term, depth)
        self._placed.update(cells)
        # lists in lists stay the cells they are: pages do not nest them, and depth stays bounded
        return {"list": [self._one(dict(self._facts[cell])[RDF_FIRST], depth) for cell in cells]}

    def _one(self, term: str, depth: int) -> str | EntityDict:
        if term[0] == '"':
            return literal(term)
        if term in self._placed or term not in self._facts or depth >= DEEPEST:
            return {"id": _id(term)}
        entity = self._empty(term, is_top=False)
        self._waiting.append((term, entity, depth + 1))
        return entity

    def _cells(self, term: str) -> list[str] | None:
        """The cells of a well-formed list that nothing else refers to; None if it is no such list."""
        cells: dict[str, None] = {}
        while term != RDF_NIL:
            if term in cells or not self._is_cell(term):
                self._unlisted.update(cells)
                return None
            cells[term] = None
            term = dict(self._facts[term])[RDF_REST]
        return list(cells)

    def _is_cell(self, term: str) -> bool:
        stated = self._facts.get(term, ())
        return (
            len(stated) == 2
            and term[0] == "_"
            and {predicate for predicate, _ in stated} == {RDF_FIRST, RDF_REST}
            and self._mentions[term] == 1
            and term not in self._placed
            and term not in self._unlisted
        )


def _id(term: str) -> str:
    return term[1:-1] if term[0] == "<" else term


def literal(term: str) -> str | dict[str, str]:
    """The text of a literal, with its language or datatype if it has one. REQUIRES: an N-Triples literal."""
    text, suffix = literal_text(term), term[term.rindex('"') + 1 :]
    if suffix.startswith("@"):
        return {"value": text, "language": suffix[1:]}
    if suffix.startswith("^^") and suffix != f"^^<{XSD}string>":
        return {"value": text, "datatype": suffix[3:-1]}
    return text
