"""Named entities that match a query, found through the pages that mention them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec
import tantivy
from tantivy import Occur

from gossamer.values.query import Query
from gossamer.views.words import schema
from gossamer.views.words.dictionary import Form, beginning, forms
from gossamer.views.words.query import filters_of

MOST_ENTITIES = 6
AT_ONCE = 40
ROUNDS = 3


class Entity(msgspec.Struct, frozen=True, gc=False):
    """A named entity; statements of several pages on one IRI are one entity."""

    iri: str
    """Empty for entities without one: equal name, types and site then mean the same entity."""
    name: str
    types: tuple[str, ...]
    """IRIs of its classes, as stated on any page scanned."""
    pages: int
    """Pages that mention it."""
    page: str
    """The URL of one of them."""
    site: str


@dataclass(slots=True)
class FoundEntity:
    """An entity while pages are scanned."""

    entity: schema.IndexedEntity
    card: schema.Card
    types: dict[str, None] = field(default_factory=dict)
    rank: int = 0
    """Words of its name that are not in the query."""


def named(
    snapshot: schema.Snapshot, query: Query, languages: Sequence[str], at_most: int = MOST_ENTITIES
) -> list[Entity]:
    """Entities whose names have all words of the query, or one of its types if it has no words. Exact names come first,
    then those that most pages mention.

    A limited number of pages is scanned. What was found is excluded from the next round, so that an entity on every
    page does not hide the others.
    """
    words = _words(snapshot, query, languages)
    if words is None or not (words or query.types):
        return []
    seen: dict[int, FoundEntity] = {}
    for _ in range(ROUNDS):
        hits = snapshot.best(_pages(snapshot, query, words, seen), AT_ONCE)
        for _, place in hits:
            if (card := schema.card_at(snapshot, place)) is not None:
                scan(card, query, partial(_has_words, snapshot, words), seen)
        if len(hits) < AT_ONCE or len(seen) >= 4 * at_most:
            break
    few = [(one, snapshot.entries("things", key), key) for key, one in list(seen.items())[: 6 * at_most]]
    few.sort(key=lambda one: (one[0].rank, -one[1], one[0].entity.name))
    return ranked([(one, snapshot.with_number("things", key)) for one, _, key in few[:at_most]])


def ranked(found: list[tuple[FoundEntity, int]]) -> list[Entity]:
    """Entities with the number of pages that mention them: exact names first, then by pages."""
    return [
        Entity(one.entity.iri, one.entity.name, tuple(one.types), pages, one.card.url.text, one.card.url.host.name)
        for one, pages in sorted(found, key=lambda one: (one[0].rank, -one[1], one[0].entity.name))
    ]


def _words(snapshot: schema.Snapshot, query: Query, languages: Sequence[str]) -> list[list[str]] | None:
    """For each word of the query, its forms that occur in names; None if a word is in no name."""
    found: list[list[str]] = []
    for word in query.wanted:
        if word.field is not None:
            continue
        for token in snapshot.tokens(" ".join(word.text).encode("utf-8", "replace").decode()):
            if word.is_prefix:
                some = beginning(snapshot, "names", token)
            elif word.is_exact or len(word.text) > 1:
                some = [Form(token, snapshot.with_word("names", token))]
            else:
                some = forms(snapshot, "names", token, languages)
            known = [form.word for form in some if form.pages]
            if not known:
                return None
            found.append(known)
    return found


def _pages(
    snapshot: schema.Snapshot, query: Query, words: Sequence[Sequence[str]], seen: dict[int, FoundEntity]
) -> tantivy.Query:
    wanted, unwanted = filters_of(snapshot, query)
    clauses = [(Occur.Must, schema.any_of([snapshot.term("names", form) for form in one])) for one in words]
    clauses += [(Occur.Must, one) for one in (wanted if words else [*wanted, schema.WITH_WORDS])]
    clauses += [(Occur.MustNot, one) for one in (*unwanted, *(snapshot.term("things", key) for key in seen))]
    return tantivy.Query.boolean_query(clauses)


def _has_words(snapshot: schema.Snapshot, words: Sequence[Sequence[str]], name: str) -> int | None:
    if not schema.may_have(name, words):
        return None
    tokens = snapshot.tokens(name)
    return len(tokens) - len(words) if all(any(form in tokens for form in one) for one in words) else None


def scan(card: schema.Card, query: Query, rank: Callable[[str], int | None], seen: dict[int, FoundEntity]) -> None:
    """Add a page's entities that match. `rank(name)`: how many more words it has than the query; None: no match."""
    for entity in card.entities:
        other_words = rank(entity.name)
        if other_words is None or not _has_type(query, entity):
            continue
        key = schema.key_of(entity, card.url.host.name)
        known = seen.get(key)
        if known is None:
            known = seen[key] = FoundEntity(entity, card, rank=other_words)
        known.types |= dict.fromkeys(entity.types)


def _has_type(query: Query, entity: schema.IndexedEntity) -> bool:
    """Whether it passes the filters on types, inferred types included."""
    types = (*entity.types, *schema.supertypes_of(entity.types))
    if any(schema.means(name, iri) for name in query.without_types for iri in types):
        return False
    return not query.types or any(schema.means(name, iri) for name in query.types for iri in types)
