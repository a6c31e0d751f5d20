"""A reading as an entry of the index."""

import msgspec
import tantivy

from gossamer.index.schema import Card, names_above, short_type, signs_of
from gossamer.values.page import Page, Reading

MOST_TEXT = 400_000
"""Characters of one page's text that are indexed; a page beyond that is a dump, not something people read."""
MOST_HEADINGS = 20_000
MOST_REST = 1_000
"""Menus and footers repeat from page to page; all of them would be a third of the indexer's work."""
MOST_TYPES = 100
LONGEST_TITLE = 500

_SPLIT_ADDRESS = str.maketrans(dict.fromkeys("_%", " "))
_ENCODER = msgspec.msgpack.Encoder()


def entry_of(reading: Reading) -> tantivy.Document:
    """A page that asks not to be indexed gets an entry without words: it holds the place against older captures.

    Every value is added by its own typed call: tantivy ends the whole writer over a value of the wrong type.
    """
    try:
        return _filled(reading)
    except UnicodeEncodeError:
        return _filled(_without_surrogates(reading))


def copy_id(exact: bytes) -> int:
    """The first 64 bits of the fingerprint, as the signed integer the index holds."""
    return int.from_bytes(exact[:8], "big", signed=True)


def _filled(reading: Reading) -> tantivy.Document:
    page = reading.page
    entry = tantivy.Document()
    entry.add_integer("url_id", page.url.id)
    entry.add_integer("fetched_at", reading.fetched_at)
    if page.directives.may_index:
        entry.add_integer("copy_id", copy_id(page.exact))
        _add_filters(entry, reading)
        _add_words(entry, page)
        entry.add_bytes("card", _ENCODER.encode(_card_of(reading)))
    return entry


def _add_filters(entry: tantivy.Document, reading: Reading) -> None:
    host = reading.page.url.host.name
    entry.add_text("host", host)
    for name in names_above(host):
        entry.add_text("sites", name)
    if reading.page.language:
        entry.add_text("language", reading.page.language)
    types = reading.types[:MOST_TYPES]
    for kind in types:
        entry.add_text("types", kind)
    for kind in dict.fromkeys(map(short_type, types)):
        entry.add_text("kinds", kind)
    for syntax in reading.syntaxes:
        entry.add_text("syntaxes", syntax)


def _add_words(entry: tantivy.Document, page: Page) -> None:
    if page.title:
        entry.add_text("title", page.title[:LONGEST_TITLE])
    if page.headings:
        entry.add_text("headings", "\n".join(page.headings)[:MOST_HEADINGS])
    content = page.content[:MOST_TEXT]
    entry.add_text("content", content)
    if page.rest:
        entry.add_text("rest", page.rest[:MOST_REST])
    entry.add_text("address", page.url.text.partition("://")[2].translate(_SPLIT_ADDRESS))
    if signs := signs_of(f"{page.title} {content}"):
        entry.add_text("signs", signs)


def _card_of(reading: Reading) -> Card:
    page = reading.page
    return Card(
        page.url,
        page.title[:LONGEST_TITLE],
        page.description[:LONGEST_TITLE],
        page.language,
        reading.types[:MOST_TYPES],
        reading.syntaxes,
        reading.fact_count,
        reading.fetched_at,
        reading.capture_id,
    )


def _without_surrogates(reading: Reading) -> Reading:
    """Lone surrogates are no characters and have no UTF-8 (MISSION C10); each becomes a question mark."""

    def plain(text: str) -> str:
        return text.encode("utf-8", "replace").decode()

    page = reading.page
    return msgspec.structs.replace(
        reading,
        types=tuple(map(plain, reading.types)),
        page=msgspec.structs.replace(
            page,
            title=plain(page.title),
            description=plain(page.description),
            headings=tuple(map(plain, page.headings)),
            content=plain(page.content),
            rest=plain(page.rest),
            language=plain(page.language),
        ),
    )
