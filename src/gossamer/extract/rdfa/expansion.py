"""Vocabulary expansion (RDFa Core 1.1, 10): what a page's facts mean in the wider terms of the vocabularies it uses.

Nothing is fetched: what vocabularies say is given, as `relations_in` reads it from their documents. Only facts about
things follow from it, not relations among classes and properties (10.1.1).
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from pyoxigraph import RdfFormat, parse

from gossamer.extract.terms import RDF_TYPE
from gossamer.values.page import MOST_TRIPLES, Triple

MOST_ADDED = MOST_TRIPLES
"""Facts that may follow; there are no more than this, however the vocabularies are made."""
MOST_RELATIONS = 50_000
"""Of one vocabulary; schema.org has three thousand."""
LARGEST = 16 << 20
MOST_GROWTH = 1 << 20
"""Letters that the entities of an RDF/XML document may add to it."""

USES_VOCABULARY = "<http://www.w3.org/ns/rdfa#usesVocabulary>"
SUB_CLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
SUB_PROPERTY = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
SAME_CLASS = "<http://www.w3.org/2002/07/owl#equivalentClass>"
SAME_PROPERTY = "<http://www.w3.org/2002/07/owl#equivalentProperty>"
RELATIONS = frozenset((SUB_CLASS, SUB_PROPERTY, SAME_CLASS, SAME_PROPERTY))

FORMATS = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/rdf+xml": RdfFormat.RDF_XML,
}
"""By media type, those that vocabularies are published in and that are read here. HTML with RDFa is for the caller."""

_ENTITY = re.compile(rb"<!ENTITY\s+[^\s>]+\s+(?:\"([^\"]*)\"|'([^']*)')")

Wider = dict[str, list[str]]


def expanded(triples: list[Triple], vocabularies: Mapping[str, Iterable[Triple]]) -> list[Triple]:
    """`triples` as they are, and after them what follows, to a fixed point.

    `vocabularies` gives by address what each says (others than `RELATIONS` are passed over); those count that the page
    names by rdfa:usesVocabulary, and what the page says of classes and properties itself.
    """
    classes, properties = _wider(triples, vocabularies)
    if not classes and not properties:
        return triples
    known = set(triples)
    waiting = list(triples)
    for subject, predicate, thing in waiting:  # grows as it is gone through
        follows = [Triple(subject, wider, thing) for wider in properties.get(predicate, ())]
        if predicate == RDF_TYPE:
            follows += [Triple(subject, RDF_TYPE, wider) for wider in classes.get(thing, ())]
        for triple in follows:
            if triple not in known:
                known.add(triple)
                waiting.append(triple)
        if len(waiting) >= len(triples) + MOST_ADDED:
            return waiting[: len(triples) + MOST_ADDED]
    return waiting


def _wider(triples: list[Triple], vocabularies: Mapping[str, Iterable[Triple]]) -> tuple[Wider, Wider]:
    """For each class, and for each property, those that hold where it does."""
    classes: Wider = {}
    properties: Wider = {}
    used = dict.fromkeys([thing[1:-1] for _, predicate, thing in triples if predicate == USES_VOCABULARY])
    said = [fact for name in used for fact in islice(vocabularies.get(name, ()), MOST_RELATIONS)]
    for narrow, relation, wide in dict.fromkeys([*said, *triples]):
        if relation not in RELATIONS or not narrow.startswith("<") or not wide.startswith("<") or narrow == wide:
            continue
        into = classes if relation in (SUB_CLASS, SAME_CLASS) else properties
        into.setdefault(narrow, []).append(wide)
        if relation in (SAME_CLASS, SAME_PROPERTY):
            into.setdefault(wide, []).append(narrow)
    return classes, properties


def relations_in(body: bytes, media_type: str, base: str) -> list[Triple]:
    """What the document of a vocabulary says of its classes and properties, as far as it can be read.

    REQUIRES: `base` is an absolute IRI. Empty for media types other than `FORMATS`.
    """
    form = FORMATS.get(media_type.partition(";")[0].strip().lower())
    if form is None or len(body) > LARGEST or (form == RdfFormat.RDF_XML and _swells(body)):
        return []
    relations: list[Triple] = []
    try:
        for quad in parse(body, format=form, base_iri=base):
            triple = Triple(str(quad.subject), str(quad.predicate), str(quad.object))
            if triple.predicate in RELATIONS and triple.subject[0] == "<" and triple.object[0] == "<":
                relations.append(triple)
                if len(relations) >= MOST_RELATIONS:
                    break
    except (SyntaxError, ValueError):
        return relations
    return relations


def _swells(body: bytes) -> bool:
    """Whether its entities would make it grow out of bounds: the parser writes them out however often and however
    deep they are used. What is not UTF-8 could hide them."""
    if b"\0" in body:
        return True
    values = [one or other for one, other in _ENTITY.findall(body)]
    if any(b"&" in value for value in values) or body.count(b"<!ENTITY") != len(values):
        return True
    return max(map(len, values), default=0) * body.count(b"&") > MOST_GROWTH
