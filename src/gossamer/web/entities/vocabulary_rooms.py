"""What the pages on vocabularies are given: the terms in use, and how many facts there are of each."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from gossamer.base.clock import Instant


@dataclass(frozen=True, slots=True)
class TermsInUse:
    """How many pages use each class, property and vocabulary, by IRI; from the index, so it is new and exact."""

    classes: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, int] = field(default_factory=dict)
    vocabularies: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0
    as_of: Instant = 0
    is_cut: bool = False
    """There are more terms than are counted; the rarest are left out."""


@dataclass(frozen=True, slots=True)
class FactsInUse:
    """How many facts have each property, and how many say that something is of each class; counted in the graph, which
    takes seconds, so it may be minutes old."""

    properties: Mapping[str, int]
    classes: Mapping[str, int]
    as_of: Instant


def nothing_used() -> TermsInUse:
    return TermsInUse()


async def not_counted() -> FactsInUse | None:
    return None


@dataclass(frozen=True, slots=True)
class VocabularyRooms:
    terms: Callable[[], TermsInUse] = nothing_used
    facts: Callable[[], Awaitable[FactsInUse | None]] = not_counted
    """The last count; None while there is none. Asking for it lets another begin when it is old."""
