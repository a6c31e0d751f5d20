"""What a page's facts speak of: the properties it states, and the things it gives a name."""

import re
from collections.abc import Iterable, Mapping
from html import unescape

from gossamer.extract.entities import words_of
from gossamer.extract.rdfa.reader import HTML_LITERAL, XML_LITERAL
from gossamer.extract.terms import RDF_TYPE
from gossamer.values.page import MOST_PROPERTIES, MOST_THINGS, NamedEntity, Triple

LONGEST_NAME = 200
"""Characters; what is longer is a description that somebody called a name."""
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
"""Properties whose value is what a thing is called."""
GIVEN = frozenset((f"<{_SCHEMA}givenName>", f"<{_FOAF}givenName>", f"<{_FOAF}firstName>"))
FAMILY = frozenset((f"<{_SCHEMA}familyName>", f"<{_FOAF}familyName>", f"<{_FOAF}lastName>"))


def said_of(triples: Iterable[Triple]) -> tuple[tuple[str, ...], tuple[NamedEntity, ...]]:
    """The properties, rdf:type apart, and the things with a name; each once, in document order, as many as are kept.
    REQUIRES: canonical names (`identity`)."""
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


def _text_of(literal: str) -> str:
    """Without markup, where the literal is markup."""
    words = words_of(literal)
    return unescape(_TAG.sub("", words)) if literal.endswith((XML_LITERAL, HTML_LITERAL)) else words


def _things(names: Mapping[str, str], types: Mapping[str, list[str]]) -> tuple[NamedEntity, ...]:
    found = []
    for subject, literal in names.items():
        name = " ".join(_text_of(literal).split()) if literal[0] == '"' else ""
        if name and len(name) <= LONGEST_NAME:
            known = tuple(dict.fromkeys(types.get(subject, ())))[:MOST_TYPES]
            found.append(NamedEntity(subject[1:-1] if subject[0] == "<" else subject, name, known))
            if len(found) == MOST_THINGS:
                break
    return tuple(found)
