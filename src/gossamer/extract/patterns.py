"""Property copying (HTML+RDFa 1.1, 3.5): `rdfa:copy` takes over what a `rdfa:Pattern` states."""

from gossamer.extract.terms import RDF_TYPE
from gossamer.values.page import MOST_TRIPLES, Triple

COPY = "<http://www.w3.org/ns/rdfa#copy>"
PATTERN = "<http://www.w3.org/ns/rdfa#Pattern>"


def copied(triples: list[Triple]) -> list[Triple]:
    """The facts after copying, to a fixed point. Patterns that were copied are taken out, and the copy links too."""
    if not any(triple.predicate == COPY for triple in triples):
        return triples
    patterns = {subject for subject, predicate, kind in triples if predicate == RDF_TYPE and kind == PATTERN}
    stated: dict[str, list[Triple]] = {}
    for triple in triples:
        stated.setdefault(triple.subject, []).append(triple)
    facts = dict.fromkeys(triples)
    waiting = [triple for triple in triples if triple.predicate == COPY and triple.object in patterns]
    used = {(link.subject, link.object) for link in waiting}
    while waiting and len(facts) < 2 * MOST_TRIPLES:
        target, _, pattern = waiting.pop()
        for _, predicate, thing in stated.get(pattern, ()):
            if predicate == RDF_TYPE and thing == PATTERN:
                continue
            if predicate == COPY and thing in patterns and (target, thing) not in used:
                used.add((target, thing))
                waiting.append(Triple(target, COPY, thing))
            facts[Triple(target, predicate, thing)] = None
    gone = {pattern for _, pattern in used}
    return [fact for fact in facts if fact.subject not in gone and not (fact.predicate == COPY and fact.object in gone)]
