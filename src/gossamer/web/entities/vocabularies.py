"""The vocabularies in use: which there are, and which of their classes and properties pages use, how much."""

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
from gossamer.collection.collection import Collection
from gossamer.collection.vocabulary import FactsInUse, TermsInUse
from gossamer.extract.vocabularies import bundled, canonical
from gossamer.values.format import csv_line
from gossamer.web.names import PREFIXES, entity_href, short
from gossamer.web.responses import Show, WebError, json_answer
from gossamer.web.routes import Routes, answers_with
from gossamer.web.site import WebSite

CSV = "text/csv"
NOT_USED = "No page uses a vocabulary with that name. A namespace usually ends in / or #: http://schema.org/"


class UsedTerm(msgspec.Struct, frozen=True):
    iri: str
    label: str
    """In plain words, if the vocabulary is one we know."""
    pages: int
    facts: int | None
    """Facts with this property, or facts that something is of this class; None while they are being counted: never 0,
    for a page uses it."""


class UsedVocabulary(msgspec.Struct, frozen=True):
    namespace: str
    prefix: str
    pages: int
    classes: int
    properties: int
    facts: int | None
    """With its properties; None while they are not counted."""
    known_terms: int
    """How many classes and properties the bundled copy of it has; 0 when we have none."""


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
    """Facts are counted apart from the rest, and less often; None while they are not."""
    is_cut: bool
    """There are more terms than were counted; the rarest are left out."""


class VocabulariesParameters(msgspec.Struct, frozen=True):
    namespace: Annotated[str, Meta(max_length=2048, description="Only this vocabulary.")] = msgspec.field(
        name="in", default=""
    )


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    @routes.get("/vocabularies")
    async def page(wanted: VocabulariesParameters) -> Response:
        known = await known_of(collection, wanted.namespace)
        template = "vocabulary.html" if isinstance(known, VocabularyTerms) else "vocabularies.html"
        return await run_in_threadpool(lambda: show(template, known=known, href=entity_href, short=short, to=to))

    @routes.get("/vocabularies.json", answers_with(UsedVocabularies | VocabularyTerms), "Vocabularies in use")
    async def as_json(wanted: VocabulariesParameters) -> Response:
        return json_answer(await known_of(collection, wanted.namespace))

    @routes.get("/vocabularies.csv", answers_with(str, CSV), "Vocabularies in use, as CSV")
    async def as_csv(wanted: VocabulariesParameters) -> Response:
        return Response(b"".join(map(csv_line, table(await known_of(collection, wanted.namespace)))), media_type=CSV)

    return routes


async def known_of(collection: Collection, namespace: str) -> UsedVocabularies | VocabularyTerms:
    """Raises WebError when no page uses it."""
    facts = await collection.fact_counter.latest()
    terms = await run_in_threadpool(collection.terms.count)
    known = one_of(terms, facts, full(namespace.strip())) if namespace.strip() else all_of(terms, facts)
    if known is None:
        raise WebError(404, NOT_USED)
    return known


def full(namespace: str) -> str:
    """`schema` or `schema:` is understood."""
    return bundled().prefixes.get(namespace.removesuffix(":")) or canonical(namespace)


def all_of(terms: TermsInUse, facts: FactsInUse | None) -> UsedVocabularies:
    counts: dict[str, list[int]] = {namespace: [0, 0, 0] for namespace in terms.vocabularies}
    for at, iris in ((0, terms.classes), (1, terms.properties)):
        for iri in iris:
            counts.setdefault(bundled().namespace_of(iri), [0, 0, 0])[at] += 1
    uncounted = set[str]()
    for iri in terms.properties:
        number, namespace = (facts.properties.get(iri, 0) if facts else 0), bundled().namespace_of(iri)
        counts[namespace][2] += number
        if not number:  # a page uses it, so there is a fact: the count is older than the page
            uncounted.add(namespace)
    found = [
        _vocabulary(namespace, terms, numbers, namespace not in uncounted) for namespace, numbers in counts.items()
    ]
    found.sort(key=lambda one: (-one.pages, one.namespace))
    return UsedVocabularies(tuple(found), terms.pages, in_words(terms.as_of), _as_of(facts), terms.is_cut)


def one_of(terms: TermsInUse, facts: FactsInUse | None, namespace: str) -> VocabularyTerms | None:
    """None when no page uses it."""
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


def _vocabulary(namespace: str, terms: TermsInUse, numbers: list[int], has_facts: bool) -> UsedVocabulary:
    prefix = bundled().prefix_of(namespace) or PREFIXES.get(namespace, "")
    classes, properties, facts = numbers
    pages, known = terms.vocabularies.get(namespace, 0), known_terms()[namespace]
    return UsedVocabulary(namespace, prefix, pages, classes, properties, facts if has_facts else None, known)


@cache
def known_terms() -> Counter[str]:
    """How many terms each bundled vocabulary has."""
    return Counter(term.namespace for term in bundled().terms_by_iri.values())


def _terms(pages: Mapping[str, int], facts: Mapping[str, int] | None, namespace: str) -> tuple[UsedTerm, ...]:
    ours = [iri for iri in pages if bundled().namespace_of(iri) == namespace]
    ours.sort(key=lambda iri: (-pages[iri], iri))
    return tuple(
        UsedTerm(iri, _label(iri), pages[iri], None if facts is None else facts.get(iri) or None) for iri in ours
    )


def _label(iri: str) -> str:
    known = bundled().term(iri)
    return known.label if known else ""


def _as_of(facts: FactsInUse | None) -> str | None:
    return in_words(facts.as_of) if facts else None


def to(parameter: str, iri: str) -> str:
    """A search for, or without, what has this IRI."""
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
