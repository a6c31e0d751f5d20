"""Dublin Core in `<meta name="DC.title">` and `<link rel="DC.relation">` (DC-HTML, DCMI 2008; RFC 2731 before it).

A prefix is what `<link rel="schema.DC" href="...">` declares it to be, wherever in the page that stands; `DC` and
`DCTERMS` are known without. Names of Dublin Core's own are read whatever their case, and a refinement as people wrote
it after RFC 2731 (`DC.Date.Issued`) is the term that took its place. A scheme that names a datatype types the value.
"""

from collections.abc import Mapping

from gossamer.extract.meta.tags import Surroundings
from gossamer.extract.source import FoundFacts, Notice, Source
from gossamer.extract.terms import LONGEST_LITERAL, absolute, iri_term, quoted, typed_literal
from gossamer.values.tree import Attributes, Element

ELEMENTS = "http://purl.org/dc/elements/1.1/"
TERMS = "http://purl.org/dc/terms/"
MOST_NAMES = 8
"""In one @rel."""

_USUAL = {"dc": ELEMENTS, "dc11": ELEMENTS, "dcterms": TERMS, "dct": TERMS}
_ELEMENTS = """
    contributor coverage creator date description format identifier language publisher relation rights source subject
    title type
"""
_REFINEMENTS = """
    abstract accessRights accrualMethod accrualPeriodicity accrualPolicy alternative audience available
    bibliographicCitation conformsTo created dateAccepted dateCopyrighted dateSubmitted educationLevel extent hasFormat
    hasPart hasVersion instructionalMethod isFormatOf isPartOf isReferencedBy isReplacedBy isRequiredBy isVersionOf
    issued license mediator medium modified provenance references replaces requires rightsHolder spatial
    tableOfContents temporal valid
"""
_FIFTEEN = frozenset(_ELEMENTS.split())
_TERM = {term.lower(): term for term in (*_ELEMENTS.split(), *_REFINEMENTS.split())}
_DATATYPE = {
    kind.lower(): f"<{TERMS}{kind}>"
    for kind in (
        "Box", "ISO3166", "ISO639-2", "ISO639-3", "Period", "Point", "RFC1766", "RFC3066", "RFC4646", "RFC5646", "URI",
        "W3CDTF",
    )
}  # fmt: skip
"""Syntax encoding schemes. Vocabulary encoding schemes (LCSH, DDC, ...) say where a word is from, not its form."""


def read_dublin_core(source: Source) -> FoundFacts:
    stating: list[tuple[Element, Attributes, str, str]] = []
    declared: dict[str, str] = {}
    flags: set[str] = set()
    for element, _, attributes in source.metas:
        name = attributes.get("name")
        if name and ("." in name or ":" in name):
            stating.append((element, attributes, name.strip(), ""))
    for element, _, attributes in [one for one in source.survey.elements if one[1] == "link"]:
        if "." in (relation := attributes.get("rel") or ""):
            address = attributes.get("href") or ""
            if relation[:7].lower() != "schema.":
                words = relation.split(None, MOST_NAMES)
                if len(words) > MOST_NAMES:
                    flags.add("too-many-names")
                stating.extend((element, attributes, word, address) for word in words[:MOST_NAMES] if "." in word)
            else:
                declared.setdefault(relation[7:].strip().lower(), address.strip())
    found = _Stated(source, declared).over(stating) if stating else FoundFacts()
    found.flags.extend(sorted(flags))
    return found


class _Stated:
    def __init__(self, source: Source, declared: Mapping[str, str]) -> None:
        self._source = source
        self._declared = declared
        self._surroundings = Surroundings(source.host)
        self._found = FoundFacts()

    def over(self, stating: list[tuple[Element, Attributes, str, str]]) -> FoundFacts:
        page, found = f"<{self._source.address}>", self._found
        for element, attributes, name, address in stating:
            predicate = self._predicate(name)
            if predicate is None:
                continue
            value = self._literal(element, attributes) if element.tag == "meta" else self._resource(address)
            if value is None:
                if self._source.takes_notes:
                    says = f"{name[:80]} has no content, or an address that is none."
                    found.notices.append(Notice("warning", "dublin-core-no-content", says, element))
                continue
            if self._source.takes_notes:
                self._note(element, name)
            if len(value) > LONGEST_LITERAL:
                found.flags.append("literal-too-long")
                continue
            found.state(element, page, predicate, value)
            if len(found.triples) >= self._source.at_most:
                found.flags.append("too-many-facts")
                break
        return found

    def _predicate(self, name: str) -> str | None:
        """None when the name is none of a known schema, such as `fb.app` or `google.site`."""
        prefix, local = _parted(name)
        namespace = self._declared.get(prefix) or _USUAL.get(prefix)
        if namespace is None or not local:
            return None
        if namespace.startswith(("http://purl.org/dc/", "https://purl.org/dc/")):
            return _own(local, namespace.startswith(("http://purl.org/dc/terms", "https://purl.org/dc/terms")))
        whole = absolute(namespace + local, self._source.address)
        return None if whole is None else iri_term(whole)

    def _resource(self, address: str) -> str | None:
        whole = absolute(address, self._source.base) if address else None
        return None if whole is None else iri_term(whole)

    def _literal(self, element: Element, attributes: Attributes) -> str | None:
        words = attributes.get("content")
        if not words:
            return None
        scheme = attributes.get("scheme")
        if scheme:
            datatype = _DATATYPE.get(scheme.strip().rpartition(".")[2].rpartition(":")[2].lower())
            if datatype is not None:
                return typed_literal(words, datatype)
        return quoted(words) + self._surroundings.of(element, attributes).language

    def _note(self, element: Element, name: str) -> None:
        prefix, _ = _parted(name)
        if prefix not in self._declared:
            written = name[: min(len(prefix), 80)]
            says = f'{name[:80]} is used without a <link rel="schema.{written}"> that says what it stands for.'
            self._found.notices.append(Notice("info", "dublin-core-undeclared", says, element))


def _parted(name: str) -> tuple[str, str]:
    """`DC.title`, and the wrong but common `dc:title`."""
    dot, colon = name.find("."), name.find(":")
    at = dot if colon < 0 or 0 <= dot < colon else colon
    return name[:at].lower(), name[at + 1 :]


def _own(local: str, is_terms: bool) -> str | None:
    """A name of Dublin Core's; None when it has no such name. The last part that is a term counts."""
    first, *finer = local.lower().replace(":", ".").split(".")
    for part in reversed(finer):
        if part in _TERM and part not in _FIFTEEN:
            return f"<{TERMS}{_TERM[part]}>"
    if first in _FIFTEEN:
        return f"<{TERMS if is_terms else ELEMENTS}{first}>"
    return f"<{TERMS}{_TERM[first]}>" if first in _TERM else None
