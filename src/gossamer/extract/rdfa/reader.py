"""RDFa 1.1 and 1.0: one pass in document order over the elements that carry it, and their ancestors.

The steps are those of RDFa Core 1.1, 7.5, with the changes of HTML+RDFa 1.1, 3.1; for pages that declare RDFa 1.0,
those of RDFa in XHTML, 5.5 (`prefixes.OLD_RULES`). Other elements are never visited: those that can state a fact are
taken from the survey, and climbing from each to the nearest open element finds the scope there.
"""

from collections.abc import Iterable
from itertools import islice

from gossamer.extract.markup import MOST_MARKUP, inner_html, inner_xml
from gossamer.extract.rdfa.notices import notices_on
from gossamer.extract.rdfa.prefixes import PREFIXES, USES_VOCABULARY, XHV
from gossamer.extract.rdfa.scope import (
    OLD_POINTING,
    POINTING,
    SCOPING,
    Direction,
    ElementSubjects,
    Evaluation,
    HostRules,
    Incomplete,
    Lists,
    OldSubjects,
    RdfaVocabulary,
    Subjects,
    TermResolver,
    outermost,
    rescoped,
    rules_for,
    scopes_of,
)
from gossamer.extract.source import (
    MOST_NOTICES,
    NAME_TOO_LONG,
    FoundFacts,
    HostLanguage,
    LengthAllowance,
    Source,
    is_unknown,
)
from gossamer.extract.terms import (
    HTML_LITERAL,
    LONGEST_LITERAL,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
    UNKNOWN_TERM,
    XML_LITERAL,
    quoted,
    time_datatype,
    typed_literal,
)
from gossamer.values.page import MOST_TRIPLES, Triple, new_tuple
from gossamer.values.tree import Attributes, Element, ElementParts

# The literal value of an element with @property (RDFa Core 1.1, 7.5, step 11; HTML+RDFa 1.1, 3.1).
# In RDFa 1.0 a text with elements in it is an XML literal, unless a datatype is given (RDFa in XHTML, 5.5, step 9).


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
    is_time = False
    if "content" in attributes:
        text = attributes["content"] or ""
    elif rules.reads_datetime and "datetime" in attributes:
        text, is_time = attributes["datetime"] or "", True
    elif datatype == XML_LITERAL or (datatype is None and rules.is_old and next(element.iter(), None) is not None):
        text, datatype = inner_xml(element, markup, rules.is_xml, rules.namespace), XML_LITERAL
    elif datatype == HTML_LITERAL:
        text = inner_html(element, markup)
    else:
        text, is_time = element.text(), rules.reads_datetime and element.tag == "time"
    if is_time and datatype is None:
        datatype = time_datatype(text)
    return typed_literal(text, datatype) if datatype else quoted(text) + language


MOST_CHARACTERS = 32 << 20
"""Characters of all literals of a page together: nested properties would otherwise repeat a long text."""

STATING = frozenset(("property", "typeof", "vocab", "rel", "rev"))
COMPLETING = STATING | {"about", "resource", "href", "src"}

_ALWAYS_STATING = frozenset(("property", "typeof", "vocab"))
_RDFA = _ALWAYS_STATING | SCOPING | POINTING | {"rel", "rev", "about"}
_BEYOND_TEXT = (_RDFA | {"datatype", "datetime", "inlist"}) - {"property"}


def read_rdfa(source: Source) -> FoundFacts:
    rules, root, found = rules_for(source), source.survey.root, FoundFacts()
    elements, is_incomplete = _stating(source.survey.elements, rules)
    if root is not None and elements:
        if is_incomplete:
            elements = [one for one in source.survey.every() if not COMPLETING.isdisjoint(one[2])]
        walk = _Walk(root, source, rules)
        walk.over(elements)
        found = walk.found if rules.is_old else with_copies(walk.found)
    if source.reads_roles and not rules.is_old:
        add_roles(source, found)
    return found


def _stating(elements: Iterable[ElementParts], rules: HostRules) -> tuple[list[ElementParts], bool]:
    """Elements that can state something, and whether one may leave a triple incomplete, which any element below that
    sets a subject completes.

    Most @rel are those of HTML (`stylesheet`, `nofollow`), which only count if there is a vocabulary.
    """
    stating: list[ElementParts] = []
    terms, pointing = rules.terms, OLD_POINTING if rules.is_old else POINTING
    is_incomplete = has_vocabulary = False
    for one in [one for one in elements if not STATING.isdisjoint(one[2])]:
        attributes = one[2]
        if "rel" in attributes or "rev" in attributes:
            if _ALWAYS_STATING.isdisjoint(attributes) and not has_vocabulary and not _names_anyway(attributes, terms):
                continue
            is_incomplete = (
                is_incomplete or pointing.isdisjoint(attributes) or "[" in (attributes.get("resource") or "")
            )
        has_vocabulary = has_vocabulary or "vocab" in attributes
        stating.append(one)
    return stating, is_incomplete


