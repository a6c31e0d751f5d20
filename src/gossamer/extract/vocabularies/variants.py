"""A page's facts with canonical names (`identity`), and what the page wrote instead."""

from typing import NamedTuple

from gossamer.extract.page import Extraction
from gossamer.extract.vocabularies.canonical import canonical_term, may_vary
from gossamer.values.page import Triple, made
from gossamer.values.tree import Element


class Unified(NamedTuple):
    facts: Extraction
    spelt: dict[int, Triple]
    """By the number of a fact, the fact as the page spells it; only those that it spells differently."""


def unified(facts: Extraction, lines: bytes) -> Unified:
    """Facts that differ only in their spelling become one, at the first of their places, stated in all their syntaxes.

    REQUIRES: `lines` are the facts as N-Triples.
    """
    if not may_vary(lines):
        return Unified(facts, {})
    terms: dict[str, str] = {}
    numbers: dict[Triple, int] = {}
    places: list[Element] = []
    masks: list[int] = []
    spelt: dict[int, Triple] = {}
    for fact, place, mask in zip(facts.triples, facts.places, facts.stated_in, strict=True):
        for term in fact:
            if term not in terms:
                terms[term] = canonical_term(term)
        one = made(Triple, (terms[fact[0]], terms[fact[1]], terms[fact[2]]))
        at = numbers.setdefault(one, len(places))
        if at < len(places):
            masks[at] |= mask
            continue
        places.append(place)
        masks.append(mask)
        if one != fact:
            spelt[at] = fact
    return Unified(facts._replace(triples=list(numbers), places=places, stated_in=masks), spelt)
