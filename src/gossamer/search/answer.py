"""What a search answers with. Every text in it comes from the web: whoever shows it escapes it."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.views.links.reader import Anchor
from gossamer.views.words.dictionary import Completion
from gossamer.views.words.entities import Entity
from gossamer.views.words.facets import Facet, Span
from gossamer.views.words.snippets import Segment

__all__ = ["Anchor", "Completion", "Entity", "Facet", "Hit", "SearchAnswer", "Segment", "Span"]


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One result."""

    url: str
    title: str
    snippet: tuple[Segment, ...]
    site: str
    description: str
    language: str
    fetched_at: Instant
    types: tuple[str, ...]
    """IRIs of the classes the page states, in its order."""
    syntaxes: tuple[str, ...]
    fact_count: int
    score: float
    """0 when the answer is sorted by date."""
    copies: int = 1
    """Pages with this very text, this one included."""
    linked_from: int = 0
    """Pages that link to it."""
    anchors: tuple[Anchor, ...] = ()
    """What pages of other sites call it."""
    inferred: tuple[str, ...] = ()
    """Classes that follow from the stated ones and are not stated themselves."""
    has_all_words: bool = True
    """False when some of the words asked for are not on it."""
    may_cache: bool = True
    """False when the site asks not to show a copy (noarchive, nocache): then there is no snippet and no copy."""


class SearchAnswer(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]
    total: int
    """Pages that match, each copy counted."""
    took_s: float
    as_of: Instant
    """What was committed to the index before this instant has been considered."""
    all_words: bool = True
    """False when too few pages have all that was asked for, and those that have some of it follow them."""
    with_all_words: int = 0
    """How many of `total` have every word; the same as `total` when `all_words`."""
    facets: dict[str, tuple[Facet, ...]] = {}
    """By the name of the filter in an address: "type", "ontology", "property", "site", "lang", "syntax"; most frequent
    first. Only those that were asked for. A group is counted without its own filters, so that one can widen it; what
    the query chose or excludes is always in it, if only with a count of 0."""
    dates: tuple[Span, ...] = ()
    """When the pages were fetched, in days, months or years, whichever fits; oldest first, empty ones included. Counted
    without the filters on dates. Only when the facet "date" was asked for."""
    entities: tuple[Entity, ...] = ()
    """Things by that name, best first; only on the first page of an answer."""
    did_you_mean: str = ""
    """The same query in better known words, as text to search for; empty when there is no reason to ask."""
    omitted: tuple[str, ...] = ()
    """Words so frequent that they were not looked for."""
    counted: int = 0
    """Pages that facets and dates were counted over. Where that is fewer than `total`, as it is when there are very
    many, their counts are estimates, to two digits."""
    unreadable: tuple[int, ...] = ()
    """Ids of pages that belong among `hits` and whose entries in the index are damaged. `gossamer verify` says which
    pages they are, `gossamer rebuild` makes the index anew."""
