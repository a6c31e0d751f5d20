"""The write side of the index in OpenSearch. Several writers may write to one index at once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDone
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryUnusable, GossamerError
from gossamer.base.tell import Tell
from gossamer.store.service import AWAY, MIB, Service, ServiceLost, ServiceRefused
from gossamer.values.page import Reading
from gossamer.values.url import Url
from gossamer.views.words.opensearch.answers import Boxed, BulkAnswer, Written
from gossamer.views.words.opensearch.client import LINES, IndexClient
from gossamer.views.words.opensearch.documents import document_of, tombstone
from gossamer.views.words.opensearch.index import WITH_WORDS, WORDS, IndexKind, make, meta_of, remove

MOST_BULK = 8 * MIB
"""Of documents in one request."""
MOST_WAITING = 64 * MIB
"""Of documents that wait for a commit. With more, no pages are taken while the last commit is in progress."""
BULK_S = 60.0
IDS_AT_ONCE = 5_000
STOPPING_TRIES = 8
"""How often a writer that has to stop tries a service that is gone, in half a minute. The rest stays in the spool."""
POLL_S = 0.1
_REPLACED = (409,)
"""The index has a newer version of the page."""


class DocumentForm(NamedTuple):
    """How a page becomes a document, and of which kind of index."""

    kind: IndexKind
    of: Callable[[Reading], bytes]
    tombstone: Callable[[int, Instant], bytes]
    """A document that only keeps older ones out, of the page with this id."""
    filled: dict[str, Any]
    """Finds the other documents."""


WORDS_FORM = DocumentForm(WORDS, document_of, tombstone, WITH_WORDS)


class _Stored(msgspec.Struct, frozen=True):
    position: str


class _PositionSource(msgspec.Struct, frozen=True):
    position: Boxed[_Stored] | None = None


class _PositionDocument(msgspec.Struct, frozen=True):
    source: _PositionSource = msgspec.field(default_factory=_PositionSource, name="_source")


class WriterIdentity(msgspec.Struct, frozen=True):
    """Which index, who writes, and where the last known position is kept for a start without the service."""

    index: str
    owner: str
    """The collection. Its index is not shared with another."""
    writer: str = "crawl"
    """One of the writers of the collection, each with a position of its own."""
    remember: Callable[[bytes], object] = len
    remembered: bytes = b""
    is_new: bool = False
    """An index of this collection that is there already is outdated."""
    claim: Callable[[], object] = bytes
    """Called once the index is there."""


class ServiceWriter:
    """One document a page, replaced as a whole, never by an older version; a page that is gone keeps one without words.
    The links of a cluster are another form of document, in an index of their own.

    Documents are made by `replace`. A thread of its own sends them, and waits for a service that is gone, so that the
    other views continue meanwhile.
    """

    waits_apart = True

    def __init__(
        self,
        service: Service,
        identity: WriterIdentity,
        tell: Tell,
        form: DocumentForm = WORDS_FORM,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._service, self._identity, self._tell = service, identity, tell
        self._form, self._is_stopping = form, is_stopping
        self.is_patient = form is not WORDS_FORM
        self.refused: dict[str, str] = {}
        self._pending: dict[int, tuple[int, str, bytes]] = {}
        self._bytes = 0
        self._position = b""
        self._is_made = self._is_closed = False
        self._thread: ThreadPoolExecutor | None = None
        self._sending: Future[None] | None = None
        self._stopping_tries = 0

    def open(self) -> None:
        """An index that is missing, or of an older format, is made. Without the service the last position that is
        remembered counts until it answers."""
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, self._form.kind.what)
        try:
            self._prepare()
        except ServiceLost:
            self._position = self._identity.remembered

    def close(self) -> None:
        """Drop what was not committed; the spool's follower replays it."""
        self._pending.clear()
        self._is_closed = True
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None
        self._service.close()

    @property
    def position(self) -> bytes:
        """That of the last commit that is in the index."""
        return self._position

    @property
    def waiting(self) -> int:
        """Pages taken since the last commit."""
        return len(self._pending)

    @property
    def is_full(self) -> bool:
        return self._bytes >= MOST_WAITING

    @property
    def is_busy(self) -> bool:
        return self._sending is not None and not self._sending.done()

    @property
    def trouble(self) -> str:
        """Since when the service has not answered; empty while it answers."""
        return self._service.trouble

    def replace(self, readings: Sequence[Reading]) -> int:
        """Take the pages, except where a newer version already waits; the index compares with what it has."""
        taken = 0
        for reading in readings:
            url, version = reading.page.url, max(0, reading.order)
            known = self._pending.get(url.id)
            if known is None or known[0] < version:
                self._put(url, version, self._form.of(reading))
                taken += 1
        return taken

    def remove(self, url: Url) -> None:
        """Leave nothing of a page but a document without words, of the same version as it had."""
        held = self._service.until_done(lambda: self._version(url.id), self._must_stop)
        if held is not None:
            self._put(url, held, self._form.tombstone(url.id, held))

    def bury(self, url_id: int, version: int) -> None:
        """Leave nothing of a page but a document without words, of this version."""
        document = self._form.tombstone(url_id, 0)
        self._pending[url_id] = version, str(url_id), document
        self._bytes += len(document)

    def ids(self) -> Iterator[int]:
        """Of the pages in the index that are not buried, in order; one that is not reached is waited for."""
        client, after = IndexClient(self._service, self._identity.index), list[object]()
        while True:
            body = {"query": self._form.filled, "size": IDS_AT_ONCE, "sort": [{"url_id": "asc"}], "_source": False}
            asked = body | ({"search_after": after} if after else {})
            hits = self._service.until_done(partial(client.search, asked), self._must_stop).hits.hits
            yield from (hit.url_id for hit in hits)
            if len(hits) < IDS_AT_ONCE:
                return
            after = hits[-1].sort

    def commit(self, position: bytes = b"") -> None:
        """Send what was taken; it is in the index, and found, when `position` says so."""
        self.settle()
        pages, self._pending, self._bytes = self._pending, {}, 0
        assert self._thread is not None, "the index is not open"
        self._sending = self._thread.submit(self._send, pages, position)

    def settle(self) -> None:
        """Wait until the last commit is in the index. Raises ServiceLost if that takes too long and we have to stop."""
        sending = self._sending
        while sending is not None:
            with suppress(NotDone):
                sending.result(POLL_S)
                return
            if sending.done():
                sending.result()

    def _put(self, url: Url, version: int, document: bytes) -> None:
        known = self._pending.pop(url.id, None)
        self._bytes += len(document) - (len(known[2]) if known else 0)
        self._pending[url.id] = version, url.text, document

    def _send(self, pages: dict[int, tuple[int, str, bytes]], position: bytes) -> None:
        """On the thread. Each step may be repeated: a page is replaced by the same page."""
        self.refused = {}
        until_done = self._service.until_done
        if not self._is_made:
            until_done(self._prepare_again, self._must_stop)
        for urls, body in batches(pages):
            until_done(lambda urls=urls, body=body: self._write(urls, body), self._must_stop)  # type: ignore[misc]
        if pages:
            until_done(self._refresh, self._must_stop)
        if position != self._position:
            until_done(lambda: self._write_position(position), self._must_stop)
            self._identity.remember(position)
            self._position = position
        if pages:
            self._tell("index.committed", pages=len(pages))

    def _prepare(self) -> None:
        name, kind = self._identity.index, self._form.kind
        meta = meta_of(self._service, name, kind)
        if meta is not None and meta.owner != self._identity.owner:
            raise DirectoryUnusable(
                f"{self._service.name}, index {name}: it has the pages of another collection; name another index in "
                f"the path of views.words, or remove it"
            )
        if meta is not None and (meta.format < kind.version or (self._identity.is_new and not self._is_made)):
            self._tell("index.outdated", index=name, format=meta.format)
            remove(self._service, name)
            meta = None
        if meta is None:
            make(self._service, name, self._identity.owner, kind)
        self._position = self._stored_position()
        if not self._is_made:
            self._identity.claim()
        self._is_made = True

    def _prepare_again(self) -> None:
        """After a start without the service. An index that is not where it was remembered is begun again."""
        self._prepare()
        if self._position != self._identity.remembered:
            self._identity.remember(self._position)
            raise GossamerError(f"{self._service.name} has another position than this crawl remembers; starting again")

    def _stored_position(self) -> bytes:
        try:
            path = f"/{self._identity.index}/_doc/{self._position_id}"
            found = msgspec.json.decode(self._service.ask("GET", path).body, type=_PositionDocument).source.position
            return found.of.position.encode() if found is not None else b""
        except ServiceRefused as refused:
            if refused.status == 404:
                return b""
            raise
        except msgspec.MsgspecError:
            return b""  # replays are harmless

    @property
    def _position_id(self) -> str:
        return f"position-{self._identity.writer}"

    def _write_position(self, position: bytes) -> None:
        document = msgspec.json.encode({"position": {"of": {"position": position.decode()}}})
        action = msgspec.json.encode({"index": {"_id": self._position_id}})
        self._write([self._position_id], b"%s\n%s\n" % (action, document))

    def _refresh(self) -> None:
        self._service.ask("POST", f"/{self._identity.index}/_refresh", timeout_s=BULK_S)

    def _write(self, urls: Sequence[str], body: bytes) -> None:
        """One request. A page that is refused is reported; the others are written. The name has to be an alias, or
        OpenSearch would make an index that has been removed, with fields of its own choice."""
        path = f"/{self._identity.index}/_bulk?require_alias=true&filter_path=errors,items.*.status,items.*.error"
        try:
            answer = self._service.ask("POST", path, body, headers=LINES, timeout_s=BULK_S).body
            found = msgspec.json.decode(answer, type=BulkAnswer)
        except msgspec.MsgspecError as trouble:
            raise GossamerError(f"{self._service.name} answers a bulk with something else: {trouble}") from trouble
        written = [one for item in found.items for one in item.values()]
        if len(written) != len(urls):
            raise GossamerError(f"{self._service.name} answers {len(written)} of {len(urls)} documents")
        for url, one in zip(urls, written, strict=True):
            self._note(url, one)

    def _note(self, url: str, one: Written) -> None:
        if one.status < 300 or one.status in _REPLACED:
            return
        why = one.error.words if one.error is not None else f"status {one.status}"
        if one.status in AWAY:
            raise ServiceLost(f"{self._service.name} is too busy ({why})")
        if one.status != 400:
            raise GossamerError(f"{self._service.name} refuses to write: {why}")
        self.refused[url] = why
        self._tell("index.page-refused", url=url, because=why)

    def _version(self, url_id: int) -> Instant | None:
        try:
            path = f"/{self._identity.index}/_doc/{url_id}?_source=false"
            return msgspec.json.decode(self._service.ask("GET", path).body, type=_Versioned).version
        except ServiceRefused as refused:
            if refused.status == 404:
                return None
            raise

    def _must_stop(self) -> bool:
        """Called before each pause: whether waiting any longer is refused."""
        if self._is_closed or not self._is_stopping():
            return self._is_closed
        self._stopping_tries += 1
        return self._stopping_tries > STOPPING_TRIES


class _Versioned(msgspec.Struct, frozen=True):
    version: int = msgspec.field(name="_version")


def batches(pages: dict[int, tuple[int, str, bytes]]) -> Iterator[tuple[list[str], bytes]]:
    """Bodies of requests, of at most MOST_BULK if they have several pages, each with the URLs of its pages."""
    urls: list[str] = []
    lines: list[bytes] = []
    size = 0
    for url_id, (version, url, document) in pages.items():
        if lines and size + len(document) > MOST_BULK:
            yield urls, b"".join(lines)
            urls, lines, size = [], [], 0
        action = b'{"index":{"_id":"%d","version":%d,"version_type":"external_gte"}}\n' % (url_id, version)
        urls.append(url)
        lines += (action, document, b"\n")
        size += len(action) + len(document) + 1
    if lines:
        yield urls, b"".join(lines)
