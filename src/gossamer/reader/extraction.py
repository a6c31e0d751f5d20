"""The structured data of one page (`gossamer.extract`).

Bytes in, facts out, and remarks for the page's author.

Nothing is fetched, and no content of a page makes this raise; problems are in `flags` and `notices`. For the readings
of a crawl see `reader/reading.py`.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from gossamer.base.errors import ConfigError
from gossamer.extract.entities import EntityDict, entities_of
from gossamer.extract.jsonld.contexts import USER_CONTEXTS, Contexts, checked_contexts
from gossamer.extract.page import extract as extract_facts
from gossamer.extract.rdfa.entailment import FORMATS, KNOWN, expanded, relations_in
from gossamer.extract.rdfa.prefixes import NOT_WELL_FORMED, USES_VOCABULARY, base_of, host_of
from gossamer.extract.rdfa.reader import ROLE
from gossamer.extract.source import SYNTAXES, Extraction, HostLanguage, Notice, RdfaVersion
from gossamer.extract.terms import RDF_TYPE, Labels, iri_term, quoted
from gossamer.extract.vocabularies import iri_of
from gossamer.parse.charset import Charset, as_utf8, charset_of
from gossamer.parse.html.positions import Paths, SourcePosition, positions_of
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.sniff import HTML, essence, is_xml, media_type_of
from gossamer.parse.xml import doctype_of, parse_xml
from gossamer.values.page import Quad, Triple
from gossamer.values.tree import Survey
from gossamer.values.url import Url, id_of, url_of

PROCESSOR_GRAPH = "<urn:gossamer:processor-graph>"
"""The graph of notices as facts (RDFa Core 1.1, 7.6)."""
NOT_MARKUP = "not-markup"

_LOOKED_AT = 4096
_IRI = re.compile(rb"<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*>|<[#/]?>")
_RDF_XML = re.compile(rb"<(?:\w+:)?RDF[\s>]")


class Remark(NamedTuple):
    """A message for the author of the markup, and where it applies."""

    level: str
    """"error", "warning" or "info"."""
    kind: str
    says: str
    path: str = ""
    """The XPath of the element; empty: the whole page."""
    line: int | None = None
    """Counted from one, like the column; None if the position of the element is uncertain."""
    column: int | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of `extract`."""

    body: bytes
    address: Url
    media_type: str
    syntaxes: tuple[str, ...]
    vocabularies: Mapping[str, bytes] | None
    """Documents by IRI; None: no expansion."""
    rdfa_version: RdfaVersion | None = None
    contexts: Contexts = field(default_factory=lambda: USER_CONTEXTS)


class _Read(NamedTuple):
    facts: Extraction
    triples: list[Triple]
    """Those of `facts`, and inferred ones if asked for."""
    flags: tuple[str, ...]
    notices: tuple[Notice, ...]
    survey: Survey | None
    markup: bytes
    charset: Charset | None = None


@dataclass(frozen=True, eq=False)
class Extracted:
    """The facts of one page. Iterating gives them as `Quad`s in document order, each once."""

    address: str
    syntaxes: tuple[str, ...]
    """Those with facts: "rdfa", "json-ld", ..."""
    flags: tuple[str, ...]
    """Problems, as stable codes: "jsonld-repaired", "too-many-facts", ..."""
    facts_by_syntax: Mapping[str, int]
    """A fact stated in two syntaxes counts for both."""
    facts: tuple[Triple, ...] = field(repr=False)
    processor_graph: tuple[Triple, ...] = field(repr=False)
    """Notices as facts; empty unless asked for."""
    charset: str
    """The encoding of the page; empty if it is not markup."""
    charset_from: str
    """How it was determined: "bom", "header", "meta", "zeros", "escapes", "utf-8" or "guess"."""
    _asked: _Asked = field(repr=False)

    @property
    def graph(self) -> str:
        """The page as the subject of its facts: its URL as an IRI."""
        return f"<{iri_of(self.address)}>"

    def __iter__(self) -> Iterator[Quad]:
        graph = self.graph
        for fact in self.facts:
            yield Quad(*fact, graph)
        for fact in self.processor_graph:
            yield Quad(*fact, PROCESSOR_GRAPH)

    def __len__(self) -> int:
        return len(self.facts) + len(self.processor_graph)

    def ntriples(self) -> str:
        """One line per fact."""
        return "".join([f"{s} {p} {o} .\n" for s, p, o in (*self.facts, *self.processor_graph)])

    def nquads(self) -> str:
        """One line per fact, with its graph."""
        return "".join([f"{s} {p} {o} {g} .\n" for s, p, o, g in self])

    def items(self) -> list[EntityDict]:
        """The entities of the page as nested plain dicts: see `gossamer.extract.entities`."""
        return entities_of(self.facts)

    @cached_property
    def notices(self) -> tuple[Remark, ...]:
        """Messages for the author of the markup. The page is read again for them: most callers do not need them."""
        read = _read(self._asked, collects_notices=True)
        return remarks_of(read.notices, read.survey, read.markup)


