"""The RDFa evaluation context (RDFa Core 1.1, 7.2): subjects, language, vocabulary and prefixes at an element.

It is frozen, and shared by all elements that change nothing. Also: how attributes become terms, and notices on them.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache, partial
from itertools import islice

import msgspec

from gossamer.extract.rdfa.prefixes import OLD_PREFIXES, OLD_TERMS, PREFIXES, TERMS, XHTML_TERMS, HostRules
from gossamer.extract.source import Notice
from gossamer.extract.terms import (
    LONGEST_IRI,
    UNNAMED,
    Labels,
    absolute,
    has_scheme,
    iri_term,
    language_suffix,
)
from gossamer.values.tree import Attributes, Element

MOST_PREFIXES = 250
"""Prefixes at one place, besides the usual ones; names with further ones are unknown."""

MOST_NAMES = 1000
"""Names per attribute; further ones are not read."""

_TERM = re.compile(r"[^\W\d][\w.\-/·]*")  # RDFa Core 7.4.3: an NCName that may hold slashes
_SHORT = 512  # attributes that are remembered across pages, and the longest bare word
_PREFIX = re.compile(r"[^\W\d][\w.-]*")
_HTTP = re.compile(r"https?://[^/?#]", re.IGNORECASE)

SCOPING = frozenset(("prefix", "vocab", "lang", "xml:lang", "xml:base"))
"""Attributes that change the scope; @xmlns:* do too."""


class Direction(Enum):
    """The direction of an incomplete triple."""

    FORWARD = 1
    REVERSE = 2
    LIST = 3


Lists = dict[str, list[str]]
Incomplete = tuple[str, Direction, list[str]]
"""A predicate without its object (or subject) yet, and the list that the object goes into, if it is one."""


class RdfaVocabulary(msgspec.Struct, frozen=True):
    """How names are resolved. `known` caches attributes that were resolved this way."""

    default: str
    """@vocab; empty if there is none."""
    prefixes: Mapping[str, str]
    known: dict[str, tuple[str, ...]]
    is_cut: bool = False
    """Whether some prefixes were left out: then a name with a prefix that is not here is unknown."""


class Evaluation(msgspec.Struct, frozen=True):
    """Subjects and objects are N-Triples terms."""

    subject: str
    object: str
    language: str
    """As a literal's suffix: `@en`, or nothing."""
    vocabulary: RdfaVocabulary
    incomplete: tuple[Incomplete, ...]
    lists: Lists
    naming: "TermResolver"
    """Resolves names here; @xml:base may change it from element to element."""


def outermost(naming: "TermResolver", vocabulary: RdfaVocabulary | None = None) -> Evaluation:
    """The scope around the root element, by default without a vocabulary."""
    if vocabulary is None:
        vocabulary = RdfaVocabulary("", OLD_PREFIXES if naming.rules.is_old else PREFIXES, {})
    return Evaluation(naming.document, naming.document, "", vocabulary, (), {}, naming)


def rescoped(attributes: Attributes, scope: Evaluation) -> Evaluation:
    """The scope with what an element declares: base, vocabulary, prefixes, language (RDFa Core 7.5, steps 2 to 4).
    RDFa 1.0 has neither @vocab nor @prefix."""
    naming, vocabulary, language = scope.naming, scope.vocabulary, scope.language
    rules = naming.rules
    if rules.heeds_xml_base and "xml:base" in attributes:
        naming = naming.based_on(attributes["xml:base"] or "")
    default, prefixes = vocabulary.default, vocabulary.prefixes
    if "vocab" in attributes and not rules.is_old:
        given = (attributes["vocab"] or "").strip()
        named = naming.address(given) if given else "<>"
        default = default if named is None else UNNAMED if named == UNNAMED else named[1:-1]
    is_cut = vocabulary.is_cut
    declares = "prefix" in attributes or "xmlns:" in " ".join(attributes)
    declared = declarations(attributes, rules.is_old, rules.folds_prefixes) if declares else {}
    if declared:
        prefixes, left_out = with_declared(prefixes, declared)
        is_cut = is_cut or left_out
        if left_out:
            naming.flags.append("too-many-prefixes")
    for name in rules.languages:
        if name in attributes:
            language = language_suffix(attributes[name] or "")
            break
    if declared or default != vocabulary.default:
        vocabulary = RdfaVocabulary(default, prefixes, {}, is_cut)
    return Evaluation(scope.subject, scope.object, language, vocabulary, scope.incomplete, scope.lists, naming)


def with_declared(prefixes: Mapping[str, str], declared: Mapping[str, str]) -> tuple[Mapping[str, str], bool]:
    """The prefixes inside an element, within the limit, and whether some were left out, along with their outer
    meaning."""
    room = len(PREFIXES) + MOST_PREFIXES - len(prefixes)
    if len(declared) <= room:
        return {**prefixes, **declared}, False
    inside = {prefix: iri for prefix, iri in prefixes.items() if prefix not in declared}
    kept = islice(declared.items(), max(0, len(PREFIXES) + MOST_PREFIXES - len(inside)))
    return {**inside, **dict(kept)}, True


