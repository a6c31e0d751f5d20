"""The only writer of the index, in the indexer process."""

from collections.abc import Callable, Sequence
from pathlib import Path

import tantivy

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable, DiskFull, GossamerError, ViewDamaged, damage_named
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.values.page import Reading
from gossamer.values.url import Url
from gossamer.views.words.entry import entry_of
from gossamer.views.words.schema import ANALYZER, FORMAT, META, POSITION, VERSION, analyzer, schema, with_small_blocks
from gossamer.views.words.snapshot import count, held_at

HEAP_BYTES = 64_000_000

DAMAGE = ("orrupt", "DoesNotExist", "No such file", "Incompatible", "checksum", "eserializ", "panicked")
"""Words in tantivy's messages about a damaged index, as opposed to a failing disk."""


class IndexWriter:
    """One entry a page, replaced as a whole, never by one from an older capture.

    Uncommitted readings are kept in memory too: tantivy ends a writer whose thread failed, and then a new writer gets
    them again.
    """

    is_patient = False
    is_full = is_busy = False

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
            self._choose_blocks()
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
        """On return everything taken is on disk and visible to readers that `reload`, with `position` beside it."""
        if self._pending:
            self._commit_pending()
        if position != self._position:
            self._files.write(self._folder / POSITION, position)
            self._position = position

    def settle(self) -> None:
        """Nothing to wait for: `commit` is durable when it returns."""

    def _commit_pending(self) -> None:
        self._retried(self._commit_and_look)
        pages = len(self._pending)
        self._pending.clear()
        self._tell("index.committed", pages=pages)

    def _commit_and_look(self) -> None:
        """A writer with a failed thread has reported commits that wrote nothing: search for the last page."""
        self._opened().commit()
        self._refresh()
        assert self._searcher is not None
        url_id, reading = next(reversed(self._pending.items()))
        there = count(self._searcher, tantivy.Query.term_query(self._schema, "url_id", url_id, "basic"))
        if there != (reading is not None):
            raise ValueError("a commit succeeded but wrote nothing")

    def _is_ours(self) -> bool:
        mark = self._folder / FORMAT
        if self._files.size(mark) is None or not tantivy.Index.exists(str(self._folder)):
            return False
        version = self._files.read(mark).decode("ascii", "replace")
        if version.isdigit() and int(version) > VERSION:
            raise DirectoryUnusable(f"{self._folder} was made by a newer Gossamer; upgrade, or delete it to rebuild it")
        return version == str(VERSION)

    def _choose_blocks(self) -> None:
        """REQUIRES: no process has it open yet."""
        meta = self._folder / META
        if (chosen := with_small_blocks(self._files.read(meta))) is not None:
            self._files.write(meta, chosen)

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
        for url_id in url_ids:
            if url_id in self._pending:
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