def extract(
    data: bytes,
    url: str,
    media_type: str = "text/html",
    *,
    syntaxes: Collection[str] | None = None,
    vocabularies: Mapping[str, bytes] | None = None,
    expand_vocabularies: bool = False,
    processor_graph: bool = False,
    rdfa_version: RdfaVersion | None = None,
    contexts: Mapping[str, bytes] | None = None,
) -> Extracted:
    """The facts that a page states, in these syntaxes (by default all).

    `url` is the http or https URL of the page, the base of relative ones. `media_type` decides how the bytes are read,
    and may have a charset. `vocabularies` are the documents, by IRI, that `expand_vocabularies` may use (RDFa Core 1.1,
    10); `processor_graph` adds the notices as facts (7.6). `rdfa_version` overrides the version that the page declares:
    "1.0" or "1.1". `contexts` are JSON-LD context documents by URL: none is ever fetched, and those of schema.org and
    Activity Streams are bundled.

    Raises ConfigError for an invalid `url`, syntax or context, never because of the page.
    """
    documents = (vocabularies or {}) if expand_vocabularies else None
    held = USER_CONTEXTS if contexts is None else checked_contexts(contexts)
    asked = _Asked(data, _address(url), media_type, _chosen(syntaxes), documents, rdfa_version, held)
    read = _read(asked, collects_notices=processor_graph)
    labels = Labels(id_of(f"{PROCESSOR_GRAPH} {asked.address.text}"))
    return Extracted(
        address=asked.address.text,
        syntaxes=read.facts.syntaxes,
        flags=read.flags,
        facts_by_syntax=_counted(read.facts),
        facts=tuple(read.triples),
        processor_graph=tuple(notices_as_facts(read.notices, asked.address.text, labels)) if processor_graph else (),
        charset=read.charset.encoding if read.charset else "",
        charset_from=read.charset.how if read.charset else "",
        _asked=asked,
    )


def _address(url: str) -> Url:
    address = url_of(url)
    if address is None:
        raise ConfigError(f"{url!r} is not an http or https URL; relative URLs in a page need one as their base")
    return address


def _chosen(syntaxes: Collection[str] | None) -> tuple[str, ...]:
    if syntaxes is None:
        return SYNTAXES
    chosen = (syntaxes,) if isinstance(syntaxes, str) else tuple(syntaxes)
    if unknown := [name for name in chosen if name not in SYNTAXES]:
        raise ConfigError(f"there is no syntax {unknown[0]!r}; there are {', '.join(SYNTAXES)}")
    return chosen


def _counted(facts: Extraction) -> dict[str, int]:
    masks = Counter(facts.stated_in).items()
    counts = {name: sum([count for mask, count in masks if mask >> bit & 1]) for bit, name in enumerate(SYNTAXES)}
    return {name: count for name, count in counts.items() if count}


