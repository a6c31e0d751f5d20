"""RDFa 1.1 and 1.0: one pass in document order over the elements that carry it, and their ancestors.

The steps are those of RDFa Core 1.1, 7.5, with the changes of HTML+RDFa 1.1, 3.1; for pages that declare RDFa 1.0,
those of RDFa in XHTML, 5.5 (`prefixes.OLD_RULES`). Other elements are never visited: those that can state a fact are
taken from the survey, and climbing from each to the nearest open element finds the scope there.
"""

from collections.abc import Iterable
from itertools import islice

from gossamer.extract.markup import MOST_MARKUP, inner_html, inner_xml
from gossamer.extract.rdfa.entailment import USES_VOCABULARY, copied
from gossamer.extract.rdfa.prefixes import PREFIXES, RULES, XHV, HostRules, rules_for
from gossamer.extract.rdfa.scope import (
    OLD_POINTING,
    POINTING,
    SCOPING,
    Direction,
    Evaluation,
    Incomplete,
    Lists,
    OldSubjects,
    RdfaVocabulary,
    Spoken,
    Subjects,
    TermResolver,
    notices_on,
    outermost,
    rescoped,
)
from gossamer.extract.source import (
    MOST_NOTICES,
    NAME_TOO_LONG,
    FoundFacts,
    HostLanguage,
    LengthAllowance,
    Source,
    is_unnamed,
)
from gossamer.extract.terms import (
    LONGEST_LITERAL,
    RDF,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
    UNNAMED,
    kind_of_moment,
    quoted,
    typed_literal,
)
from gossamer.values.page import Triple, new_tuple
from gossamer.values.tree import Attributes, Element, ElementParts

# The literal value of an element with @property (RDFa Core 1.1, 7.5, step 11; HTML+RDFa 1.1, 3.1).
# In RDFa 1.0 a text with elements in it is an XML literal, unless a datatype is given (RDFa in XHTML, 5.5, step 9).

XML_LITERAL = f"<{RDF}XMLLiteral>"
HTML_LITERAL = f"<{RDF}HTML>"


def literal_of(
    element: Element,
    attributes: Attributes,
    language: str,
    datatype: str | None,
    rules: HostRules,
    markup: LengthAllowance,
) -> str:
    """`language` is from `language_suffix`. `datatype`: an IRI term; empty if @datatype names none; None without
    @datatype. `markup`: the remaining allowance; once it is spent, the literal is incomplete."""
    if "content" in attributes:
        text, is_moment = attributes["content"] or "", False
    elif rules.has_moments and "datetime" in attributes:
        text, is_moment = attributes["datetime"] or "", True
    elif datatype == XML_LITERAL or (datatype is None and rules.is_old and next(element.iter(), None) is not None):
        text, is_moment, datatype = inner_xml(element, markup, rules.is_xml, rules.namespace), False, XML_LITERAL
    elif datatype == HTML_LITERAL:
        text, is_moment = inner_html(element, markup), False
    else:
        text, is_moment = element.text(), rules.has_moments and element.tag == "time"
    if datatype:
        return typed_literal(text, datatype)
    if is_moment and datatype is None:
        kind = kind_of_moment(text)
        if kind is not None:
            return typed_literal(text, kind)
    return quoted(text) + language


MOST_LETTERS = 32 << 20
"""Characters of all literals of a page together: nested properties would otherwise repeat a long text."""

STATING = frozenset(("property", "typeof", "vocab", "rel", "rev"))
COMPLETING = STATING | {"about", "resource", "href", "src"}

_ALWAYS_STATING = frozenset(("property", "typeof", "vocab"))
_SPEAKING = _ALWAYS_STATING | SCOPING | POINTING | {"rel", "rev", "about"}
_BEYOND_WORDS = (_SPEAKING | {"datatype", "datetime", "inlist"}) - {"property"}


def read_rdfa(source: Source) -> FoundFacts:
    rules = rules_for(source)
    found = _walked(source, rules)
    if source.reads_roles and not rules.is_old:
        add_roles(source, found)
    return found


def _walked(source: Source, rules: HostRules) -> FoundFacts:
    root = source.survey.root
    met, hangs = _stating(source.survey.elements, rules)
    if root is None or not met:
        return FoundFacts()
    if hangs:
        met = [one for one in source.survey.every() if not COMPLETING.isdisjoint(one[2])]
    walk = _Walk(root, source, rules)
    walk.over(met)
    return walk.found if rules.is_old else copied(walk.found)