def declarations(attributes: Attributes, only_xmlns: bool = False, folds: bool = True) -> Mapping[str, str]:
    """Prefixes from xmlns:* and @prefix, which takes precedence (RDFa Core 7.5, step 3). `_` is never one."""
    found: dict[str, str] = {}
    for name, value in attributes.items():
        if name.startswith("xmlns:"):
            found[name[6:].lower() if folds else name[6:]] = (value or "").strip()
    said = "" if only_xmlns else attributes.get("prefix") or ""
    if not found and len(said) <= _SHORT:
        return _declared(said)
    return _with_pairs(found, said)


@lru_cache(maxsize=256)
def _declared(said: str) -> Mapping[str, str]:
    """Cached across pages: most pages of a site declare the same."""
    return _with_pairs({}, said)


def _with_pairs(found: dict[str, str], said: str) -> Mapping[str, str]:
    """`found`, and the pairs of `prefix: IRI` in @prefix."""
    words = iter(said.split())
    for word in words:
        if not word.endswith(":"):
            continue  # a stray word: look for the next that can be a prefix
        iri = next(words, None)
        if iri is not None:
            found[word[:-1].lower()] = iri
    return {prefix: iri for prefix, iri in found.items() if prefix != "_" and _PREFIX.fullmatch(prefix)}


class TermResolver:
    """Converts attribute values to terms. One per base of a page; all share the page's blank nodes."""

    __slots__ = ("_address", "_bare", "_base", "_blank", "document", "flags", "labels", "rules")

    def __init__(self, base: str, address: str, labels: Labels, rules: HostRules, flags: list[str]) -> None:
        """`flags`: where it notes limits that were reached."""
        self._base = base
        self._address = address
        self._bare = old_terms_named if rules.is_old else terms_named if rules.terms is TERMS else xhtml_terms_named
        self.rules = rules
        self._blank: dict[str, str] = {}
        self.document = f"<{base}>" if base else UNNAMED
        """The page itself, as an IRI term."""
        self.labels = labels
        self.flags = flags

    def based_on(self, text: str) -> "TermResolver":
        """The same with another base (XML Base, 3.1), which may be relative to this one."""
        text = text.partition("#")[0]
        whole = self._absolute(text)
        if whole != UNNAMED and (whole is None or _HTTP.match(whole) is None):
            return self
        term = UNNAMED if whole == UNNAMED else _named(whole)
        if term is None:
            return self
        based = TermResolver("" if term == UNNAMED else term[1:-1], self._address, self.labels, self.rules, self.flags)
        based._blank = self._blank
        return based

    def address(self, text: str) -> str | None:
        """@href, @src: an IRI, perhaps relative."""
        whole = self._absolute(text)
        return whole if whole is None or whole == UNNAMED else _named(whole)

    def _absolute(self, text: str) -> str | None:
        """UNNAMED if it needs the base, and that is unknown."""
        return absolute(text, self._base) if self._base or has_scheme(text) else UNNAMED

    def resource(self, text: str, vocabulary: RdfaVocabulary) -> str | None:
        """@about, @resource: SafeCURIEorCURIEorIRI; in RDFa 1.0 URIorSafeCURIE. None: as if the attribute were
        missing."""
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            return self._curie(text[1:-1], vocabulary)
        named = self._curie(text, vocabulary) if ":" in text and not self.rules.is_old else None
        return named or self.address(text)

    def names(self, text: str | None, vocabulary: RdfaVocabulary) -> tuple[str, ...]:
        """@property, @typeof, @rel, @rev, @datatype: TERMorCURIEorAbsIRI, several; unknown terms are left out."""
        if not text:
            return ()
        if ":" not in text and len(text) <= _SHORT:
            return self._bare(vocabulary.default, text)
        found = vocabulary.known.get(text)
        if found is None:
            words = text.split(None, MOST_NAMES)
            if len(words) > MOST_NAMES:
                self.flags.append("too-many-names")
            named = [self._name(word, vocabulary) for word in words[:MOST_NAMES]]
            found = vocabulary.known[text] = tuple([name for name in named if name is not None])
        return found

    def _name(self, word: str, vocabulary: RdfaVocabulary) -> str | None:
        if ":" in word:
            return self._curie(word, vocabulary) or (None if self.rules.is_old else _named(word))
        return next(iter(self._bare(vocabulary.default, word)), None) if len(word) <= _SHORT else UNNAMED

    def _curie(self, text: str, vocabulary: RdfaVocabulary) -> str | None:
        prefix, colon, reference = text.partition(":")
        if not colon or reference.startswith("//"):  # no CURIE by its grammar (RDFa Core, 6)
            return None
        if prefix == "_":
            if reference not in self._blank:
                self._blank[reference] = self.labels.new()
            return self._blank[reference]
        start = vocabulary.prefixes.get(prefix.lower() if self.rules.folds_prefixes else prefix)
        if start is None:
            return UNNAMED if vocabulary.is_cut else None
        # A relative IRI of a prefix is relative to the page, not to `<base>`.
        whole = absolute(start + reference, self._address)
        return None if whole is None else _named(whole)


