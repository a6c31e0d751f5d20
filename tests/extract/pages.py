"""Pages for the tests of this room, and the facts found on them."""

import pyoxigraph as ox
from selectolax.lexbor import LexborHTMLParser

from gossamer.extract.page import extract
from gossamer.extract.source import Extraction
from gossamer.parse.html.tree import scan_html
from gossamer.values.page import ntriples
from gossamer.values.url import url_of

ADDRESS = "https://shop.example/teapots/blue.html"
SCHEMA = "http://schema.org/"


def read(markup: str | bytes, capture_id: int = 1, address: str = ADDRESS) -> Extraction:
    body = markup.encode() if isinstance(markup, str) else markup
    base = url_of(address)
    assert base is not None
    return extract(scan_html(LexborHTMLParser(body)).survey(), base, capture_id, body)


def lines(markup: str, address: str = ADDRESS) -> list[str]:
    """The facts with short blank node labels, without rdfa:usesVocabulary, and with schema.org's names shortened."""
    found = []
    for triple in read(markup, 1, address).triples:
        if "usesVocabulary" not in triple.predicate:
            line = " ".join(triple).replace("_:c0000000000000001n", "_:").replace(f"<{SCHEMA}", "<s:")
            found.append(line.replace("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "a"))
    return found


def script(text: str) -> str:
    return f'<html><body><script type="application/ld+json">{text}</script></body></html>'


def parses_again(found: Extraction) -> bool:
    """Whether a strict parser reads the facts as N-Triples, one for each line."""
    again = list(ox.parse(ntriples(found.triples), format=ox.RdfFormat.N_TRIPLES))
    return len(again) == len(found.triples)
