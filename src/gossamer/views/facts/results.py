"""SPARQL results as bytes, limited in rows and bytes.

The library's serializers write all rows or none, hence these (SPARQL 1.1 Query Results JSON, XML, CSV and TSV).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol
from xml.sax.saxutils import escape, quoteattr

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    RdfFormat,
    Triple,
    Variable,
    serialize,
)

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies import bundled
from gossamer.values.format import csv_safe, is_formula

Term = NamedNode | BlankNode | Literal | Triple
Written = tuple[bytes, bool]
"""The body, and whether it was cut."""

JSON = "application/sparql-results+json"
XML = "application/sparql-results+xml"
CSV = "text/csv"
TSV = "text/tab-separated-values"
TURTLE = "text/turtle"
N_TRIPLES = "application/n-triples"
RDF_XML = "application/rdf+xml"
JSON_LD = "application/ld+json"

ROWS = (JSON, XML, CSV, TSV)
TRIPLES = (TURTLE, N_TRIPLES, JSON_LD, RDF_XML)
ALSO_CALLED = {
    "application/json": JSON,
    "application/xml": XML,
    "text/xml": XML,
    "text/plain": N_TRIPLES,
    "json": JSON,
    "xml": XML,
    "csv": CSV,
    "tsv": TSV,
    "turtle": TURTLE,
    "ttl": TURTLE,
    "ntriples": N_TRIPLES,
    "nt": N_TRIPLES,
    "application/x-turtle": TURTLE,
    "jsonld": JSON_LD,
    "rdf": RDF_XML,
}
OF_GRAPHS = {JSON: JSON_LD, XML: RDF_XML}
"""What a client that accepts JSON or XML gets when the answer is a graph."""
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
ENDS_IN_NAME = re.compile(r"[A-Za-z_][\w.-]*$")
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def media_type_for(accept: str, offered: tuple[str, ...]) -> str:
    """The type the client prefers (RFC 9110, 12.5.1); the first on offer when it accepts none."""
    best, best_weight = offered[0], 0.0
    for part in accept.split(","):
        name, *parameters = (piece.strip() for piece in part.lower().split(";"))
        name = ALSO_CALLED.get(name, name)
        name = name if name in offered else OF_GRAPHS.get(name, name)
        weight = _weight(parameters)
        if name in offered and weight > best_weight:
            best, best_weight = name, weight
    return best


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


def write_truth(answer: QueryBoolean, media_type: str) -> Written:
    return answer.serialize(format=QueryResultsFormat.from_media_type(media_type)) or b"", False


def write_triples(triples: Iterable[Triple], media_type: str, most_rows: int, most_bytes: int) -> Written:
    kept: list[Triple] = []
    size, cut = 0, False
    for triple in triples:
        size += len(str(triple)) + 3
        if len(kept) >= most_rows or size > most_bytes:
            cut = True
            break
        kept.append(triple)
    if media_type == RDF_XML:
        kept = [_fit_for_xml(triple) for triple in kept]
    prefixes = _prefixes_in(kept) if media_type in (TURTLE, RDF_XML) else None
    return serialize(kept, format=RdfFormat.from_media_type(media_type), prefixes=prefixes) or b"", cut


def _prefixes_in(triples: list[Triple]) -> dict[str, str]:
    """The well-known prefixes the answer uses, to make it readable."""
    known = bundled()
    used = {known.namespace_of(triple.predicate.value) for triple in triples}
    used |= {known.namespace_of(triple.object.value) for triple in triples if isinstance(triple.object, NamedNode)}
    return {prefix: namespace for prefix, namespace in known.prefixes.items() if namespace in used}


def _fit_for_xml(triple: Triple) -> Triple:
    """Raises QueryRefused for a property that does not end in an XML name (RDF 1.1 XML Syntax, 5.1)."""
    if not ENDS_IN_NAME.search(triple.predicate.value):
        raise QueryRefused(f"RDF/XML cannot write the property <{triple.predicate.value}>; request Turtle.")
    value = triple.object
    if not isinstance(value, Literal) or not NOT_IN_XML.search(value.value):
        return triple
    text = NOT_IN_XML.sub("�", value.value)
    if value.language:
        return Triple(triple.subject, triple.predicate, Literal(text, language=value.language))
    return Triple(triple.subject, triple.predicate, Literal(text, datatype=value.datatype))


class SolutionRows(Protocol):
    """The rows of an answer. Real ones: pyoxigraph's `QuerySolutions`, and `server.answer_job.ServerRows`."""

    @property
    def variables(self) -> list[Variable]: ...

    def __iter__(self) -> Iterator[Iterable[Term | None]]: ...


