"""The fields of the index, and the one way text becomes words.

| field | holds |
|---|---|
| url_id | `Url.id`; the key: one page, one entry |
| fetched_at | the instant of the capture the entry was made from |
| copy_id | the first 64 bits of the exact fingerprint; copies share it. 0 when there is none |
| host, language, types, syntaxes | as in the reading; fast, for counting |
| sites | the host and every name above it, so that a site can be asked for as a whole |
| kinds | the classes by the lower-case last part of their IRI |
| title, headings, content, address | words with positions |
| rest | the first words outside the content block: whether, not how often |
| anchors | reserved for the words of links from other sites |
| signs | the characters of scripts written without spaces, one by one; see `signs_of` |
| content | stored too, for snippets |
| card | stored only: what a result shows, as msgpack |
"""

import re

import msgspec
import tantivy

from gossamer.clock import Instant
from gossamer.values.url import Url

VERSION = 1
LONGEST_WORD = 64
ANALYZER = "words"

# Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces between words.
_SIGNS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)


class Card(msgspec.Struct, frozen=True, array_like=True):
    """What a result shows of a page without asking anywhere else."""

    url: Url
    title: str
    description: str
    language: str
    types: tuple[str, ...]
    syntaxes: tuple[str, ...]
    fact_count: int
    fetched_at: Instant
    capture_id: int


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("url_id", indexed=True, fast=True)
    builder.add_integer_field("fetched_at", fast=True)
    builder.add_integer_field("copy_id", indexed=True, fast=True)
    for name in ("host", "language", "types", "syntaxes"):
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    for name in ("sites", "kinds"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "headings", "address", "anchors", "signs"):
        builder.add_text_field(name, tokenizer_name=ANALYZER, index_option="position")
    builder.add_text_field("content", stored=True, tokenizer_name=ANALYZER, index_option="position")
    builder.add_text_field("rest", tokenizer_name=ANALYZER, index_option="basic")
    builder.add_bytes_field("card", stored=True, indexed=False)
    return builder.build()


def analyzer() -> tantivy.TextAnalyzer:
    """Letters and digits, lower case, without accents. No stemming: one analyzer serves every language."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .build()
    )


def signs_of(text: str) -> str:
    """The characters of scripts without word spaces, spaced out: a word of such a script is a phrase of them."""
    return "" if text.isascii() else " ".join(_SIGNS.findall(text))


def short_type(iri: str) -> str:
    """`http://schema.org/Person` -> `person`: how people ask for a class."""
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1].lower()


def names_above(host: str) -> list[str]:
    """`www.example.org:8080` -> itself and, without the port, `www.example.org`, `example.org`; never a bare `org`."""
    name = host.partition(":")[0] if not host.startswith("[") else host
    labels = name.split(".")
    if name.startswith("[") or labels[-1].isdigit():
        return list(dict.fromkeys([host, name]))
    above = [".".join(labels[start:]) for start in range(max(1, len(labels) - 1))]
    return list(dict.fromkeys([host, *above]))
