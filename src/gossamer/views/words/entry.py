"""Index entries: made from readings, and the cards of pages read back from them."""

from functools import lru_cache

import msgspec
import tantivy

from gossamer.values.page import Page, Reading
from gossamer.values.url import id_of
from gossamer.views.words.schema import (
    TRAITS,
    Card,
    IndexedEntity,
    Pointers,
    key_of,
    last_part,
    names_above,
    ontologies_of,
    signs_of,
    supertypes_of,
)
from gossamer.views.words.snapshot import Snapshot

MOST_TEXT = 400_000
"""Characters of a page's text that are indexed; a longer page is a dump, not reading matter."""
MOST_HEADINGS = 20_000
MOST_REST = 1_000
"""Menus and footers repeat on every page; indexing all of them would be a third of the indexer's work."""
MOST_TYPES = 100
LONGEST_TITLE = 500
LONGEST_NAME = 200
LONGEST_ANCHOR = 120
MOST_POINTERS = 50
"""Links of a page to other sites whose texts are indexed; with more it is a directory, and says little of each."""

_URL_SEPARATORS = str.maketrans(dict.fromkeys("_%", " "))
_ENCODER = msgspec.msgpack.Encoder()


def entry_of(reading: Reading) -> tantivy.Document:
    """A page that asks not to be indexed gets an entry without words, which keeps older captures out.

    Texts are passed together, at less than half the cost of adding each. Numbers and bytes are added by typed calls:
    tantivy guesses the type of a number, and one wrong type ends the whole writer.
    """
    try:
        return _filled(reading)
    except ValueError:  # a lone surrogate
        return _filled(_without_surrogates(reading))


def copy_id(exact: bytes) -> int:
    """The first 64 bits of the fingerprint, as the signed integer the index stores."""
    return int.from_bytes(exact[:8], "big", signed=True)


def _filled(reading: Reading) -> tantivy.Document:
    page = reading.page
    if not page.directives.may_index:
        return _numbered(tantivy.Document(), reading)
    inferred = supertypes_of(reading.types[:MOST_TYPES])
    things = _entities_of(reading)
    pointers = _pointers_of(page)
    texts = _filters_of(reading, inferred) | _words_of(page)
    texts["names"] = ["\n".join([thing.name for thing in things])] if things else []
    texts["pointing"] = ["\n".join([words for _, words in pointers])] if pointers else []
    entry = _numbered(tantivy.Document(**{field: values for field, values in texts.items() if values}), reading)
    entry.add_integer("copy_id", copy_id(page.exact))
    host = page.url.host.name
    entry.add_integer("host_id", id_of(host))
    for thing in things:
        entry.add_integer("things", key_of(thing, host))
    if pointers:
        pointing = Pointers(host, tuple([(id_of(target), words) for target, words in pointers]))
        entry.add_bytes("pointers", _ENCODER.encode(pointing))
    entry.add_bytes("card", _ENCODER.encode(_card_of(reading, inferred, things)))
    return entry


def _numbered(entry: tantivy.Document, reading: Reading) -> tantivy.Document:
    entry.add_integer("url_id", reading.page.url.id)
    entry.add_integer("fetched_at", reading.fetched_at)
    return entry


def _filters_of(reading: Reading, inferred: tuple[str, ...]) -> dict[str, list[str]]:
    types = reading.types[:MOST_TYPES]
    return {
        "sites": list(_sites_of(reading.page.url.host.name)),
        "traits": list(_traits(types, inferred, reading.properties, reading.syntaxes, reading.page.language)),
        "kinds": list(_last_parts(types + inferred)),
        "relations": list(_last_parts(reading.properties)),
    }


@lru_cache(maxsize=5_000)
def _traits(
    types: tuple[str, ...],
    inferred: tuple[str, ...],
    properties: tuple[str, ...],
    syntaxes: tuple[str, ...],
    language: str,
) -> tuple[str, ...]:
    """Cached: most pages of a site have the same."""
    by_kind = {
        "types": types,
        "supertypes": inferred,
        "ontologies": ontologies_of(types + properties),
        "properties": properties,
        "languages": (language,) if language else (),
        "syntaxes": syntaxes,
    }
    return tuple([TRAITS[kind] + value for kind, values in by_kind.items() for value in values])


@lru_cache(maxsize=20_000)
def _sites_of(host: str) -> tuple[str, ...]:
    return tuple(names_above(host))


