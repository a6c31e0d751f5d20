"""The whole RDFa 1.1 suite through the public face, `gossamer.extract`: every host language by its media type alone.

The suite is read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import pytest

import gossamer

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance")) / "rdfa"
MEDIA_TYPES = {
    **dict.fromkeys(("html4", "html5", "html5-invalid"), "text/html"),
    **dict.fromkeys(("xhtml1", "xhtml5", "xhtml5-invalid"), "application/xhtml+xml"),
    "xml": "application/xml",
    "svg": "image/svg+xml",
}
REACHED = {"rdfa1.1": 905, "rdfa1.1-lite": 225, "rdfa1.1-proc": 29, "rdfa1.1-role": 27, "rdfa1.1-vocab": 36}
"""All of them: 1,222."""
ACTION = ox.NamedNode("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#action")
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
TERM = "http://rdfa.info/vocabs/rdfa-test#"
VOCABULARY = HOME / "vocabs" / "rdfa-test.html"

pytestmark = pytest.mark.skipif(not HOME.is_dir(), reason="the RDFa suite is not here; set GOSSAMER_CONFORMANCE")


@dataclass(frozen=True)
class Case:
    page: Path
    query: Path
    address: str
    media_type: str
    is_positive: bool
    asks_for: str


def cases(version: str) -> Iterator[Case]:
    for host, media_type in MEDIA_TYPES.items():
        folder = HOME / "test-cases" / version / host
        if not folder.is_dir():
            continue
        manifest = ox.Store()
        manifest.load((folder / "manifest.ttl").read_bytes(), format=ox.RdfFormat.TURTLE)
        for quad in manifest.quads_for_pattern(None, ACTION, None):
            case, address = quad.subject, quad.object.value
            kinds = {found.object.value for found in manifest.quads_for_pattern(case, TYPE, None)}
            wanted = manifest.quads_for_pattern(case, ox.NamedNode(f"{TERM}queryParam"), None)
            yield Case(
                folder / address.rpartition("/")[2],
                folder / f"{case.value.rpartition('#')[2]}.sparql",
                address,
                media_type,
                f"{TERM}PositiveEvaluationTest" in kinds,
                "".join(found.object.value for found in wanted),
            )


def passes(case: Case) -> bool:
    found = gossamer.extract(
        case.page.read_bytes(),
        case.address,
        case.media_type,
        syntaxes=["rdfa"],
        vocabularies={TERM: VOCABULARY.read_bytes()},
        expand_vocabularies="vocab_expansion=true" in case.asks_for,
        processor_graph="processor" in case.asks_for,
    )
    graph = ox.Store()
    graph.load(found.ntriples().encode(), format=ox.RdfFormat.N_TRIPLES)
    return bool(graph.query(case.query.read_text(), base_iri=case.address)) is case.is_positive


@pytest.mark.parametrize("version", REACHED)
def test_every_case_passes_through_the_public_face(version: str) -> None:
    every = list(cases(version))
    missed = [f"{case.page.parent.name}/{case.page.stem}" for case in every if not passes(case)]
    print(f"{version}: {len(every) - len(missed)} of {len(every)}")
    assert missed == [] and len(every) == REACHED[version]
