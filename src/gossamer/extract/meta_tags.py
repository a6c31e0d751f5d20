"""Facts from `<meta>` and `<link>` elements: Open Graph, Twitter cards and Dublin Core.

For Open Graph and Twitter, a predicate is the namespace of its prefix, declared or usual, plus everything after the
first colon (`og:image:alt` is `http://ogp.me/ns#image:alt`), and values are plain literals in the current language, so
that RDFa reads the same fact from the same element. The subject is the URL of the page.

A structured property (`og:image:width`) applies to the last `og:image` before it (https://ogp.me, Structured
Properties). As two images of one width would be a single fact about the page, it is also stated about the image's own
URL. The first value of a repeated property is the preferred one (Arrays), and comes first here too.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from gossamer.extract.rdfa.scope import scopes_of
from gossamer.extract.source import FoundFacts, Notice, Source
from gossamer.extract.terms import (
    LONGEST_IRI,
    LONGEST_LITERAL,
    UNKNOWN_TERM,
    absolute,
    iri_term,
    quoted,
    typed_literal,
)
from gossamer.values.tree import Attributes, Element

MOST_CHARACTERS = 32 << 20
"""Characters of all values of a page together."""

OPEN_GRAPH: dict[str, str] = {
    "og": "http://ogp.me/ns#",
    **{
        kind: f"http://ogp.me/ns/{kind}#"
        for kind in (
            "article", "book", "books", "business", "fb", "fitness", "game", "music", "place", "product", "profile",
            "restaurant", "video", "website",
        )
    },
}  # fmt: skip
"""Prefixes that pages use without declaring them, and their namespaces (https://ogp.me and its publishers)."""
TWITTER: dict[str, str] = {"twitter": "https://dev.twitter.com/cards#"}
"""Twitter never published a namespace; this one is in use."""

_USUAL = OPEN_GRAPH.keys() | TWITTER.keys()
_MEDIA = frozenset(("og:image", "og:video", "og:audio"))
_STRUCTURED = _MEDIA | {"music:song", "music:album", "video:actor"}
_SINGLE = frozenset(("og:title", "og:type", "og:url", "og:description", "og:site_name", "og:determiner", "og:locale"))
_REQUIRED = ("og:title", "og:type", "og:image", "og:url")


def read_opengraph(source: Source) -> FoundFacts:
    return _read(source, OPEN_GRAPH, _REQUIRED)


def read_twitter(source: Source) -> FoundFacts:
    return _read(source, TWITTER, ("twitter:card",))


def _read(source: Source, usual: Mapping[str, str], required: Iterable[str]) -> FoundFacts:
    metas = [
        (element, attributes)
        for element, _, attributes in source.metas
        if ":" in (attributes.get("property") or "") or ":" in (attributes.get("name") or "")
    ]
    if not metas:
        return FoundFacts()
    cards = _Cards(source, usual)
    cards.over(metas)
    if source.collects_notices:
        cards.note_what_is_missing(required)
    return cards.found


def is_all_cards(found: FoundFacts) -> bool:
    """Whether every fact comes from a `<meta>` of Open Graph or Twitter cards: RDFa reads these too, but a page with
    nothing else is not one with RDFa."""
    return bool(found.places) and all(
        place.tag == "meta" and (place.attributes.get("property") or "").split(":")[0].strip().lower() in _USUAL
        for place in found.places
    )


class _Cards:
    """The facts of one family of prefixes from the meta elements of one page."""

    def __init__(self, source: Source, usual: Mapping[str, str]) -> None:
        self.found = FoundFacts()
        self._source = source
        self._usual = usual
        self._page = f"<{source.address}>"
        self._scopes = scopes_of(source)
        self._subjects: dict[str, str | None] = {}
        self._characters = MOST_CHARACTERS
        self._seen: set[str] = set()

    def over(self, metas: Iterable[tuple[Element, Attributes]]) -> None:
        for element, attributes in metas:
            for prefix, local in self._names(attributes):
                self._read(element, attributes, prefix, local)
                if len(self.found.triples) >= self._source.at_most or self._characters <= 0:
                    self.found.cut(self._source.at_most)
                    return

    def _names(self, attributes: Attributes) -> Iterator[tuple[str, str]]:
        """Names in @property, and in @name, where Open Graph does not belong but often is."""
        for attribute in ("property", "name"):
            for word in (attributes.get(attribute) or "").split():
                prefix, _, local = word.partition(":")
                if local and prefix.lower() in self._usual:
                    yield prefix.lower(), local

    def _read(self, element: Element, attributes: Attributes, prefix: str, local: str) -> None:
        text = attributes.get("content")
        if text is None:
            text = attributes.get("value")  # what the first examples of Twitter cards had
        if self._source.collects_notices:
            self._note(element, attributes, f"{prefix}:{local}", text)
        if not text:
            return
        scope = self._scopes.within(element)
        namespace = scope.vocabulary.prefixes.get(prefix) or ("" if scope.vocabulary.is_cut else self._usual[prefix])
        predicate = _predicate(namespace, local, self._source.address) if namespace else None
        self._characters -= len(text)
        root, _, part = local.partition(":")
        root = f"{prefix}:{root}"
        subject = self._subject(root, part, text) if root in _STRUCTURED else None
        if predicate is None:
            return
        if len(text) > LONGEST_LITERAL:
            self.found.flags.append("literal-too-long")
            return
        value = quoted(text) + scope.language
        self.found.state(element, self._page, predicate, value)
        if subject is not None:
            self.found.state(element, subject, predicate, value)

    def _subject(self, root: str, part: str, text: str) -> str | None:
        """The image, song or actor that a structured property describes; None if it describes the page.

        `og:image` begins one, and so do its synonym `og:image:url` and, if there is none yet, `og:image:secure_url`."""
        is_first = part in ("", "url")
        if is_first or (part == "secure_url" and self._subjects.get(root) is None):
            self._subjects[root] = self._iri(root, text.strip())
        return None if is_first else self._subjects.get(root)

    def _iri(self, root: str, text: str) -> str | None:
        """Media may have relative URLs, though they should not; a song or an actor may be only a name."""
        iri = absolute(text, self._source.base) if root in _MEDIA or "://" in text else None
        if iri is None:
            return None
        return UNKNOWN_TERM if len(iri) > LONGEST_IRI else iri_term(iri)

    def _note(self, element: Element, attributes: Attributes, name: str, text: str | None) -> None:
        family = "twitter" if self._usual is TWITTER else "opengraph"
        root, _, part = name.rpartition(":") if name.count(":") > 1 else (name, "", "")

        def note(kind: str, says: str, is_grave: bool = True) -> None:
            self.found.notices.append(Notice("warning" if is_grave else "info", kind, says, element))

        if not text:
            note(f"{family}-no-content", f"{name} has no content.")
        elif "content" not in attributes:
            note(f"{family}-value", f"{name} has its value in @value; it belongs in @content.", is_grave=False)
        elif name in _MEDIA and "://" not in text:
            note("opengraph-relative", f"{name} should be an absolute URL.")
        if family == "opengraph" and "property" not in attributes:
            note("opengraph-in-name", f"{name} is in @name; Open Graph belongs in @property.", is_grave=False)
        if root in _MEDIA and part not in ("", "url", "secure_url") and root not in self._subjects:
            note("opengraph-structured-alone", f"{name} comes before the {root} that it belongs to.")
        if name in _SINGLE and name in self._seen:
            note("opengraph-repeated", f"{name} occurs more than once; the first counts.", is_grave=False)
        self._seen.add(name)

    def note_what_is_missing(self, required: Iterable[str]) -> None:
        if self._seen:
            self.found.notices.extend(
                Notice("info", "opengraph-missing" if name in _REQUIRED else "twitter-missing", f"{name} is missing.")
                for name in required
                if name not in self._seen and f"{name}:url" not in self._seen
            )


@lru_cache(maxsize=4096)
def _predicate(namespace: str, local: str, address: str) -> str | None:
    """Cached across pages: a hundred names cover nearly everything in use."""
    iri = absolute(namespace + local, address)
    return None if iri is None else iri_term(iri)


ELEMENTS = "http://purl.org/dc/elements/1.1/"
TERMS = "http://purl.org/dc/terms/"
MOST_NAMES = 8
"""Per @rel."""

_USUAL_SCHEMAS = {"dc": ELEMENTS, "dc11": ELEMENTS, "dcterms": TERMS, "dct": TERMS}
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
"""Syntax encoding schemes. Vocabulary encoding schemes (LCSH, DDC, ...) give the origin of a word, not its form."""


def read_dublin_core(source: Source) -> FoundFacts:
    stating: list[tuple[Element, Attributes, str, str]] = []
    declared: dict[str, str] = {}
    is_cut = False
    for element, _, attributes in source.metas:
        name = attributes.get("name")
        if name and ("." in name or ":" in name):
            stating.append((element, attributes, name.strip(), ""))
    for element, _, attributes in [one for one in source.survey.elements if one[1] == "link"]:
        if "." in (relation := attributes.get("rel") or ""):
            href = attributes.get("href") or ""
            if relation[:7].lower() != "schema.":
                words = relation.split(None, MOST_NAMES)
                is_cut = is_cut or len(words) > MOST_NAMES
                stating.extend((element, attributes, word, href) for word in words[:MOST_NAMES] if "." in word)
            else:
                declared.setdefault(relation[7:].strip().lower(), href.strip())
    found = _DublinCore(source, declared).over(stating) if stating else FoundFacts()
    if is_cut:
        found.flags.append("too-many-names")
    return found


class _DublinCore:
    def __init__(self, source: Source, declared: Mapping[str, str]) -> None:
        self._source = source
        self._declared = declared
        self._scopes = scopes_of(source)
        self._found = FoundFacts()

    def over(self, stating: list[tuple[Element, Attributes, str, str]]) -> FoundFacts:
        page, found = f"<{self._source.address}>", self._found
        for element, attributes, name, href in stating:
            predicate = self._predicate(name)
            if predicate is None:
                continue
            value = self._literal(element, attributes) if element.tag == "meta" else self._resource(href)
            if value is None:
                if self._source.collects_notices:
                    says = f"{name[:80]} has no content, or an invalid URL."
                    found.notices.append(Notice("warning", "dublin-core-no-content", says, element))
                continue
            if self._source.collects_notices:
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
        """None for names of no known schema, such as `fb.app` or `google.site`."""
        prefix, local = _split(name)
        namespace = self._declared.get(prefix) or _USUAL_SCHEMAS.get(prefix)
        if namespace is None or not local:
            return None
        if namespace.startswith(("http://purl.org/dc/", "https://purl.org/dc/")):
            return _dublin_core_term(
                local, namespace.startswith(("http://purl.org/dc/terms", "https://purl.org/dc/terms"))
            )
        return _predicate(namespace, local, self._source.address)

    def _resource(self, href: str) -> str | None:
        iri = absolute(href, self._source.base) if href else None
        return None if iri is None else iri_term(iri)

    def _literal(self, element: Element, attributes: Attributes) -> str | None:
        text = attributes.get("content")
        if not text:
            return None
        scheme = (attributes.get("scheme") or "").strip().rpartition(".")[2].rpartition(":")[2].lower()
        if (datatype := _DATATYPE.get(scheme)) is not None:
            return typed_literal(text, datatype)
        return quoted(text) + self._scopes.within(element).language

    def _note(self, element: Element, name: str) -> None:
        prefix, _ = _split(name)
        if prefix not in self._declared:
            written = name[: min(len(prefix), 80)]
            says = f'{name[:80]} is used without a <link rel="schema.{written}"> that declares its prefix.'
            self._found.notices.append(Notice("info", "dublin-core-undeclared", says, element))


def _split(name: str) -> tuple[str, str]:
    """Prefix and name of `DC.title`, and of the wrong but common `dc:title`."""
    dot, colon = name.find("."), name.find(":")
    at = dot if colon < 0 or 0 <= dot < colon else colon
    return name[:at].lower(), name[at + 1 :]


def _dublin_core_term(local: str, is_terms: bool) -> str | None:
    """A Dublin Core term, or None. The last part that is a term counts."""
    first, *finer = local.lower().replace(":", ".").split(".")
    for part in reversed(finer):
        if part in _TERM and part not in _FIFTEEN:
            return f"<{TERMS}{_TERM[part]}>"
    if first in _FIFTEEN:
        return f"<{TERMS if is_terms else ELEMENTS}{first}>"
    return f"<{TERMS}{_TERM[first]}>" if first in _TERM else None
