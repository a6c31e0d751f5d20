"""Short names for IRIs, for people."""

import re
from typing import NamedTuple

_LAST = re.compile(r"[^/#:]+(?=[/#]?$)")
_LOCAL = re.compile(r"\w[\w.-]*")
PREFIXES = {
    "http://schema.org/": "schema",
    "https://schema.org/": "schema",
    "http://ogp.me/ns#": "og",
    "http://ogp.me/ns/article#": "article",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/ns/rdfa#": "rdfa",
    "http://www.w3.org/2001/XMLSchema#": "xsd",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2004/02/skos/core#": "skos",
    "http://www.w3.org/1999/xhtml/vocab#": "xhv",
    "http://www.w3.org/ns/prov#": "prov",
    "http://www.w3.org/ns/dcat#": "dcat",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/goodrelations/v1#": "gr",
    "http://xmlns.com/foaf/0.1/": "foaf",
}


class Named(NamedTuple):
    iri: str
    name: str


def named(iri: str) -> Named:
    """The last part of an IRI is what vocabularies name things by."""
    match = _LAST.search(iri)
    return Named(iri, match.group() if match else iri)


def short(iri: str) -> str:
    """With a prefix that everybody knows (`schema:name`); the whole IRI when there is none."""
    local = named(iri).name
    prefix = PREFIXES.get(iri[: -len(local)]) if iri.endswith(local) else None
    return f"{prefix}:{local}" if prefix and _LOCAL.fullmatch(local) else iri
