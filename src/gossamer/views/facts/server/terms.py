"""Terms as they are on a SPARQL server, and back: blank nodes have names there.

A server gives blank nodes labels of its own, other ones in each answer, and copies them with each solution of a guard.
So they are stored as IRIs with a reserved prefix (RDF 1.1 Concepts, 3.5: skolemization), with the label that the
capture gave them, and read as blank nodes. An IRI of a page that begins with the prefix is quoted.
"""

import re
from functools import lru_cache

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store, Triple

BLANK = "urn:gossamer:blank:"
QUOTED = "urn:gossamer:quoted:"
XSD = "http://www.w3.org/2001/XMLSchema#"
THEIRS = "server-"
"""Before the label of a blank node that the server made, so that it is never one of ours."""

_RESERVED = (BLANK, QUOTED)
_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?<!\.)")
_ESCAPE = re.compile(r"\\(?:\\([uU])|.)")
_STRING = f"{XSD}string"
_ANY = NamedNode("urn:gossamer:any")
Term = NamedNode | BlankNode | Literal | Triple


def stored_iri(iri: str) -> str:
    """An IRI of a page or of a query, as it is on the server."""
    return QUOTED + iri if iri.startswith(_RESERVED) else iri


def in_sparql(term: Term) -> str:
    """A term of a page as text for an update. Raises SyntaxError for a triple term, which no server must know."""
    match term:
        case NamedNode():
            return f"<{stored_iri(term.value)}>"
        case BlankNode():
            return f"<{BLANK}{term.value}>"
        case Literal():
            return literal_in_sparql(term)
        case Triple():
            raise SyntaxError("a triple term cannot be stored on a SPARQL server")


def literal_in_sparql(literal: Literal) -> str:
    """As N-Triples, in a form that also a server that decodes `\\u0022` before it looks for the end of a string (SPARQL
    1.1, 19.2) reads as it was meant: a letter u after a backslash is written as a code point itself."""
    text = str(literal)
    return _ESCAPE.sub(_unambiguous, text) if "\\\\" in text else text


def _unambiguous(escape: re.Match[str]) -> str:
    return f"\\\\\\u{ord(escape[1]):04x}" if escape[1] else escape[0]


def read_term(term: Term) -> Term:
    """A term of the server's answer, as the embedded store would give it."""
    match term:
        case NamedNode() if term.value.startswith("urn:gossamer:"):
            return _read_iri(term.value)
        case BlankNode():
            return BlankNode(THEIRS + term.value)
        case Literal() if term.datatype.value.startswith(XSD) and term.datatype.value != _STRING:
            return _respelled(term)
        case Triple():
            return Triple(read_term(term.subject), read_term(term.predicate), read_term(term.object))  # type: ignore[arg-type]
    return term


@lru_cache(maxsize=4096)
def _respelled(literal: Literal) -> Literal:
    """Servers keep numbers and dates by value, and each spells them in its own way: as the embedded store does."""
    store = Store()
    store.add(Quad(_ANY, _ANY, literal))
    [quad] = store
    assert isinstance(quad.object, Literal)
    return quad.object


@lru_cache(maxsize=4096)
def _read_iri(iri: str) -> NamedNode | BlankNode:
    if iri.startswith(BLANK) and _LABEL.fullmatch(iri, len(BLANK)):
        return BlankNode(iri[len(BLANK) :])
    return NamedNode(iri.removeprefix(QUOTED))
