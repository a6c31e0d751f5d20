"""Notices as RDF: the processor graph of RDFa Core 1.1, 7.6."""

from collections.abc import Iterable

from gossamer.extract.source import Notice
from gossamer.extract.terms import RDF_TYPE, Labels, iri_term, quoted
from gossamer.values.page import Triple

RDFA = "http://www.w3.org/ns/rdfa#"
DESCRIPTION = "<http://purl.org/dc/terms/description>"
PLACE = f"<{RDFA}context>"

LEVELS = {"error": f"<{RDFA}Error>", "warning": f"<{RDFA}Warning>", "info": f"<{RDFA}Info>"}
KINDS = {
    "document-error": f"<{RDFA}DocumentError>",
    "unresolved-curie": f"<{RDFA}UnresolvedCURIE>",
    "unresolved-term": f"<{RDFA}UnresolvedTerm>",
    "prefix-redefinition": f"<{RDFA}PrefixRedefinition>",
    "vocabulary-not-found": f"<{RDFA}VocabReferenceError>",
}
"""The kinds that RDFa has classes for; the others have that of their level only."""


def processor_graph(notices: Iterable[Notice], address: str, labels: Labels) -> list[Triple]:
    """One blank node a notice, in their order. REQUIRES: `address` is the page's."""
    page = iri_term(address)
    triples: list[Triple] = []
    for notice in notices:
        node = labels.new()
        triples.append(Triple(node, RDF_TYPE, LEVELS[notice.level]))
        if notice.kind in KINDS:
            triples.append(Triple(node, RDF_TYPE, KINDS[notice.kind]))
        triples.append(Triple(node, DESCRIPTION, quoted(notice.says) + "@en"))
        if page is not None:
            triples.append(Triple(node, PLACE, page))
    return triples
