"""The RDFa initial context (prefixes and terms that need no declaration), and the rules of each host language.

Facts from https://www.w3.org/2011/rdfa-context/rdfa-1.1 and xhtml-rdfa-1.1 beside it (W3C). Prefixes are only ever
added there; when they are, add them here too.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.extract.source import HostLanguage, Notice, RdfaVersion, Source
from gossamer.values.tree import Survey
from gossamer.values.url import Url, url_of

XHV = "http://www.w3.org/1999/xhtml/vocab#"

PREFIXES: dict[str, str] = {
    "as": "https://www.w3.org/ns/activitystreams#", "cc": "http://creativecommons.org/ns#",
    "csvw": "http://www.w3.org/ns/csvw#", "ctag": "http://commontag.org/ns#", "dc": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/", "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/", "dqv": "http://www.w3.org/ns/dqv#", "duv": "https://www.w3.org/ns/duv#",
    "foaf": "http://xmlns.com/foaf/0.1/", "gr": "http://purl.org/goodrelations/v1#",
    "grddl": "http://www.w3.org/2003/g/data-view#", "ical": "http://www.w3.org/2002/12/cal/icaltzd#",
    "jsonld": "http://www.w3.org/ns/json-ld#", "ldp": "http://www.w3.org/ns/ldp#",
    "ma": "http://www.w3.org/ns/ma-ont#", "oa": "http://www.w3.org/ns/oa#", "odrl": "http://www.w3.org/ns/odrl/2/",
    "og": "http://ogp.me/ns#", "org": "http://www.w3.org/ns/org#", "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#", "qb": "http://purl.org/linked-data/cube#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdfa": "http://www.w3.org/ns/rdfa#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "rev": "http://purl.org/stuff/rev#",
    "rif": "http://www.w3.org/2007/rif#", "rr": "http://www.w3.org/ns/r2rml#", "schema": "http://schema.org/",
    "sd": "http://www.w3.org/ns/sparql-service-description#", "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#", "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "sosa": "http://www.w3.org/ns/sosa/", "ssn": "http://www.w3.org/ns/ssn/", "time": "http://www.w3.org/2006/time#",
    "v": "http://rdf.data-vocabulary.org/#", "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#", "wdr": "http://www.w3.org/2007/05/powder#",
    "wdrs": "http://www.w3.org/2007/05/powder-s#", "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "xhv": XHV, "": XHV,  # the empty prefix, as in `:next` (RDFa Core 1.1, 7.4.5 and HTML+RDFa 3.1)
}  # fmt: skip

TERMS: dict[str, str] = {
    "describedby": "http://www.w3.org/2007/05/powder-s#describedby",
    "license": XHV + "license",
    "role": XHV + "role",
}

_XHTML_WORDS = """
    alternate appendix bookmark chapter cite contents copyright first glossary help icon index last license meta
    next p3pv1 prev previous role section start stylesheet subsection top up
