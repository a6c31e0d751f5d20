"""The vocabularies in use, and how often pages use each of their classes and properties."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gossamer.base.clock import in_words
from gossamer.collection.vocabulary import FactsInUse, TermsInUse
from gossamer.extract.vocabularies import bundled, canonical
from gossamer.values.format import csv_line
from gossamer.web.names import PREFIXES, entity_href, short
from gossamer.web.responses import Show, WebError
from gossamer.web.routes import CSV, Routes, answers_with
from gossamer.web.site import WebSite

NOT_USED = "No page uses a vocabulary with that name. A namespace usually ends in / or #: http://schema.org/"


class UsedTerm(msgspec.Struct, frozen=True):
    iri: str
    label: str
    """In plain words, if the vocabulary is bundled."""
    pages: int
    facts: int | None
    """Facts with this property or type; None until they are counted, never 0, as a page uses it."""


class UsedVocabulary(msgspec.Struct, frozen=True):
    namespace: str
    prefix: str
    pages: int
    classes: int
    properties: int
    facts: int | None
    """Facts with its properties; None until they are counted."""
    known_terms: int
    """Classes and properties of the bundled copy; 0 if there is none."""


class VocabularyTerms(msgspec.Struct, frozen=True, tag_field="kind", tag="vocabulary"):
    vocabulary: UsedVocabulary
    classes: tuple[UsedTerm, ...]
    properties: tuple[UsedTerm, ...]
    as_of: str
    facts_as_of: str | None
    is_cut: bool


class UsedVocabularies(msgspec.Struct, frozen=True, tag_field="kind", tag="vocabularies"):
    vocabularies: tuple[UsedVocabulary, ...]
    """Most pages first."""
    pages: int
    """In the whole collection."""
    as_of: str
    facts_as_of: str | None
    """Facts are counted separately and less often; None until then."""
    is_cut: bool
    """The rarest terms were not counted."""


class VocabulariesParameters(msgspec.Struct, frozen=True):
    namespace: Annotated[str, Meta(max_length=2048, description="Only this vocabulary.")] = msgspec.field(
        name="in", default=""
    )


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    @routes.get("/vocabularies.json", "Vocabularies in use")
    async def as_json(params: VocabulariesParameters) -> UsedVocabularies | VocabularyTerms:
        namespace = params.namespace.strip()
        facts = await collection.fact_counter.latest()
        terms = await run_in_threadpool(collection.terms.count)
        known = one_of(terms, facts, full(namespace)) if namespace else all_of(terms, facts)
        if known is None:
            raise WebError(404, NOT_USED)
        return known

    @routes.get("/vocabularies")
    async def page(params: VocabulariesParameters) -> Response:
        known = await as_json(params)
        template = "vocabulary.html" if isinstance(known, VocabularyTerms) else "vocabularies.html"
        return await run_in_threadpool(lambda: show(template, known=known, href=entity_href, short=short, to=to))

    @routes.get("/vocabularies.csv", "Vocabularies in use, as CSV", answers_with(str, CSV))
    async def as_csv(params: VocabulariesParameters) -> Response:
        return Response(b"".join(map(csv_line, table(await as_json(params)))), media_type=CSV)

    return routes


def full(namespace: str) -> str:
    """The namespace of a prefix, `schema` or `schema:`, or the canonical namespace."""
    return bundled().prefixes.get(namespace.removesuffix(":")) or canonical(namespace)


def all_of(terms: TermsInUse, facts: FactsInUse | None) -> UsedVocabularies:
    namespace_of = bundled().namespace_of
    classes, properties = Counter(map(namespace_of, terms.classes)), Counter(map(namespace_of, terms.properties))
    counted, uncounted = Counter[str](), set[str]()
    for iri in terms.properties:
        number = facts.properties.get(iri, 0) if facts else 0
        counted[namespace_of(iri)] += number
        if not number:  # a page uses it, so the count is older than the page
            uncounted.add(namespace_of(iri))
    found = [
        UsedVocabulary(
            namespace=name,
            prefix=bundled().prefix_of(name) or PREFIXES.get(name, ""),
            pages=terms.vocabularies.get(name, 0),
            classes=classes[name],
            properties=properties[name],
            facts=None if name in uncounted else counted[name],
            known_terms=known_terms()[name],
        )
        for name in dict.fromkeys((*terms.vocabularies, *classes, *properties))
    ]
    found.sort(key=lambda one: (-one.pages, one.namespace))
    return UsedVocabularies(tuple(found), terms.pages, in_words(terms.as_of), _as_of(facts), terms.is_cut)


def one_of(terms: TermsInUse, facts: FactsInUse | None, namespace: str) -> VocabularyTerms | None:
    """None if no page uses it."""
    everything = {one.namespace: one for one in all_of(terms, facts).vocabularies}
    if namespace not in everything:
        return None
    return VocabularyTerms(
        everything[namespace],
        _terms(terms.classes, facts.classes if facts else None, namespace),
        _terms(terms.properties, facts.properties if facts else None, namespace),
        in_words(terms.as_of),
        _as_of(facts),
        terms.is_cut,
    )


@cache
def known_terms() -> Counter[str]:
    return Counter(term.namespace for term in bundled().terms_by_iri.values())


def _terms(pages: Mapping[str, int], facts: Mapping[str, int] | None, namespace: str) -> tuple[UsedTerm, ...]:
    ours = [iri for iri in pages if bundled().namespace_of(iri) == namespace]
    ours.sort(key=lambda iri: (-pages[iri], iri))
    return tuple(
        UsedTerm(iri, known.label if (known := bundled().term(iri)) else "", pages[iri], (facts or {}).get(iri) or None)
        for iri in ours
    )


def _as_of(facts: FactsInUse | None) -> str | None:
    return in_words(facts.as_of) if facts else None


def to(parameter: str, iri: str) -> str:
    """A link to a search filtered by this IRI."""
    return "/?" + urlencode({parameter: iri})


def table(known: UsedVocabularies | VocabularyTerms) -> Iterable[list[object]]:
    if isinstance(known, UsedVocabularies):
        yield ["namespace", "prefix", "pages", "classes", "properties", "facts"]
        for one in known.vocabularies:
            yield [one.namespace, one.prefix, one.pages, one.classes, one.properties, one.facts]
        return
    yield ["term", "kind", "label", "pages", "facts"]
    for kind, terms in (("class", known.classes), ("property", known.properties)):
        for term in terms:
            yield [term.iri, kind, term.label, term.pages, term.facts]