@lru_cache(maxsize=20_000)
def _last_parts(iris: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(last_part, iris)))


def _words_of(page: Page) -> dict[str, list[str]]:
    content = page.content[:MOST_TEXT]
    signs = signs_of(f"{page.title} {content}")
    headings = ["\n".join(said)[:MOST_HEADINGS] for said in (page.headings, page.bold) if said]
    return {
        "title": [page.title[:LONGEST_TITLE]] if page.title else [],
        "headings": headings,
        "content": [content],
        "rest": [page.rest[:MOST_REST]] if page.rest else [],
        "address": [page.url.text.partition("://")[2].translate(_URL_SEPARATORS)],
        "signs": [signs] if signs else [],
    }


def _pointers_of(page: Page) -> list[tuple[str, str]]:
    """Links to other sites with their texts; nofollow links do not count."""
    if not page.directives.may_follow:
        return []
    host = page.url.host.name
    ours = f"http://{host}/", f"https://{host}/"
    found = [
        (link.url.text, link.text[:LONGEST_ANCHOR])
        for link in page.links
        if not link.url.text.startswith(ours) and link.text and link.may_follow
    ]
    return found[:MOST_POINTERS]


def _entities_of(reading: Reading) -> tuple[IndexedEntity, ...]:
    return tuple(
        [
            IndexedEntity("" if thing.id.startswith("_:") else thing.id, thing.name[:LONGEST_NAME], thing.types)
            for thing in reading.things
        ]
    )


def _card_of(reading: Reading, inferred: tuple[str, ...], things: tuple[IndexedEntity, ...]) -> Card:
    page, asks = reading.page, reading.page.directives
    quotable = LONGEST_TITLE if asks.most_snippet < 0 else min(asks.most_snippet, LONGEST_TITLE)
    return Card(
        url=page.url,
        title=page.title[:LONGEST_TITLE],
        description=page.description[: quotable if asks.may_cache else 0],
        language=page.language,
        types=reading.types[:MOST_TYPES],
        syntaxes=reading.syntaxes,
        fact_count=reading.fact_count,
        fetched_at=reading.fetched_at,
        capture_id=reading.capture_id,
        inferred=inferred,
        things=things,
        may_cache=asks.may_cache,
        most_snippet=asks.most_snippet,
    )


def _without_surrogates(reading: Reading) -> Reading:
    """Replace lone surrogates, which have no UTF-8, by question marks."""

    def plain(text: str) -> str:
        return text.encode("utf-8", "replace").decode()

    page = reading.page
    return msgspec.structs.replace(
        reading,
        types=tuple(map(plain, reading.types)),
        properties=tuple(map(plain, reading.properties)),
        things=tuple(
            msgspec.structs.replace(
                thing, id=plain(thing.id), name=plain(thing.name), types=tuple(map(plain, thing.types))
            )
            for thing in reading.things
        ),
        page=msgspec.structs.replace(
            page,
            title=plain(page.title),
            description=plain(page.description),
            headings=tuple(map(plain, page.headings)),
            content=plain(page.content),
            rest=plain(page.rest),
            language=plain(page.language),
            bold=tuple(map(plain, page.bold)),
            links=tuple(msgspec.structs.replace(link, text=plain(link.text)) for link in page.links),
        ),
    )


# The card of an entry: what a result shows of a page.
# A page that is gone, or asks not to be indexed, has an entry without words and card, which only keeps older captures
# out. It has a `url_id` and a `fetched_at`, so a query by one of these, or for all entries, must include `WITH_WORDS`.
# An entry with words but without a readable card is damaged; readers skip and count it.

WITH_WORDS = tantivy.Query.const_score_query(tantivy.Query.exists_query("copy_id"), 0.0)
"""Matches the entries of searchable pages; adds nothing to a score."""
_CARDS = msgspec.msgpack.Decoder(Card)


def entry_at(snapshot: Snapshot, place: tantivy.DocAddress) -> tantivy.Document | None:
    """The stored fields of an entry; None when it cannot be read."""
    try:
        return snapshot.searcher.doc(place)
    except (ValueError, OSError):
        return None


def card_in(entry: tantivy.Document | None) -> Card | None:
    """None when the entry has no readable card."""
    packed = entry.get_first("card") if entry is not None else None
    try:
        return None if packed is None else _CARDS.decode(bytes(packed))
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None


def card_at(snapshot: Snapshot, place: tantivy.DocAddress) -> Card | None:
    return card_in(entry_at(snapshot, place))