"""

OLD_PREFIXES: dict[str, str] = {"": XHV}
OLD_TERMS: dict[str, str] = {word: XHV + word for word in _XHTML_WORDS.split() if word != "previous"}
"""Those that RDFa 1.0 knows without a declaration; its terms only count in @rel and @rev (RDFa in XHTML, 9.3)."""

XHTML_TERMS: dict[str, str] = {**TERMS, **{word: XHV + word for word in _XHTML_WORDS.split()}}
"""In XHTML 1 the relations of the XHTML vocabulary are terms too (XHTML+RDFa 1.1, 3.2)."""


XHTML = "http://www.w3.org/1999/xhtml"
SVG = "http://www.w3.org/2000/svg"

NOT_WELL_FORMED = Notice(
    "error", "document-error", "The page says it is XML but is not well-formed, so it was read as HTML."
)
"""For a caller whose XML parser failed (RDFa Core 1.1, 7.6.1)."""

_XHTML1 = re.compile(rb"-//W3C//DTD XHTML(?: 1\.|\+RDFa| Basic)", re.IGNORECASE)
_OLD_DOCTYPE = re.compile(
    rb"(?:\s++|<\?[^>]*+>|<!--.*?-->)*+<!DOCTYPE[^>]*?XHTML\+RDFa 1\.0", re.IGNORECASE | re.DOTALL
)
_LOOKED_AT = 4096
_XHTML1_VERSION = re.compile(r"XHTML(?: 1\.|\+RDFa)", re.IGNORECASE)


class HostRules(NamedTuple):
    """REQUIRES: the names in `languages` are those that `scope.SCOPING` lists."""

    terms: Mapping[str, str]
    """Words that are names without a vocabulary."""
    languages: tuple[str, ...]
    """Attributes that give the language; the first present one counts."""
    speaks_of_around: frozenset[str]
    """Elements that, without a subject of their own, have that of the enclosing ones (HTML+RDFa 1.1, 3.1)."""
    has_moments: bool
    """Whether `<time>` and @datetime count (HTML+RDFa 1.1, 3.1)."""
    drops_plain_relations: bool
    """Whether plain words in @rel and @rev are ignored beside @property (HTML+RDFa 1.1, 3.1)."""
    heeds_xml_base: bool
    is_xml: bool
    """Whether prefixes are namespaces: a markup literal then declares them."""
    is_old: bool = False
    """Whether these are the rules of RDFa 1.0 (RDFa in XHTML, 5.5)."""
    namespace: str = ""
    """The default namespace of a markup literal, if the page declares none."""
    folds_prefixes: bool = True
    """Whether prefixes are case-insensitive."""


_AROUND = frozenset(("head", "body"))

RULES: dict[HostLanguage, HostRules] = {
    HostLanguage.HTML: HostRules(TERMS, ("lang", "xml:lang"), _AROUND, True, True, False, False),
    HostLanguage.XHTML5: HostRules(TERMS, ("xml:lang", "lang"), _AROUND, True, True, False, True),
    HostLanguage.XHTML1: HostRules(XHTML_TERMS, ("xml:lang", "lang"), _AROUND, False, False, False, True),
    HostLanguage.SVG: HostRules(TERMS, ("xml:lang",), frozenset(), False, False, True, True),
    HostLanguage.XML: HostRules(TERMS, ("xml:lang",), frozenset(), False, False, True, True),
}


OLD_RULES: dict[HostLanguage, HostRules] = {
    host: rules._replace(
        terms=OLD_TERMS,
        has_moments=False,
        drops_plain_relations=False,
        is_old=True,
        namespace="" if host is HostLanguage.SVG else XHTML,
        folds_prefixes=host is HostLanguage.HTML,  # its parser has lower-cased the names of attributes
    )
    for host, rules in RULES.items()
}
"""RDFa 1.0 is defined for XHTML; XML that declares it is treated as XHTML."""


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
    said = [attributes for _, _, attributes in source.survey.elements]
    return any(one.get("vocab") for one in said) and any(
        ":" not in name for one in said for about in ("property", "typeof") for name in (one.get(about) or "").split()
    )


def host_of(media_type: str, survey: Survey, doctype: bytes = b"") -> HostLanguage:
    """The language of a page that was parsed as XML; what the HTML parser read is HTML, whatever its label.

    REQUIRES: `media_type` in lower case without parameters; `doctype` as `parse.xml.doctype_of` gives it.
    """
    root = survey.root
    if media_type == "text/html" or root is None:
        return HostLanguage.HTML
    namespace = root.attributes.get("xmlns") or next(
        (uri for name, uri in root.attributes.items() if name.startswith("xmlns:") and uri in (XHTML, SVG)), ""
    )
    if media_type == "application/xhtml+xml" or (root.tag == "html" and namespace == XHTML):
        is_old = _XHTML1.search(doctype) or _XHTML1_VERSION.match(root.attributes.get("version") or "")
        return HostLanguage.XHTML1 if is_old else HostLanguage.XHTML5
    if media_type == "image/svg+xml" or (root.tag == "svg" and namespace == SVG):
        return HostLanguage.SVG
    return HostLanguage.XML


def base_of(survey: Survey, host: HostLanguage, page: Url, rdfa_version: RdfaVersion | None = None) -> Url:
    """The base of relative URLs: the first `<base href>`, if the language has it. @xml:base is handled per element."""
    if host is HostLanguage.SVG or (host is HostLanguage.XML and rdfa_version != "1.0"):
        return page
    href = next((said["href"] for _, tag, said in survey.elements if tag == "base" and "href" in said), None)
    return page if href is None else url_of(href, page) or page
