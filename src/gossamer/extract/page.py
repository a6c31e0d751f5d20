"""The facts of a page in all syntaxes, from a single walk over its tree."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from gossamer.extract.jsonld.contexts import HELD, Contexts
from gossamer.extract.jsonld.reader import read_jsonld
from gossamer.extract.meta_tags import OPEN_GRAPH, TWITTER, is_all_cards, read_dublin_core, read_opengraph, read_twitter
from gossamer.extract.microdata import read_microdata
from gossamer.extract.microformats.rdf import read_microformats
from gossamer.extract.rdfa.reader import read_rdfa
from gossamer.extract.source import MOST_NOTICES, FoundFacts, HostLanguage, Notice, RdfaVersion, Source
from gossamer.extract.terms import Labels, iri_term
from gossamer.extract.vocabularies import canonical_term, iri_of, may_vary
from gossamer.values.page import MOST_TRIPLES, Triple, new_tuple
from gossamer.values.tree import Element, Survey
from gossamer.values.url import Url

READERS: dict[str, Callable[[Source], FoundFacts]] = {
    "rdfa": read_rdfa,
    "json-ld": read_jsonld,
    "microdata": read_microdata,
    "microformats": read_microformats,
    "opengraph": read_opengraph,
    "twitter": read_twitter,
    "dublin-core": read_dublin_core,
}
"""By name of the syntax, in order of precedence: a fact keeps the place where it was found first."""
SYNTAXES = tuple(READERS)
_UNDECLARED = tuple(f"<{prefix}:" for prefix in (*OPEN_GRAPH, *TWITTER))


class Extraction(NamedTuple):
    """Facts in document order within each syntax, each once. The first three lists are parallel."""

    triples: list[Triple]
    places: list[Element]
    """The element that states each fact."""
    stated_in: list[int]
    """The syntaxes that state each fact: bit n is SYNTAXES[n]."""
    syntaxes: tuple[str, ...]
    """Those that state something; RDFa only if it states more than Open Graph and Twitter cards."""
    flags: tuple[str, ...]
    notices: tuple[Notice, ...] = ()


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
    takes_notes: bool = False,
    rdfa_version: RdfaVersion | None = None,
    contexts: Contexts = HELD,
) -> Extraction:
    """The facts of a page. `base` is its base URL, `<base>` included; `address` its own, if different.

    Never raises, whatever the page contains, and fetches nothing.
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
        takes_notes=takes_notes,
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
            known = stated.get(triple)
            if known is None:
                places.append(place)
                stated[triple] = bit
            else:
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


# A page's facts with canonical names (`vocabularies.canonical`), and what the page wrote instead.


class Unified(NamedTuple):
    facts: Extraction
    spelt: dict[int, Triple]
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
    spelt: dict[int, Triple] = {}
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
            spelt[at] = fact
    return Unified(facts._replace(triples=list(numbers), places=places, stated_in=masks), spelt)