def _rdfa_attributes(attributes: Attributes) -> Attributes:
    """The attributes if RDFa uses any, else none."""
    if attributes and (not _RDFA.isdisjoint(attributes) or "xmlns:" in " ".join(attributes)):
        return attributes
    return {}


def _names_anyway(attributes: Attributes, terms: Iterable[str]) -> bool:
    """Whether @rel or @rev contains a CURIE, an IRI, or a term that needs no vocabulary."""
    text = f"{attributes.get('rel') or ''} {attributes.get('rev') or ''}".lower()
    return ":" in text or any(term in text for term in terms)


Ending = tuple[tuple[str, Lists], ...]
"""Subjects whose lists end with an element, because they began there."""


class _Walk:
    def __init__(self, root: Element, source: Source, rules: HostRules) -> None:
        self.found = FoundFacts()
        self._triples = self.found.triples
        self._places = self.found.places
        self._place = root
        self._resolver = TermResolver(source.base, source.address, source.labels, rules, self.found.flags)
        self._rules = rules
        self._document = self._resolver.document
        self._at_most = source.at_most
        self._collects_notices = source.collects_notices
        self._above = root.parent.mem_id if root.parent is not None else 0
        self._is_old = rules.is_old
        self._ignored = outermost(self._resolver)
        """The scope in an XML literal of RDFa 1.0, where nothing is read (RDFa in XHTML, 5.5, steps 9 and 11)."""
        self._subjects = (OldSubjects if rules.is_old else Subjects)(root.mem_id, rules.inherits_subject)
        self._listed = 0
        self._characters = MOST_CHARACTERS
        self._markup = LengthAllowance(MOST_MARKUP)

    def over(self, elements: Iterable[ElementParts]) -> None:
        """REQUIRES: document order. The stack has the open elements that changed the scope; a new element closes those
        it is outside of. `depth_of` has the scope inside each visited element; those of closed ones are not used
        again."""
        scope = outermost(self._resolver)
        stack: list[tuple[Evaluation, Ending]] = [(scope, ((self._document, scope.lists),))]
        depth_of = {self._above: 0}
        for first, _, own in elements:
            if (first_id := first.mem_id) in depth_of:
                continue
            chain, up = [(first, first_id, own)], first.parent
            while up is not None and (up_id := up.mem_id) not in depth_of:
                chain.append((up, up_id, _rdfa_attributes(up.attributes)))
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
            self.found.cut(self._at_most)
        else:  # a list that may be incomplete is not stated
            self._close(stack, 0)

    def _is_full(self) -> bool:
        return len(self._triples) + self._listed >= self._at_most or self._characters <= 0

    def _close(self, stack: list[tuple[Evaluation, Ending]], depth: int) -> None:
        while len(stack) > depth:
            for subject, lists in stack.pop()[1]:
                if lists:
                    self._state_lists(subject, lists)

    def _opened(self, element: Element, attributes: Attributes, scope: Evaluation) -> tuple[Evaluation, Ending] | None:
        """State the facts of the element. None if the scope inside it is the same."""
        if scope is self._ignored:
            return None
        if self._collects_notices:
            self._note(element, attributes, scope)
        declares = "xmlns:" in " ".join(attributes)
        if (
            # By far the most frequent: @property, perhaps @content, and nothing else that matters.
            _BEYOND_TEXT.isdisjoint(attributes)
            and scope.subject == scope.object
            and not declares
            and not scope.incomplete
            and element.tag != "time"
            and not self._is_old
        ):
            predicates = self._resolver.names(attributes["property"], scope.vocabulary)
            text = (attributes["content"] or "") if "content" in attributes else element.text()
            self._state_each(scope.object, predicates, quoted(text) + scope.language)
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
        into = lists if "inlist" in attributes and not self._is_old else None
        incomplete: tuple[Incomplete, ...] = ()
        target = found.object
        if related and target is None:
            incomplete = _incomplete(rel or (), rev or (), into)
            target = self._resolver.labels.new()
        elif related and target is not None:
            self._state_each(found.subject, rel or (), target, into)
            if target[0] != '"':
                self._state_each(target, rev or (), found.subject)
        value = ""
        if "property" in attributes and (predicates := self._names(attributes["property"], scope)):
            value = self._value(element, attributes, scope, found, related)
            self._state_each(found.subject, predicates, value, into)
        if found.skips:
            return scope, ()
        if scope.incomplete:
            self._complete(scope, found.subject)
        if self._is_old and value.endswith(XML_LITERAL):
            return self._ignored, ()
        return _inside(scope, found.subject, target or found.subject, incomplete, lists)

    def _note(self, element: Element, attributes: Attributes, scope: Evaluation) -> None:
        notices = notices_on(element, attributes, rescoped(attributes, scope))
        self.found.notices.extend(islice(notices, MOST_NOTICES - len(self.found.notices)))

    def _rescoped(self, attributes: Attributes, scope: Evaluation) -> Evaluation:
        """Steps 2 to 4. A new vocabulary is stated."""
        inner = rescoped(attributes, scope)
        default = inner.vocabulary.default
        if "vocab" in attributes and default and (attributes["vocab"] or "").strip():
            self._state(self._document, USES_VOCABULARY, UNKNOWN_TERM if default == UNKNOWN_TERM else f"<{default}>")
        return inner

    def _relation(self, name: str, attributes: Attributes, scope: Evaluation) -> tuple[str, ...] | None:
        """On an element with @property plain words do not count, and without others the attribute counts as missing
        (HTML+RDFa 3.1, 7): they are those of HTML, as in `<link rel="icon" property="image">`."""
        text = attributes[name] or ""
        if "property" in attributes and self._rules.drops_plain_relations:
            text = " ".join(word for word in text.split() if ":" in word)
            if not text:
                return None
        return self._resolver.names(text, scope.vocabulary)

    def _names(self, text: str | None, scope: Evaluation) -> tuple[str, ...]:
        """Names of properties and classes; in RDFa 1.0 only CURIEs count."""
        if self._is_old:
            text = " ".join([word for word in (text or "").split() if ":" in word])
        return self._resolver.names(text, scope.vocabulary)

    def _value(
        self, element: Element, attributes: Attributes, scope: Evaluation, found: ElementSubjects, related: bool
    ) -> str:
        datatype = None
        if "datatype" in attributes:
            kinds = self._names(attributes["datatype"], scope)
            datatype = next((kind for kind in kinds if kind[0] != "_"), "")
            if datatype == UNKNOWN_TERM:
                return UNKNOWN_TERM
        elif not (self._is_old or "content" in attributes or ("datetime" in attributes and self._rules.reads_datetime)):
            pointed_at = None if related else self._subjects.pointed_at(attributes, scope)
            if pointed_at is not None:
                return pointed_at
            if found.typed is not None and "about" not in attributes:
                return found.typed
        literal = literal_of(element, attributes, scope.language, datatype, self._rules, self._markup)
        if self._markup.left <= 0:
            self._characters = 0
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
            if UNKNOWN_TERM in (subject, predicate) or UNKNOWN_TERM in [value[-1] for value in values]:
                self.found.flag(NAME_TOO_LONG)
                continue
            cells = [self._resolver.labels.new() for _ in values]
            self._state_each(subject, (predicate,), cells[0] if cells else RDF_NIL)
            for value, cell, rest in zip(values, cells, [*cells[1:], RDF_NIL], strict=False):
                self._state(cell, RDF_FIRST, value)
                self._state(cell, RDF_REST, rest)

    def _state_each(self, subject: str, predicates: tuple[str, ...], value: str, into: Lists | None = None) -> None:
        """State facts, or add the value to lists. Facts with a blank node as predicate, which RDF does not allow, are
        not stated."""
        self._characters -= len(value) * len(predicates)
        if len(value) > LONGEST_LITERAL:
            self.found.flags.append("literal-too-long")
            if into is None:
                return
            value = UNKNOWN_TERM
        if into is not None:
            self._listed += len(predicates)
            for predicate in predicates:
                into.setdefault(predicate, []).append(value)
        elif self._characters > 0:
            for predicate in predicates:
                if predicate[0] == "<":
                    self._state(subject, predicate, value)

    def _state(self, subject: str, predicate: str, value: str) -> None:
        if is_unknown(subject, value):
            self.found.flag(NAME_TOO_LONG)
            return
        self._triples.append(new_tuple(Triple, (subject, predicate, value)))
        self._places.append(self._place)