def _stating(elements: Iterable[ElementParts], rules: HostRules) -> tuple[list[ElementParts], bool]:
    """Elements that can state something, and whether one may leave a triple incomplete, which any element below that
    sets a subject completes.

    Most @rel are those of HTML (`stylesheet`, `nofollow`), which only count if there is a vocabulary.
    """
    met: list[ElementParts] = []
    terms, pointing = rules.terms, OLD_POINTING if rules.is_old else POINTING
    hangs = has_vocabulary = False
    for one in [one for one in elements if not STATING.isdisjoint(one[2])]:
        attributes = one[2]
        if "rel" in attributes or "rev" in attributes:
            if _ALWAYS_STATING.isdisjoint(attributes) and not has_vocabulary and not _names_anyway(attributes, terms):
                continue
            hangs = hangs or pointing.isdisjoint(attributes) or "[" in (attributes.get("resource") or "")
        has_vocabulary = has_vocabulary or "vocab" in attributes
        met.append(one)
    return met, hangs


def _speaking(attributes: Attributes) -> Attributes:
    """The attributes if RDFa uses any, else none."""
    if attributes and (not _SPEAKING.isdisjoint(attributes) or "xmlns:" in " ".join(attributes)):
        return attributes
    return {}


def _names_anyway(attributes: Attributes, terms: Iterable[str]) -> bool:
    """Whether @rel or @rev contains a CURIE, an IRI, or a term that needs no vocabulary."""
    said = f"{attributes.get('rel') or ''} {attributes.get('rev') or ''}".lower()
    return ":" in said or any(term in said for term in terms)


Ending = tuple[tuple[str, Lists], ...]
"""Subjects whose lists end with an element, because they began there."""


