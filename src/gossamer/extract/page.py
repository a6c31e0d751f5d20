"""The facts of a page in all syntaxes, from a single walk over its tree.

Then the same facts with canonical names, and the page's properties and named entities.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from html import unescape
from typing import NamedTuple

from gossamer.extract.jsonld.contexts import USER_CONTEXTS, Contexts
from gossamer.extract.jsonld.reader import read_jsonld
from gossamer.extract.meta_tags import OPEN_GRAPH, TWITTER, is_all_cards, read_dublin_core, read_opengraph, read_twitter
from gossamer.extract.microdata import read_microdata
from gossamer.extract.microformats.rdf import read_microformats
from gossamer.extract.rdfa.reader import read_rdfa
from gossamer.extract.source import (
    MOST_NOTICES,
    SYNTAXES,
    Extraction,
    FoundFacts,
    HostLanguage,
    Notice,
    RdfaVersion,
    Source,
)
from gossamer.extract.terms import HTML_LITERAL, RDF_TYPE, XML_LITERAL, Labels, iri_term, literal_text
from gossamer.extract.vocabularies import canonical_term, iri_of, may_vary
from gossamer.values.page import MOST_ENTITIES, MOST_PROPERTIES, MOST_TRIPLES, NamedEntity, Triple, new_tuple
from gossamer.values.tree import Element, Survey
from gossamer.values.url import Url

_READ: tuple[Callable[[Source], FoundFacts], ...] = (
    read_rdfa,
    read_jsonld,
    read_microdata,
    read_microformats,
    read_opengraph,
    read_twitter,
    read_dublin_core,
)
READERS = dict(zip(SYNTAXES, _READ, strict=True))
_UNDECLARED = tuple(f"<{prefix}:" for prefix in (*OPEN_GRAPH, *TWITTER))


def extract(
    survey: Survey,
    base: Url,
    capture_id: int,
    body: bytes,
    address: Url | None = None,
    *,
    host: HostLanguage = HostLanguage.HTML,
    syntaxes: Collection[str] = SYNTAXES,
    reads_roles: bool = False,
    is_thorough: bool = False,
    collects_notices: bool = False,
    rdfa_version: RdfaVersion | None = None,
    contexts: Contexts = USER_CONTEXTS,
) -> Extraction:
    """The facts of a page. `base` is its base URL, `<base>` included; `address` its own, if different.

    Never raises, for any content of the page, and fetches nothing.
    """
    document = iri_term(iri_of(base.text))
    own = document if address is None else iri_term(iri_of(address.text))
    if document is None or own is None:
        return Extraction([], [], [], (), ("base-unusable",))
    source = Source(
        survey,
        document[1:-1],
        own[1:-1],
        Labels(capture_id),
        body,
        host,
        reads_roles=reads_roles,
        is_thorough=is_thorough,
        collects_notices=collects_notices,
        rdfa_version=rdfa_version,
        contexts=contexts,
    )
    found = {name: READERS[name](source) for name in SYNTAXES if name in syntaxes}
    if "rdfa" in found and "opengraph" in found and "twitter" in found:
        _drop_undeclared(found["rdfa"])
    return _merged(found)


def _drop_undeclared(rdfa: FoundFacts) -> None:
    """Remove `article:author` and the like without a declaration: RDFa takes them for IRIs, the cards' reader knows
    them."""
    odd = [predicate for _, predicate, _ in rdfa.triples if not predicate.startswith("<http")]
    if any(predicate.startswith(_UNDECLARED) for predicate in odd):
        kept = [at for at, triple in enumerate(rdfa.triples) if not triple.predicate.startswith(_UNDECLARED)]
        rdfa.triples = [rdfa.triples[at] for at in kept]
        rdfa.places = [rdfa.places[at] for at in kept]


def _merged(found: dict[str, FoundFacts]) -> Extraction:
    stated: dict[Triple, int] = {}
    places: list[Element] = []
    flags: list[str] = []
    notices: list[Notice] = []
    for name, one in found.items():
        flags.extend(one.flags)
        notices.extend(one.notices)
        if not one.triples:
            continue
        bit = 1 << SYNTAXES.index(name)
        if not stated:
            stated = dict.fromkeys(one.triples, bit)
            if len(stated) == len(one.triples):  # usually there is one syntax, which says nothing twice
                places = list(one.places)
                continue
            stated = {}
        for triple, place in zip(one.triples, one.places, strict=True):
            known = stated.get(triple, 0)
            if not known:
                places.append(place)
            stated[triple] = known | bit
    if len(notices) > MOST_NOTICES:
        flags.append("too-many-notices")
    if len(stated) > MOST_TRIPLES:
        flags.append("too-many-facts")
    only_cards = "opengraph" in found and "twitter" in found and "rdfa" in found and is_all_cards(found["rdfa"])
    return Extraction(
        list(stated)[:MOST_TRIPLES],
        places[:MOST_TRIPLES],
        list(stated.values())[:MOST_TRIPLES],
        tuple([name for name, one in found.items() if one.triples and not (name == "rdfa" and only_cards)]),
        tuple(dict.fromkeys(flags)),
        tuple(notices[:MOST_NOTICES]),
    )


# Canonical names (`vocabularies.canonical`).


class Unified(NamedTuple):
    facts: Extraction
    spellings: dict[int, Triple]
    """By number, facts that the page spells differently, as it does."""


def unified(facts: Extraction, lines: bytes) -> Unified:
    """Merge facts that differ only in spelling: at the first of their places, stated in all their syntaxes.

    REQUIRES: `lines` are the facts as N-Triples.
    """
    if not may_vary(lines):
        return Unified(facts, {})
    terms: dict[str, str] = {}
    numbers: dict[Triple, int] = {}
    places: list[Element] = []
    masks: list[int] = []
    spellings: dict[int, Triple] = {}
    for fact, place, mask in zip(facts.triples, facts.places, facts.stated_in, strict=True):
        for term in fact:
            if term not in terms:
                terms[term] = canonical_term(term)
        one = new_tuple(Triple, (terms[fact[0]], terms[fact[1]], terms[fact[2]]))
        at = numbers.setdefault(one, len(places))
        if at < len(places):
            masks[at] |= mask
            continue
        places.append(place)
        masks.append(mask)
        if one != fact:
            spellings[at] = fact
    return Unified(facts._replace(triples=list(numbers), places=places, stated_in=masks), spellings)


# The properties and named entities of a page.

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


def properties_and_entities(triples: Iterable[Triple]) -> tuple[tuple[str, ...], tuple[NamedEntity, ...]]:
    """The properties other than rdf:type, and the entities with names; each once, in document order, within the limits.
    REQUIRES: canonical names (`unified`)."""
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
    return tuple([one[1:-1] for one in properties][:MOST_PROPERTIES]), _named_entities(names, types)


def _named_entities(names: Mapping[str, str], types: Mapping[str, list[str]]) -> tuple[NamedEntity, ...]:
    found = []
    for subject, literal in names.items():
        words = literal_text(literal) if literal[0] == '"' else ""
        if literal.endswith((XML_LITERAL, HTML_LITERAL)):
            words = unescape(_TAG.sub("", words))
        name = " ".join(words.split())
        if name and len(name) <= LONGEST_NAME:
            known = tuple(dict.fromkeys(types.get(subject, ())))[:MOST_TYPES]
            found.append(NamedEntity(subject[1:-1] if subject[0] == "<" else subject, name, known))
            if len(found) == MOST_ENTITIES:
                break
    return tuple(found)
