"""The answers of a collection to a Python program, and an event loop on a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.capture import Kept
from gossamer.values.link import Link
from gossamer.values.url import Url
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.results import JSON
from gossamer.views.links.reader import Anchor

T = TypeVar("T")


class ResultTerm(NamedTuple):
    """One value in the answer to a query (SPARQL 1.1 Query Results JSON, 3.2.2). `str` of it is the plain value."""

    kind: str
    """"uri", "literal", "bnode" or "triple"."""
    value: str
    language: str = ""
    datatype: str = ""

    def __str__(self) -> str:
        return self.value


class ResultTable(msgspec.Struct, frozen=True):
    """The answer to a SPARQL query. Iterating over it yields the rows."""

    as_of: Instant
    names: tuple[str, ...] = ()
    rows: tuple[dict[str, ResultTerm], ...] = ()
    """Of SELECT. A variable without a value is not in its row."""
    is_so: bool | None = None
    """Of ASK."""
    text: str = ""
    """Of CONSTRUCT and DESCRIBE: N-Triples."""
    is_cut: bool = False
    """The answer exceeded the limit of a query."""

    def __iter__(self) -> Iterator[dict[str, ResultTerm]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class KnownPage(msgspec.Struct, frozen=True):
    """What is stored of one page. Its texts come from the web: escape them before showing them."""

    url: str
    title: str = ""
    description: str = ""
    language: str = ""
    text: str = ""
    types: tuple[str, ...] = ()
    fact_count: int = 0
    versions: tuple[Kept, ...] = ()
    """Its captures, newest first."""


class PageLinks(msgspec.Struct, frozen=True):
    outgoing: tuple[Link, ...]
    """In the order of the page."""
    incoming_count: int
    """How many pages link here."""
    incoming: tuple[Url, ...]
    """At most 100 of them."""
    anchors: tuple[Anchor, ...]
    """The texts of those links."""


def table_of(result: SparqlResult) -> ResultTable:
    if result.media_type != JSON:
        return ResultTable(result.as_of, text=result.body.decode("utf-8", "replace"), is_cut=result.truncated)
    found = msgspec.json.decode(result.body)
    if "boolean" in found:
        return ResultTable(result.as_of, is_so=bool(found["boolean"]))
    rows = tuple({name: result_term(cell) for name, cell in row.items()} for row in found["results"]["bindings"])
    return ResultTable(result.as_of, tuple(found["head"]["vars"]), rows, is_cut=result.truncated)


def result_term(cell: Mapping[str, Any]) -> ResultTerm:
    return ResultTerm(cell["type"], str(cell["value"]), cell.get("xml:lang", ""), cell.get("datatype", ""))


class LoopThread:
    """An event loop on a thread of its own, so that it also works in a notebook, which already runs a loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gossamer.open", daemon=True)
        self._thread.start()

    def call(self, work: "Coroutine[Any, Any, T]") -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