class _Walk:
    def __init__(self, root: Element, source: Source, rules: HostRules) -> None:
        self.found = FoundFacts()
        self._triples = self.found.triples
        self._places = self.found.places
        self._place = root
        self._naming = TermResolver(source.base, source.address, source.labels, rules, self.found.flags)
        self._rules = rules
        self._document = self._naming.document
        self._at_most = source.at_most
        self._takes_notes = source.takes_notes
        self._above = root.parent.mem_id if root.parent is not None else 0
        self._is_old = rules.is_old
        self._mute = outermost(self._naming)
        """The scope in an XML literal of RDFa 1.0, where nothing is read (RDFa in XHTML, 5.5, steps 9 and 11)."""
        self._subjects = (OldSubjects if rules.is_old else Subjects)(root.mem_id, rules.speaks_of_around)
        self._listed = 0
        self._letters = MOST_LETTERS
        self._markup = LengthAllowance(MOST_MARKUP)

    def over(self, met: Iterable[ElementParts]) -> None:
        """REQUIRES: document order. The stack has the open elements that changed the scope; a new element closes those
        it is outside of. `depth_of` has the scope inside each visited element; those of closed ones are not used
        again."""
        scope = outermost(self._naming)
        stack: list[tuple[Evaluation, Ending]] = [(scope, ((self._document, scope.lists),))]
        depth_of = {self._above: 0}
        for first, _, said in met:
            if (first_id := first.mem_id) in depth_of:
                continue
            chain, up = [(first, first_id, said)], first.parent
            while up is not None and (up_id := up.mem_id) not in depth_of:
                chain.append((up, up_id, _speaking(up.attributes)))
                up = up.parent
            depth = 1 + (depth_of[up_id] if up is not None else 0)
            if len(stack) > depth:
                self._close(stack, depth)
            while chain:
                element, element_id, attributes = chain.pop()
                if attributes:
                    self._place = element
                    opened = self._opened(element, attributes, stack[-1][0])
                    if opened is not None:
                        stack.append(opened)
                depth_of[element_id] = len(stack) - 1
            if self._is_full():
                break
        if self._is_full():
            self.found.flags.append("too-many-facts")
            del self.found.triples[self._at_most :], self.found.places[self._at_most :]
        else:  # a list that may be incomplete is not stated
            self._close(stack, 0)

    def _is_full(self) -> bool:
        return len(self._triples) + self._listed >= self._at_most or self._letters <= 0

    def _close(self, stack: list[tuple[Evaluation, Ending]], depth: int) -> None:
        while len(stack) > depth:
            for subject, lists in stack.pop()[1]:
                if lists:
                    self._state_lists(subject, lists)

    def _opened(self, element: Element, attributes: Attributes, scope: Evaluation) -> tuple[Evaluation, Ending] | None:
        """State the facts of the element. None if the scope inside it is the same."""
        if scope is self._mute:
            return None
        if self._takes_notes:
            self._note(element, attributes, scope)
        declares = "xmlns:" in " ".join(attributes)
        if (
            # By far the most frequent: @property, perhaps @content, and nothing else that matters.
            _BEYOND_WORDS.isdisjoint(attributes)
            and scope.subject == scope.object
            and not declares
            and not scope.incomplete
            and element.tag != "time"
            and not self._is_old
        ):
            predicates = self._naming.names(attributes["property"], scope.vocabulary)
            words = (attributes["content"] or "") if "content" in attributes else element.text()
            self._state_each(scope.object, predicates, quoted(words) + scope.language)
            return None
        if declares or not SCOPING.isdisjoint(attributes):
            scope = self._rescoped(attributes, scope)
        return self._evaluated(element, attributes, scope)

    def _evaluated(self, element: Element, attributes: Attributes, scope: Evaluation) -> tuple[Evaluation, Ending]:
        """Steps 5 to 13. REQUIRES: `scope` includes the element's own prefixes and language."""
        rel = self._relation("rel", attributes, scope) if "rel" in attributes else None
        rev = self._relation("rev", attributes, scope) if "rev" in attributes else None
        related = rel is not None or rev is not None
        found = (self._subjects.related if related else self._subjects.alone)(element, attributes, scope)
        if found.typed is not None:
            for kind in self._names(attributes["typeof"], scope):
                self._state(found.typed, RDF_TYPE, kind)
        lists: Lists = scope.lists if found.subject == scope.object else {}
        incomplete: tuple[Incomplete, ...] = ()
        thing = found.object
        if related:
            into = lists if "inlist" in attributes and not self._is_old else None
            if thing is not None:
                self._state_relations(found.subject, thing, rel or (), rev or (), into)
            else:
                incomplete = _hanging(rel or (), rev or (), into)
                thing = self._naming.labels.new()
        value = ""
        if "property" in attributes:
            value = self._state_property(element, attributes, scope, found, related, lists)
        if found.skips:
            return scope, ()
        if scope.incomplete:
            self._complete(scope, found.subject)
        if self._is_old and value.endswith(XML_LITERAL):
            return self._mute, ()
        return _inside(scope, found.subject, thing or found.subject, incomplete, lists)

    def _note(self, element: Element, attributes: Attributes, scope: Evaluation) -> None:
        notices = notices_on(element, attributes, rescoped(attributes, scope))
        self.found.notices.extend(islice(notices, MOST_NOTICES - len(self.found.notices)))

    def _rescoped(self, attributes: Attributes, scope: Evaluation) -> Evaluation:
        """Steps 2 to 4. A new vocabulary is stated."""
        inner = rescoped(attributes, scope)
        default = inner.vocabulary.default
        if "vocab" in attributes and default and (attributes["vocab"] or "").strip():
            self._state(self._document, USES_VOCABULARY, UNNAMED if default == UNNAMED else f"<{default}>")
        return inner

    def _relation(self, name: str, attributes: Attributes, scope: Evaluation) -> tuple[str, ...] | None:
        """Beside @property plain words do not count, and without others the attribute counts as missing (HTML+RDFa 3.1,
        7): they are those of HTML, as in `<link rel="icon" property="image">`."""
        said = attributes[name] or ""
        if "property" in attributes and self._rules.drops_plain_relations:
            said = " ".join(word for word in said.split() if ":" in word)
            if not said:
                return None
        return self._naming.names(said, scope.vocabulary)

    def _state_relations(
        self, subject: str, thing: str, rel: tuple[str, ...], rev: tuple[str, ...], into: Lists | None
    ) -> None:
        """Step 9."""
        if into is None:
            self._state_each(subject, rel, thing)
        else:
            self._list_each(rel, thing, into)
        if thing[0] != '"':
            self._state_each(thing, rev, subject)

    def _state_property(
        self, element: Element, attributes: Attributes, scope: Evaluation, found: Spoken, related: bool, lists: Lists
    ) -> str:
        """Step 11. The value that was stated; empty if none."""
        predicates = self._names(attributes["property"], scope)
        if not predicates:
            return ""
        value = self._value(element, attributes, scope, found, related)
        if "inlist" in attributes and not self._is_old:
            self._list_each(predicates, value, lists)
        else:
            self._state_each(found.subject, predicates, value)
        return value

    def _names(self, said: str | None, scope: Evaluation) -> tuple[str, ...]:
        """Names of properties and classes; in RDFa 1.0 only CURIEs count."""
        if self._is_old:
            said = " ".join([word for word in (said or "").split() if ":" in word])
        return self._naming.names(said, scope.vocabulary)

    def _value(self, element: Element, attributes: Attributes, scope: Evaluation, found: Spoken, related: bool) -> str:
        datatype = None
        if "datatype" in attributes:
            kinds = self._names(attributes["datatype"], scope)
            datatype = next((kind for kind in kinds if kind[0] != "_"), "")
            if datatype == UNNAMED:
                return UNNAMED
        elif not (self._is_old or "content" in attributes or ("datetime" in attributes and self._rules.has_moments)):
            pointed_at = None if related else self._subjects.pointed_at(attributes, scope)
            if pointed_at is not None:
                return pointed_at
            if found.typed is not None and "about" not in attributes:
                return found.typed
        literal = literal_of(element, attributes, scope.language, datatype, self._rules, self._markup)
        if self._markup.left <= 0:
            self._letters = 0
        return literal

    def _complete(self, scope: Evaluation, subject: str) -> None:
        """Step 12."""
        for predicate, way, values in scope.incomplete:
            if way is Direction.FORWARD:
                self._state_each(scope.subject, (predicate,), subject)
            elif way is Direction.REVERSE:
                self._state_each(subject, (predicate,), scope.subject)
            else:
                self._listed += 1
                values.append(subject)

    def _state_lists(self, subject: str, lists: Lists) -> None:
        """Step 14. A list with an unknown part is not stated."""
        for predicate, values in lists.items():
            if UNNAMED in (subject, predicate) or UNNAMED in [value[-1] for value in values]:
                self.found.flag(NAME_TOO_LONG)
                continue
            cells = [self._naming.labels.new() for _ in values]
            self._state_each(subject, (predicate,), cells[0] if cells else RDF_NIL)
            for value, cell, rest in zip(values, cells, [*cells[1:], RDF_NIL][: len(cells)], strict=True):
                self._state(cell, RDF_FIRST, value)
                self._state(cell, RDF_REST, rest)

    def _state_each(self, subject: str, predicates: tuple[str, ...], thing: str) -> None:
        """Facts with a blank node as predicate, which RDF does not allow, are not stated."""
        self._letters -= len(thing) * len(predicates)
        if len(thing) > LONGEST_LITERAL:
            self.found.flags.append("literal-too-long")
        elif self._letters > 0:
            for predicate in predicates:
                if predicate[0] == "<":
                    self._state(subject, predicate, thing)

    def _state(self, subject: str, predicate: str, thing: str) -> None:
        if is_unnamed(subject, thing):
            self.found.flag(NAME_TOO_LONG)
            return
        self._triples.append(new_tuple(Triple, (subject, predicate, thing)))
        self._places.append(self._place)

    def _list_each(self, predicates: tuple[str, ...], value: str, into: Lists) -> None:
        self._letters -= len(value) * len(predicates)
        if len(value) > LONGEST_LITERAL:
            self.found.flags.append("literal-too-long")
            value = UNNAMED
        for predicate in predicates:
            self._listed += 1
            into.setdefault(predicate, []).append(value)


