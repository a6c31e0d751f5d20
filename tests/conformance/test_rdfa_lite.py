"""The official RDFa test suite over the HTML hosts: RDFa Lite is a gate, the core suite has a floor.

The suite is read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.extract.page import extract
from gossamer.parse.html import seen_in
from gossamer.values.page import ntriples
from gossamer.values.url import Url, url_of

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
SUITE = HOME / "rdfa" / "test-cases"
ACTION = ox.NamedNode("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#action")
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
SUITE_TERM = "http://rdfa.info/vocabs/rdfa-test#"

CORE_HTML5_FLOOR = 170
CORE_HTML_FLOOR = 367

ROLE = {"0305", "0306", "0307"}
"""@role is a specification of its own (Role Attribute 1.0). ARIA puts it on every other element of the web, and what
it states is about the page's furniture, so it is not read."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the RDFa suite is not here; set GOSSAMER_CONFORMANCE")


@dataclass(frozen=True)
class Case:
    number: str
    document: Path
    query: Path
    address: str
    expected: bool
    asks_for: str
    """What the case wants beside the page's own facts: vocabulary expansion, or the processor graph."""


def cases(version: str, host: str) -> Iterator[Case]:
    folder = SUITE / version / host
    manifest = ox.Store()
    manifest.load((folder / "manifest.ttl").read_bytes(), format=ox.RdfFormat.TURTLE)
    for quad in manifest.quads_for_pattern(None, ACTION, None):
        case, address = quad.subject, quad.object.value
        number = case.value.rpartition("#")[2]
        kinds = {found.object.value for found in manifest.quads_for_pattern(case, TYPE, None)}
        wanted = manifest.quads_for_pattern(case, ox.NamedNode(SUITE_TERM + "queryParam"), None)
        yield Case(
            number,
            folder / address.rpartition("/")[2],
            folder / f"{number}.sparql",
            address,
            SUITE_TERM + "PositiveEvaluationTest" in kinds,
            "".join(found.object.value for found in wanted),
        )


def base_of(tree: LexborHTMLParser, address: str) -> Url:
    page = url_of(address)
    assert page is not None
    first = next((element.attributes["href"] for element in tree.css("base[href]")), None)
    return url_of(first or "", page) or page


def passes(case: Case) -> bool:
    body = case.document.read_bytes()
    tree = LexborHTMLParser(body)
    facts = ntriples(
        extract(seen_in(tree).survey(), base_of(tree, case.address), 1, body, url_of(case.address)).triples
    )
    graph = ox.Store()
    graph.load(facts, format=ox.RdfFormat.N_TRIPLES)
    return bool(graph.query(case.query.read_text(), base_iri=case.address)) is case.expected


def failing(version: str, *hosts: str) -> tuple[int, list[str]]:
    every = [
        (host, case) for host in hosts for case in cases(version, host) if not case.asks_for and case.number not in ROLE
    ]
    return len(every), sorted(f"{host}/{case.number}" for host, case in every if not passes(case))


@pytest.mark.parametrize("host", ["html5", "html4", "html5-invalid"])
def test_every_rdfa_lite_case_passes(host: str) -> None:
    total, failed = failing("rdfa1.1-lite", host)
    print(f"RDFa Lite, {host}: {total - len(failed)} of {total}")
    assert not failed


@pytest.mark.parametrize(
    ("hosts", "floor"),
    [(("html5",), CORE_HTML5_FLOOR), (("html5", "html4", "html5-invalid"), CORE_HTML_FLOOR)],
)
def test_the_core_score_does_not_fall(hosts: tuple[str, ...], floor: int) -> None:
    total, failed = failing("rdfa1.1", *hosts)
    print(f"RDFa core, {', '.join(hosts)}: {total - len(failed)} of {total}; not yet: {' '.join(failed)}")
    assert total - len(failed) >= floor
