"""The SPARQL queries of the entity pages.

Only a valid IRI can be put into one, which rules out injection.

Each limits its inner patterns, as a class may have a million instances. Counts cover the first `WINDOW` facts in the
order of the store, and the pages say so if there are more.
"""

from dataclasses import dataclass

from pyoxigraph import NamedNode

from gossamer.extract.vocabularies import canonical
from gossamer.views.facts.sources import FETCHED_AT, PATH, PROVENANCE, SYNTAX
from gossamer.web.names import PREFIXES, is_whole_iri

LONGEST_IRI = 8 * 1024
MOST_FACTS = 1_000
MOST_DESCRIBED = 10_000
"""Facts in a file; a page has MOST_FACTS."""
WINDOW = 20_000
SAMPLE = 1_000
"""Entities of a class, or with a property, whose other facts are examined."""
PER_PAGE = 50
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
NAMING = (
    "http://schema.org/name",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://schema.org/headline",
    "http://ogp.me/ns#title",
    "http://microformats.org/profile/hcard#fn",
)
"""Properties that name an entity; the first one present counts."""
NO_IRI = "Which entity? Put its IRI after /entity?iri= or open it from a search, a page or a query result."
TOO_LONG = f"That IRI is longer than {LONGEST_IRI:,} characters."
NOT_WHOLE = (
    "Invalid IRI. An IRI starts with a scheme (http:, urn:, mailto:) or a well-known prefix (schema:Person), "
    'and contains no spaces nor any of < > " { } | ^ ` \\.'
)

_NAMED = "|".join(f"<{iri}>" for iri in NAMING)
_LONG = {prefix: namespace for namespace, prefix in reversed(PREFIXES.items())}


@dataclass(frozen=True, slots=True)
class Iri:
    """An IRI that is valid in a query. Anything else raises ValueError, with words for people."""

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_IRI:
            raise ValueError(TOO_LONG)
        if not is_whole_iri(self.text):
            raise ValueError(NOT_WHOLE)
        try:
            NamedNode(self.text)  # as strict as the query parser
        except ValueError:
            raise ValueError(NOT_WHOLE) from None


def iri_of(text: str) -> Iri:
    """The canonical IRI for typed text, also with a prefix: `schema:Person`. Raises ValueError, in words."""
    text = text.strip().removeprefix("<").removesuffix(">")
    if not text:
        raise ValueError(NO_IRI)
    prefix, _, local = text.partition(":")
    if prefix in _LONG and not local.startswith("//"):
        text = _LONG[prefix] + local
    return Iri(canonical(text))


def facts_of(iri: Iri) -> str:
    """Its facts with page, time, syntax and element, and those of blank nodes up to two steps away.

    `name` is the name of a value.
    """
    return f"""SELECT ?page ?at ?thing ?property ?value (SAMPLE(?called) AS ?name)
  (<{SYNTAX}>(?page, ?thing, ?property, ?value) AS ?syntax) (<{PATH}>(?page, ?thing, ?property, ?value) AS ?path)
WHERE {{
  {{ SELECT ?page ?thing ?property ?value WHERE {{ {_described(iri)} }} LIMIT {MOST_FACTS + 1} }}
  FILTER(?page != <{PROVENANCE}>)
  OPTIONAL {{ GRAPH <{PROVENANCE}> {{ ?page <{FETCHED_AT}> ?at }} }}
  OPTIONAL {{ ?value ({_NAMED}) ?called }}
}} GROUP BY ?page ?at ?thing ?property ?value"""


def description_of(iri: Iri) -> str:
    """The same facts without their context, for a file."""
    return f"""SELECT ?page ?thing ?property ?value
WHERE {{ {{ SELECT ?page ?thing ?property ?value WHERE {{ {_described(iri)} }} LIMIT {MOST_DESCRIBED + 1} }}
  FILTER(?page != <{PROVENANCE}>) }}"""


