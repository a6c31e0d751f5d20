"""The index: its fields, how text and IRIs become terms, block size and checksums.

A snapshot of it, and its cards.

A snapshot is immutable and serves any number of threads. It has the types that tantivy's stubs lack.

| field | content |
|---|---|
| url_id | `Url.id`; the key: one page, one entry |
| fetched_at | the instant of the capture the entry was made from |
| copy_id | the first 64 bits of the exact fingerprint; copies share it. 0 when there is none |
| host_id | `Host.id`; fast, for counting: a number takes half the time of a name |
| traits | all else that pages are counted by, each value prefixed by its kind (`TRAITS`); fast |
| sites | the host and its parent domains, so that a query can name a whole site |
| kinds | the classes, also inferred ones, by the lower-case last part of their IRI |
| relations | the properties, likewise |
| title, content, address | words with positions |
| headings | words with positions: the headings, then bold text |
| rest | the first words outside the content block, without frequencies |
| names | the names of the entities the page mentions |
| things | their keys (`key_of`), to count the pages that mention an entity |
| pointing | the words of its links to other sites |
| pointers | stored only: those links, as msgpack (`Pointers`) |
| signs | the characters of scripts written without spaces, one by one; see `signs_of` |
| content, headings | stored too, for snippets and the forward index |
| card | stored only: what a result shows, as msgpack |

There is no field of stems: other forms of a word are found in the dictionary at query time (`dictionary`), which
costs the indexer nothing and keeps every word exact.
"""

import re
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import log
from pathlib import Path
from typing import Any, cast

import msgspec
import tantivy

from gossamer.base.clock import Instant
from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.vocabularies import Vocabularies, bundled, canonical, namespace_of, superclasses
from gossamer.values.url import Url, id_of

VERSION = 4
POSITION = "position"
"""The file with the index's position in the spool."""
FORMAT = "format"
"""The file with the version; an older index is rebuilt from the archive."""
TRAITS = {"types": "t", "supertypes": "i", "ontologies": "o", "properties": "p", "languages": "l", "syntaxes": "s"}
"""Types and properties are stated IRIs; supertypes are inferred and not stated classes; ontologies are the namespaces
of what is stated. One field for all, because a count costs by the field and not by the value."""
LONGEST_WORD = 64
ANALYZER = "words"

_ENDS = re.compile("[/#:]")

# Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces between words.
_SIGNS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)
_ASCII = bytes(range(128))


