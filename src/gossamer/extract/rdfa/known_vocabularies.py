"""What a few widespread vocabularies say of their own terms, so that expansion needs no fetching for them.

Facts from DCMI Metadata Terms (2020-01-20) and the FOAF Vocabulary Specification 0.99 (2014-01-14); only relations
between terms. When either changes, raise VERSION.
"""

from collections.abc import Mapping, Sequence

from gossamer.extract.rdfa.expansion import SAME_CLASS, SAME_PROPERTY, SUB_CLASS, SUB_PROPERTY
from gossamer.values.page import Triple

VERSION = 1

DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
FOAF = "http://xmlns.com/foaf/0.1/"
SCHEMA = "http://schema.org/"

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


def _term(iri: str) -> str:
    return f"<{iri}>"


def _dublin_core() -> list[Triple]:
    refined = [(DCTERMS + name, DC + name) for name in _ELEMENTS.split()]
    refined += [(DCTERMS + name, DCTERMS + wider) for wider, names in _REFINES.items() for name in names.split()]
    return [Triple(_term(name), SUB_PROPERTY, _term(wider)) for name, wider in refined]


_FOAF = (
    ("Person", SUB_CLASS, FOAF + "Agent"),
    ("Organization", SUB_CLASS, FOAF + "Agent"),
    ("Group", SUB_CLASS, FOAF + "Agent"),
    ("Image", SUB_CLASS, FOAF + "Document"),
    ("PersonalProfileDocument", SUB_CLASS, FOAF + "Document"),
    ("OnlineAccount", SUB_CLASS, "http://www.w3.org/2002/07/owl#Thing"),
    ("Agent", SAME_CLASS, DCTERMS + "Agent"),
    ("Person", SAME_CLASS, SCHEMA + "Person"),
    ("Image", SAME_CLASS, SCHEMA + "ImageObject"),
    ("Document", SAME_CLASS, SCHEMA + "CreativeWork"),
    ("maker", SAME_PROPERTY, DCTERMS + "creator"),
    ("name", SUB_PROPERTY, "http://www.w3.org/2000/01/rdf-schema#label"),
    ("img", SUB_PROPERTY, FOAF + "depiction"),
    ("homepage", SUB_PROPERTY, FOAF + "page"),
    ("homepage", SUB_PROPERTY, FOAF + "isPrimaryTopicOf"),
    ("weblog", SUB_PROPERTY, FOAF + "page"),
    ("isPrimaryTopicOf", SUB_PROPERTY, FOAF + "page"),
    ("openid", SUB_PROPERTY, FOAF + "isPrimaryTopicOf"),
    ("tipjar", SUB_PROPERTY, FOAF + "page"),
    ("aimChatID", SUB_PROPERTY, FOAF + "nick"),
    ("skypeID", SUB_PROPERTY, FOAF + "nick"),
)

KNOWN: Mapping[str, Sequence[Triple]] = {
    DCTERMS: _dublin_core(),
    FOAF: [Triple(_term(FOAF + name), relation, _term(wider)) for name, relation, wider in _FOAF],
}
"""By the address of the vocabulary, as `expanded` takes them."""
