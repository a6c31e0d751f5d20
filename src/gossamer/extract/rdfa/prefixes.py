"""The RDFa initial context, and the rules of each host language.

The initial context has the prefixes and terms that need no declaration.

Facts from https://www.w3.org/2011/rdfa-context/rdfa-1.1 and its neighbour xhtml-rdfa-1.1 (W3C). Prefixes are only ever
added there; when they are, add them here too.
"""

import re

from gossamer.extract.source import HostLanguage, Notice, RdfaVersion
from gossamer.values.tree import Survey
from gossamer.values.url import Url, url_of

USES_VOCABULARY = "<http://www.w3.org/ns/rdfa#usesVocabulary>"
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
_XHTML1_VERSION = re.compile(r"XHTML(?: 1\.|\+RDFa)", re.IGNORECASE)


def host_of(media_type: str, survey: Survey, doctype: bytes = b"") -> HostLanguage:
    """The language of a page that was parsed as XML; what the HTML parser read is HTML, with any label.

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