class IndexedEntity(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entity the page mentions."""

    iri: str
    """Empty when it has none."""
    name: str
    types: tuple[str, ...] = ()


class Pointers(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A page's links to other sites."""

    host: str
    links: tuple[tuple[int, str], ...]
    """`Url.id` of the target, and the link's text."""


class Card(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a result shows of a page."""

    url: Url
    title: str
    description: str
    language: str
    types: tuple[str, ...]
    syntaxes: tuple[str, ...]
    fact_count: int
    fetched_at: Instant
    capture_id: int
    inferred: tuple[str, ...] = ()
    entities: tuple[IndexedEntity, ...] = ()
    may_cache: bool = True
    """As in `Directives`; entries older than these two fields allow everything."""
    most_snippet: int = -1

    @property
    def quotable(self) -> int:
        """Characters of the page that a result may quote; -1: no limit."""
        return self.most_snippet if self.may_cache else 0


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("url_id", indexed=True, fast=True)
    builder.add_integer_field("fetched_at", fast=True)
    builder.add_integer_field("copy_id", indexed=True, fast=True)
    builder.add_integer_field("host_id", indexed=True, fast=True)
    builder.add_text_field("traits", fast=True, tokenizer_name="raw", index_option="basic")
    for name in ("sites", "kinds", "relations"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "address", "signs"):
        builder.add_text_field(name, tokenizer_name=ANALYZER, index_option="position")
    for name in ("headings", "content"):
        builder.add_text_field(name, stored=True, tokenizer_name=ANALYZER, index_option="position")
    for name in ("rest", "names", "pointing"):
        builder.add_text_field(name, tokenizer_name=ANALYZER, index_option="basic")
    builder.add_integer_field("things", indexed=True)
    builder.add_bytes_field("pointers", stored=True, indexed=False)
    builder.add_bytes_field("card", stored=True, indexed=False)
    return builder.build()


def analyzer() -> tantivy.TextAnalyzer:
    """Letters and digits, lower case, without accents. One analyzer serves every language."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .build()
    )


def signs_of(text: str) -> str:
    """The characters of scripts without word spaces, separated by spaces: a word of such a script becomes a phrase.

    Only the characters beyond ASCII are searched, which most texts have few of.
    """
    beyond = "" if text.isascii() else text.encode("utf-8", "replace").translate(None, _ASCII).decode()
    return " ".join(_SIGNS.findall(beyond))


def may_have(text: str, words: Sequence[Sequence[str]]) -> bool:
    """Whether it could have every word, in some form: a cheap test before the text is tokenized."""
    plain = text.lower()
    return not text.isascii() or all(any(form in plain for form in forms) for forms in words)


def last_part(iri: str) -> str:
    """`http://schema.org/Person` -> `person`: how users name a class or a property."""
    return _ENDS.split(iri.rstrip("/#"))[-1].lower()


def key_of(entity: IndexedEntity, host: str) -> int:
    """Identifies an entity across pages; one without an IRI only within its site, by name and types."""
    return id_of(entity.iri or "\n".join((host, entity.name.lower(), *sorted(entity.types))))


def names_above(host: str) -> list[str]:
    """`www.example.org:8080` -> itself and, without the port, `www.example.org`, `example.org`; never a bare `org`."""
    name = host.partition(":")[0] if not host.startswith("[") else host
    labels = name.split(".")
    if name.startswith("[") or labels[-1].isdigit():
        return list(dict.fromkeys([host, name]))
    above = [".".join(labels[start:]) for start in range(max(1, len(labels) - 1))]
    return list(dict.fromkeys([host, *above]))


# The block size of stored fields. A page is decompressed with its whole block: tantivy's 16 KiB hold about four pages.
# With blocks of about one page, reading takes half the time, the files of stored texts are 8 % larger, and writing
# costs the same. From Python the size can only be set in tantivy's `meta.json`.

META = "meta.json"
BLOCK_BYTES = 4_096


def with_small_blocks(meta: bytes) -> bytes | None:
    """The same settings with our block size; None if they have it. Existing blocks stay: each contains its length."""
    decoded = msgspec.json.decode(meta)
    settings = decoded.get("index_settings") if isinstance(decoded, dict) else None
    if not isinstance(settings, dict) or settings.get("docstore_blocksize") == BLOCK_BYTES:
        return None
    settings["docstore_blocksize"] = BLOCK_BYTES
    return msgspec.json.format(msgspec.json.encode(decoded), indent=2)


# What users call classes, properties and vocabularies, as the IRIs in the index.

MOST_INFERRED = 100


@lru_cache(maxsize=20_000)
def supertypes_of(types: tuple[str, ...]) -> tuple[str, ...]:
    """Inferred classes without the stated ones, nearest first. Cached: pages of a site state the same."""
    found = dict.fromkeys(above for iri in types for above in superclasses(iri))
    return tuple(iri for iri in found if iri not in types)[:MOST_INFERRED]


@lru_cache(maxsize=20_000)
def ontologies_of(iris: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(namespace_of, iris)))


@lru_cache(maxsize=2_000)
def iris_of(name: str) -> tuple[str, ...]:
    """What a user means by an IRI or `schema:Person`, in canonical spelling; empty for a plain last part."""
    prefix, colon, local = name.partition(":")
    if not colon:
        return ()
    if local.startswith("//"):
        return (canonical(name),)
    prefix = prefix.lower()
    known = bundled().expanded(f"{prefix}:{local}")
    if not known and prefix and prefix in PREFIXES:
        known = PREFIXES[prefix] + local
    return (canonical(known or name),)


