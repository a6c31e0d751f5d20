"""What an author of RDFa would want to know: names that mean nothing, and prefixes that mean something else.

The conditions are those of RDFa Core 1.1, 7.6.1, and a few of our own. Only looked for when someone asked.
"""

from collections.abc import Iterable, Iterator

from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.rdfa.scope import MOST_NAMES, Evaluation, declarations
from gossamer.extract.source import Notice
from gossamer.extract.terms import RDF_TYPE, Labels, iri_term, language_suffix, quoted
from gossamer.values.page import Triple
from gossamer.values.tree import Attributes, Element

MOST_NOTICES = 1000
"""Of one page."""

_NAMING = ("property", "typeof", "rel", "rev", "datatype")
_SCHEMES = frozenset(
    ("data", "doi", "ftp", "geo", "http", "https", "info", "isbn", "javascript", "mailto", "sms", "tag", "tel", "urn")
)
"""Beginnings of IRIs that stand without `//`; other words before a colon look like prefixes."""


def notices_on(element: Element, attributes: Attributes, scope: Evaluation) -> Iterator[Notice]:
    """REQUIRES: `scope` is the element's own, with its prefixes and vocabulary."""
    for name in _NAMING:
        if name in attributes:
            yield from _unresolved(name, attributes[name] or "", element, scope)
    for name in ("about", "resource"):
        if name in attributes:
            yield from _unsafe(name, (attributes[name] or "").strip(), element, scope)
    if scope.naming.rules.is_old:
        yield from _of_1_1(element, attributes)
    else:
        yield from _redefined(element, attributes)
    said = attributes.get("xml:lang") or attributes.get("lang")
    if said and not language_suffix(said):
        yield Notice("warning", "unknown-language", f'"{said[:80]}" has not the form of a language tag.', element)


def _unresolved(name: str, text: str, element: Element, scope: Evaluation) -> Iterator[Notice]:
    for word in text.split(None, MOST_NAMES)[:MOST_NAMES]:
        prefix, colon, reference = word.partition(":")
        is_old = scope.naming.rules.is_old
        if not colon:
            if is_old and name not in ("rel", "rev"):
                says = f'"{word[:80]}" in @{name} is no CURIE; RDFa 1.0, which the page declares, knows no terms there.'
                yield Notice("warning", "unresolved-term", says, element)
            elif not scope.naming.names(word, scope.vocabulary):
                says = f'"{word[:80]}" in @{name} is no known term, and no vocabulary is in force.'
                yield Notice("warning", "unresolved-term", says, element)
        elif not _is_known(prefix, scope) and (
            is_old or (not reference.startswith("//") and prefix.lower() not in _SCHEMES)
        ):
            became = "by the rules of RDFa 1.0 it was left out" if is_old else "it was read as an IRI"
            says = f'The prefix of "{word[:80]}" in @{name} is not declared; {became}.'
            yield Notice("warning", "unresolved-curie", says, element)


def _unsafe(name: str, text: str, element: Element, scope: Evaluation) -> Iterator[Notice]:
    if text.startswith("[") and text.endswith("]"):
        prefix, colon, _ = text[1:-1].partition(":")
        if text != "[]" and not (colon and _is_known(prefix, scope)):
            says = f'The prefix of "{text[:80]}" in @{name} is not declared; the attribute was ignored.'
            yield Notice("warning", "unresolved-curie", says, element)
    elif ":" not in text and scope.naming.address(text) is None:
        yield Notice("warning", "unusable-address", f'"{text[:80]}" in @{name} cannot be made an IRI.', element)


def _is_known(prefix: str, scope: Evaluation) -> bool:
    folded = prefix.lower() if scope.naming.rules.folds_prefixes else prefix
    return prefix == "_" or folded in scope.vocabulary.prefixes


def _of_1_1(element: Element, attributes: Attributes) -> Iterator[Notice]:
    for name in ("vocab", "prefix", "inlist"):
        if name in attributes:
            says = f"@{name} is of RDFa 1.1; the page declares RDFa 1.0, by whose rules it was ignored."
            yield Notice("warning", "rdfa-version", says, element)


def _redefined(element: Element, attributes: Attributes) -> Iterator[Notice]:
    declared = declarations(attributes)
    for prefix, iri in declared.items():
        if PREFIXES.get(prefix, iri) != iri:
            says = f'The prefix "{prefix[:80]}" usually means {PREFIXES[prefix]} and is redefined as {iri[:200]}.'
            yield Notice("warning", "prefix-redefinition", says, element)
    words = (attributes.get("prefix") or "").split(None, MOST_NAMES)[:MOST_NAMES]
    names = [word for word in words if word.endswith(":")]
    if len(words) != 2 * len(names) or any(name[:-1].lower() not in declared for name in names):
        says = f'@prefix "{" ".join(words)[:200]}" is not a list of names, each with a colon, and IRIs.'
        yield Notice("warning", "malformed-prefix", says, element)


# Notices as RDF: the processor graph of RDFa Core 1.1, 7.6.

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
