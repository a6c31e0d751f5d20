"""The whole RDFa 1.1 suite with the public function, `gossamer.extract`: host languages by media type alone.

The suite is read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import pyoxigraph as ox
import pytest
from tests.conformance.rdfa_suite import COUNTS, HOME, MEDIA_TYPES, SUITE_TERM, Case, cases

import gossamer

VOCABULARY = HOME / "vocabs" / "rdfa-test.html"

pytestmark = pytest.mark.skipif(not HOME.is_dir(), reason="the RDFa suite is not here; set GOSSAMER_CONFORMANCE")


def passes(case: Case) -> bool:
    found = gossamer.extract(
        case.document.read_bytes(),
        case.url,
        MEDIA_TYPES[case.host],
        syntaxes=["rdfa"],
        vocabularies={SUITE_TERM: VOCABULARY.read_bytes()},
        expand_vocabularies="vocab_expansion=true" in case.asks_for,
        processor_graph="processor" in case.asks_for,
    )
    graph = ox.Store()
    graph.load(found.ntriples().encode(), format=ox.RdfFormat.N_TRIPLES)
    return bool(graph.query(case.document.with_suffix(".sparql").read_text(), base_iri=case.url)) is case.expected


@pytest.mark.parametrize("version", COUNTS)
def test_every_case_passes_with_the_public_function(version: str) -> None:
    every = list(cases(version))
    missed = [case.name for case in every if not passes(case)]
    print(f"{version}: {len(every) - len(missed)} of {len(every)}")
    assert missed == [] and len(every) == COUNTS[version]