def _described(iri: Iri) -> str:
    """Three patterns, each with its own GRAPH: joined inside one they would scan the whole store."""
    thing = f"<{iri.text}>"
    return f"""
    {{ GRAPH ?page {{ ?thing ?property ?value }} VALUES ?thing {{ {thing} }} }}
    UNION {{ GRAPH ?page {{ {thing} ?first ?thing . ?thing ?property ?value }} FILTER(isBlank(?thing)) }}
    UNION {{ GRAPH ?page {{ {thing} ?first ?between . ?between ?second ?thing . ?thing ?property ?value }}
      FILTER(isBlank(?between)) FILTER(isBlank(?thing)) }}"""


def pointing_to(iri: Iri, via: Iri | None, start: int) -> str:
    """The entities that refer to it, a row per entity, property and page, from `start` on; one more than a page has."""
    property = "?property" if via is None else f"<{via.text}>"
    chosen = f"FILTER(?property != <{TYPE}>)" if via is None else f"BIND({property} AS ?property)"
    return _listed(f"?thing {property} <{iri.text}>", chosen, "" if via else "?property", start)


def instances_of(iri: Iri, start: int) -> str:
    return _listed(f"?thing <{TYPE}> <{iri.text}>", f"BIND(<{TYPE}> AS ?property)", "", start)


def _listed(pattern: str, chosen: str, more: str, start: int) -> str:
    return f"""SELECT ?thing ?property ?page (SAMPLE(?called) AS ?name) (SAMPLE(?kind) AS ?type)
WHERE {{
  {{ SELECT ?thing ?property ?page WHERE {{
      {{ SELECT ?thing {more} ?page WHERE {{ GRAPH ?page {{ {pattern} }} FILTER(?page != <{PROVENANCE}>) }}
        LIMIT {WINDOW} }}
      {chosen} }}
    LIMIT {PER_PAGE + 1} OFFSET {start} }}
  OPTIONAL {{ GRAPH ?page {{ ?thing ({_NAMED}) ?called }} }}
  OPTIONAL {{ GRAPH ?page {{ ?thing <{TYPE}> ?kind }} }}
}} GROUP BY ?thing ?property ?page"""


def uses_of(iri: Iri) -> str:
    """Counts by `what`: properties that refer to it ("points"); of a class, the properties of its instances ("has"); of
    a property, its values ("value"), the classes of the entities that have it ("on"), and all its uses ("all")."""
    me = f"<{iri.text}>"
    used = (
        f"SELECT ?thing ?value ?page WHERE {{ GRAPH ?page {{ ?thing {me} ?value }} FILTER(?page != <{PROVENANCE}>) }}"
    )
    used = f"{{ {used} LIMIT {WINDOW} }}"
    points = f"{{ SELECT ?thing ?property ?page WHERE {{ GRAPH ?page {{ ?thing ?property {me} }} }} LIMIT {WINDOW} }}"
    sampled = f"{{ SELECT DISTINCT ?thing WHERE {{ ?thing <{TYPE}> {me} }} LIMIT {SAMPLE} }}"
    having = f"{{ SELECT DISTINCT ?thing WHERE {{ ?thing {me} ?any }} LIMIT {SAMPLE} }}"
    parts = (
        _counted("points", "?property", points, 100),
        _counted("has", "?property", f"{sampled} GRAPH ?page {{ ?thing ?property ?any }}", 100),
        _counted("value", "?value", used, 25),
        _counted("on", "?kind", f"{having} GRAPH ?page {{ ?thing <{TYPE}> ?kind }}", 25),
        f'{{ SELECT ("all" AS ?what) (COUNT(*) AS ?facts) (COUNT(DISTINCT ?thing) AS ?things)'
        f" (COUNT(DISTINCT ?page) AS ?pages) WHERE {{ {used} }} }}",
    )
    return f"SELECT ?what ?term ?facts ?things ?pages WHERE {{ {' UNION '.join(parts)} }}"


def _counted(what: str, term: str, pattern: str, at_most: int) -> str:
    return (
        f'{{ SELECT ("{what}" AS ?what) ({term} AS ?term) (COUNT(*) AS ?facts) (COUNT(DISTINCT ?thing) AS ?things)'
        f" (COUNT(DISTINCT ?page) AS ?pages) WHERE {{ {pattern} }}"
        f" GROUP BY {term} ORDER BY DESC(?things) {term} LIMIT {at_most} }}"
    )