def _incomplete(rel: Iterable[str], rev: Iterable[str], lists: Lists | None) -> tuple[Incomplete, ...]:
    """Step 10."""
    back: list[Incomplete] = [(predicate, Direction.REVERSE, []) for predicate in rev]
    if lists is None:
        return (*((predicate, Direction.FORWARD, []) for predicate in rel), *back)
    return (*((predicate, Direction.LIST, lists.setdefault(predicate, [])) for predicate in rel), *back)


def _inside(
    scope: Evaluation, subject: str, target: str, incomplete: tuple[Incomplete, ...], lists: Lists
) -> tuple[Evaluation, Ending]:
    """Step 13: the scope of the children. A new entity has lists of its own, which end with this element."""
    ending: Ending = () if lists is scope.lists else ((subject, lists),)
    if target != subject:
        lists = {}
        ending = (*ending, (target, lists))
    return Evaluation(subject, target, scope.language, scope.vocabulary, incomplete, lists, scope.resolver), ending


ROLE = f"<{XHV}role>"


def add_roles(source: Source, found: FoundFacts) -> None:
    """Facts from @role. An element without @id is a blank node. Bare words are always in the XHTML vocabulary."""
    scopes = scopes_of(source, RdfaVocabulary(XHV, PREFIXES, {}), found.flags)
    root = source.survey.root
    if source.host is HostLanguage.HTML and root is not None:
        elements: Iterable[Element] = root.css("[role]")
    else:
        elements = [element for element, _, attributes in source.survey.every() if "role" in attributes]
    for element in elements:
        attributes = element.attributes
        scope = scopes.within(element)
        names = scope.resolver.names(attributes.get("role"), scope.vocabulary)
        own = attributes.get("id")
        if names:
            subject = (scope.resolver.iri(f"#{own}") if own else None) or scope.resolver.labels.new()
            for name in names:
                found.state(element, subject, ROLE, name)
        if len(found.triples) >= source.at_most:
            found.flags.append("too-many-facts")
            return


