"""The query operation of the SPARQL 1.1 Protocol (section 2.1), from HTTP requests.

There is no update operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from gossamer.web.responses import WebError
from gossamer.web.routes import FORM

LONGEST_BODY = 1 << 20
DIRECT = "application/sparql-query"
UPDATE = "application/sparql-update"
NO_UPDATE = "This endpoint is read-only: facts come only from crawled pages. Send a query, not an update."


@dataclass(frozen=True, slots=True)
class ProtocolQuery:
    query: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    has_inference: bool = False
    """An extension: also find facts inferred from the vocabularies (`inference=rdfs`)."""
    has_exact_names: bool = False
    """An extension: names match only as the query spells them (`names=exact`)."""


Pairs = Sequence[tuple[str, str]]


def from_url(parameters: Pairs) -> ProtocolQuery:
    """Query via GET (2.1.1). A URL without a query is accepted: people open it to type one. Raises WebError."""
    return _query(parameters, [value for name, value in parameters if name == "query"])


def from_body(content_type: str, body: bytes, parameters: Pairs) -> ProtocolQuery:
    """Query via POST, as a form (2.1.2), or directly with the graphs in the URL (2.1.3). Raises WebError."""
    kind = content_type.partition(";")[0].strip().lower()
    text = body.decode("utf-8", "replace")
    if kind == UPDATE:
        raise WebError(403, NO_UPDATE)
    if kind == DIRECT:
        return _query(parameters, [text])
    if kind != FORM:
        raise WebError(415, f"Send the query as {DIRECT}, or as a form ({FORM}) with the field “query”.")
    return from_url([*parameters, *parse_qsl(text, keep_blank_values=True)])


def _query(parameters: Pairs, queries: list[str]) -> ProtocolQuery:
    if any(name in ("update", "using-graph-uri", "using-named-graph-uri") for name, _ in parameters):
        raise WebError(403, NO_UPDATE)
    if len(queries) > 1:
        raise WebError(400, "The request has two queries. Send them one at a time.")
    inference = {value for name, value in parameters if name == "inference"} - {"", "none"}
    if inference - {"rdfs"}:
        raise WebError(400, "The only supported inference is “rdfs”; omit “inference” for none.")
    names = {value for name, value in parameters if name == "names"} - {"", "any"}
    if names - {"exact"}:
        raise WebError(400, "“names” can be “exact”; omit it to match names in every spelling.")
    default, named = (
        tuple(value for name, value in parameters if name == f"{kind}-graph-uri") for kind in ("default", "named")
    )
    return ProtocolQuery(queries[0] if queries else "", default, named, bool(inference), bool(names))
