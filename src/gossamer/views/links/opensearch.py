"""The links of a cluster, in an index of an OpenSearch service next to that of the words.

One document a page has all its outgoing links and is replaced as a whole, by the version of its capture: a replay or an
older capture that arrives late is refused, so a link that is gone stops counting in the same write. A page that is gone
keeps a document without links, because the service forgets the versions of deleted ones. Links as documents of their
own would have to be deleted one by one by a writer that has read the older ones, and two writers in disorder could each
leave the other's.

`external` and `internal` have a term for each link that counts, "TARGET TEXT": the target's id in hexadecimal and the
anchor text. The pages that link to a target are those with a term of this prefix, and its anchors are an aggregation
over these terms by the hosts of the sources. The links as the page has them are packed in `outgoing`.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from gossamer.base.clock import Instant
from gossamer.store.service import Service
from gossamer.values.link import Link
from gossamer.values.page import Reading
from gossamer.values.url import Url
from gossamer.views.links.reader import Anchor, Incoming
from gossamer.views.links.store import EXTERNAL, MOST_ANCHORS, link_columns, links_in, links_of, packed
from gossamer.views.words.opensearch.answers import Bucket, Buckets, Document, Found
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.index import LONGEST_KEYWORD, IndexKind, meta_of
from gossamer.views.words.opensearch.writer import DocumentForm

NAME = "gossamer-links"
VERSION = 1
AT_ONCE = 200
"""Pages of an export in one answer."""
ASKED_AT_ONCE = 50
"""Targets in one request."""
MOST_BUCKETS = 1_000
"""Of one answer: more than a sample of one shard can have."""
T = TypeVar("T")
Json = dict[str, Any]


def _body(owner: str) -> Json:
    keyword = {"type": "keyword"}
    fields: Json = {
        "url_id": {"type": "long"},
        "fetched_at": {"type": "long", "index": False},
        "url": keyword | {"index": False, "doc_values": False},
        "host": keyword | {"index": False, "ignore_above": LONGEST_KEYWORD},
        "external": keyword,
        "internal": keyword,
        "outgoing": {"type": "binary"},
        "position": {"type": "object", "enabled": False},
    }
    return {
        "settings": {"index": {"auto_expand_replicas": "0-1", "refresh_interval": "1s"}},
        "mappings": {
            "dynamic": "strict",
            "_meta": {"what": NAME, "format": VERSION, "owner": owner},
            "_source": {"excludes": ["external", "internal"]},
            "properties": fields,
        },
    }


def document_of(reading: Reading) -> bytes:
    url, links = reading.page.url, links_of(reading.page)
    found: Json = {"url_id": url.id, "fetched_at": reading.fetched_at}
    if links:
        columns = link_columns(url, links)
        terms = [f"{_key(target)} {_plain(text)}" for target, text in zip(columns.targets, columns.texts, strict=True)]
        kinds = list(zip(terms, columns.kinds, strict=True))
        found |= {
            "url": url.text,
            "host": url.host.name,
            "external": [term for term, kind in kinds if kind == EXTERNAL],
            "internal": [term for term, kind in kinds if kind != EXTERNAL],
            "outgoing": b64encode(packed(links)).decode(),
        }
    return msgspec.json.encode(found)


def _tombstone(url_id: int, fetched_at: Instant) -> bytes:
    return msgspec.json.encode({"url_id": url_id, "fetched_at": fetched_at})


def _key(target: int) -> str:
    """As many characters for each, so that no key is the prefix of another."""
    return f"{target & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _plain(text: str) -> str:
    """As readers see it, and without half of a surrogate pair."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


KIND = IndexKind(NAME, VERSION, _body)
WITH_LINKS: Json = {"exists": {"field": "host"}}
LINKS_FORM = DocumentForm(KIND, document_of, _tombstone, WITH_LINKS)


class _TextBucket(Bucket, frozen=True):
    """A term of a link, and the hosts whose pages have it."""

    hosts: Buckets = Buckets()


class _TextBuckets(msgspec.Struct, frozen=True):
    buckets: list[_TextBucket] = []


class _Sample(msgspec.Struct, frozen=True):
    texts: _TextBuckets = _TextBuckets()