# Property copying (HTML+RDFa 1.1, 3.5): `rdfa:copy` copies what a `rdfa:Pattern` states.

COPY = "<http://www.w3.org/ns/rdfa#copy>"
PATTERN = "<http://www.w3.org/ns/rdfa#Pattern>"
MOST_COPIES = MOST_TRIPLES
"""Facts of patterns, each counted as often as it is copied: patterns may copy one another."""


def with_copies(found: FoundFacts) -> FoundFacts:
    """The facts after copying, to a fixed point, without copied patterns and copy links.

    The place of a copied fact is that of the pattern's fact.
    """
    triples = found.triples
    if not any(predicate == COPY or value == PATTERN for _, predicate, value in triples):
        return found
    patterns = {subject for subject, predicate, kind in triples if predicate == RDF_TYPE and kind == PATTERN}
    if found.flags:
        # A limit was reached, so patterns and their copies are not fully known: all that may be patterns is left out.
        patterns.update(value for _, predicate, value in triples if predicate == COPY)
        pairs = zip(triples, found.places, strict=True)
        rest = [(fact, place) for fact, place in pairs if fact.subject not in patterns and fact.predicate != COPY]
        return FoundFacts([fact for fact, _ in rest], [place for _, place in rest], found.flags, found.notices)
    stated: dict[str, list[tuple[Triple, Element]]] = {}
    facts: dict[Triple, Element] = {}
    for triple, place in zip(triples, found.places, strict=True):
        stated.setdefault(triple.subject, []).append((triple, place))
        facts.setdefault(triple, place)
    links = [triple for triple in triples if triple.predicate == COPY and triple.object in patterns]
    removed = {link.object for link in links}
    waiting = [link for link in links if link.subject not in removed]  # what a pattern copies is removed with it
    used = {(link.subject, link.object) for link in waiting}
    left = MOST_COPIES
    while waiting:
        target, _, pattern = waiting.pop()
        left -= len(stated[pattern])
        if left < 0:
            found.flags.append("too-many-copies")
            break
        for (_, predicate, value), place in stated[pattern]:
            if predicate == RDF_TYPE and value == PATTERN:
                continue
            if predicate == COPY and value in patterns and (target, value) not in used:
                used.add((target, value))
                waiting.append(Triple(target, COPY, value))
            facts.setdefault(Triple(target, predicate, value), place)
    kept = {
        fact: place
        for fact, place in facts.items()
        if fact.subject not in removed and not (fact.predicate == COPY and fact.object in removed)
    }
    return FoundFacts(list(kept), list(kept.values()), found.flags, found.notices)