def _read(asked: _Asked, collects_notices: bool) -> _Read:
    kind = essence(asked.media_type)
    if kind not in HTML and not is_xml(kind):
        return _Read(Extraction([], [], [], (), ()), [], (NOT_MARKUP,), (), None, b"")
    charset = charset_of(asked.media_type, asked.body)
    markup = as_utf8(asked.body, charset.encoding)
    survey, host, flags, odd = _surveyed(kind, markup)
    facts = extract_facts(
        survey,
        base_of(survey, host, asked.address, asked.rdfa_version),
        id_of(asked.address.text),
        markup,
        asked.address,
        host=host,
        syntaxes=asked.syntaxes,
        reads_roles=True,
        is_thorough=True,
        collects_notices=collects_notices,
        rdfa_version=asked.rdfa_version,
        contexts=asked.contexts,
    )
    triples = facts.triples
    more: tuple[Notice, ...] = ()
    if asked.vocabularies is not None:
        triples, more = _expanded(triples, asked.vocabularies)
    flags = (
        *(("charset-conflict",) if charset.conflict else ()),
        *flags,
        *facts.flags,
        *[notice.kind for notice in more],
    )
    notices = (*odd, *facts.notices, *more) if collects_notices else ()
    return _Read(facts, triples, tuple(dict.fromkeys(flags)), notices, survey, markup, charset)


def _surveyed(kind: str, markup: bytes) -> tuple[Survey, HostLanguage, tuple[str, ...], tuple[Notice, ...]]:
    """The tree, its host language, flags and notices. XML that is not well-formed is read as HTML."""
    notices: tuple[Notice, ...] = ()
    flags: tuple[str, ...] = ()
    if kind != "text/html":
        survey = parse_xml(markup)
        if survey is not None:
            return survey, host_of(kind, survey, doctype_of(markup)), (), ()
        flags, notices = ("not-well-formed",), (NOT_WELL_FORMED,)
    parsed = parse_html(markup)
    return scan_html(parsed.tree).survey(), HostLanguage.HTML, (*flags, *parsed.flags), notices


def _expanded(triples: list[Triple], documents: Mapping[str, bytes]) -> tuple[list[Triple], tuple[Notice, ...]]:
    """The facts with those inferred from the vocabularies that the page uses, and notices of unavailable ones."""
    relations: dict[str, Sequence[Triple]] = dict(KNOWN)
    notices = []
    for iri in dict.fromkeys([iri[1:-1] for _, predicate, iri in triples if predicate == USES_VOCABULARY]):
        if iri in documents:
            relations[iri] = _relations(documents[iri], iri)
            if not relations[iri]:
                says = f"No relation of classes or properties could be read from the document given for {iri}."
                notices.append(Notice("warning", "vocabulary-unreadable", says))
        elif iri not in relations:
            says = f"The vocabulary {iri} was not given, and none is fetched: nothing is inferred from it."
            notices.append(Notice("warning", "vocabulary-not-found", says))
    return expanded(triples, relations), tuple(notices)


def _relations(document: bytes, iri: str) -> list[Triple]:
    """The relations in a vocabulary document of any format."""
    kind = _kind_of(document)
    if kind in FORMATS:
        return relations_in(document, kind, iri)
    if kind == "application/ld+json":
        document = b'<script type="application/ld+json">%b</script>' % document.replace(b"</", b"<\\/")
        kind = "text/html"
    address = url_of(iri)
    if address is None:
        return []
    return _read(_Asked(document, address, kind, ("rdfa", "json-ld"), None), collects_notices=False).triples


def _kind_of(document: bytes) -> str:
    """The media type. Turtle may begin like markup, with an IRI in brackets, or like JSON, with a blank node."""
    head = document[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] == b"{" or (head[:1] == b"[" and head[1:].lstrip()[:1] in (b"{", b"]")):
        return "application/ld+json"
    if head[:1] != b"<" or _IRI.match(head):
        return "text/turtle"
    if _RDF_XML.search(head):
        return "application/rdf+xml"
    found = media_type_of(None, document)
    return found if found in HTML else "text/html"


def remarks_of(notices: Collection[Notice], survey: Survey | None, markup: bytes) -> tuple[Remark, ...]:
    places = [notice.element for notice in notices if notice.element is not None]
    spots: dict[int, SourcePosition] = {}
    if survey is not None and places:
        spots = positions_of(places, survey.every(), markup.decode("utf-8", "replace"))
    paths = Paths()
    remarks = []
    for level, kind, says, element in notices:
        line, column = spots.get(element.mem_id, (None, None)) if element is not None else (None, None)
        remarks.append(Remark(level, kind, says, paths.of(element) if element is not None else "", line, column))
    return tuple(remarks)


