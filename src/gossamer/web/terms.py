"""One value of an answer to a query, made fit for people. Its texts come from the web: templates escape them."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple
from urllib.parse import quote

from gossamer.web.names import named, short

_NUMBER = re.compile(r"[+-]?\d[\d.]*([eE][+-]?\d+)?")
_NUMERIC = re.compile(r"http://www\.w3\.org/2001/XMLSchema#(integer|decimal|double|float|int|long)")
_WHOLE_IRI = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]*:[^<>"{}|^`\\\x00-\x20\ud800-\udfff]*""")
"""What may stand between < and > (SPARQL 1.1, 19.8, IRIREF); anything else is not put into a query."""
_WEB = re.compile(r"https?://[^/?#@]+(?:[/?#]|$)", re.IGNORECASE)
_STRING = "http://www.w3.org/2001/XMLSchema#string"


class ShownTerm(NamedTuple):
    text: str
    title: str = ""
    """The whole of what `text` is short for."""
    href: str = ""
    """A page of ours, never an address out of a fact: an IRI may be `javascript:`."""
    note: str = ""
    language: str = ""
    is_number: bool = False


NOTHING = ShownTerm("")


def term_of(cell: Mapping[str, str], pages: Collection[str] = ()) -> ShownTerm:
    """`cell` as in SPARQL 1.1 Query Results JSON, 3.2.2; `pages` are the addresses we can show more of."""
    match cell.get("type"):
        case "uri":
            iri = cell["value"]
            return ShownTerm(short(iri), iri, href_of(iri, pages))
        case "bnode":
            return ShownTerm("_:" + cell["value"])
        case "literal" | "typed-literal":
            return _literal(cell)
        case "triple":
            return ShownTerm(str(cell["value"]))
        case _:
            return NOTHING


def href_of(iri: str, pages: Collection[str]) -> str:
    return page_href(iri) if iri in pages else entity_href(iri)


def page_href(address: str) -> str:
    return f"/page?url={quote(address, safe='')}"


def entity_href(iri: str) -> str:
    """Where everything known of a thing, a class or a property is shown; empty for what no query could name."""
    return f"/entity?iri={quote(iri, safe='')}" if is_whole_iri(iri) else ""


def outside_href(iri: str) -> str:
    """For a link that leaves this site; empty unless it is a plain web address. REQUIRES: the link has
    rel="noopener noreferrer nofollow external"."""
    return iri if _WEB.match(iri) and is_whole_iri(iri) else ""


def named_in(iri: str) -> str:
    """The last part, in brackets, for what has a class but no name: `(Person)`."""
    return f"({named(iri).name})" if iri else ""


def is_whole_iri(text: str) -> bool:
    return _WHOLE_IRI.fullmatch(text) is not None


def facts_about(iri: str) -> str:
    """REQUIRES: a whole IRI."""
    return (
        "# Its properties, and the pages that state them\n"
        f"SELECT ?property ?value ?page\nWHERE {{ GRAPH ?page {{ <{iri}> ?property ?value }} }}\nLIMIT 100"
    )


def _literal(cell: Mapping[str, str]) -> ShownTerm:
    text, language, datatype = cell["value"], cell.get("xml:lang", ""), cell.get("datatype", "")
    is_number = bool(_NUMERIC.fullmatch(datatype) and _NUMBER.fullmatch(text))
    note = language if language else named(datatype).name if datatype not in ("", _STRING) and not is_number else ""
    return ShownTerm(text, note=note, language=language, is_number=is_number)