def namespaces_of(name: str) -> tuple[str, ...]:
    """What a user means by a vocabulary: a prefix, or the namespace itself."""
    return iris_of(name if ":" in name else f"{name}:") if name else ()


def means(name: str, iri: str) -> bool:
    """Whether a user can mean this IRI by that name."""
    return iri in iris_of(name) if ":" in name else last_part(iri) == name.lower()


# tantivy ends its files with a footer: JSON with a checksum of the body, its length, and a magic number.

TAIL = struct.Struct("<II")
MAGIC = 1337
PIECE_BYTES = 1 << 20
CHECKED = (".term", ".idx", ".pos", ".store", ".fast", ".fieldnorm", ".del")


class _Footer(msgspec.Struct):
    crc: int


def damaged_files(folder: Path) -> list[str]:
    """Names of the index's files with a wrong checksum. Reads all of them."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix in CHECKED)
    return [name for name in names if not _is_whole(folder / name)]


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(size - TAIL.size)
            length, magic = TAIL.unpack(file.read(TAIL.size))
            body = size - TAIL.size - length
            file.seek(body)
            footer = msgspec.json.decode(file.read(length), type=_Footer)
            file.seek(0)
            crc = 0
            while piece := file.read(min(PIECE_BYTES, body - file.tell())):
                crc = zlib.crc32(piece, crc)
        return magic == MAGIC and crc == footer.crc
    except FileNotFoundError:
        return True  # merged away meanwhile
    except (OSError, ValueError, struct.error, msgspec.MsgspecError):
        return False


MOST_LANGUAGES = 3
LEAST_SHARE = 0.1
MOST_FREQUENCIES = 50_000
LARGE = 10_000
"""Pages from which on one commit changes little."""
MOST_GROWTH, MOST_SNAPSHOTS = 0.05, 120
"""At most two minutes while a crawl is running."""


class Cache:
    """`cache(key, find)` is `find()`, computed once; or twice by two threads at the same time: either is right."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.entries: dict[object, Any] = {}

    def __call__(self, key: object, find: Callable[[], Any]) -> Any:
        try:
            return self.entries[key]
        except KeyError:
            if len(self.entries) > self._most:
                self.entries.clear()
            found = self.entries[key] = find()
            return found


@dataclass(slots=True)
class Lasting:
    """What changes so slowly in a large index that snapshots may share it: forms of words, queries for frequent words,
    anchor texts, and the main languages. Results and counts always belong to one snapshot."""

    pages: int
    """In its first snapshot."""
    snapshots: int = 0
    recall: Cache = field(default_factory=lambda: Cache(20_000))
    recall_parts: Cache = field(default_factory=lambda: Cache(3_000))
    """Queries for frequent words, which are larger entries."""

    def serves(self, pages: int) -> bool:
        is_much_the_same = LARGE <= self.pages <= pages <= self.pages * (1 + MOST_GROWTH)
        return is_much_the_same and self.snapshots < MOST_SNAPSHOTS


