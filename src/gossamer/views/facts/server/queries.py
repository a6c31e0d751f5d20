"""SPARQL over the facts on a server.

Checked and written in workers, sent by this process, with the same limits.

Only what a worker wrote from a parsed SELECT, ASK, CONSTRUCT or DESCRIBE is sent, and only to the query endpoint.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.errors import QueryRefused, QueryTooLong, ViewDamaged
from gossamer.base.tell import silent
from gossamer.store.service import ServiceLost, ServiceRefused
from gossamer.views.facts.inference import TYPE
from gossamer.views.facts.query_job import SourcesUnreadable, SparqlQuestion, SparqlRefused, SparqlResult
from gossamer.views.facts.results import JSON, N_TRIPLES
from gossamer.views.facts.server.answer_job import (
    InferenceNeeds,
    Order,
    OriginsNeeded,
    Preparation,
    Prepared,
    Reply,
    ServerAnswer,
    Stated,
    job,
)
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.terms import stored_iri
from gossamer.views.facts.sparql import (
    MOST_BYTES,
    MOST_ROWS,
    FactFiles,
    QueryLimits,
    QueryWorkers,
    refuse_unreadable,
    too_long,
)
from gossamer.workers.protocol import Barriers

MOST_READ = 4 * MOST_BYTES
"""Bytes of the server's answer: its JSON may have many spaces."""
GRACE_S = 2.0
"""How long the server may take to say that it ran out of time."""
STATED_S = 60.0
"""How long it is remembered which classes and properties some fact has."""
NOT_A_PAGE = "<{}> is not a page with facts in this collection; no other graph can be queried."
NOT_UNDERSTOOD = (400, 422)

_orders = msgspec.msgpack.Encoder()
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


class ServerQueries:
    """`async with ServerQueries(...) as queries: await queries.ask(query, accept)`."""

    def __init__(self, server: SparqlServer, facts: FactFiles, limits: QueryLimits, outside: Outside) -> None:
        """It closes the server."""
        self._server, self._facts = server, facts
        self._files, self._clock = outside.files, outside.clock
        self._time_s = limits.time_s
        self._workers = QueryWorkers(job, limits, outside.processes, outside.clock, silent)
        self._stated: dict[Stated, tuple[float, bool]] = {}
        """When it was asked, and whether some fact has this class or property."""

    async def __aenter__(self) -> Self:
        await self._workers.pool.__aenter__()
        return self

    async def __aexit__(self, *trouble: Any) -> None:
        await self._workers.pool.__aexit__(*trouble)
        self._server.close()

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
    ) -> SparqlResult:
        """See `FactQueries.ask`. Raises ServiceLost, in words for readers, while the server does not answer."""
        refuse_unreadable(query)
        question = SparqlQuestion(
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
        async with self._workers.turn():
            prepared = await self._prepared(question)
            if prepared.graphs:
                await asyncio.to_thread(self._refuse_unknown, prepared.graphs)
            as_of = self._clock.now()
            body, is_cut = await asyncio.to_thread(self._sent, prepared)
            found = await self._written(ServerAnswer(question, prepared, body, is_cut))
            return msgspec.structs.replace(found, as_of=as_of)

    async def _prepared(self, question: SparqlQuestion) -> Prepared:
        reply = await self._call(Preparation(question))
        if isinstance(reply, InferenceNeeds):
            stated = await asyncio.to_thread(self._stated_among, reply.candidates)
            reply = await self._call(Preparation(question, stated))
        assert isinstance(reply, Prepared), reply
        return reply

    async def _written(self, answer: ServerAnswer) -> SparqlResult:
        reply = await self._call(answer)
        if isinstance(reply, OriginsNeeded):
            captures = await asyncio.to_thread(self._server.captures, reply.pages)
            known = self._facts.origins
            origins = dict(await asyncio.to_thread(known, captures)) if known is not None else None
            reply = await self._call(msgspec.structs.replace(answer, captures=captures, origins=origins))
        if isinstance(reply, SourcesUnreadable):
            raise ViewDamaged(Path(answer.question.sources).parent, reply.words)
        assert isinstance(reply, SparqlResult), reply
        return reply

    async def _call(self, order: Order) -> Reply:
        reply = _replies.decode(await self._workers.call(_orders.encode(order)))
        if isinstance(reply, SparqlRefused):
            raise QueryRefused(reply.words)
        return reply

    # In a thread, as the server may take its time.

    def _sent(self, prepared: Prepared) -> tuple[bytes, bool]:
        """The server's answer, and whether it has more than was read. Raises QueryTooLong, QueryRefused, and
        ServiceLost."""
        began_s = self._clock.elapsed_s()
        accept = N_TRIPLES if prepared.query.form == "triples" else JSON
        parameters = [("default-graph-uri", stored_iri(graph)) for graph in prepared.default_graphs]
        parameters += [("named-graph-uri", stored_iri(graph)) for graph in prepared.named_graphs]
        parameters.append(("timeout", f"{self._time_s:g}"))  # for Fuseki, Virtuoso and others; no standard has one
        found, size = list[bytes](), 0
        try:
            with self._server.sent(prepared.query.text, accept, parameters, self._time_s + GRACE_S) as (_, pieces):
                for piece in pieces:
                    found.append(piece)
                    size += len(piece)
                    if self._clock.elapsed_s() - began_s > self._time_s + GRACE_S:
                        raise QueryTooLong(too_long(self._time_s))
                    if size > MOST_READ:
                        return b"".join(found), True
            return b"".join(found), False
        except ServiceLost as lost:
            if self._clock.elapsed_s() - began_s >= self._time_s:
                raise QueryTooLong(too_long(self._time_s)) from lost
            raise
        except ServiceRefused as refused:
            if refused.status in NOT_UNDERSTOOD:
                raise QueryRefused(f"The server cannot answer this query. {refused}") from refused
            raise

    def _refuse_unknown(self, graphs: Sequence[str]) -> None:
        known = self._server.among(graphs)
        for graph in graphs:
            if graph not in known:
                raise QueryRefused(NOT_A_PAGE.format(graph))

    def _stated_among(self, candidates: Sequence[Stated]) -> tuple[Stated, ...]:
        """Those that some fact has."""
        now_s = self._clock.elapsed_s()
        fresh = {one for one, (at_s, _) in self._stated.items() if now_s - at_s < STATED_S}
        unknown = [one for one in candidates if one not in fresh]
        for kind, pattern in (("class", f"?thing <{TYPE}> ?it"), ("property", "?thing ?it ?value")):
            iris = [iri for one, iri in unknown if one == kind]
            found = self._server.matching(iris, pattern)
            self._stated |= {(kind, iri): (now_s, iri in found) for iri in iris}  # type: ignore[misc]
        return tuple([one for one in candidates if self._stated[one][1]])
