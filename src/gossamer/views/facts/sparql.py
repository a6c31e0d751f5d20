"""SPARQL over the newest checkpoint: read only, from this collection alone, within limits of time, memory and size."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import QueryRefused, QueryTooLong, ViewDamaged, WorkerLost
from gossamer.base.files import Files
from gossamer.base.processes import Processes
from gossamer.base.tell import Tell
from gossamer.base.tuning import QUERY_NICENESS
from gossamer.extract.vocabularies.relations import LONGEST_OWN
from gossamer.views.facts.checkpoints import EVERY_S, newest
from gossamer.views.facts.query_job import (
    CheckpointDamaged,
    CheckpointGone,
    Reply,
    SparqlFound,
    SparqlQuestion,
    SparqlRefused,
    Unsourced,
    job,
)
from gossamer.views.facts.query_text import LONGEST_QUERY
from gossamer.workers.barriers import Barriers
from gossamer.workers.limits import MIB, Limits
from gossamer.workers.pool import Pool

MOST_ROWS = 10_000
MOST_BYTES = 10 * MIB
MOST_WAITING = 64
"""In line for a worker; nobody stands there longer than a query may take, or these seconds if that is less."""
LEAST_WAIT_S = 5.0
BUSY = "Other queries take all the time there is; please ask again in a moment."
UNGUARDED = (
    "SPARQL is switched off here: a query worker could not close its network, neither by a namespace nor by seccomp. "
    "Allow one of the two; docs/hardening.md says how for Docker, Podman, Kubernetes and systemd."
)
TIME_S = 10.0
MEMORY_BYTES = 1024 * MIB

_questions = msgspec.msgpack.Encoder()
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


@dataclass(frozen=True, slots=True)
class SparqlResult:
    media_type: str
    body: bytes
    truncated: bool
    """The limit on rows or bytes cut the answer."""
    as_of: Instant
    """The facts are those of this moment."""
    query: str = ""
    """As it was put to the store, where inference or canonical names changed it."""
    notes: tuple[str, ...] = ()
    """What inference added, where it does not reach, and strings that look like names."""


def nobody() -> None:
    """For when there is no indexer to ask."""


class QueryPool:
    """`async with QueryPool(...) as pool: await pool.ask(query, accept)`.

    `checkpoints` and `sources` say where to look at each question: a rebuild puts both elsewhere.
    `refresh` is called when a question finds the facts older than `EVERY_S`: it asks the indexer for a checkpoint.
    `sources` is the database of the live graph that says where facts stand; `vocabulary` a file with relations of
    one's own (rdfs:subClassOf and rdfs:subPropertyOf, in Turtle), which need not be there.
    """

    def __init__(
        self,
        checkpoints: Callable[[], Path],
        files: Files,
        processes: Processes,
        clock: Clock,
        tell: Tell,
        size: int = 2,
        time_s: float = TIME_S,
        memory_bytes: int = MEMORY_BYTES,
        refresh: Callable[[], object] = nobody,
        sources: Callable[[], Path] | None = None,
        vocabulary: Path | None = None,
    ) -> None:
        self._checkpoints, self._sources = checkpoints, sources
        self._vocabulary = vocabulary
        self._files = files
        self._clock = clock
        self._refresh = refresh
        self._time_s = time_s
        self._free, self._waiting = asyncio.Semaphore(size), 0
        limits = Limits(
            wall_s=time_s,
            cpu_s=time_s,
            memory_bytes=memory_bytes,
            open_files=1024,
            answer_bytes=2 * MOST_BYTES,
            ahead=0,
            niceness=QUERY_NICENESS,
            is_silent=True,
            needs_closed_network=True,
        )
        self._pool = Pool(job, size, limits, processes, clock, tell)

    async def __aenter__(self) -> "QueryPool":
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.__aexit__(kind, trouble, trace)

    @property
    def barriers(self) -> Barriers | None:
        """What holds around its workers; None while none is ready."""
        return self._pool.barriers

    @property
    def pids(self) -> list[int]:
        return self._pool.pids

    async def ask(
        self,
        query: str,
        accept: str = "*/*",
        default_graphs: tuple[str, ...] = (),
        named_graphs: tuple[str, ...] = (),
        most_rows: int = MOST_ROWS,
        has_inference: bool = False,
        has_exact_names: bool = False,
    ) -> SparqlResult:
        """The answer, in the media type of those we have that `accept` likes best; with inference, also from what the
        vocabularies say (see `widening`). Names match in every spelling (see `spelling`), unless they are to be exact.
        Raises QueryRefused, in words for the person who asked, or QueryTooLong when it was stopped."""
        if len(query) > LONGEST_QUERY:
            raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
        if not query.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in query):
            raise QueryRefused("The query holds half of a character (a lone surrogate).")
        async with self._turn():
            return await self._answered(
                SparqlQuestion(
                    checkpoint="",
                    query=query,
                    accept=accept,
                    most_rows=most_rows,
                    most_bytes=MOST_BYTES,
                    default_graphs=default_graphs,
                    named_graphs=named_graphs,
                    sources=str(self._sources()) if self._sources is not None else "",
                    has_inference=has_inference,
                    vocabulary=self._own_vocabulary(),
                    has_exact_names=has_exact_names,
                )
            )

    async def _answered(self, question: SparqlQuestion) -> SparqlResult:
        damaged: dict[str, str] = {}
        for _ in range(3):
            checkpoint = newest(self._files, self._checkpoints(), damaged)
            if checkpoint is None and damaged:
                break
            as_of = checkpoint.as_of if checkpoint else self._clock.now()
            if checkpoint is None or self._clock.now() - as_of > EVERY_S * SECOND:
                self._refresh()
            folder = str(checkpoint.folder) if checkpoint else ""
            match await self._put(msgspec.structs.replace(question, checkpoint=folder)):
                case SparqlFound(media_type, body, truncated, asked, notes):
                    return SparqlResult(media_type, body, truncated, as_of, asked, notes)
                case SparqlRefused(words):
                    raise QueryRefused(words)
                case CheckpointDamaged(words):  # the one before it may be whole
                    damaged[Path(folder).name] = words
                case Unsourced(words):
                    if self._sources is None or question.sources == str(self._sources()):
                        raise ViewDamaged(Path(question.sources).parent, words)
                    question = msgspec.structs.replace(question, sources=str(self._sources()))  # a rebuild moved it
                case CheckpointGone():
                    continue
        if damaged:
            raise ViewDamaged(self._checkpoints(), "; ".join(f"{name}: {why}" for name, why in damaged.items()))
        raise QueryTooLong("The facts could not be opened; please ask again in a moment.")

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """A worker's time. Behind a line of runaways one is told to come back instead of standing there."""
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

    def _own_vocabulary(self) -> bytes:
        """Read anew for each question, so that a change counts at once; it is small."""
        if self._vocabulary is None or self._files.size(self._vocabulary) is None:
            return b""
        return self._files.read(self._vocabulary, length=LONGEST_OWN + 1)

    async def _put(self, question: SparqlQuestion) -> Reply:
        try:
            return _replies.decode(await self._pool.call(_questions.encode(question)))
        except WorkerLost as lost:
            raise QueryTooLong(_in_words(lost, self._time_s)) from lost


def _in_words(lost: WorkerLost, time_s: float) -> str:
    match lost.why:
        case "timeout":
            return (
                f"The query was stopped after {time_s:g} seconds. Ask for less: name more of the facts, or set a LIMIT."
            )
        case "memory" | "crash":
            return "The query was stopped: it needed more memory than it may have, or is too deep. Ask for less."
        case "unguarded":
            return UNGUARDED
        case _:
            return "The query was stopped because the service is closing."
