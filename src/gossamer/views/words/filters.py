"""The filters of a `Query`, as tantivy's: of one filter any value will do, and all filters must hold."""

from collections.abc import Callable

import tantivy

from gossamer.extract.vocabularies.relations import bundled
from gossamer.values.query import Query
from gossamer.views.words.cards import WITH_WORDS
from gossamer.views.words.ontology import iris_of, namespaces_of
from gossamer.views.words.schema import last_part
from gossamer.views.words.snapshot import Snapshot, any_of

GROUPS = {
    "type": "types",
    "ontology": "ontologies",
    "property": "properties",
    "site": "sites",
    "lang": "languages",
    "syntax": "syntaxes",
}
"""Their names, and their fields in a `Query`."""
EARLIEST, LATEST = -(1 << 63), (1 << 63) - 1


def of(snapshot: Snapshot, query: Query, without_group: str = "") -> tuple[list[tantivy.Query], list[tantivy.Query]]:
    """What must hold and what must not. They do not count towards the score."""
    wanted: list[tantivy.Query] = []
    unwanted: list[tantivy.Query] = []
    for group, field in GROUPS.items():
        unwanted += [having(snapshot, group, value) for value in getattr(query, f"without_{field}")]
        if group != without_group and (values := getattr(query, field)):
            wanted.append(any_of([having(snapshot, group, value) for value in values]))
    if without_group != "date" and (query.since is not None or query.until is not None):
        wanted.append(_between(snapshot, query))
    return [tantivy.Query.const_score_query(one, 0.0) for one in wanted], unwanted


def having(snapshot: Snapshot, group: str, value: str) -> tantivy.Query:
    """The pages that a filter with this one value lets through."""
    return _TERMS[group](snapshot, value.encode("utf-8", "replace").decode())


def _between(snapshot: Snapshot, query: Query) -> tantivy.Query:
    since = EARLIEST if query.since is None else max(EARLIEST, query.since)
    until = LATEST if query.until is None else min(LATEST, query.until)
    dated = tantivy.Query.range_query(
        snapshot.schema, "fetched_at", tantivy.FieldType.Integer, since, until, include_upper=False
    )
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, dated), (tantivy.Occur.Must, WITH_WORDS)])


def _type(snapshot: Snapshot, name: str) -> tantivy.Query:
    """The index knows what lies below a class by the bundled vocabularies; what does by the user's own is asked for."""
    iris = iris_of(name) or tuple(iri for iri in own_superclasses(snapshot) if last_part(iri) == name.lower())
    below = [narrower for iri in iris for narrower in snapshot.known.subclasses(iri)]
    known = {narrower for iri in iris for narrower in bundled().subclasses(iri)}
    classes = dict.fromkeys([*iris, *(iri for iri in below if iri not in known)])
    asked = [snapshot.trait(kind, iri) for iri in classes for kind in ("types", "supertypes")]
    return any_of(asked if iris_of(name) else [snapshot.term("kinds", name.lower()), *asked])


def own_superclasses(snapshot: Snapshot) -> list[str]:
    """Classes above others by the user's own vocabulary, and what the others lie below."""
    if not snapshot.known.own:
        return []
    high = {iri for _, iri in snapshot.known.own}
    every = high | {above for iri in high for above in snapshot.known.superclasses(iri)}
    return sorted(iri for iri in every if snapshot.known.subclasses(iri))


def _property(snapshot: Snapshot, name: str) -> tantivy.Query:
    """Who states a narrower property states this one too."""
    if iris := iris_of(name):
        below = dict.fromkeys([*iris, *(narrower for iri in iris for narrower in snapshot.known.subproperties(iri))])
        return any_of([snapshot.trait("properties", iri) for iri in below])
    return snapshot.term("relations", name.lower())


def _ontology(snapshot: Snapshot, name: str) -> tantivy.Query:
    return any_of([snapshot.trait("ontologies", iri) for iri in namespaces_of(name)] or [snapshot.term("kinds", "")])


def _site(snapshot: Snapshot, name: str) -> tantivy.Query:
    return snapshot.term("sites", name.lower())


def _language(snapshot: Snapshot, name: str) -> tantivy.Query:
    return snapshot.trait("languages", name.lower())


def _syntax(snapshot: Snapshot, name: str) -> tantivy.Query:
    return snapshot.trait("syntaxes", _SYNTAXES.get(name.lower(), name.lower()))


_SYNTAXES = {"jsonld": "json-ld", "og": "opengraph", "dc": "dublin-core", "mf2": "microformats"}
_TERMS: dict[str, Callable[[Snapshot, str], tantivy.Query]] = {
    "type": _type,
    "ontology": _ontology,
    "property": _property,
    "site": _site,
    "lang": _language,
    "syntax": _syntax,
}
