"""The W3C JSON-LD test suite: scripts in HTML are a gate, JSON-LD to RDF has a floor.

A page's named graphs are folded into the page's own graph, here as in the expected results. The suite is read in
place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.extract.jsonld import Relabelled, read_script
from gossamer.extract.page import extract
from gossamer.extract.terms import Labels
from gossamer.parse.html import seen_in
from gossamer.values.page import MOST_TRIPLES, Triple, ntriples
from gossamer.values.url import url_of

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
SUITE = HOME / "jsonld-html"
ADDRESS = "https://w3c.github.io/json-ld-api/tests/"

TO_RDF_FLOOR = 312
"""The others: what the parser itself leaves out, and IRIs that we mend where the suite drops the fact."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the JSON-LD suite is not here; set GOSSAMER_CONFORMANCE")


def cases(manifest: str, kind: str) -> list[dict[str, Any]]:
    listed = json.loads((SUITE / manifest).read_text())["sequence"]
    return [case for case in listed if kind in case["@type"]]


def canonical(quads: Iterable[ox.Quad]) -> set[str]:
    graph = ox.Dataset(ox.Quad(quad.subject, quad.predicate, quad.object) for quad in quads)
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in graph}


def is_expected(triples: list[Triple], case: dict[str, Any]) -> bool:
    found = ox.parse(ntriples(triples), format=ox.RdfFormat.N_TRIPLES)
    expected = ox.parse((SUITE / case["expect"]).read_bytes(), format=ox.RdfFormat.N_QUADS, lenient=True)
    try:
        return canonical(found) == canonical(expected)
    except SyntaxError:  # the expected result is generalised RDF
        return False


def facts_of_page(case: dict[str, Any]) -> tuple[list[Triple], tuple[str, ...]]:
    """Ours reads every script. Where the suite wants the first, or the one named by a fragment, the others go."""
    path, _, fragment = case["input"].partition("#")
    body = (SUITE / path).read_bytes()
    tree = LexborHTMLParser(body)
    scripts = tree.css('script[type^="application/ld+json"]')
    if not case["option"].get("extractAllScripts"):
        wanted = next((one for one in scripts if not fragment or one.attributes.get("id") == fragment), None)
        for script in scripts:
            if wanted is None or script.mem_id != wanted.mem_id:
                script.decompose()
    page = url_of(case["option"].get("base", ADDRESS + path))
    assert page is not None
    base = next((element.attributes["href"] for element in tree.css("base[href]")), None)
    found = extract(seen_in(tree).survey(), url_of(base or "", page) or page, 1, body)
    return found.triples, found.flags


@pytest.mark.parametrize(
    "case", cases("html-manifest.jsonld", "jld:ToRDFTest") if SUITE.is_dir() else [], ids=lambda case: case["@id"]
)
def test_scripts_in_a_page_are_read_as_the_suite_says(case: dict[str, Any]) -> None:
    triples, flags = facts_of_page(case)
    if "expect" in case:
        assert is_expected(triples, case)
    elif case["expectErrorCode"] == "invalid script element":
        assert "jsonld-repaired" in flags or "jsonld-broken" in flags  # told, and mended where that can be done
    else:
        assert not triples  # a fragment that names no script: a page has no such thing to ask for


def test_the_json_ld_to_rdf_score_does_not_fall() -> None:
    wanted = [
        case
        for case in cases("toRdf-manifest.jsonld", "jld:PositiveEvaluationTest")
        if case.get("option", {}).get("specVersion") != "json-ld-1.0"
    ]
    failed = []
    for case in wanted:
        base = case.get("option", {}).get("base", ADDRESS + case["input"])
        text = (SUITE / case["input"]).read_text()
        triples, _ = read_script(text, base, Relabelled(Labels(1)), MOST_TRIPLES)
        if not is_expected(triples, case):
            failed.append(case["@id"])
    print(f"JSON-LD to RDF: {len(wanted) - len(failed)} of {len(wanted)}; not: {' '.join(failed)}")
    assert len(wanted) - len(failed) >= TO_RDF_FLOOR
