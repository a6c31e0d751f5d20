"""The W3C test suite of "Microdata to RDF": every case must pass.

The suite is read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.conformance.suites import HOME

from gossamer.extract.microdata import REGISTRY, Registry, read_microdata
from gossamer.extract.source import FoundFacts, Source
from gossamer.extract.terms import Labels
from gossamer.parse.html.tree import scan_html
from gossamer.values.page import ntriples

SUITE = HOME / "microdata" / "tests"
SUITE_URL = "http://w3c.github.io/microdata-rdf/tests/"
"""The URL of the suite; some expected results contain it."""
MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
OWN_REGISTRY = ("0073.html", "0074.html")
PASSING = 84
MISSED: dict[str, str] = {}
"""The reason why a case does not pass, by its page."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the Microdata suite is not here; set GOSSAMER_CONFORMANCE")


@dataclass(frozen=True)
class Case:
    page: str
    expected: str
    """A Turtle file; empty where the page has an error that must be flagged."""


def cases() -> Iterator[Case]:
    manifest = ox.Store()
    manifest.load((SUITE / "manifest.ttl").read_bytes(), format=ox.RdfFormat.TURTLE, base_iri=SUITE_URL)
    for action in manifest.quads_for_pattern(None, ox.NamedNode(MANIFEST + "action"), None):
        results = list(manifest.quads_for_pattern(action.subject, ox.NamedNode(MANIFEST + "result"), None))
        name = action.object.value.removeprefix(SUITE_URL)
        yield Case(name, results[0].object.value.removeprefix(SUITE_URL) if results else "")


def registry_in(file: Path) -> Registry:
    """The suite's own registry: either relation means that the other property is stated as well."""
    registry: dict[str, dict[str, tuple[str, ...]]] = {}
    for prefix, entry in json.loads(file.read_text()).items():
        if prefix.startswith("@"):
            continue
        implied = registry.setdefault(prefix, {})
        for name, relations in entry.get("properties", {}).items():
            implied[name] = tuple(f"<{iri}>" for iri in relations.values())
    return registry


def facts_of(case: Case) -> FoundFacts:
    body = (SUITE / case.page).read_bytes()
    survey = scan_html(LexborHTMLParser(body)).survey()
    url = SUITE_URL + case.page
    registry = registry_in(SUITE / "test-registry.json") if case.page in OWN_REGISTRY else REGISTRY
    return read_microdata(Source(survey, url, url, Labels(1), body), registry)


def canonical(text: bytes, form: ox.RdfFormat, base: str | None = None) -> set[str]:
    graph = ox.Dataset(ox.parse(text, format=form, base_iri=base))
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in graph}


def passes(case: Case) -> bool:
    found = facts_of(case)
    if not case.expected:
        return "microdata-loop" in found.flags
    wanted = canonical((SUITE / case.expected).read_bytes(), ox.RdfFormat.TURTLE, SUITE_URL + case.page)
    return canonical(ntriples(found.triples), ox.RdfFormat.N_TRIPLES) == wanted and not found.flags


def test_every_case_passes() -> None:
    every = list(cases())
    failed = {case.page for case in every if not passes(case)}
    print(f"Microdata to RDF: {len(every) - len(failed)} of {len(every)}")
    assert failed == MISSED.keys()
    assert len(every) - len(failed) == PASSING


@pytest.mark.skipif(not (HOME / "microdata" / "ns" / "md.json").is_file(), reason="the registry is not here")
def test_the_registry_is_the_published_one() -> None:
    published = registry_in(HOME / "microdata" / "ns" / "md.json")
    assert {prefix: dict(implied) for prefix, implied in REGISTRY.items()} == published
