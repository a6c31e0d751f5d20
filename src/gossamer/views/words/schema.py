"""The index on disk: its fields, how text and IRIs become terms, block size, and checksums.

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
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import tantivy

from gossamer.base.clock import Instant
from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.vocabularies import bundled, canonical, namespace_of, superclasses
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
    things: tuple[IndexedEntity, ...] = ()
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
    if not text.isascii():
        return True
    plain = text.lower()
    return all(any(form in plain for form in forms) for forms in words)


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
    known = bundled().expanded(f"{prefix.lower()}:{local}") or (
        PREFIXES[prefix.lower()] + local if _is_known(prefix) else None
    )
    return (canonical(known or name),)


def namespaces_of(name: str) -> tuple[str, ...]:
    """What a user means by a vocabulary: a prefix, or the namespace itself."""
    return iris_of(name if ":" in name else f"{name}:") if name else ()


def means(name: str, iri: str) -> bool:
    """Whether a user can mean this IRI by that name."""
    return iri in iris_of(name) if ":" in name else last_part(iri) == name.lower()


def _is_known(prefix: str) -> bool:
    return bool(prefix) and prefix.lower() in PREFIXES


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