class Snapshot:
    """What was committed when it was taken, and caches about it."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        analyzer: tantivy.TextAnalyzer,
        before: "Snapshot | None" = None,
        known: Vocabularies | None = None,
    ) -> None:
        """`before`: the snapshot it replaces; `known`: the vocabularies that queries are interpreted by."""
        self.searcher, self.schema, self.analyzer = searcher, schema, analyzer
        self.known = known or bundled()
        self.lasting: Lasting = Lasting(self.pages)
        if before is not None and before.lasting.serves(self.pages):
            self.lasting = before.lasting
            self.lasting.snapshots += 1
        self.recall, self.recall_counts = Cache(5_000), Cache(200)
        """Of this snapshot. Counts are large; they serve the next page of results, or another order."""
        self.recall_lasting, self.recall_parts = self.lasting.recall, self.lasting.recall_parts
        self._frequencies: dict[tuple[str, str], int] = {}

    @cached_property
    def pages(self) -> int:
        """Entries, including those without words of pages that ask not to be indexed."""
        return int(self.searcher.num_docs)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Those of a good part of the pages, most frequent first; English when unknown."""

        def find() -> tuple[str, ...]:
            listed = self.searcher.terms_with_prefix("traits", TRAITS["languages"], limit=MOST_LANGUAGES)
            least = LEAST_SHARE * sum(pages for _, pages in listed)
            return tuple(trait[1:] for trait, pages in listed if pages >= least) or ("en",)

        found: tuple[str, ...] = self.recall_lasting("languages", find)
        return found

    def tokens(self, text: str) -> list[str]:
        """The words of a text as the index has them."""
        return list(self.analyzer.analyze(text))

    def with_word(self, field: str, word: str) -> int:
        """How many pages have the word there."""
        key = field, word
        pages = self._frequencies.get(key)
        if pages is None:
            if len(self._frequencies) > MOST_FREQUENCIES:
                self._frequencies = {}
            pages = self._frequencies[key] = int(self.searcher.doc_freq(field, word))
        return pages

    def with_number(self, field: str, value: int) -> int:
        """How many pages have the number there. Far cheaper than a search if at most one has."""
        entries = self.entries(field, value)
        return entries if entries < 2 else count(self.searcher, self.term(field, value))

    def entries(self, field: str, value: int) -> int:
        """The same, but counting replaced and removed pages until their entries are merged away."""
        return int(self.searcher.doc_freq(field, value))

    def rarity(self, pages: int) -> float:
        """BM25's inverse document frequency."""
        return log(1 + (max(0, self.pages - pages) + 0.5) / (pages + 0.5))

    def term(self, field: str, value: str | int) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, field, value, "freq" if isinstance(value, str) else "basic")

    def trait(self, kind: str, value: str) -> tantivy.Query:
        """REQUIRES: kind in TRAITS."""
        return self.term("traits", TRAITS[kind] + value)

    def aggregate(self, query: tantivy.Query, asked: dict[str, Any]) -> dict[str, Any]:
        return cast(dict[str, Any], self.searcher.aggregate(query, asked))

    def best(self, query: tantivy.Query, limit: int) -> list[tuple[float, tantivy.DocAddress]]:
        return self.searcher.search(query, limit=limit, count=False).hits

    def best_of(self, query: tantivy.Query, limit: int) -> tuple[list[tuple[float, tantivy.DocAddress]], int]:
        """The best, and how many match, in one query."""
        found = cast(Any, self.searcher.search(query, limit=limit, count=True))
        return found.hits, int(found.count)

    def newest(self, query: tantivy.Query, limit: int, is_oldest: bool) -> list[tuple[Instant, tantivy.DocAddress]]:
        order = tantivy.Order.Asc if is_oldest else tantivy.Order.Desc
        return self.searcher.search(query, limit=limit, count=False, order_by_field="fetched_at", order=order).hits


def integers(searcher: tantivy.Searcher, field: str, places: Sequence[tantivy.DocAddress]) -> list[int]:
    """The values of a fast integer field; 0 where an entry has none."""
    return [int(value or 0) for value in searcher.fast_field_values(field, list(places))]


def held_at(searcher: tantivy.Searcher, schema: tantivy.Schema, url_ids: list[int]) -> dict[int, Instant]:
    """The capture times of the pages that the index has."""
    if not url_ids or not searcher.num_docs:
        return {}
    query = tantivy.Query.term_set_query(schema, "url_id", url_ids)
    places = [place for _, place in searcher.search(query, limit=len(url_ids), count=False).hits]
    instants = integers(searcher, "fetched_at", places)
    return dict(zip(integers(searcher, "url_id", places), instants, strict=True))


def count(searcher: tantivy.Searcher, query: tantivy.Query) -> int:
    return int(cast(Any, searcher.search(query, limit=1, count=True)).count)


def any_of(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """At least one. REQUIRES: there is one."""
    if len(queries) == 1:
        return queries[0]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in queries])


# The card of an entry: what a result shows of a page.
# A page that is gone, or asks not to be indexed, has an entry without words or card, which only keeps older captures
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
