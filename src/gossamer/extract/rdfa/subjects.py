"""Who an element with RDFa speaks of (RDFa Core 1.1, 7.5, steps 5 and 6; HTML+RDFa 1.1, 3.1; for RDFa 1.0 RDFa in
XHTML, 5.5, steps 4 and 5)."""

import msgspec

from gossamer.extract.rdfa.scope import Evaluation
from gossamer.values.tree import Attributes, Element

POINTING = frozenset(("resource", "href", "src"))
OLD_POINTING = frozenset(("resource", "href"))
"""In RDFa 1.0 @src is a subject, as @about is."""


class Spoken(msgspec.Struct, frozen=True, gc=False):
    subject: str
    object: str | None = None
    typed: str | None = None
    """The one that @typeof says the kind of."""
    skips: bool = False
    """The element sets nothing of its own: what hangs above it stays open for those below."""


class Subjects:
    """REQUIRES: `root_id` is the root element's. `around`: tags that speak of what those around them do."""

    __slots__ = ("_around", "_root_id")
    _ADDRESSES: tuple[str, ...] = ("href", "src")

    def __init__(self, root_id: int, around: frozenset[str]) -> None:
        self._root_id = root_id
        self._around = around

    def alone(self, element: Element, attributes: Attributes, scope: Evaluation) -> Spoken:
        """Step 5: no @rel and no @rev."""
        about = self._about(element, attributes, scope)
        typed = "typeof" in attributes
        if "property" in attributes and "content" not in attributes and "datatype" not in attributes:
            if not typed:
                return Spoken(about or scope.object)
            if about is not None:
                return Spoken(about, None, about)
            thing = self.pointed_at(attributes, scope) or scope.naming.labels.new()
            return Spoken(scope.object, thing, thing)
        subject = about or self.pointed_at(attributes, scope)
        if subject is None and typed:
            subject = scope.naming.labels.new()
        if subject is not None:
            return Spoken(subject, None, subject if typed else None)
        return Spoken(scope.object, skips="property" not in attributes)

    def related(self, element: Element, attributes: Attributes, scope: Evaluation) -> Spoken:
        """Step 6: @rel or @rev."""
        about = self._about(element, attributes, scope)
        thing = self.pointed_at(attributes, scope)
        if "typeof" not in attributes:
            return Spoken(about or scope.object, thing)
        if about is not None:
            return Spoken(about, thing, about)
        thing = thing or scope.naming.labels.new()
        return Spoken(scope.object, thing, thing)

    def pointed_at(self, attributes: Attributes, scope: Evaluation) -> str | None:
        """@resource, else @href, else (in RDFa 1.1) @src."""
        if "resource" in attributes:
            found = scope.naming.resource(attributes["resource"] or "", scope.vocabulary)
            if found is not None:
                return found
        for name in self._ADDRESSES:
            if name in attributes:
                return scope.naming.address(attributes[name] or "")
        return None

    def _about(self, element: Element, attributes: Attributes, scope: Evaluation) -> str | None:
        """@about; the root, head and body have one by default."""
        if "about" in attributes:
            about = scope.naming.resource(attributes["about"] or "", scope.vocabulary)
            if about is not None:
                return about
        if POINTING.isdisjoint(attributes):
            if element.tag in self._around:
                return scope.object
            if element.mem_id == self._root_id:
                return scope.naming.document
        return None


class OldSubjects(Subjects):
    """By the rules of RDFa 1.0: @typeof and @property speak of the subject, whatever the element points at."""

    __slots__ = ()
    _ADDRESSES = ("href",)

    def alone(self, element: Element, attributes: Attributes, scope: Evaluation) -> Spoken:
        subject = self._named(attributes, scope) or self.pointed_at(attributes, scope)
        return self._spoken(subject, None, element, attributes, scope)

    def related(self, element: Element, attributes: Attributes, scope: Evaluation) -> Spoken:
        thing = self.pointed_at(attributes, scope)
        return self._spoken(self._named(attributes, scope), thing, element, attributes, scope)

    def _spoken(
        self, subject: str | None, thing: str | None, element: Element, attributes: Attributes, scope: Evaluation
    ) -> Spoken:
        if subject is None and (element.tag in self._around or element.mem_id == self._root_id):
            subject = scope.naming.document
        typed = "typeof" in attributes
        if subject is None and typed:
            subject = scope.naming.labels.new()
        skips = subject is None and attributes.keys().isdisjoint(("property", "rel", "rev"))
        subject = subject or scope.object
        return Spoken(subject, thing, subject if typed else None, skips)

    def _named(self, attributes: Attributes, scope: Evaluation) -> str | None:
        """@about, else @src."""
        named = scope.naming.resource(attributes["about"] or "", scope.vocabulary) if "about" in attributes else None
        return named or (scope.naming.address(attributes["src"] or "") if "src" in attributes else None)
