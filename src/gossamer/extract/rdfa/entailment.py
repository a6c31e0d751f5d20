"""RDFa vocabulary expansion (RDFa Core 1.1, 10).

The facts of a page in the wider terms of the vocabularies it uses.

Nothing is fetched: the relations are given, as `relations_in` reads them from documents. Only facts about entities are
inferred, not relations among classes and properties (10.1.1).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from pyoxigraph import RdfFormat, parse

from gossamer.extract.rdfa.prefixes import PREFIXES, USES_VOCABULARY
from gossamer.extract.terms import RDF_TYPE
from gossamer.values.page import MOST_TRIPLES, Triple

MOST_ADDED = MOST_TRIPLES
"""Inferred facts, in all vocabularies."""
MOST_RELATIONS = 50_000
"""Per vocabulary; schema.org has three thousand."""
LARGEST = 16 << 20
MOST_GROWTH = 1 << 20
"""Characters that the entities of an RDF/XML document may add to it."""
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
"""By media type, the formats of vocabularies that are read here. HTML with RDFa is up to the caller."""
_ENTITY = re.compile(rb"<!ENTITY\s+[^\s>]+\s+(?:\"([^\"]*)\"|'([^']*)')")
Wider = dict[str, list[str]]


def expanded(triples: list[Triple], vocabularies: Mapping[str, Iterable[Triple]]) -> list[Triple]:
    """The triples, and after them what they entail, to a fixed point.

    `vocabularies` has the statements of each by URL (others than `RELATIONS` are skipped). Used are those that the page
    names by rdfa:usesVocabulary, and its own statements about classes and properties.
    """
    classes, properties = _wider(triples, vocabularies)
    if not classes and not properties:
        return triples
    known = set(triples)
    waiting = list(triples)
    for subject, predicate, value in waiting:  # grows meanwhile
        follows = [Triple(subject, wider, value) for wider in properties.get(predicate, ())]
        if predicate == RDF_TYPE:
            follows += [Triple(subject, RDF_TYPE, wider) for wider in classes.get(value, ())]
        for triple in follows:
            if triple not in known:
                known.add(triple)
                waiting.append(triple)
        if len(waiting) >= len(triples) + MOST_ADDED:
            return waiting[: len(triples) + MOST_ADDED]
    return waiting


def _wider(triples: list[Triple], vocabularies: Mapping[str, Iterable[Triple]]) -> tuple[Wider, Wider]:
    """For each class and each property, the wider ones."""
    classes: Wider = {}
    properties: Wider = {}
    used = dict.fromkeys([value[1:-1] for _, predicate, value in triples if predicate == USES_VOCABULARY])
    stated = [fact for name in used for fact in islice(vocabularies.get(name, ()), MOST_RELATIONS)]
    for narrow, relation, wide in dict.fromkeys([*stated, *triples]):
        if relation not in RELATIONS or not narrow.startswith("<") or not wide.startswith("<") or narrow == wide:
            continue
        into = classes if relation in (SUB_CLASS, SAME_CLASS) else properties
        into.setdefault(narrow, []).append(wide)
        if relation in (SAME_CLASS, SAME_PROPERTY):
            into.setdefault(wide, []).append(narrow)
    return classes, properties


def relations_in(body: bytes, media_type: str, base: str) -> list[Triple]:
    """The relations of classes and properties in the document of a vocabulary, as far as it can be read.

    REQUIRES: `base` is an absolute IRI. Empty for media types other than `FORMATS`.
    """
    form = FORMATS.get(media_type.partition(";")[0].strip().lower())
    if form is None or len(body) > LARGEST or (form == RdfFormat.RDF_XML and _grows_too_large(body)):
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


def _grows_too_large(body: bytes) -> bool:
    """Whether its entities would make it too large: the parser expands them however often and deeply they are used.
    Encodings other than UTF-8 could hide them."""
    if b"\0" in body:
        return True
    values = [one or other for one, other in _ENTITY.findall(body)]
    if any(b"&" in value for value in values) or body.count(b"<!ENTITY") != len(values):
        return True
    return max(map(len, values), default=0) * body.count(b"&") > MOST_GROWTH


# The relations of a few widespread vocabularies, so that expansion works without their documents.
# Facts from DCMI Metadata Terms (2020-01-20) and the FOAF Vocabulary Specification 0.99 (2014-01-14); only relations
# between terms.

DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
FOAF = "http://xmlns.com/foaf/0.1/"
_ELEMENTS = """
    contributor coverage creator date description format identifier language publisher relation rights source subject
    title type
"""
"""Each refines the element of the same name."""
_REFINES = {
    "contributor": "creator",
    "coverage": "spatial temporal",
    "date": "available created dateAccepted dateCopyrighted dateSubmitted issued modified valid",
    "description": "abstract tableOfContents",
    "format": "extent medium",
    "identifier": "bibliographicCitation",
    "relation": "conformsTo hasFormat hasPart hasVersion isFormatOf isPartOf isReferencedBy isReplacedBy isRequiredBy "
    "isVersionOf references replaces requires source",
    "rights": "accessRights license",
    "title": "alternative",
}
_DUBLIN_CORE = (
    *((name, DC + name) for name in _ELEMENTS.split()),
    *((name, DCTERMS + wider) for wider, names in _REFINES.items() for name in names.split()),
)
_FOAF = {
    SUB_CLASS: "Person=foaf:Agent Organization=foaf:Agent Group=foaf:Agent Image=foaf:Document "
    "PersonalProfileDocument=foaf:Document OnlineAccount=owl:Thing",
    SAME_CLASS: "Agent=dcterms:Agent Person=schema:Person Image=schema:ImageObject Document=schema:CreativeWork",
    SAME_PROPERTY: "maker=dcterms:creator",
    SUB_PROPERTY: "name=rdfs:label img=foaf:depiction homepage=foaf:page homepage=foaf:isPrimaryTopicOf "
    "weblog=foaf:page isPrimaryTopicOf=foaf:page openid=foaf:isPrimaryTopicOf tipjar=foaf:page aimChatID=foaf:nick "
    "skypeID=foaf:nick",
}


def _foaf() -> Iterator[Triple]:
    for relation, pairs in _FOAF.items():
        for pair in pairs.split():
            name, _, wider = pair.partition("=")
            prefix, _, local = wider.partition(":")
            yield Triple(f"<{FOAF}{name}>", relation, f"<{PREFIXES[prefix]}{local}>")


KNOWN: Mapping[str, Sequence[Triple]] = {
    DCTERMS: [Triple(f"<{DCTERMS}{name}>", SUB_PROPERTY, f"<{wider}>") for name, wider in _DUBLIN_CORE],
    FOAF: list(_foaf()),
}
"""By the URL of the vocabulary, as `expanded` takes them."""
