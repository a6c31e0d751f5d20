"""The RDFa evaluation context (RDFa Core 1.1, 7.2).

Subjects, language, vocabulary and prefixes at an element.

It is frozen, and shared by all elements that change nothing. Also: the rules of each host language and version, and how
attributes become terms, subjects and objects.
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

import msgspec

from gossamer.extract.rdfa.prefixes import OLD_PREFIXES, OLD_TERMS, PREFIXES, TERMS, XHTML, XHTML_TERMS
from gossamer.extract.source import HostLanguage, Inherited, Source
from gossamer.extract.terms import (
    LONGEST_IRI,
    UNKNOWN_TERM,
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


class HostRules(NamedTuple):
    """REQUIRES: the names in `languages` are in SCOPING."""

    terms: Mapping[str, str]
    """Words that are names without a vocabulary."""
    languages: tuple[str, ...]
    """Attributes that give the language; the first present one counts."""
    inherits_subject: frozenset[str]
    """Elements that, without a subject of their own, have that of the enclosing ones (HTML+RDFa 1.1, 3.1)."""
    reads_datetime: bool
    """Whether `<time>` and @datetime count (HTML+RDFa 1.1, 3.1)."""
    drops_plain_relations: bool
    """Whether plain words in @rel and @rev are ignored on elements with @property (HTML+RDFa 1.1, 3.1)."""
    reads_xml_base: bool
    is_xml: bool
    """Whether prefixes are namespaces: a markup literal then declares them."""
    is_old: bool = False
    """Whether these are the rules of RDFa 1.0 (RDFa in XHTML, 5.5)."""
    namespace: str = ""
    """The default namespace of a markup literal, if the page declares none."""
    folds_prefixes: bool = True
    """Whether prefixes are case-insensitive."""


_HEAD_AND_BODY = frozenset(("head", "body"))
RULES: dict[HostLanguage, HostRules] = {
    HostLanguage.HTML: HostRules(TERMS, ("lang", "xml:lang"), _HEAD_AND_BODY, True, True, False, False),
    HostLanguage.XHTML5: HostRules(TERMS, ("xml:lang", "lang"), _HEAD_AND_BODY, True, True, False, True),
    HostLanguage.XHTML1: HostRules(XHTML_TERMS, ("xml:lang", "lang"), _HEAD_AND_BODY, False, False, False, True),
    HostLanguage.SVG: HostRules(TERMS, ("xml:lang",), frozenset(), False, False, True, True),
    HostLanguage.XML: HostRules(TERMS, ("xml:lang",), frozenset(), False, False, True, True),
}
OLD_RULES: dict[HostLanguage, HostRules] = {
    host: rules._replace(
        terms=OLD_TERMS,
        reads_datetime=False,
        drops_plain_relations=False,
        is_old=True,
        namespace="" if host is HostLanguage.SVG else XHTML,
        folds_prefixes=host is HostLanguage.HTML,  # its parser has lower-cased the names of attributes
    )
    for host, rules in RULES.items()
}
"""RDFa 1.0 is defined for XHTML; XML that declares it is treated as XHTML."""
_OLD_DOCTYPE = re.compile(
    rb"(?:\s++|<\?[^>]*+>|<!--.*?-->)*+<!DOCTYPE[^>]*?XHTML\+RDFa 1\.0", re.IGNORECASE | re.DOTALL
)
_LOOKED_AT = 4096


def rules_for(source: Source) -> HostRules:
    """The rules of RDFa 1.0 if the page declares it and uses no names that only 1.1 has."""
    version = source.rdfa_version
    if version is None and b"RDFa 1.0" in source.body[:_LOOKED_AT]:
        version = "1.0" if _declares_old(source) and not _names_by_vocabulary(source) else "1.1"
    return (OLD_RULES if version == "1.0" else RULES)[source.host]


def _declares_old(source: Source) -> bool:
    """Whether it declares RDFa 1.0 by @version, or else by its document type."""
    version = (source.survey.root.attributes.get("version") or "") if source.survey.root is not None else ""
    return "RDFa 1.0" in version if "RDFa" in version else _OLD_DOCTYPE.match(source.body) is not None


def _names_by_vocabulary(source: Source) -> bool:
    """Whether there is a @vocab and a name without a colon that needs it."""
    every = [attributes for _, _, attributes in source.survey.elements]
    return any(one.get("vocab") for one in every) and any(
        ":" not in name for one in every for key in ("property", "typeof") for name in (one.get(key) or "").split()
    )


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
    resolver: "TermResolver"
    """Resolves names here; @xml:base may change it from element to element."""


def outermost(resolver: "TermResolver", vocabulary: RdfaVocabulary | None = None) -> Evaluation:
    """The scope around the root element, by default without a vocabulary."""
    if vocabulary is None:
        vocabulary = RdfaVocabulary("", OLD_PREFIXES if resolver.rules.is_old else PREFIXES, {})
    return Evaluation(resolver.document, resolver.document, "", vocabulary, (), {}, resolver)


def rescoped(attributes: Attributes, scope: Evaluation) -> Evaluation:
    """The scope with what an element declares: base, vocabulary, prefixes, language (RDFa Core 7.5, steps 2 to 4).
    RDFa 1.0 has neither @vocab nor @prefix."""
    resolver, vocabulary, language = scope.resolver, scope.vocabulary, scope.language
    rules = resolver.rules
    if rules.reads_xml_base and "xml:base" in attributes:
        resolver = resolver.based_on(attributes["xml:base"] or "")
    default, prefixes = vocabulary.default, vocabulary.prefixes
    if "vocab" in attributes and not rules.is_old:
        given = (attributes["vocab"] or "").strip()
        named = resolver.iri(given) if given else "<>"
        default = default if named is None else UNKNOWN_TERM if named == UNKNOWN_TERM else named[1:-1]
    is_cut = vocabulary.is_cut
    declares = "prefix" in attributes or "xmlns:" in " ".join(attributes)
    declared = declarations(attributes, rules.is_old, rules.folds_prefixes) if declares else {}
    if declared:
        prefixes, left_out = with_declared(prefixes, declared)
        is_cut = is_cut or left_out
        if left_out:
            resolver.flags.append("too-many-prefixes")
    for name in rules.languages:
        if name in attributes:
            language = language_suffix(attributes[name] or "")
            break
    if declared or default != vocabulary.default:
        vocabulary = RdfaVocabulary(default, prefixes, {}, is_cut)
    return Evaluation(scope.subject, scope.object, language, vocabulary, scope.incomplete, scope.lists, resolver)


def scopes_of(
    source: Source, vocabulary: RdfaVocabulary | None = None, flags: list[str] | None = None
) -> Inherited[Evaluation]:
    """The scopes of elements for syntaxes other than RDFa: @vocab does not count, nor do the rules of RDFa 1.0."""
    resolver = TermResolver(
        source.base, source.address, source.labels, RULES[source.host], [] if flags is None else flags
    )
    return Inherited(outermost(resolver, vocabulary), _without_vocab)


def _without_vocab(around: Evaluation, attributes: Attributes) -> Evaluation:
    if not attributes or (SCOPING.isdisjoint(attributes) and "xmlns:" not in " ".join(attributes)):
        return around
    return rescoped({name: value for name, value in attributes.items() if name != "vocab"}, around)


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
    text = "" if only_xmlns else attributes.get("prefix") or ""
    if not found and len(text) <= _SHORT:
        return _declared(text)
    return _with_pairs(found, text)


@lru_cache(maxsize=256)
def _declared(text: str) -> Mapping[str, str]:
    """Cached across pages: most pages of a site declare the same."""
    return _with_pairs({}, text)


def _with_pairs(found: dict[str, str], text: str) -> Mapping[str, str]:
    """`found`, and the pairs of `prefix: IRI` in @prefix."""
    words = iter(text.split())
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
        self.document = f"<{base}>" if base else UNKNOWN_TERM
        """The page itself, as an IRI term."""
        self.labels = labels
        self.flags = flags

    def based_on(self, text: str) -> "TermResolver":
        """The same with another base (XML Base, 3.1), which may be relative to this one."""
        text = text.partition("#")[0]
        whole = self._absolute(text)
        if whole != UNKNOWN_TERM and (whole is None or _HTTP.match(whole) is None):
            return self
        term = UNKNOWN_TERM if whole == UNKNOWN_TERM else _known(whole)
        if term is None:
            return self
        based = TermResolver(
            "" if term == UNKNOWN_TERM else term[1:-1], self._address, self.labels, self.rules, self.flags
        )
        based._blank = self._blank
        return based

    def iri(self, text: str) -> str | None:
        """@href, @src: an IRI, perhaps relative."""
        whole = self._absolute(text)
        return whole if whole is None or whole == UNKNOWN_TERM else _known(whole)

    def _absolute(self, text: str) -> str | None:
        """UNKNOWN_TERM if it needs the base, and that is unknown."""
        return absolute(text, self._base) if self._base or has_scheme(text) else UNKNOWN_TERM

    def resource(self, text: str, vocabulary: RdfaVocabulary) -> str | None:
        """@about, @resource: SafeCURIEorCURIEorIRI; in RDFa 1.0 URIorSafeCURIE. None: as if the attribute were
        missing."""
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            return self._curie(text[1:-1], vocabulary)
        named = self._curie(text, vocabulary) if ":" in text and not self.rules.is_old else None
        return named or self.iri(text)

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
            return self._curie(word, vocabulary) or (None if self.rules.is_old else _known(word))
        return next(iter(self._bare(vocabulary.default, word)), None) if len(word) <= _SHORT else UNKNOWN_TERM

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
            return UNKNOWN_TERM if vocabulary.is_cut else None
        # A relative IRI of a prefix is relative to the page, not to `<base>`.
        whole = absolute(start + reference, self._address)
        return None if whole is None else _known(whole)


def _known(iri: str) -> str | None:
    """Like `iri_term`, but UNKNOWN_TERM if it is too long."""
    return UNKNOWN_TERM if len(iri) > LONGEST_IRI else iri_term(iri)


def _terms_named(terms: Mapping[str, str], vocabulary: str, text: str) -> tuple[str, ...]:
    """Bare words: names in the vocabulary, or the few terms that need none (RDFa Core 7.4.3); others are left out."""
    words = [word for word in text.split(None, MOST_NAMES)[:MOST_NAMES] if _TERM.fullmatch(word)]
    if vocabulary == UNKNOWN_TERM:
        named: list[str | None] = [UNKNOWN_TERM for _ in words]
    elif vocabulary:
        named = [_known(vocabulary + word) for word in words]
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


class ElementSubjects(msgspec.Struct, frozen=True, gc=False):
    """What an element is about."""

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

    def alone(self, element: Element, attributes: Attributes, scope: Evaluation) -> ElementSubjects:
        """Step 5: no @rel and no @rev."""
        about = self._about(element, attributes, scope)
        typed = "typeof" in attributes
        if "property" in attributes and "content" not in attributes and "datatype" not in attributes:
            if not typed:
                return ElementSubjects(about or scope.object)
            if about is not None:
                return ElementSubjects(about, None, about)
            target = self.pointed_at(attributes, scope) or scope.resolver.labels.new()
            return ElementSubjects(scope.object, target, target)
        subject = about or self.pointed_at(attributes, scope)
        if subject is None and typed:
            subject = scope.resolver.labels.new()
        if subject is not None:
            return ElementSubjects(subject, None, subject if typed else None)
        return ElementSubjects(scope.object, skips="property" not in attributes)

    def related(self, element: Element, attributes: Attributes, scope: Evaluation) -> ElementSubjects:
        """Step 6: @rel or @rev."""
        about = self._about(element, attributes, scope)
        target = self.pointed_at(attributes, scope)
        if "typeof" not in attributes:
            return ElementSubjects(about or scope.object, target)
        if about is not None:
            return ElementSubjects(about, target, about)
        target = target or scope.resolver.labels.new()
        return ElementSubjects(scope.object, target, target)

    def pointed_at(self, attributes: Attributes, scope: Evaluation) -> str | None:
        """@resource, else @href, else (in RDFa 1.1) @src."""
        if "resource" in attributes:
            found = scope.resolver.resource(attributes["resource"] or "", scope.vocabulary)
            if found is not None:
                return found
        for name in self._ADDRESSES:
            if name in attributes:
                return scope.resolver.iri(attributes[name] or "")
        return None

    def _about(self, element: Element, attributes: Attributes, scope: Evaluation) -> str | None:
        """@about; the root, head and body have one by default."""
        if "about" in attributes:
            about = scope.resolver.resource(attributes["about"] or "", scope.vocabulary)
            if about is not None:
                return about
        if POINTING.isdisjoint(attributes):
            if element.tag in self._around:
                return scope.object
            if element.mem_id == self._root_id:
                return scope.resolver.document
        return None


class OldSubjects(Subjects):
    """By the rules of RDFa 1.0: @typeof and @property apply to the subject, even if the element points elsewhere."""

    __slots__ = ()
    _ADDRESSES = ("href",)

    def alone(self, element: Element, attributes: Attributes, scope: Evaluation) -> ElementSubjects:
        subject = self._named(attributes, scope) or self.pointed_at(attributes, scope)
        return self._subjects(subject, None, element, attributes, scope)

    def related(self, element: Element, attributes: Attributes, scope: Evaluation) -> ElementSubjects:
        target = self.pointed_at(attributes, scope)
        return self._subjects(self._named(attributes, scope), target, element, attributes, scope)

    def _subjects(
        self, subject: str | None, target: str | None, element: Element, attributes: Attributes, scope: Evaluation
    ) -> ElementSubjects:
        if subject is None and (element.tag in self._around or element.mem_id == self._root_id):
            subject = scope.resolver.document
        typed = "typeof" in attributes
        if subject is None and typed:
            subject = scope.resolver.labels.new()
        skips = subject is None and attributes.keys().isdisjoint(("property", "rel", "rev"))
        subject = subject or scope.object
        return ElementSubjects(subject, target, subject if typed else None, skips)

    def _named(self, attributes: Attributes, scope: Evaluation) -> str | None:
        """@about, else @src."""
        named = scope.resolver.resource(attributes["about"] or "", scope.vocabulary) if "about" in attributes else None
        return named or (scope.resolver.iri(attributes["src"] or "") if "src" in attributes else None)
