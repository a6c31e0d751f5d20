"""Whether a SPARQL server does what the facts need, tried with a page of a host that cannot exist.

The page is written by the same updates as any other. A server that fails at one point is refused with a sentence that
says which: facts would be lost, or pages mixed, without anybody noticing.
"""

from collections.abc import Iterator
from contextlib import closing, suppress

from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.store.service import ServiceLost, ServiceRefused
from gossamer.values.messages import PageFacts
from gossamer.values.url import Url
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.updates import page_insert, replacement
from gossamer.views.facts.sources import graph_name

HOST = "scratch.gossamer.invalid"
"""Names below "invalid" never exist (RFC 6761)."""
UNION = (
    "patterns without GRAPH must match the facts of all named graphs together. For Fuseki, use a TDB2 dataset and "
    "start it with --set tdb2:unionDefaultGraph=true"
)
FIRST: Instant = 1_700_000_000 * SECOND
MARK = "http://scratch.gossamer.invalid/mark"
_OLD = f'<{MARK}> <{MARK}> "old" .\n'
_NEW = (
    f'<{MARK}> <{MARK}> "new \\\\u0022 \\"quoted\\"\\nline \U0001f30d"@en .\n<{MARK}> <{MARK}> _:a .\n'
    f'_:a <{MARK}> _:b .\n_:b <{MARK}> "1.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n'
)


def refuse_unfit(server: SparqlServer, writer: str) -> None:
    """Raises ConfigError, saying what is missing; ServiceLost if the server does not answer. `writer`: a name for the
    scratch page, so that several may try at once."""
    url = Url(f"http://{HOST}/{writer}")
    try:
        server.remove([graph_name(url)])
        try:
            for why in _lacks(server, url):
                raise ConfigError(f"{server.name} cannot keep the facts: {why}")
        finally:
            server.remove([graph_name(url)])
    except ServiceRefused as refused:
        raise ConfigError(str(refused)) from refused


def refuse_unfit_server(query: str, update: str, clock: Clock) -> None:
    """Raises ConfigError if the server is unfit. One that does not answer is waited for later."""
    with closing(SparqlServer(query, update, clock, silent)) as server, suppress(ServiceLost):
        refuse_unfit(server, random_token(16))


def _lacks(server: SparqlServer, url: Url) -> Iterator[str]:
    graph = graph_name(url)

    def put(number: int, facts: str) -> None:
        page = page_insert(PageFacts(url, facts.encode(), number, FIRST + number))
        server.update(replacement([page], replaces_same=False))

    put(1, _OLD)
    if not server.holds(f'ASK {{ GRAPH <{graph}> {{ <{MARK}> <{MARK}> "old" }} }}'):
        yield "what was inserted into a named graph is not found there"
    if not server.holds(f'ASK {{ <{MARK}> <{MARK}> "old" }}'):
        yield UNION
    put(3, _NEW)
    if server.holds(f'ASK {{ GRAPH <{graph}> {{ <{MARK}> <{MARK}> "old" }} }}'):
        yield "the operations of an update are not carried out in order"
    expected = _NEW.replace(" .\n", f" <{graph}> .\n").encode()
    if _canonical(b"".join(server.facts_of([url]))) != _canonical(expected):
        yield "blank nodes or literals are not stored as they were sent"
    put(2, _OLD)
    if server.fetched([graph]) != {graph: FIRST + 3} or _has_changed(server, url, expected):
        yield "an update whose condition does not hold changes something"
    _fail_halfway(server, graph)
    if server.holds(f'ASK {{ GRAPH <{graph}> {{ <{MARK}> <{MARK}> "half" }} }}'):
        yield "of an update that fails, the operations before the failure are kept"


def _has_changed(server: SparqlServer, url: Url, expected: bytes) -> bool:
    return _canonical(b"".join(server.facts_of([url]))) != _canonical(expected)


def _fail_halfway(server: SparqlServer, graph: str) -> None:
    """An update whose second operation cannot succeed: nothing listens on port 1."""
    half = f'INSERT DATA {{ GRAPH <{graph}> {{ <{MARK}> <{MARK}> "half" }} }} ; LOAD <http://127.0.0.1:1/{HOST}>'
    try:
        server.update(half)
    except (ServiceRefused, ServiceLost):
        return


def _canonical(quads: bytes) -> set[str]:
    found = Dataset(parse(quads, RdfFormat.N_QUADS))
    found.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in found}