def write_rows(solutions: SolutionRows, media_type: str, most_rows: int, most_bytes: int) -> Written:
    head, line, between, foot = _SHAPES[media_type](solutions.variables)
    pieces, size, cut = [head], len(head) + len(foot), False
    for number, solution in enumerate(islice(solutions, most_rows + 1)):
        row = (between if number else b"") + line(solution)
        size += len(row)
        if number == most_rows or size > most_bytes:
            cut = True
            break
        pieces.append(row)
    pieces.append(foot)
    return b"".join(pieces), cut


Shape = tuple[bytes, Callable[[Iterable[Term | None]], bytes], bytes, bytes]
"""The head, a function that writes a row, the separator of rows, and the foot."""


def _json_shape(variables: list[Variable]) -> Shape:
    names = [variable.value for variable in variables]

    def line(solution: Iterable[Term | None]) -> bytes:
        return _dumped({name: _json_term(term) for name, term in zip(names, solution, strict=True) if term is not None})

    return b'{"head":' + _dumped({"vars": names}) + b',"results":{"bindings":[', line, b",", b"]}}"


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _json_term(term: Term) -> dict[str, object]:
    match term:
        case NamedNode():
            return {"type": "uri", "value": term.value}
        case BlankNode():
            return {"type": "bnode", "value": term.value}
        case Literal():
            return {"type": "literal", "value": term.value, **_qualified(term)}
        case Triple():
            parts = {"subject": term.subject, "predicate": term.predicate, "object": term.object}
            return {"type": "triple", "value": {name: _json_term(part) for name, part in parts.items()}}


def _qualified(literal: Literal) -> dict[str, str]:
    if literal.language:
        return {"xml:lang": literal.language}
    if literal.datatype.value == XSD_STRING:
        return {}
    return {"datatype": literal.datatype.value}


def _xml_shape(variables: list[Variable]) -> Shape:
    names = [variable.value for variable in variables]
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in names)

    def line(solution: Iterable[Term | None]) -> bytes:
        found = zip(names, solution, strict=True)
        cells = (f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>" for name, term in found if term)
        return f"<result>{''.join(cells)}</result>".encode()

    first = f'<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>{head}</head><results>'
    return first.encode(), line, b"", b"</results></sparql>"


def _xml_term(term: Term) -> str:
    match term:
        case NamedNode():
            return f"<uri>{_xml(term.value)}</uri>"
        case BlankNode():
            return f"<bnode>{_xml(term.value)}</bnode>"
        case Literal():
            given = "".join(f" {name}={quoteattr(NOT_IN_XML.sub('�', v))}" for name, v in _qualified(term).items())
            return f"<literal{given}>{_xml(term.value)}</literal>"
        case Triple():
            subject, predicate, object_ = map(_xml_term, (term.subject, term.predicate, term.object))
            parts = f"<subject>{subject}</subject><predicate>{predicate}</predicate><object>{object_}</object>"
            return f"<triple>{parts}</triple>"


def _xml(text: str) -> str:
    return escape(NOT_IN_XML.sub("�", text))


def _csv_shape(variables: list[Variable]) -> Shape:
    def line(solution: Iterable[Term | None]) -> bytes:
        return _joined((_csv_cell(term) for term in solution), ",", "\r\n")

    return _joined((variable.value for variable in variables), ",", "\r\n"), line, b"", b""


def _csv_cell(term: Term | None) -> str:
    if term is None:
        return ""
    text = csv_safe(term.value if isinstance(term, NamedNode | Literal) else str(term))
    return '"' + text.replace('"', '""') + '"' if any(odd in text for odd in '",\r\n') else text


def _tsv_shape(variables: list[Variable]) -> Shape:
    def line(solution: Iterable[Term | None]) -> bytes:
        return _joined(("" if term is None else _tsv_cell(term) for term in solution), "\t", "\n")

    return _joined((f"?{variable.value}" for variable in variables), "\t", "\n"), line, b"", b""


def _tsv_cell(term: Term) -> str:
    """A spreadsheet strips the quotes of a literal and may run its text as a formula. The first character of such a
    text is written as a Turtle escape, which is the same term to any other reader."""
    text = str(term)
    if isinstance(term, Literal) and text[1:2] != "\\" and is_formula(text[1:].removesuffix('"')):
        return f'"\\u{ord(text[1]):04X}{text[2:]}'
    return text


def _joined(cells: Iterable[str], between: str, end: str) -> bytes:
    return (between.join(cells) + end).encode()


_SHAPES: dict[str, Callable[[list[Variable]], Shape]] = {
    JSON: _json_shape,
    XML: _xml_shape,
    CSV: _csv_shape,
    TSV: _tsv_shape,
}
