"""The only writer of the index, in the indexer process; and the entries it makes from readings."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import tantivy

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable, DiskFull, GossamerError, ViewDamaged, damage_named
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.values.link import Link
from gossamer.values.page import NamedEntity, Page, Reading
from gossamer.values.url import Url, id_of
from gossamer.views.words.schema import (
    ANALYZER,
    FORMAT,
    META,
    POSITION,
    TRAITS,
    VERSION,
    Card,
    IndexedEntity,
    Pointers,
    analyzer,
    count,
    held_at,
    key_of,
    last_part,
    names_above,
    ontologies_of,
    schema,
    signs_of,
    supertypes_of,
    with_small_blocks,
)

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
"""Links of a page to other sites whose texts are indexed; with more it is a directory, and says little about each."""

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
        return _filled(without_surrogates(reading))


def _filled(reading: Reading) -> tantivy.Document:
    page = reading.page
    if not page.directives.may_index:
        return _numbered(tantivy.Document(), reading)
    inferred = supertypes_of(reading.types[:MOST_TYPES])
    entities = entities_of(reading)
    pointers = pointers_of(page)
    texts = filters_of(reading, inferred) | words_of(page)
    texts["names"] = ["\n".join([entity.name for entity in entities])] if entities else []
    texts["pointing"] = ["\n".join([words for _, words in pointers])] if pointers else []
    entry = _numbered(tantivy.Document(**{field: values for field, values in texts.items() if values}), reading)
    entry.add_integer("copy_id", int.from_bytes(page.exact[:8], "big", signed=True))
    host = page.url.host.name
    entry.add_integer("host_id", id_of(host))
    for entity in entities:
        entry.add_integer("things", key_of(entity, host))
    if pointers:
        pointing = Pointers(host, tuple([(id_of(target), words) for target, words in pointers]))
        entry.add_bytes("pointers", _ENCODER.encode(pointing))
    entry.add_bytes("card", _ENCODER.encode(card_of(reading, inferred, entities)))
    return entry


def entities_of(reading: Reading) -> tuple[IndexedEntity, ...]:
    return tuple(
        [
            IndexedEntity("" if one.id.startswith("_:") else one.id, one.name[:LONGEST_NAME], one.types)
            for one in reading.things
        ]
    )


def _numbered(entry: tantivy.Document, reading: Reading) -> tantivy.Document:
    entry.add_integer("url_id", reading.page.url.id)
    entry.add_integer("fetched_at", reading.fetched_at)
    return entry


def filters_of(reading: Reading, inferred: tuple[str, ...]) -> dict[str, list[str]]:
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


def words_of(page: Page) -> dict[str, list[str]]:
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


def pointers_of(page: Page) -> list[tuple[str, str]]:
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


def card_of(reading: Reading, inferred: tuple[str, ...], entities: tuple[IndexedEntity, ...]) -> Card:
    page, directives = reading.page, reading.page.directives
    quotable = LONGEST_TITLE if directives.most_snippet < 0 else min(directives.most_snippet, LONGEST_TITLE)
    return Card(
        url=page.url,
        title=page.title[:LONGEST_TITLE],
        description=page.description[: quotable if directives.may_cache else 0],
        language=page.language,
        types=reading.types[:MOST_TYPES],
        syntaxes=reading.syntaxes,
        fact_count=reading.fact_count,
        fetched_at=reading.fetched_at,
        capture_id=reading.capture_id,
        inferred=inferred,
        entities=entities,
        may_cache=directives.may_cache,
        most_snippet=directives.most_snippet,
    )


def without_surrogates(value: Any) -> Any:
    """The value with lone surrogates, which have no UTF-8, replaced by question marks in all its texts."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, tuple):
        return tuple(map(without_surrogates, value))
    if isinstance(value, Reading | Page | Link | NamedEntity):
        texts = {name: without_surrogates(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **texts)
    return value


HEAP_BYTES = 64_000_000

DAMAGE = ("orrupt", "DoesNotExist", "No such file", "Incompatible", "checksum", "eserializ", "panicked")
"""Words in tantivy's messages about a damaged index, as opposed to a failing disk."""


class IndexWriter:
    """One entry a page, replaced as a whole, never by one from an older capture.

    Uncommitted readings are kept in memory too: tantivy ends a writer whose thread failed, and then a new writer gets
    them again.
    """

    is_patient = False
    is_full = is_busy = waits_apart = False
    refused: Mapping[str, str] = MappingProxyType({})
    trouble = ""

    def __init__(self, folder: Path, files: Files, tell: Tell) -> None:
        self._folder, self._files, self._tell = folder, files, tell
        self._schema = schema()
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._searcher: tantivy.Searcher | None = None
        self._pending: dict[int, Reading | None] = {}
        self._position = b""

    def open(self) -> None:
        """A folder that is missing, unusable or of an older format becomes an empty index without a position."""
        if not self._is_ours():
            self._files.remove(self._folder)
            self._files.make_folder(self._folder)
            tantivy.Index(self._schema, path=str(self._folder), reuse=True)
            if (meta := with_small_blocks(self._files.read(self._folder / META))) is not None:
                self._files.write(self._folder / META, meta)  # no process has it open yet
        with damage_named(self._folder, ValueError, OSError):
            self._index = tantivy.Index(self._schema, path=str(self._folder), reuse=True)
            self._index.register_tokenizer(ANALYZER, analyzer())
            self._start_writer()
        if self._files.size(self._folder / FORMAT) is None:
            self._files.write(self._folder / FORMAT, str(VERSION).encode())
        if self._files.size(self._folder / POSITION) is not None:
            self._position = self._files.read(self._folder / POSITION)

    def close(self) -> None:
        """Drop what was not committed; the spool's follower replays it. Running merges are abandoned: waiting for them
        could take many seconds, and the next writer starts them again."""
        self._pending.clear()
        self._writer = self._searcher = self._index = None

    @property
    def position(self) -> bytes:
        """That of the last `commit`; empty in a new index. Stored in the index's folder, and lost with it."""
        return self._position

    @property
    def waiting(self) -> int:
        """Pages taken since the last commit."""
        return len(self._pending)

    def replace(self, readings: Sequence[Reading]) -> int:
        """Take the pages, except where the same or a newer capture is indexed; returns how many were taken."""
        with damage_named(self._folder, ValueError, OSError):
            held = self._held([reading.page.url.id for reading in readings])
        taken = 0
        for reading in readings:
            url_id = reading.page.url.id
            if reading.fetched_at <= held.get(url_id, -1):
                continue
            self._put(url_id, reading, was_there=url_id in held)
            self._pending[url_id] = reading
            held[url_id] = reading.fetched_at
            taken += 1
        return taken

    def remove(self, url: Url) -> None:
        self._put(url.id, None, was_there=True)
        self._pending[url.id] = None

    def commit(self, position: bytes = b"") -> None:
        """On return everything taken, and `position`, is on disk, and visible to readers that `reload`."""
        if self._pending:
            self._retried(self._commit_and_verify)
            pages = len(self._pending)
            self._pending.clear()
            self._tell("index.committed", pages=pages)
        if position != self._position:
            self._files.write(self._folder / POSITION, position)
            self._position = position

    def settle(self) -> None:
        """Nothing to wait for: `commit` is durable when it returns."""

    def _commit_and_verify(self) -> None:
        """A writer with a failed thread has reported commits that wrote nothing: search for the last page."""
        self._opened().commit()
        self._refresh()
        assert self._searcher is not None
        url_id, reading = next(reversed(self._pending.items()))
        found = count(self._searcher, tantivy.Query.term_query(self._schema, "url_id", url_id, "basic"))
        if found != (reading is not None):
            raise ValueError("a commit succeeded but wrote nothing")

    def _is_ours(self) -> bool:
        mark = self._folder / FORMAT
        if self._files.size(mark) is None or not tantivy.Index.exists(str(self._folder)):
            return False
        version = self._files.read(mark).decode("ascii", "replace")
        if version.isdigit() and int(version) > VERSION:
            raise DirectoryUnusable(f"{self._folder} was made by a newer Gossamer; upgrade, or delete it to rebuild it")
        return version == str(VERSION)

    def _start_writer(self) -> None:
        assert self._index is not None
        try:
            self._writer = self._index.writer(HEAP_BYTES, 1)
        except ValueError as trouble:
            if "LockBusy" in str(trouble):
                raise DirectoryBusy(f"another process is writing to {self._folder}") from trouble
            raise
        self._refresh()

    def _opened(self) -> tantivy.IndexWriter:
        assert self._writer is not None, "the index is not open"
        return self._writer

    def _refresh(self) -> None:
        assert self._index is not None
        self._index.reload()
        self._searcher = self._index.searcher()

    def _held(self, url_ids: list[int]) -> dict[int, Instant]:
        """The capture times of the pages that the index has, committed or not."""
        assert self._searcher is not None, "the index is not open"
        held = held_at(self._searcher, self._schema, url_ids)
        for url_id in self._pending.keys() & url_ids:
            waiting = self._pending[url_id]
            held[url_id] = -1 if waiting is None else waiting.fetched_at
        return held

    def _put(self, url_id: int, reading: Reading | None, was_there: bool) -> None:
        """A new page needs no deletion, which is looked up in every segment."""
        self._retried(lambda: self._write(url_id, reading, was_there))

    def _write(self, url_id: int, reading: Reading | None, was_there: bool) -> None:
        writer = self._opened()
        if was_there:
            writer.delete_documents_by_term("url_id", url_id)
        if reading is not None:
            writer.add_document(entry_of(reading))

    def _retried(self, act: Callable[[], object]) -> None:
        """Do it; if tantivy has ended the writer because its thread failed, start another and retry once.

        After a second failure this writer is dropped, and the next call starts with another.
        """
        try:
            if self._writer is None:
                self._revive("it failed before")
            act()
        except ValueError as first:
            try:
                self._revive(str(first))
                act()
            except ValueError as trouble:
                self._writer = None
                if "No space left" in str(trouble):
                    raise DiskFull(f"the disk is full: the index in {self._folder} cannot be written") from trouble
                if any(word in str(trouble) for word in DAMAGE):
                    raise ViewDamaged(self._folder, trouble) from trouble
                raise GossamerError(f"the index in {self._folder} cannot be written: {trouble}") from trouble

    def _revive(self, because: str) -> None:
        """Start another writer and give it what was not committed."""
        assert self._index is not None, "the index is not open"
        self._tell("index.revived", because=because, pages=len(self._pending))
        self._writer = None
        self._start_writer()
        for url_id, reading in self._pending.items():
            self._write(url_id, reading, was_there=True)
