"""Queries to begin with, on the page where people ask for facts."""

from typing import NamedTuple


class Example(NamedTuple):
    words: str
    query: str


EXAMPLES = (
    Example(
        "The kinds of things found, most frequent first",
        "SELECT ?type (COUNT(?thing) AS ?times)\n"
        "WHERE { ?thing a ?type }\n"
        "GROUP BY ?type\nORDER BY DESC(?times)\nLIMIT 20",
    ),
    Example(
        "Names of things, and the page that says so",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?name ?type ?page\n"
        "WHERE { GRAPH ?page { ?thing a ?type ; schema:name ?name } }\n"
        "LIMIT 50",
    ),
    Example(
        "Facts, and where in the page they stand",
        "SELECT ?page ?property ?value\n"
        "  (<urn:gossamer:syntax>(?page, ?thing, ?property, ?value) AS ?syntax)\n"
        "  (<urn:gossamer:path>(?page, ?thing, ?property, ?value) AS ?element)\n"
        "WHERE { GRAPH ?page { ?thing ?property ?value } FILTER(?page != <urn:gossamer:provenance>) }\n"
        "LIMIT 50",
    ),
    Example(
        "The properties in use",
        "SELECT ?property (COUNT(*) AS ?times)\n"
        "WHERE { ?thing ?property ?value }\n"
        "GROUP BY ?property\nORDER BY DESC(?times)\nLIMIT 50",
    ),
    Example(
        "Things that several pages speak of",
        "SELECT ?thing (COUNT(DISTINCT ?page) AS ?pages)\n"
        "WHERE { GRAPH ?page { ?thing a ?type } FILTER isIRI(?thing) }\n"
        "GROUP BY ?thing\nHAVING (COUNT(DISTINCT ?page) > 1)\nORDER BY DESC(?pages)\nLIMIT 20",
    ),
    Example(
        "When the newest facts came",
        "PREFIX prov: <http://www.w3.org/ns/prov#>\n"
        "SELECT ?page ?seen\n"
        "WHERE { GRAPH <urn:gossamer:provenance> { ?page prov:generatedAtTime ?seen } }\n"
        "ORDER BY DESC(?seen)\nLIMIT 20",
    ),
)