def _named(iri: str) -> str | None:
    """Like `iri_term`, but UNNAMED if it is too long."""
    return UNNAMED if len(iri) > LONGEST_IRI else iri_term(iri)


def _terms_named(terms: Mapping[str, str], vocabulary: str, text: str) -> tuple[str, ...]:
    """Bare words: names in the vocabulary, or the few terms that need none (RDFa Core 7.4.3); others are left out."""
    words = [word for word in text.split(None, MOST_NAMES)[:MOST_NAMES] if _TERM.fullmatch(word)]
    if vocabulary == UNNAMED:
        named: list[str | None] = [UNNAMED for _ in words]
    elif vocabulary:
        named = [_named(vocabulary + word) for word in words]
    else:
        named = [iri_term(terms.get(word) or terms.get(word.lower()) or "") for word in words]
    return tuple([name for name in named if name is not None])


# Cached across pages: a handful of vocabularies covers nearly all names.
terms_named = lru_cache(maxsize=4096)(partial(_terms_named, TERMS))
xhtml_terms_named = lru_cache(maxsize=256)(partial(_terms_named, XHTML_TERMS))
old_terms_named = lru_cache(maxsize=256)(partial(_terms_named, OLD_TERMS))

POINTING = frozenset(("resource", "href", "src"))
OLD_POINTING = frozenset(("resource", "href"))
"""In RDFa 1.0 @src is a subject, as @about is."""


class Spoken(msgspec.Struct, frozen=True, gc=False):
    subject: str
    object: str | None = None
    typed: str | None = None
    """The entity that @typeof applies to."""
    skips: bool = False
    """The element sets no subject: incomplete triples above it stay open for those below."""


class Subjects:
    """Which subject and object an element has. `around`: tags whose subject is that of the enclosing element."""

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
    """By the rules of RDFa 1.0: @typeof and @property apply to the subject, whatever the element points at."""

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


# Notices for authors of RDFa: names that mean nothing, and prefixes that mean something else. The conditions are those
# of RDFa Core 1.1, 7.6.1, and a few of our own. Collected only on request.

_NAMING = ("property", "typeof", "rel", "rev", "datatype")
_SCHEMES = frozenset(
    ("data", "doi", "ftp", "geo", "http", "https", "info", "isbn", "javascript", "mailto", "sms", "tag", "tel", "urn")
)
"""Schemes of IRIs without `//`; other words before a colon look like prefixes."""


def notices_on(element: Element, attributes: Attributes, scope: Evaluation) -> Iterator[Notice]:
    """REQUIRES: `scope` includes the element's own prefixes and vocabulary."""
    for name in _NAMING:
        if name in attributes:
            yield from _unresolved(name, attributes[name] or "", element, scope)
    for name in ("about", "resource"):
        if name in attributes:
            yield from _unsafe(name, (attributes[name] or "").strip(), element, scope)
    if scope.naming.rules.is_old:
        for name in ("vocab", "prefix", "inlist"):
            if name in attributes:
                says = f"@{name} is part of RDFa 1.1; the page declares RDFa 1.0, so it was ignored."
                yield Notice("warning", "rdfa-version", says, element)
    else:
        yield from _redefined(element, attributes)
    said = attributes.get("xml:lang") or attributes.get("lang")
    if said and not language_suffix(said):
        yield Notice("warning", "unknown-language", f'"{said[:80]}" is not a valid language tag.', element)


def _unresolved(name: str, text: str, element: Element, scope: Evaluation) -> Iterator[Notice]:
    for word in text.split(None, MOST_NAMES)[:MOST_NAMES]:
        prefix, colon, reference = word.partition(":")
        is_old = scope.naming.rules.is_old
        if not colon:
            if is_old and name not in ("rel", "rev"):
                says = f'"{word[:80]}" in @{name} is no CURIE; RDFa 1.0, which the page declares, has no terms there.'
                yield Notice("warning", "unresolved-term", says, element)
            elif not scope.naming.names(word, scope.vocabulary):
                says = f'"{word[:80]}" in @{name} is no known term, and there is no vocabulary.'
                yield Notice("warning", "unresolved-term", says, element)
        elif not _is_known(prefix, scope) and (
            is_old or (not reference.startswith("//") and prefix.lower() not in _SCHEMES)
        ):
            became = "RDFa 1.0 ignores it" if is_old else "it was read as an IRI"
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