# Notices as facts: the processor graph of RDFa Core 1.1, 7.6.

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
"""The kinds that RDFa has classes for; the others only have that of their level."""


def notices_as_facts(notices: Iterable[Notice], address: str, labels: Labels) -> list[Triple]:
    """One blank node per notice, in their order. `address`: the page's URL; `labels`: not those of its own facts."""
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


# A report for the author of a page: its entities, and the errors in its markup (`gossamer inspect`).

# The level and meaning of flags without a notice of their own.
FLAGS_MEAN = {
    "not-markup": ("error", "This is not markup; if it is, say so with --type."),
    "charset-conflict": ("warning", "Two declarations of the charset disagree; the stronger one was used."),
    "base-unusable": ("error", "The URL of the page, or its base, cannot be used in facts."),
    "unparsable": ("error", "The page cannot be parsed at all."),
    "jsonld-broken": ("error", "A JSON-LD script is invalid; the readable parts were used."),
    "jsonld-repaired": ("warning", "A JSON-LD script is not valid JSON; it was repaired, which others may not do."),
    "jsonld-unknown-context": (
        "warning",
        "A JSON-LD script names a context that is not available; see --contexts.",
    ),
    "jsonld-too-large": ("error", "A JSON-LD script is too large to be read."),
    "jsonld-too-deep": ("error", "A JSON-LD script is nested too deeply to be read."),
    "jsonld-too-complex": ("error", "A JSON-LD script has too many contexts to be read."),
    "microdata-loop": ("warning", "An item is inside itself by way of itemref; the cycle was cut."),
    "microdata-too-deep": ("warning", "Items are nested too deeply; the inner ones were skipped."),
    "literal-too-long": ("warning", "A text was too long to be a fact, and was skipped."),
    "name-too-long": ("warning", "A name or a language is too long; facts with it were skipped."),
    "too-many-prefixes": ("warning", "Too many prefixes are declared; names with the excess ones were skipped."),
    "too-many-facts": ("warning", "The page has more facts than are read from one page."),
    "truncated": ("warning", "The page is too large; its end was not read."),
    "too-deep": ("warning", "Elements are nested so deeply that some were flattened."),
    "not-well-formed": ("error", "The page says it is XML but is not well-formed; it was read as HTML."),
}

NOTICE_OF_FLAG = {"not-well-formed": "document-error"}
"""Flags with a notice of another name."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """The result of inspecting one page."""

    name: str
    address: str
    facts: int
    facts_by_syntax: dict[str, int]
    items: list[EntityDict]
    notices: tuple[Remark, ...]
    unread: str = ""
    """Why it could not be read."""
    charset: str = ""
    charset_from: str = ""
    """Its encoding, and how that was determined."""

    def count(self, level: str) -> int:
        return sum(1 for notice in self.notices if notice.level == level)


def inspected(name: str, body: bytes, address: str, media_type: str) -> Inspected:
    found = extract(body, address, media_type)
    notices = (*found.notices, *remarks_on_flags(found.flags, found.notices))
    entities = [entity for entity in found.items() if not has_only_role(entity)]
    charset = {"charset": found.charset, "charset_from": found.charset_from}
    return Inspected(
        name, found.address, len(found), dict(found.facts_by_syntax), entities, in_order(notices), **charset
    )


def has_only_role(entity: EntityDict) -> bool:
    """Whether it has only a @role, as many elements do for screen readers (ARIA)."""
    return not entity["type"] and entity["properties"].keys() == {ROLE[1:-1]}


def remarks_on_flags(flags: tuple[str, ...], notices: tuple[Remark, ...]) -> Iterator[Remark]:
    kinds = {notice.kind for notice in notices}
    for flag in flags:
        if flag not in kinds and NOTICE_OF_FLAG.get(flag) not in kinds:
            level, says = FLAGS_MEAN.get(flag, ("warning", f"Unexpected markup on this page: {flag}."))
            yield Remark(level, flag, says)


def in_order(notices: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """From top to bottom; first those without a position."""
    return tuple(sorted(notices, key=lambda notice: (notice.line or 0, notice.column or 0)))
