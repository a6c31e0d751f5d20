"""Queries to begin with, on the page where people ask for facts."""

from typing import NamedTuple


class QueryExample(NamedTuple):
    words: str
    query: str
    has_inference: bool = False


EXAMPLES = (
    QueryExample(
        "Types of entities",
        "SELECT ?type (COUNT(?thing) AS ?times)\n"
        "WHERE { ?thing a ?type }\n"
        "GROUP BY ?type\nORDER BY DESC(?times)\nLIMIT 20",
    ),
    QueryExample(
        "Names, and the pages that state them",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?name ?type ?page\n"
        "WHERE { GRAPH ?page { ?thing a ?type ; schema:name ?name } }\n"
        "LIMIT 50",
    ),
    QueryExample(
        "Facts, and where they are stated",
        "SELECT ?page ?property ?value\n"
        "  (<urn:gossamer:syntax>(?page, ?thing, ?property, ?value) AS ?syntax)\n"
        "  (<urn:gossamer:path>(?page, ?thing, ?property, ?value) AS ?element)\n"
        "WHERE { GRAPH ?page { ?thing ?property ?value } FILTER(?page != <urn:gossamer:provenance>) }\n"
        "LIMIT 50",
    ),
    QueryExample(
        "Creative works, including inferred types",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?thing ?kind ?name\n"
        "WHERE {\n"
        "  ?thing a schema:CreativeWork ; a ?kind .\n"
        "  OPTIONAL { ?thing schema:name ?name }\n"
        "}\nLIMIT 50",
        has_inference=True,
    ),
    QueryExample(
        "Subclasses of a type",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?type (COUNT(?thing) AS ?times)\n"
        "WHERE { ?thing a ?type FILTER(<urn:gossamer:is-a>(?type, schema:CreativeWork)) }\n"
        "GROUP BY ?type\nORDER BY DESC(?times)",
    ),
    QueryExample(
        "A graph of linked entities",
        "CONSTRUCT { ?one ?property ?other }\n"
        "WHERE {\n"
        "  SELECT DISTINCT ?one ?property ?other\n"
        "  WHERE { ?one ?property ?other ; a ?kind . ?other a ?another FILTER(isIRI(?other) && ?one != ?other) }\n"
        "  LIMIT 40\n"
        "}",
    ),
    QueryExample(
        "Properties in use",
        "SELECT ?property (COUNT(*) AS ?times)\n"
        "WHERE { ?thing ?property ?value }\n"
        "GROUP BY ?property\nORDER BY DESC(?times)\nLIMIT 50",
    ),
    QueryExample(
        "Entities described by several pages",
        "SELECT ?thing (COUNT(DISTINCT ?page) AS ?pages)\n"
        "WHERE { GRAPH ?page { ?thing a ?type } FILTER isIRI(?thing) }\n"
        "GROUP BY ?thing\nHAVING (COUNT(DISTINCT ?page) > 1)\nORDER BY DESC(?pages)\nLIMIT 20",
    ),
    QueryExample(
        "Latest facts",
        "PREFIX prov: <http://www.w3.org/ns/prov#>\n"
        "SELECT ?page ?seen\n"
        "WHERE { GRAPH <urn:gossamer:provenance> { ?page prov:generatedAtTime ?seen } }\n"
        "ORDER BY DESC(?seen)\nLIMIT 20",
    ),
)
