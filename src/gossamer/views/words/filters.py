"""The filters of a `Query` as terms of the index.

Any value of a filter may match, and all filters must.
"""

from collections.abc import Callable

from gossamer.base.clock import Instant
from gossamer.extract.vocabularies import Vocabularies, bundled
from gossamer.values.query import Query
from gossamer.views.words.schema import TRAITS, iris_of, last_part, namespaces_of

GROUPS = {
    "type": "types",
    "ontology": "ontologies",
    "property": "properties",
    "site": "sites",
    "lang": "languages",
    "syntax": "syntaxes",
}
"""Filter names, and their fields in a `Query`."""
EARLIEST, LATEST = -(1 << 63), (1 << 63) - 1
Term = tuple[str, str]
"""A field of the index, and a value in it."""


def terms_of(known: Vocabularies, group: str, value: str) -> list[Term]:
    """The terms of pages that pass a filter with this one value: a page needs one of them. None: no page passes."""
    return _TERMS[group](known, value.encode("utf-8", "replace").decode())


def span_of(query: Query) -> tuple[Instant, Instant]:
    """The instants between which pages were fetched; the second is excluded."""
    since = EARLIEST if query.since is None else max(EARLIEST, query.since)
    return since, LATEST if query.until is None else min(LATEST, query.until)


def own_superclasses(known: Vocabularies) -> list[str]:
    """Classes that have subclasses by the user's own vocabulary."""
    if not known.own:
        return []
    high = {iri for _, iri in known.own}
    every = high | {above for iri in high for above in known.superclasses(iri)}
    return sorted(iri for iri in every if known.subclasses(iri))


def _type(known: Vocabularies, name: str) -> list[Term]:
    """Bundled subclasses are in the index; those of the user's own vocabulary are added to the query."""
    iris = iris_of(name) or tuple(iri for iri in own_superclasses(known) if last_part(iri) == name.lower())
    below = [narrower for iri in iris for narrower in known.subclasses(iri)]
    indexed = {narrower for iri in iris for narrower in bundled().subclasses(iri)}
    classes = dict.fromkeys([*iris, *(iri for iri in below if iri not in indexed)])
    stated_or_inferred = [_trait(kind, iri) for iri in classes for kind in ("types", "supertypes")]
    return stated_or_inferred if iris_of(name) else [("kinds", name.lower()), *stated_or_inferred]


def _property(known: Vocabularies, name: str) -> list[Term]:
    """A page that states a narrower property states this one too."""
    if iris := iris_of(name):
        below = dict.fromkeys([*iris, *(narrower for iri in iris for narrower in known.subproperties(iri))])
        return [_trait("properties", iri) for iri in below]
    return [("relations", name.lower())]


def _trait(kind: str, value: str) -> Term:
    return "traits", TRAITS[kind] + value


_SYNTAXES = {"jsonld": "json-ld", "og": "opengraph", "dc": "dublin-core", "mf2": "microformats"}
_TERMS: dict[str, Callable[[Vocabularies, str], list[Term]]] = {
    "type": _type,
    "ontology": lambda _, name: [_trait("ontologies", iri) for iri in namespaces_of(name)],
    "property": _property,
    "site": lambda _, name: [("sites", name.lower())],
    "lang": lambda _, name: [_trait("languages", name.lower())],
    "syntax": lambda _, name: [_trait("syntaxes", _SYNTAXES.get(name.lower(), name.lower()))],
}