class ServiceLinks:
    """Incoming and outgoing links, for any number of threads. What was written is found after a refresh."""

    def __init__(self, service: Service, index: str) -> None:
        self._service = service
        self._client = IndexClient(service, index)

    def another(self) -> "ServiceLinks":
        return self

    def open(self) -> None:
        """Raises DirectoryUnusable if there is no such index yet, and ServiceLost."""
        if meta_of(self._service, self._client.name, KIND) is None:
            raise self._client.missing()

    def close(self) -> None:
        """Connections are kept for the next question."""

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        return self.about_all([url])[0]

    def about_all(self, urls: Sequence[Url]) -> list[tuple[Incoming, list[Anchor]]]:
        """As `LinksReader.about_all`. With more than 100 sources of one kind, the anchors are those of about 100."""
        found = []
        for url, (outer, inner) in zip(urls, self._asked(urls, _with_sources, _with_sources), strict=True):
            sources = [*_sources(outer), *_sources(inner)][:MOST_ANCHORS]
            anchors = [*_anchors(outer, "external", url), *_anchors(inner, "internal", url)]
            found.append((Incoming(outer.hits.total.value + inner.hits.total.value, tuple(sources)), anchors))
        return found

    def counts_and_anchors(self, urls: Sequence[Url]) -> list[tuple[int, list[Anchor]]]:
        return [
            (outer.hits.total.value + inner.hits.total.value, _anchors(outer, "external", url))
            for url, (outer, inner) in zip(urls, self._asked(urls, _with_anchors, _counted), strict=True)
        ]

    def outgoing(self, url: Url) -> list[Link]:
        """In the page's order; empty for an unknown page."""
        query = {"ids": {"values": [str(url.id)]}}
        hits = self._client.search({"query": query, "size": 1, "_source": ["outgoing"]}).hits.hits
        return [link for hit in hits for link in _links_in(hit)]

    def position(self) -> bytes:
        """Empty: what waits for this view is in the work of the cluster."""
        return b""

    def held(self, urls: Sequence[Url]) -> dict[int, Instant]:
        """By id, the fetch times of the known pages, with links or without."""
        query = {"ids": {"values": [str(url.id) for url in urls]}}
        found = self._client.search({"query": query, "size": len(urls), "_source": ["fetched_at"]})
        return {hit.url_id: _value(hit, "fetched_at", int) for hit in found.hits.hits}

    def every_link(self) -> Iterator[tuple[str, tuple[Link, ...]]]:
        """Each linking page with its links in page order."""
        after: list[object] = []
        while True:
            body: Json = {
                "query": WITH_LINKS, "size": AT_ONCE, "sort": [{"url_id": "asc"}],
                "_source": ["url", "outgoing"],
            }  # fmt: skip
            hits = self._client.search(body | ({"search_after": after} if after else {})).hits.hits
            for hit in hits:
                yield _value(hit, "url", str), _links_in(hit)
            if len(hits) < AT_ONCE:
                return
            after = hits[-1].sort

    def _asked(self, urls: Sequence[Url], outer: "Asked", inner: "Asked") -> Iterator[tuple[Found, Found]]:
        """For each target, the answers about its links from other hosts and from its own."""
        for start in range(0, len(urls), ASKED_AT_ONCE):
            some = urls[start : start + ASKED_AT_ONCE]
            bodies = [body for url in some for body in (outer("external", url), inner("internal", url))]
            found = iter(self._client.search_many(bodies))
            yield from zip(found, found, strict=True)


Asked = Callable[[str, Url], Json]
"""Makes the question about the links of one kind to a target."""


def _counted(field: str, target: Url) -> Json:
    return {"size": 0, "track_total_hits": True, "query": {"prefix": {field: f"{_key(target.id)} "}}}


def _with_anchors(field: str, target: Url) -> Json:
    hosts = {"hosts": {"terms": {"field": "host", "size": MOST_BUCKETS, "execution_hint": "map"}}}
    include = f"{_key(target.id)} .+"
    texts = {"field": field, "include": include, "size": MOST_BUCKETS, "execution_hint": "map"}
    sample = {"sampler": {"shard_size": MOST_ANCHORS}, "aggs": {"texts": {"terms": texts, "aggs": hosts}}}
    return _counted(field, target) | {"aggs": {"sample": sample}}


def _with_sources(field: str, target: Url) -> Json:
    order = {"sort": [{"url_id": "asc"}], "_source": ["url"]}
    return _with_anchors(field, target) | {"size": MOST_ANCHORS} | order


def _sources(found: Found) -> list[Url]:
    return [Url(_value(hit, "url", str)) for hit in found.hits.hits]


def _anchors(found: Found, field: str, target: Url) -> list[Anchor]:
    """By site and text, the most used first. Empty without a sample."""
    sample = found.aggregations.get("sample")
    if sample is None:
        return []
    start = len(_key(target.id)) + 1
    anchors = [
        Anchor(str(one.key)[start:], str(host.key), host.doc_count, is_own_site=field == "internal")
        for one in msgspec.json.decode(sample, type=_Sample).texts.buckets
        for host in one.hosts.buckets
    ]
    return sorted(anchors, key=lambda anchor: (-anchor.count, anchor.site, anchor.text))


def _links_in(hit: Document) -> tuple[Link, ...]:
    kept = _value(hit, "outgoing", str)
    return links_in(b64decode(kept)) if kept else ()


def _value(hit: Document, field: str, kind: type[T]) -> T:
    """Of the stored document; that type's empty value without one."""
    packed = hit.source.get(field)
    return msgspec.json.decode(packed, type=kind) if packed is not None else kind()
