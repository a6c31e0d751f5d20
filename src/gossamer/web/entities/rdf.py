"""What is said of a thing, as files: Turtle, N-Quads, JSON-LD and CSV."""

from collections.abc import Iterable, Mapping, Sequence

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from gossamer.web.cells import csv_line
from gossamer.web.entities.page_facts import Row
from gossamer.web.names import PREFIXES

Cell = Mapping[str, str]
TURTLE, N_QUADS, JSON_LD, CSV = "text/turtle", "application/n-quads", "application/ld+json", "text/csv"
FORMATS = {"ttl": TURTLE, "nq": N_QUADS, "jsonld": JSON_LD, "csv": CSV}
"""By the ending of the address."""
COLUMNS = ["thing", "property", "value", "language", "datatype", "page"]


def written(rows: Sequence[Row], media_type: str) -> bytes:
    """REQUIRES: rows with `page`, `thing`, `property` and `value`. Turtle has no graphs: it says what, not who."""
    match media_type:
        case "text/turtle":
            return _turtle(rows)
        case "application/n-quads":
            return serialize(_quads(rows), format=RdfFormat.N_QUADS) or b""
        case "application/ld+json":
            return serialize(_quads(rows), format=RdfFormat.JSON_LD) or b""
        case _:
            return b"".join(map(csv_line, (COLUMNS, *map(_csv_row, rows))))


def _turtle(rows: Sequence[Row]) -> bytes:
    triples = dict.fromkeys(Triple(*_terms(row)) for row in rows)
    used = {namespace: prefix for namespace, prefix in PREFIXES.items() if _is_used(namespace, rows)}
    prefixes = {prefix: namespace for namespace, prefix in reversed(used.items())}
    return serialize(triples, format=RdfFormat.TURTLE, prefixes=prefixes) or b""


def _is_used(namespace: str, rows: Iterable[Row]) -> bool:
    cells = (row[name] for row in rows for name in ("property", "value"))
    return any(str(cell["value"]).startswith(namespace) for cell in cells)


def _quads(rows: Iterable[Row]) -> list[Quad]:
    return [Quad(*_terms(row), NamedNode(row["page"]["value"])) for row in rows]


def _terms(row: Row) -> tuple[NamedNode | BlankNode, NamedNode, NamedNode | BlankNode | Literal]:
    thing = row["thing"]
    subject = BlankNode(thing["value"]) if thing["type"] == "bnode" else NamedNode(thing["value"])
    return subject, NamedNode(row["property"]["value"]), _term(row["value"])


def _term(cell: Cell) -> NamedNode | BlankNode | Literal:
    match cell["type"]:
        case "uri":
            return NamedNode(cell["value"])
        case "bnode":
            return BlankNode(cell["value"])
    if "xml:lang" in cell:
        return Literal(cell["value"], language=cell["xml:lang"])
    return Literal(str(cell["value"]), datatype=NamedNode(cell["datatype"]) if "datatype" in cell else None)


def _csv_row(row: Row) -> list[str]:
    value = row["value"]
    thing = ("_:" if row["thing"]["type"] == "bnode" else "") + row["thing"]["value"]
    shown = ("_:" if value["type"] == "bnode" else "") + str(value["value"])
    return [
        thing,
        row["property"]["value"],
        shown,
        value.get("xml:lang", ""),
        value.get("datatype", ""),
        row["page"]["value"],
    ]
