"""What people call classes, properties and vocabularies, as the IRIs the index holds."""

from functools import lru_cache

from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.vocabularies.canonical import canonical
from gossamer.extract.vocabularies.relations import expanded, namespace_of, superclasses
from gossamer.views.words.schema import last_part

MOST_INFERRED = 100


@lru_cache(maxsize=20_000)
def supertypes_of(types: tuple[str, ...]) -> tuple[str, ...]:
    """The classes that follow from these, without these; nearest first. Cached: pages of one site state the same."""
    found = dict.fromkeys(above for iri in types for above in superclasses(iri))
    return tuple(iri for iri in found if iri not in types)[:MOST_INFERRED]


@lru_cache(maxsize=20_000)
def ontologies_of(iris: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(namespace_of, iris)))


@lru_cache(maxsize=2_000)
def iris_of(name: str) -> tuple[str, ...]:
    """What a person means by an IRI or `schema:Person`, as the index spells it; empty for a plain last part."""
    prefix, colon, local = name.partition(":")
    if not colon:
        return ()
    if local.startswith("//"):
        return (canonical(name),)
    known = expanded(f"{prefix.lower()}:{local}") or (PREFIXES[prefix.lower()] + local if _is_known(prefix) else None)
    return (canonical(known or name),)


def namespaces_of(name: str) -> tuple[str, ...]:
    """What a person means by a vocabulary: a prefix, or the namespace itself."""
    return iris_of(name if ":" in name else f"{name}:") if name else ()


def means(name: str, iri: str) -> bool:
    """Whether this is an IRI that a person means by that name."""
    return iri in iris_of(name) if ":" in name else last_part(iri) == name.lower()


def _is_known(prefix: str) -> bool:
    return bool(prefix) and prefix.lower() in PREFIXES
