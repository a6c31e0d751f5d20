"""Small questions to a tantivy snapshot, with the types its stubs leave open."""

from collections.abc import Sequence
from typing import Any, cast

import tantivy


def integers(snapshot: tantivy.Searcher, field: str, places: Sequence[tantivy.DocAddress]) -> list[int]:
    """The values of a fast integer field; 0 where an entry has none."""
    return [int(value or 0) for value in snapshot.fast_field_values(field, list(places))]


def count(snapshot: tantivy.Searcher, query: tantivy.Query) -> int:
    return int(cast(Any, snapshot.search(query, limit=1, count=True)).count)
