"""Property copying (HTML+RDFa 1.1, 3.5): `rdfa:copy` takes over what a `rdfa:Pattern` states."""

from gossamer.extract.source import Found
from gossamer.extract.terms import RDF_TYPE
from gossamer.values.page import MOST_TRIPLES, Triple
from gossamer.values.tree import Element

COPY = "<http://www.w3.org/ns/rdfa#copy>"
PATTERN = "<http://www.w3.org/ns/rdfa#Pattern>"
MOST_COPIES = MOST_TRIPLES
"""Facts of patterns that are looked at, each as often as it is copied: patterns may copy one another."""


def copied(found: Found) -> Found:
    """The facts after copying, to a fixed point. Patterns that were copied are taken out, and the copy links too.

    A copied fact's place is that of the pattern's.
    """
    triples = found.triples
    if not any(predicate == COPY or kind == PATTERN for _, predicate, kind in triples):
        return found
    if found.flags:
        return _without_patterns(found)
    patterns = {subject for subject, predicate, kind in triples if predicate == RDF_TYPE and kind == PATTERN}
    stated: dict[str, list[tuple[Triple, Element]]] = {}
    facts: dict[Triple, Element] = {}
    for triple, place in zip(triples, found.places, strict=True):
        stated.setdefault(triple.subject, []).append((triple, place))
        facts.setdefault(triple, place)
    links = [triple for triple in triples if triple.predicate == COPY and triple.object in patterns]
    gone = {link.object for link in links}
    waiting = [link for link in links if link.subject not in gone]  # what a pattern copies goes with it
    used = {(link.subject, link.object) for link in waiting}
    left = MOST_COPIES
    while waiting:
        target, _, pattern = waiting.pop()
        left -= len(stated[pattern])
        if left < 0:
            found.flags.append("too-many-copies")
            break
        for (_, predicate, thing), place in stated[pattern]:
            if predicate == RDF_TYPE and thing == PATTERN:
                continue
            if predicate == COPY and thing in patterns and (target, thing) not in used:
                used.add((target, thing))
                waiting.append(Triple(target, COPY, thing))
            facts.setdefault(Triple(target, predicate, thing), place)
    kept = {
        fact: place
        for fact, place in facts.items()
        if fact.subject not in gone and not (fact.predicate == COPY and fact.object in gone)
    }
    return Found(list(kept), list(kept.values()), found.flags, found.notices)


def _without_patterns(found: Found) -> Found:
    """Where a limit was reached, what is a pattern and who copies it is not known for certain: whatever may be one is
    left out, so that no pattern is taken for facts."""
    gone = {subject for subject, predicate, kind in found.triples if predicate == RDF_TYPE and kind == PATTERN}
    gone.update(thing for _, predicate, thing in found.triples if predicate == COPY)
    pairs = zip(found.triples, found.places, strict=True)
    kept = [(fact, place) for fact, place in pairs if fact.subject not in gone and fact.predicate != COPY]
    return Found([fact for fact, _ in kept], [place for _, place in kept], found.flags, found.notices)
