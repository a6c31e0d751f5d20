"""The official RDFa test suite, 1.1 and 1.0, in all host languages: by ASK query, and more strictly by equal graphs.

The suite is read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped. Vocabulary expansion
uses the one vocabulary that the suite ships; nothing is fetched.
"""

from collections.abc import Iterator
from functools import cache

import pyoxigraph as ox
import pytest
from tests.conformance.rdfa_suite import COUNTS, HOME, MEDIA_TYPES, OLD_COUNTS, SUITE, SUITE_TERM, Case, cases

from gossamer.extract.page import extract
from gossamer.extract.rdfa.entailment import expanded
from gossamer.extract.rdfa.prefixes import NOT_WELL_FORMED, base_of, host_of
from gossamer.extract.source import Extraction, HostLanguage, RdfaVersion
from gossamer.extract.terms import Labels
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.xml import doctype_of, parse_xml
from gossamer.reader.extraction import notices_as_facts
from gossamer.values.page import Triple, ntriples
from gossamer.values.url import url_of

MISSES: dict[str, str] = {}
"""Cases that fail by the ASK query, and why."""
_OF_ONE = "all cases in one page: the shipped graph is one processor's, with <time> in every host and a tree of its own"
_BLANK = "the shipped graph repeats the ASK pattern, whose blank node stands for the page"
STRICT_MISSES: dict[str, str] = {
    **{f"rdfa1.1/{host}/0280": _BLANK for host in ("html5-invalid", "xhtml5-invalid")},
    **{
        f"rdfa1.1/{host}/0295": _OF_ONE for host in ("html4", "html5-invalid", "svg", "xhtml1", "xhtml5-invalid", "xml")
    },
}
"""Cases of the core suite whose graph differs from the one that the suite ships, and why."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the RDFa suite is not here; set GOSSAMER_CONFORMANCE")


def read(
    body: bytes, media_type: str, url: str, collects_notices: bool = False, version: RdfaVersion | None = None
) -> Extraction:
    """The page as the program reads it: as XML if it is labelled so and well-formed, otherwise as HTML."""
    page = url_of(url)
    assert page is not None
    survey = parse_xml(body) if media_type != "text/html" else None
    notices = (NOT_WELL_FORMED,) if survey is None and media_type != "text/html" else ()
    host = HostLanguage.HTML if survey is None else host_of(media_type, survey, doctype_of(body))
    if survey is None:
        survey = scan_html(parse_html(body).tree).survey()
    found = extract(
        survey,
        base_of(survey, host, page, version),
        1,
        body,
        page,
        host=host,
        syntaxes=("rdfa",),
        reads_roles=True,
        collects_notices=collects_notices,
        rdfa_version=version,
    )
    return found._replace(notices=(*notices, *found.notices))


@cache
def suite_vocabulary() -> dict[str, list[Triple]]:
    body = (HOME / "vocabs" / "rdfa-test.html").read_bytes()
    return {SUITE_TERM: read(body, "text/html", SUITE_TERM.rstrip("#")).triples}


def facts(case: Case) -> list[Triple]:
    wants_notices = "rdfagraph=processor" in case.asks_for
    # The suite's XHTML declares RDFa 1.0; its HTML, SVG and XML do not, so the version is given.
    version: RdfaVersion | None = "1.0" if case.version == "rdfa1.0" and case.host != "xhtml1" else None
    found = read(case.document.read_bytes(), MEDIA_TYPES[case.host], case.url, wants_notices, version)
    if wants_notices:
        return notices_as_facts(found.notices, case.url, Labels(2))
    if "vocab_expansion=true" in case.asks_for:
        return expanded(found.triples, suite_vocabulary())
    return found.triples


def passes(case: Case) -> bool:
    graph = ox.Store()
    graph.load(ntriples(facts(case)), format=ox.RdfFormat.N_TRIPLES)
    query = case.document.with_suffix(".sparql").read_text()
    return bool(graph.query(query, base_iri=case.url)) is case.expected


def canonical(triples: Iterator[ox.Quad] | list[ox.Quad]) -> set[str]:
    graph = ox.Dataset(ox.Quad(found.subject, found.predicate, found.object) for found in triples)
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in graph}


def is_equal(case: Case) -> bool:
    """REQUIRES: a positive case; the graph of a negative one may be the one that must not result."""
    wanted = case.document.with_suffix(".ttl").read_bytes()
    ours = ntriples(facts(case))
    return canonical(ox.parse(ours, format=ox.RdfFormat.N_TRIPLES)) == canonical(
        ox.parse(wanted, format=ox.RdfFormat.TURTLE, base_iri=case.url, lenient=True)
    )


@pytest.mark.parametrize("version", [*COUNTS, "rdfa1.0"])
def test_every_case_of_the_suite_passes(version: str) -> None:
    every = list(cases(version))
    failed = {case.name for case in every if not passes(case)}
    print(f"{version}: {len(every) - len(failed)} of {len(every)}")
    assert len(every) == (COUNTS | OLD_COUNTS)[version]
    assert failed == {name for name in MISSES if name.startswith(f"{version}/")}


def test_graphs_of_the_core_suite_equal_the_shipped_ones() -> None:
    every = list(cases("rdfa1.1"))
    failed = {case.name for case in every if not (is_equal(case) if case.expected else passes(case))}
    print(f"strict: {len(every) - len(failed)} of {len(every)}")
    assert failed == set(STRICT_MISSES)
