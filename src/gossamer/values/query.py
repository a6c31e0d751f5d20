"""A search query; `gossamer.search.query` parses it from what a person typed."""

from typing import Literal

import msgspec

from gossamer.base.clock import Instant

MOST_HITS = 100
DEEPEST_HIT = 10_000

Field = Literal["title", "headings", "content", "anchors", "address"]
Sort = Literal["best", "newest", "oldest"]


class Word(msgspec.Struct, frozen=True):
    """One word or phrase, and how to match it."""

    text: tuple[str, ...]
    field: Field | None = None
    """Only there; None: anywhere on the page."""
    is_prefix: bool = False
    """`harb*`: any word that begins like this."""
    is_fuzzy: bool = False
    """`harbor~`: one or two letters may differ."""
    is_exact: bool = False
    """`"harbor"`: exactly this, not `harbors`. Phrases are always exact."""


class Query(msgspec.Struct, frozen=True):
    """A page must contain all wanted words, in any order and any part, and pass every filter.

    A filter with several values passes if one of them matches.
    """

    wanted: tuple[Word, ...] = ()
    without: tuple[Word, ...] = ()
    """Must not occur on the page."""
    sites: tuple[str, ...] = ()
    """Host names; subdomains are included (`example.org` finds `www.example.org`)."""
    types: tuple[str, ...] = ()
    """Classes: a whole IRI, `schema:Person`, or the last part (`Person`). Subclasses are included."""
    ontologies: tuple[str, ...] = ()
    """Vocabularies: a whole namespace IRI, or a well-known prefix (`schema`)."""
    properties: tuple[str, ...] = ()
    """Properties: a whole IRI, `schema:author`, or the last part."""
    languages: tuple[str, ...] = ()
    syntaxes: tuple[str, ...] = ()
    since: Instant | None = None
    until: Instant | None = None
    """Fetched at or after `since` and before `until`."""
    without_sites: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    without_ontologies: tuple[str, ...] = ()
    without_properties: tuple[str, ...] = ()
    without_languages: tuple[str, ...] = ()
    without_syntaxes: tuple[str, ...] = ()
    sort: Sort = "best"
    offset: int = 0
    limit: int = 10

    @property
    def is_empty(self) -> bool:
        """Nothing is asked for. Exclusions alone are a query too: for everything else."""
        return msgspec.structs.replace(self, sort="best", offset=0, limit=0) == _NOTHING


_NOTHING = Query(limit=0)
