"""SPARQL over the newest checkpoint.

Read only, on this collection alone, with limits on time, memory and size.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.errors import QueryRefused, QueryTooLong, ViewDamaged, WorkerLost
from gossamer.base.files import Files
from gossamer.base.processes import Processes
from gossamer.base.tell import Tell
from gossamer.base.tuning import QUERY_NICENESS
from gossamer.extract.vocabularies import LONGEST_OWN
from gossamer.views.facts import query_job
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.query_text import LONGEST_QUERY
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MIB, Barriers, Limits

MOST_ROWS = 10_000
MOST_BYTES = 10 * MIB
MOST_WAITING = 64
"""Queries that wait for a worker. None waits longer than a query may take, or these seconds if that is less."""
LEAST_WAIT_S = 5.0
BUSY = "All query workers are busy; please try again in a moment."
UNGUARDED = (
    "SPARQL is switched off here: a query worker could not close its network, neither by a namespace nor by seccomp. "
    "Allow one of the two; docs/hardening.md says how for Docker, Podman, Kubernetes and systemd."
)

_questions = msgspec.msgpack.Encoder()
_replies: msgspec.msgpack.Decoder[query_job.Reply] = msgspec.msgpack.Decoder(query_job.Reply)


@dataclass(frozen=True, slots=True)
class FactFiles:
    """Where queries find their facts; read for each query, since a rebuild moves the folders."""

    checkpoints: Callable[[], Path]
    sources: Callable[[], Path] | None = None
    """The live graph's database of where each fact is on its page."""
    origins: Callable[[Mapping[str, int]], Mapping[str, bytes]] | None = None
    """On a cluster: asks its database for the same, by page and capture."""
    vocabulary: Path | None = None
    """The user's own rdfs:subClassOf and rdfs:subPropertyOf statements, in Turtle; the file may be missing."""

    @property
    def sources_path(self) -> str:
        return str(self.sources()) if self.sources is not None else ""

    def own_vocabulary(self, files: Files) -> bytes:
        """Read for each query, so that a change counts at once; it is small."""
        path = self.vocabulary
        return b"" if path is None or files.size(path) is None else files.read(path, length=LONGEST_OWN + 1)


@dataclass(frozen=True, slots=True)
class QueryLimits:
    workers: int = 2
    time_s: float = 10.0
    memory_bytes: int = 1024 * MIB


