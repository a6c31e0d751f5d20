"""The index in OpenSearch: its fields, its analysis, its name, and how it is made.

It has one document a page, with the key `Url.id`; docs/formats.md describes the fields. A page's texts are sent once,
to the field of its language (`content_english`), which has the stems of the words; OpenSearch copies them to the field
of exact words (`content`). A page whose language has no stemmer is sent to that field directly.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from gossamer.base.errors import ConfigError, DirectoryUnusable, GossamerError
from gossamer.store.service import Service, ServiceRefused
from gossamer.views.words.dictionary import STEMMERS
from gossamer.views.words.schema import LONGEST_WORD

VERSION = 1
NAME = "gossamer-words"
"""In `_meta`: what the index is."""
DEFAULT_PREFIX = "gossamer"
SCORED = ("title", "headings", "content", "address", "rest")
NAMES, POINTING = "names", "pointing"
TEXTS = (*SCORED, NAMES, POINTING)
STEMS = tuple(sorted(set(STEMMERS.values())))
LONGEST_KEYWORD = 2_000
"""Characters of a filter's value; Lucene refuses a document with a term above 32,766 bytes."""
WITH_WORDS: dict[str, Any] = {"exists": {"field": "copy"}}
"""Searchable pages: not the tombstones of pages that are gone, nor the positions of writers."""

_PREFIX = re.compile(r"[a-z0-9][a-z0-9._-]{0,100}")
_POSITIONS = ("title", "headings", "content", "address")


def stemmed(field: str, language: str) -> str:
    """The field of the stems of a language; the field of exact words if it has no stemmer."""
    stemmer = STEMMERS.get(language)
    return f"{field}_{stemmer}" if stemmer else field


def divided(address: str) -> tuple[str, str]:
    """The address of the service, and the prefix of index names: `https://host:9200/mycrawl` names `mycrawl`."""
    head, _, tail = address.rstrip("/").rpartition("/")
    if head.endswith("/") or "}" in tail or not head:  # "https:/", or the end of a reference to a secret
        return address.rstrip("/"), DEFAULT_PREFIX
    if not _PREFIX.fullmatch(tail):
        raise ConfigError(
            f'views.words: "{tail}" cannot begin the name of an index: use lowercase letters, digits, dots and hyphens'
        )
    return head, tail


def settings() -> dict[str, Any]:
    """The same analysis as the embedded index: letters and digits, lower case, without accents."""
    plain = ["shorter", "lowercase", "asciifolding"]
    stemmers = {stem: {"type": "snowball", "language": stem.capitalize()} for stem in STEMS}
    analyzers = {stem: {"type": "custom", "tokenizer": "words", "filter": [*plain, stem]} for stem in STEMS}
    return {
        "index": {"auto_expand_replicas": "0-1", "refresh_interval": "1s", "mapping": {"total_fields": {"limit": 500}}},
        "analysis": {
            "tokenizer": {"words": {"type": "pattern", "pattern": r"[^\p{IsAlphabetic}\p{N}]+"}},
            "filter": {"shorter": {"type": "length", "max": LONGEST_WORD - 1}, **stemmers},
            "analyzer": {"words": {"type": "custom", "tokenizer": "words", "filter": plain}, **analyzers},
        },
    }


def mappings(owner: str) -> dict[str, Any]:
    """`owner`: the collection whose pages it holds."""
    keyword = {"type": "keyword", "ignore_above": LONGEST_KEYWORD}
    fields: dict[str, Any] = {
        "url_id": {"type": "long"},
        "fetched_at": {"type": "long"},
        "copy": keyword,
        "host": keyword,
        "traits": keyword,
        **{name: keyword | {"doc_values": False} for name in ("sites", "kinds", "relations")},
        "entities": {"type": "long"},
        "signs": {"type": "text", "analyzer": "words"},
        "card": {"type": "object", "enabled": False},
        "pointers": {"type": "object", "enabled": False},
        "position": {"type": "object", "enabled": False},
    }
    for name in TEXTS:
        plain: dict[str, Any] = {"type": "text"}
        if name not in SCORED:
            plain["norms"] = False
        options = "positions" if name in _POSITIONS else "docs"
        fields[name] = plain | {"analyzer": "words", "index_options": options}
        options = "freqs" if name in _POSITIONS else "docs"
        for stem in STEMS:
            fields[f"{name}_{stem}"] = plain | {"analyzer": stem, "index_options": options, "copy_to": name}
    meta = {"what": NAME, "format": VERSION, "owner": owner}
    return {"dynamic": "strict", "date_detection": False, "_meta": meta, "properties": fields}


class IndexKind(NamedTuple):
    """What an index is for, and the version of its format."""

    what: str
    version: int
    body: Callable[[str], dict[str, Any]]
    """Its settings and fields, for the collection with this name."""


WORDS = IndexKind(NAME, VERSION, lambda owner: {"settings": settings(), "mappings": mappings(owner)})


class Meta(msgspec.Struct, frozen=True):
    """What an index says of itself."""

    what: str = ""
    format: int = 0
    owner: str = ""


class _Mapping(msgspec.Struct, frozen=True):
    meta: Meta = msgspec.field(default_factory=Meta, name="_meta")


class _Index(msgspec.Struct, frozen=True):
    mappings: _Mapping


_INDEXES = msgspec.json.Decoder(dict[str, _Index])


def meta_of(service: Service, name: str, kind: IndexKind = WORDS) -> Meta | None:
    """None if there is no such index. Raises GossamerError if it is none of ours, or too new."""
    try:
        answer = service.ask("GET", f"/{name}/_mapping?filter_path=*.mappings._meta")
        found = _INDEXES.decode(answer.body)
    except ServiceRefused as refused:
        if refused.status == 404:
            return None
        raise
    except msgspec.MsgspecError as trouble:
        raise GossamerError(f"{service.name}, index {name}: it was not made by Gossamer ({trouble})") from trouble
    meta = next((one.mappings.meta for one in found.values()), Meta())
    if meta.what != kind.what:
        raise DirectoryUnusable(
            f"{service.name} has an index {name} that was not made by Gossamer; name another in the path of views.words"
        )
    if meta.format > kind.version:
        raise DirectoryUnusable(
            f"{service.name}, index {name}: made by a newer Gossamer; upgrade, or name another in views.words"
        )
    return meta


def make(service: Service, name: str, owner: str, kind: IndexKind = WORDS) -> None:
    """Make the index, unless another writer has just made it. `name` is an alias, as the writer requires."""
    body = msgspec.json.encode(kind.body(owner) | {"aliases": {name: {}}})
    try:
        service.ask("PUT", f"/{name}.{kind.version}", body, headers={"Content-Type": "application/json"})
    except ServiceRefused as refused:
        if b"resource_already_exists_exception" not in refused.body:
            raise


def remove(service: Service, name: str) -> None:
    """Remove the index with that alias, if there is one. REQUIRES: it is ours."""
    try:
        found = _INDEXES.decode(service.ask("GET", f"/{name}/_mapping?filter_path=*.mappings._meta").body)
        for index in found:
            service.ask("DELETE", f"/{index}")
    except ServiceRefused as refused:
        if refused.status != 404:
            raise
