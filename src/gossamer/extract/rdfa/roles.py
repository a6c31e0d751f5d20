"""@role as facts (Role Attribute 1.0, 4): what an element is for, said of the element itself."""

from collections.abc import Iterable

from gossamer.extract.rdfa.host_language import RULES
from gossamer.extract.rdfa.prefixes import PREFIXES, XHV
from gossamer.extract.rdfa.scope import SCOPING, Evaluation, RdfaVocabulary, TermResolver, outermost, rescoped
from gossamer.extract.source import FoundFacts, HostLanguage, Source
from gossamer.values.tree import Attributes, Element

ROLE = f"<{XHV}role>"


def add_roles(source: Source, found: FoundFacts) -> None:
    """An element without @id is a blank node. Bare words are names in the XHTML vocabulary, whatever @vocab says."""
    scopes = _Scopes(source, found.flags)
    for element in _with_role(source):
        attributes = element.attributes
        scope = scopes.of(element)
        names = scope.naming.names(attributes.get("role"), scope.vocabulary)
        if names:
            subject = _element(attributes, scope.naming)
            for name in names:
                found.state(element, subject, ROLE, name)
        if len(found.triples) >= source.at_most:
            found.flags.append("too-many-facts")
            return


def _with_role(source: Source) -> Iterable[Element]:
    root = source.survey.root
    if source.host is HostLanguage.HTML and root is not None:
        return root.css("[role]")
    return [element for element, _, attributes in source.survey.every() if "role" in attributes]


class _Scopes:
    """What is in force at an element: climbing stops at the first whose scope is known."""

    def __init__(self, source: Source, flags: list[str]) -> None:
        naming = TermResolver(source.base, source.address, source.labels, RULES[source.host], flags)
        self._outer = outermost(naming, RdfaVocabulary(XHV, PREFIXES, {}))
        self._known: dict[int, Evaluation] = {}

    def of(self, element: Element) -> Evaluation:
        chain: list[Element] = []
        up: Element | None = element
        while up is not None and up.mem_id not in self._known:
            chain.append(up)
            up = up.parent
        scope = self._outer if up is None else self._known[up.mem_id]
        for one in reversed(chain):
            attributes = one.attributes
            if not SCOPING.isdisjoint(attributes) or "xmlns:" in " ".join(attributes):
                said = {name: value for name, value in attributes.items() if name != "vocab"}
                scope = rescoped(said, scope)
            self._known[one.mem_id] = scope
        return scope


def _element(attributes: Attributes, naming: TermResolver) -> str:
    own = attributes.get("id")
    return (naming.address(f"#{own}") if own else None) or naming.labels.new()