class FactQueries(Protocol):
    """What a collection asks for facts. Real ones: `QueryPool`, and `server.queries.ServerQueries`."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *trouble: Any) -> None: ...

    @property
    def barriers(self) -> Barriers | None:
        """The sandbox of its workers; None while no worker is ready."""

    @property
    def pids(self) -> list[int]: ...

    async def ask(
        self,
        query: str,
        accept: str = "*/*",
        default_graphs: tuple[str, ...] = (),
        named_graphs: tuple[str, ...] = (),
        most_rows: int = MOST_ROWS,
        has_inference: bool = False,
        has_exact_names: bool = False,
    ) -> query_job.SparqlResult:
        """The answer, in the media type that `accept` prefers; with inference (see `inference`) also what follows from
        the vocabularies. Names match in every spelling, unless they are to be exact.

        Raises QueryRefused with a reason for the user, or QueryTooLong when the query was stopped."""


class QueryWorkers:
    """The workers of queries, and the queue for them."""

    def __init__(
        self, job: Callable[[bytes], bytes], limits: QueryLimits, processes: Processes, clock: Clock, tell: Tell
    ) -> None:
        self._time_s = limits.time_s
        self._free, self._waiting = asyncio.Semaphore(limits.workers), 0
        worker_limits = Limits(
            wall_s=limits.time_s,
            cpu_s=limits.time_s,
            memory_bytes=limits.memory_bytes,
            open_files=1024,
            answer_bytes=2 * MOST_BYTES,
            ahead=0,
            niceness=QUERY_NICENESS,
            is_silent=True,
            needs_closed_network=True,
        )
        self.pool = Pool(job, limits.workers, worker_limits, processes, clock, tell)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A worker's time. With too many queries waiting, the next one fails at once instead of waiting."""
        if self._waiting >= MOST_WAITING:
            raise QueryTooLong(BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout(max(LEAST_WAIT_S, self._time_s)):
                await self._free.acquire()
        except TimeoutError:
            raise QueryTooLong(BUSY) from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()

    async def call(self, payload: bytes) -> bytes:
        """Raises QueryTooLong, in words, when the worker is lost."""
        try:
            return await self.pool.call(payload)
        except WorkerLost as lost:
            raise QueryTooLong(_in_words(lost, self._time_s)) from lost


class QueryPool:
    """`async with QueryPool(...) as pool: await pool.ask(query, accept)`."""

    def __init__(
        self, facts: FactFiles, limits: QueryLimits, files: Files, processes: Processes, clock: Clock, tell: Tell
    ) -> None:
        self._facts, self._files, self._clock = facts, files, clock
        self._workers = QueryWorkers(query_job.job, limits, processes, clock, tell)

    async def __aenter__(self) -> Self:
        await self._workers.pool.__aenter__()
        return self

    async def __aexit__(self, *trouble: Any) -> None:
        await self._workers.pool.__aexit__(*trouble)

    @property
    def barriers(self) -> Barriers | None:
        return self._workers.pool.barriers

    @property
    def pids(self) -> list[int]:
        return self._workers.pool.pids

    async def ask(
        self,
        query: str,
        accept: str = "*/*",
        default_graphs: tuple[str, ...] = (),
        named_graphs: tuple[str, ...] = (),
        most_rows: int = MOST_ROWS,
        has_inference: bool = False,
        has_exact_names: bool = False,
    ) -> query_job.SparqlResult:
        refuse_unreadable(query)
        async with self._workers.turn():
            return await self._answered(
                query_job.SparqlQuestion(
                    checkpoint="",
                    query=query,
                    accept=accept,
                    most_rows=most_rows,
                    most_bytes=MOST_BYTES,
                    default_graphs=default_graphs,
                    named_graphs=named_graphs,
                    sources=self._facts.sources_path,
                    has_inference=has_inference,
                    vocabulary=self._facts.own_vocabulary(self._files),
                    has_exact_names=has_exact_names,
                )
            )

    async def _answered(self, question: query_job.SparqlQuestion) -> query_job.SparqlResult:
        damaged: dict[str, str] = {}
        for _ in range(3):
            checkpoint = newest(self._files, self._facts.checkpoints(), damaged)
            if checkpoint is None and damaged:
                break
            as_of = checkpoint.as_of if checkpoint else self._clock.now()
            folder = str(checkpoint.folder) if checkpoint else ""
            match await self._put(msgspec.structs.replace(question, checkpoint=folder)):
                case query_job.SparqlResult() as result:
                    return msgspec.structs.replace(result, as_of=as_of)
                case query_job.SparqlRefused(words):
                    raise QueryRefused(words)
                case query_job.CheckpointDamaged(words):  # the one before it may be whole
                    damaged[Path(folder).name] = words
                case query_job.SourcesUnreadable(words):
                    if question.sources == (sources := self._facts.sources_path):
                        raise ViewDamaged(Path(sources).parent, words)
                    question = msgspec.structs.replace(question, sources=sources)  # a rebuild moved it
                case query_job.CheckpointGone():
                    continue
        if damaged:
            raise ViewDamaged(self._facts.checkpoints(), "; ".join(f"{name}: {why}" for name, why in damaged.items()))
        raise QueryTooLong("The facts could not be opened; please try again in a moment.")

    async def _put(self, question: query_job.SparqlQuestion) -> query_job.Reply:
        return _replies.decode(await self._workers.call(_questions.encode(question)))


def refuse_unreadable(query: str) -> None:
    """Raises QueryRefused for what no message can hold."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
    if not query.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in query):
        raise QueryRefused("The query contains half a character (a lone surrogate).")


def too_long(time_s: float) -> str:
    return f"The query was stopped after {time_s:g} seconds. Ask for less: narrow the patterns, or add a LIMIT."


def _in_words(lost: WorkerLost, time_s: float) -> str:
    match lost.why:
        case "timeout":
            return too_long(time_s)
        case "memory" | "crash":
            return "The query was stopped: it needed more memory than allowed, or is nested too deeply. Ask for less."
        case "unguarded":
            return UNGUARDED
        case _:
            return "The query was stopped because the service is closing."
