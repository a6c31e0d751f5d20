"""The metadata of a document as facts: Dublin Core terms from its properties, and its XMP packet.

XMP is RDF in XML; its containers (`rdf:Alt`, `rdf:Seq`, `rdf:Bag`) are opened, so that a title is a title and not a
list of one. Descriptions of the file's own history (`xmpMM`) are left out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from gossamer.extract.origins import text_of
from gossamer.extract.source import DOCUMENT, ORIGINS, Extraction
from gossamer.extract.terms import (
    RDF,
    RDF_TYPE,
    Labels,
    iri_term,
    language_suffix,
    quoted,
    time_datatype,
    typed_literal,
)
from gossamer.extract.vocabularies import iri_of
from gossamer.values.document import Metadata
from gossamer.values.page import Triple
from gossamer.values.tree import Attributes, Element
from gossamer.values.url import Url

TERMS = "http://purl.org/dc/terms/"
MOST_XMP = 500
"""Facts of an XMP packet."""
LONGEST_XMP_VALUE = 10_000
"""Characters; thumbnails are longer."""
MOST_NESTED_XMP = 20
_LEFT_OUT = (
    "http://ns.adobe.com/xap/1.0/mm/",
    "http://ns.adobe.com/xap/1.0/sType/",
    "http://ns.adobe.com/xap/1.0/g/img/",
)
_CONTAINERS = frozenset((f"<{RDF}Alt>", f"<{RDF}Seq>", f"<{RDF}Bag>"))
_MEMBER = f"<{RDF}_"
_RDF, _RDF_END = b"<rdf:RDF", b"</rdf:RDF>"
"""The element that is RDF, inside the packet."""
_DEFAULT_LANGUAGE = "@x-default"


class DocumentElement:
    """The place of the facts of a document, which has no elements; implements `values.tree.Element`."""

    tag = "document"
    parent: Element | None = None
    mem_id = 1

    def __init__(self) -> None:
        self.attributes: Attributes = {}

    def text(self, deep: bool = True, separator: str = "", strip: bool = False) -> str:
        return ""

    def traverse(self, include_text: bool = False) -> Iterator[Element]:
        yield self

    def iter(self, include_text: bool = False) -> Iterator[Element]:
        return iter(())

    def css(self, query: str) -> Sequence[Element]:
        return ()


class _Statements(NamedTuple):
    subject: str
    triples: dict[Triple, None]

    def add(self, term: str, value: str) -> None:
        if value:
            self.triples[Triple(self.subject, f"<{TERMS}{term}>", value)] = None


def document_facts(metadata: Metadata, url: Url, capture_id: int) -> Extraction:
    """What the document's metadata states, each fact once. Never raises, for any content."""
    subject = iri_term(iri_of(url.text))
    if subject is None:
        return Extraction([], [], [], (), ("base-unusable",))
    found = _Statements(subject, {})
    language = language_suffix(metadata.language)
    tag = language if language[:2] != "@?" else ""
    for term, text in (("title", metadata.title), ("subject", metadata.subject), ("description", metadata.description)):
        if text:
            found.add(term, quoted(text) + tag)
    for author in metadata.authors:
        found.add("creator", quoted(author))
    for term, date in (("created", metadata.created), ("modified", metadata.modified)):
        datatype = time_datatype(date)
        if date:
            found.add(term, typed_literal(date, datatype) if datatype is not None else quoted(date))
    for keyword in metadata.keywords:
        found.add("subject", quoted(keyword) + tag)
    for term, text in (
        ("language", metadata.language),
        ("publisher", metadata.publisher),
        ("identifier", metadata.identifier),
    ):
        if text:
            found.add(term, quoted(text))
    found.triples.update(dict.fromkeys(xmp_facts(metadata.xmp, subject[1:-1], Labels(capture_id))))
    triples = list(found.triples)
    place = DocumentElement()
    bit = 1 << ORIGINS.index(DOCUMENT)
    return Extraction(triples, [place] * len(triples), [bit] * len(triples), (DOCUMENT,) if triples else (), ())


def xmp_facts(packet: bytes, base: str, labels: Labels) -> list[Triple]:
    """The facts of an XMP packet about the document; none if it is not well-formed.

    REQUIRES: it has no document type, and so no entities."""
    start, end = packet.find(_RDF), packet.rfind(_RDF_END)
    if not 0 <= start < end or b"<!" in packet:
        return []
    packet = packet[start : end + len(_RDF_END)]
    stated: list[Triple] = []
    try:
        for quad in parse(packet, RdfFormat.RDF_XML, base_iri=base, rename_blank_nodes=False):
            if len(stated) >= MOST_XMP * 4:
                break
            predicate, value = quad.predicate.value, quad.object
            if predicate.startswith(_LEFT_OUT) or not isinstance(value, NamedNode | BlankNode | Literal):
                continue
            if isinstance(value, Literal) and len(value.value) > LONGEST_XMP_VALUE:
                continue
            if isinstance(quad.subject, NamedNode | BlankNode):
                stated.append(Triple(text_of(quad.subject), f"<{predicate}>", text_of(value)))
    except (SyntaxError, ValueError):
        return []
    return _about(f"<{base}>", stated, labels)


def _about(document: str, stated: list[Triple], labels: Labels) -> list[Triple]:
    """The facts about the document and what they lead to, with containers opened and labels of this capture."""
    of: dict[str, list[Triple]] = {}
    for fact in stated:
        # the packet is about its document, also under another name
        of.setdefault(document if fact.subject[0] == "<" else fact.subject, []).append(fact)
    names: dict[str, str] = {document: document}
    found: dict[Triple, None] = {}
    waiting = [document]
    while waiting and len(found) < MOST_XMP:
        subject = waiting.pop()
        for fact in of.get(subject, ()):
            for value in _opened(fact.object, of):
                if value.startswith("_:") and value not in names:
                    names[value] = labels.new()
                    waiting.append(value)
                plain = value.removesuffix(_DEFAULT_LANGUAGE)
                found[Triple(names[subject], fact.predicate, names.get(plain, plain))] = None
    return list(found)[:MOST_XMP]


def _opened(value: str, of: dict[str, list[Triple]], depth: int = 0) -> list[str]:
    """The members of a container, of containers in it too; any other value itself."""
    facts = of.get(value, ()) if value.startswith("_:") else ()
    if depth > MOST_NESTED_XMP or not any(one.predicate == RDF_TYPE and one.object in _CONTAINERS for one in facts):
        return [value]
    members = [one.object for one in facts if one.predicate.startswith(_MEMBER)]
    return [inner for member in members for inner in _opened(member, of, depth + 1)][:MOST_XMP]
