"""The official RDFa test suite: the cases that ask for vocabulary expansion, in every host language.

The vocabulary's document is read from disk, not fetched. The suite is read in place, or under
$GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest
from tests.conformance.suites import HOME

from gossamer.extract.page import extract
from gossamer.extract.rdfa.entailment import expanded
from gossamer.extract.source import HostLanguage
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.xml import parse_xml
from gossamer.values.page import Triple, ntriples
from gossamer.values.tree import Survey
from gossamer.values.url import url_of

SUITE = HOME / "rdfa"
ACTION = ox.NamedNode("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#action")
ASKS_FOR = ox.NamedNode("http://rdfa.info/vocabs/rdfa-test#queryParam")
VOCABULARY = "http://rdfa.info/vocabs/rdfa-test#"
HOSTS = {
    "html4": HostLanguage.HTML,
    "html5": HostLanguage.HTML,
    "xhtml1": HostLanguage.XHTML1,
    "xhtml5": HostLanguage.XHTML5,
    "svg": HostLanguage.SVG,
    "xml": HostLanguage.XML,
}
PASSING = {"rdfa1.1-vocab": 36, "rdfa1.1-lite": 18}
"""The number of all cases that ask for expansion, by folder."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the RDFa suite is not here; set GOSSAMER_CONFORMANCE")


def facts_of(body: bytes, url: str, host: HostLanguage) -> list[Triple]:
    survey: Survey | None = scan_html(parse_html(body).tree).survey() if host is HostLanguage.HTML else parse_xml(body)
    base = url_of(url)
    assert survey is not None and base is not None
    return extract(survey, base, 1, body, host=host, syntaxes=("rdfa",)).triples


@cache
def vocabulary() -> list[Triple]:
    return facts_of((SUITE / "vocabs" / "rdfa-test.html").read_bytes(), VOCABULARY, HostLanguage.HTML)


def cases(folder: Path) -> Iterator[tuple[Path, str]]:
    manifest = ox.Store()
    manifest.load((folder / "manifest.ttl").read_bytes(), format=ox.RdfFormat.TURTLE)
    for quad in manifest.quads_for_pattern(None, ASKS_FOR, ox.Literal("vocab_expansion=true")):
        (action,) = manifest.quads_for_pattern(quad.subject, ACTION, None)
        yield folder / action.object.value.rpartition("/")[2], action.object.value


def passes(page: Path, url: str, host: HostLanguage) -> bool:
    facts = expanded(facts_of(page.read_bytes(), url, host), {VOCABULARY: vocabulary()})
    graph = ox.Store()
    graph.load(ntriples(facts), format=ox.RdfFormat.N_TRIPLES)
    return bool(graph.query(page.with_suffix(".sparql").read_text(), base_iri=url))


@pytest.mark.parametrize("version", PASSING)
def test_every_case_passes(version: str) -> None:
    every = [
        (page, url, host)
        for name, host in HOSTS.items()
        if (SUITE / "test-cases" / version / name).is_dir()
        for page, url in cases(SUITE / "test-cases" / version / name)
    ]
    failed = [f"{page.parent.name}/{page.stem}" for page, url, host in every if not passes(page, url, host)]
    print(f"vocabulary expansion, {version}: {len(every) - len(failed)} of {len(every)}")
    assert failed == []
    assert len(every) == PASSING[version]