def _hanging(rel: Iterable[str], rev: Iterable[str], lists: Lists | None) -> tuple[Incomplete, ...]:
    """Step 10."""
    back: list[Incomplete] = [(predicate, Direction.REVERSE, []) for predicate in rev]
    if lists is None:
        return (*((predicate, Direction.FORWARD, []) for predicate in rel), *back)
    return (*((predicate, Direction.LIST, lists.setdefault(predicate, [])) for predicate in rel), *back)


def _inside(
    scope: Evaluation, subject: str, thing: str, incomplete: tuple[Incomplete, ...], lists: Lists
) -> tuple[Evaluation, Ending]:
    """Step 13: the scope of the children. A new entity has lists of its own, which end with this element."""
    ending: Ending = () if lists is scope.lists else ((subject, lists),)
    if thing != subject:
        lists = {}
        ending = (*ending, (thing, lists))
    return Evaluation(subject, thing, scope.language, scope.vocabulary, incomplete, lists, scope.naming), ending


ROLE = f"<{XHV}role>"


def add_roles(source: Source, found: FoundFacts) -> None:
    """Facts from @role. An element without @id is a blank node. Bare words are always in the XHTML vocabulary."""
    scopes = _Scopes(source, found.flags)
    root = source.survey.root
    if source.host is HostLanguage.HTML and root is not None:
        elements: Iterable[Element] = root.css("[role]")
    else:
        elements = [element for element, _, attributes in source.survey.every() if "role" in attributes]
    for element in elements:
        attributes = element.attributes
        scope = scopes.of(element)
        names = scope.naming.names(attributes.get("role"), scope.vocabulary)
        own = attributes.get("id")
        if names:
            subject = (scope.naming.address(f"#{own}") if own else None) or scope.naming.labels.new()
            for name in names:
                found.state(element, subject, ROLE, name)
        if len(found.triples) >= source.at_most:
            found.flags.append("too-many-facts")
            return


class _Scopes:
    """The scope at an element; climbing stops at the first whose scope is known."""

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
