"""Where on its page each fact comes from, and our own IRIs in the graph.

A small record a page (docs/formats.md).

As facts in the graph these records would cost four times the work and disk. Their database is in the graph's folder and
is lost with it. It has no write-ahead log, so that query workers, which may not write, can read it.
"""

import re
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import closing
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from gossamer.base.errors import DiskFull, GossamerError, ViewDamaged
from gossamer.base.files import Files
from gossamer.extract.origins import Record, unpacked
from gossamer.extract.vocabularies import canonical
from gossamer.store import statements
from gossamer.values.url import Url, id_of

OURS = "urn:gossamer:"
"""The prefix of our own IRIs."""
PROVENANCE = "urn:gossamer:provenance"
"""The graph with the time and capture of each page's facts."""
FETCHED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
CAPTURE = "urn:gossamer:capture"
VERSION = "urn:gossamer:version"
"""On a cluster: the version of the capture in the catalogue, which decides what replaces it."""
SYNTAX = "urn:gossamer:syntax"
"""A function in queries: the syntaxes that state a fact, `urn:gossamer:syntax(?graph, ?s, ?p, ?o)`."""
PATH = "urn:gossamer:path"
"""A function in queries: the element that states a fact."""
SPELLING = "urn:gossamer:spelling"
"""A function in queries: the fact as the page spells it, as N-Triples; unbound if it is stored that way."""
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

_NO_IRI = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~]")


def graph_name(url: Url) -> str:
    """The page's URL as an IRI, in its canonical spelling: the name of the page in facts.

    Browsers accept characters in paths and queries that an IRI may not contain (RFC 3987, 2.2: brackets, braces, bars,
    lone percent signs); these are percent-encoded. Two URLs that differ only in this share a graph.
    """
    origin = url.origin
    return canonical(origin + _NO_IRI.sub(lambda odd: quote(odd[0], safe=""), url.text[len(origin) :]))


SOURCES = "sources.db"
MOST_REMEMBERED = 200_000
"""Facts in all the records that a reader keeps unpacked."""
BUSY_S = 2.0
SQL = statements.load("gossamer.views.facts", "sources.sql")


class PageSources(NamedTuple):
    graph: str
    """The name of the page's graph."""
    capture_id: int
    record: bytes
    """Empty for a page without facts: nothing is stored."""


class Sources:
    """The only writer, in the process that writes the graph."""

    def __init__(self, folder: Path, files: Files) -> None:
        self._path = folder / SOURCES
        self._files = files
        self._connection: sqlite3.Connection | None = None

    def open(self, is_new: bool) -> None:
        """`is_new`: the graph is empty, so this may be missing. Otherwise a missing or unreadable database raises
        ViewDamaged for the whole graph: both are rebuilt together."""
        if not is_new and not self._files.size(self._path):
            raise ViewDamaged(self._path.parent, f"{SOURCES} is missing or empty")
        try:
            self._connect()
        except sqlite3.Error as trouble:
            self.close()
            raise self._translated(trouble) from trouble

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def put(self, pages: Iterable[PageSources]) -> None:
        """Replace the records of these pages, in one transaction."""
        assert self._connection is not None, "the sources are not open"
        rows = [{"id": id_of(page.graph), "capture": page.capture_id, "record": page.record} for page in pages]
        rows.sort(key=itemgetter("id"))  # ids are hashes: in order, each leaf of the table is written once
        try:
            with self._connection as transaction:
                transaction.execute("BEGIN IMMEDIATE")
                transaction.executemany(SQL["drop_record"], [row for row in rows if not row["record"]])
                transaction.executemany(SQL["put_record"], [row for row in rows if row["record"]])
        except sqlite3.Error as trouble:
            raise self._translated(trouble) from trouble

    def _translated(self, trouble: sqlite3.Error) -> GossamerError:
        if not isinstance(trouble, sqlite3.OperationalError):
            return ViewDamaged(self._path.parent, f"{SOURCES}: {trouble}")
        if "full" in str(trouble):
            return DiskFull(f"the disk is full: the sources of facts in {self._path} cannot be written")
        return GossamerError(f"{self._path} cannot be written ({trouble}): check its owner and mode")

    def _connect(self) -> None:
        connection = sqlite3.connect(self._path, timeout=BUSY_S * 5, isolation_level=None, check_same_thread=False)
        self._connection = connection
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(SQL["create_records"])


class SourcesReader:
    """Reads while the writer works. `close` it after every query: a rebuild replaces the file."""

    def __init__(self, path: Path, given: Mapping[str, bytes] | None = None) -> None:
        """`given`: the packed records by page, instead of a database."""
        self._path, self._given = path, given
        self._connection: sqlite3.Connection | None = None
        self._remembered: OrderedDict[tuple[str, int], Record | None] = OrderedDict()
        self._facts = 0

    def close(self) -> None:
        """The cached records stay: a capture never changes."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def record_of(self, graph: str, capture_id: int) -> Record | None:
        """None when unknown: of another capture, never read, being written now, or without a database.
        Raises ViewDamaged when the database cannot be read."""
        key = (graph, capture_id)
        if key not in self._remembered:
            try:
                record = self._read(graph, capture_id)
            except sqlite3.OperationalError as trouble:
                if self._path.exists() and trouble.sqlite_errorname.startswith("SQLITE_CANTOPEN"):
                    raise ViewDamaged(
                        self._path.parent, f"{SOURCES} cannot be opened: check its owner and mode"
                    ) from trouble
                return None
            except sqlite3.DatabaseError as trouble:
                raise ViewDamaged(self._path.parent, f"{SOURCES}: {trouble}") from trouble
            self._remembered[key] = record
            self._facts += _weight(record)
            while self._facts > MOST_REMEMBERED and len(self._remembered) > 1:
                self._facts -= _weight(self._remembered.popitem(last=False)[1])
        return self._remembered[key]

    def _read(self, graph: str, capture_id: int) -> Record | None:
        if self._given is not None:
            return unpacked(self._given[graph]) if graph in self._given else None
        if self._connection is None:
            self._connection = _open_read_only(self._path)
        row = self._connection.execute(SQL["record_of"], {"id": id_of(graph), "capture": capture_id}).fetchone()
        if row is None:
            return None
        if (record := unpacked(row[0])) is None:
            raise ViewDamaged(self._path.parent, f"{SOURCES}: the record of {graph} cannot be read")
        return record


def damaged_records(path: Path) -> int:
    """How many records cannot be decoded; SQLite's own check does not look inside them."""
    with closing(_open_read_only(path)) as connection:
        return sum(unpacked(record) is None for (record,) in connection.execute(SQL["every_record"]))


def _open_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY_S, uri=True)


def _weight(record: Record | None) -> int:
    return 1 if record is None else 1 + len(record)
