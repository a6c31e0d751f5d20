"""The RDFa initial context: prefixes and terms that pages may use without declaring them.

Facts from https://www.w3.org/2011/rdfa-context/rdfa-1.1 and xhtml-rdfa-1.1 beside it (W3C). Prefixes are only ever
added there; when they are, add them here and raise VERSION, which counts our copies.
"""

VERSION = 1

XHV = "http://www.w3.org/1999/xhtml/vocab#"

PREFIXES: dict[str, str] = {
    "as": "https://www.w3.org/ns/activitystreams#",
    "cc": "http://creativecommons.org/ns#",
    "csvw": "http://www.w3.org/ns/csvw#",
    "ctag": "http://commontag.org/ns#",
    "dc": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "dqv": "http://www.w3.org/ns/dqv#",
    "duv": "https://www.w3.org/ns/duv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "grddl": "http://www.w3.org/2003/g/data-view#",
    "ical": "http://www.w3.org/2002/12/cal/icaltzd#",
    "jsonld": "http://www.w3.org/ns/json-ld#",
    "ldp": "http://www.w3.org/ns/ldp#",
    "ma": "http://www.w3.org/ns/ma-ont#",
    "oa": "http://www.w3.org/ns/oa#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "og": "http://ogp.me/ns#",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfa": "http://www.w3.org/ns/rdfa#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "rev": "http://purl.org/stuff/rev#",
    "rif": "http://www.w3.org/2007/rif#",
    "rr": "http://www.w3.org/ns/r2rml#",
    "schema": "http://schema.org/",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "v": "http://rdf.data-vocabulary.org/#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#",
    "wdr": "http://www.w3.org/2007/05/powder#",
    "wdrs": "http://www.w3.org/2007/05/powder-s#",
    "xhv": XHV,
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "": XHV,  # the empty prefix, as in `:next` (RDFa Core 1.1, 7.4.5 and HTML+RDFa 3.1)
}

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
"""All that RDFa 1.0 knows without a declaration; its terms are names in @rel and @rev only (RDFa in XHTML, 9.3)."""

XHTML_TERMS: dict[str, str] = {**TERMS, **{word: XHV + word for word in _XHTML_WORDS.split()}}
"""In XHTML 1 the relations of the XHTML vocabulary are terms as well (XHTML+RDFa 1.1, 3.2)."""
