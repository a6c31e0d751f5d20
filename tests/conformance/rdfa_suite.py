"""The cases of the official RDFa test suite, read in place or under $GOSSAMER_CONFORMANCE."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
from tests.conformance import suites

HOME = suites.HOME / "rdfa"
SUITE = HOME / "test-cases"
ACTION = ox.NamedNode("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#action")
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
SUITE_TERM = "http://rdfa.info/vocabs/rdfa-test#"

MEDIA_TYPES = {
    "html5": "text/html",
    "html4": "text/html",
    "html5-invalid": "text/html",
    "xhtml5": "application/xhtml+xml",
    "xhtml1": "application/xhtml+xml",
    "xhtml5-invalid": "application/xhtml+xml",
    "xml": "application/xml",
    "svg": "image/svg+xml",
}
COUNTS = {"rdfa1.1": 905, "rdfa1.1-lite": 225, "rdfa1.1-role": 27, "rdfa1.1-vocab": 36, "rdfa1.1-proc": 29}
"""All of RDFa 1.1: 1,222 cases."""
OLD_COUNTS = {"rdfa1.0": 323}


@dataclass(frozen=True)
class Case:
    version: str
    host: str
    number: str
    document: Path
    url: str
    expected: bool
    asks_for: str
    """What the case needs besides the page's own facts: vocabulary expansion, or the processor graph."""

    @property
    def name(self) -> str:
        return f"{self.version}/{self.host}/{self.number}"


def cases(version: str) -> Iterator[Case]:
    for host in MEDIA_TYPES:
        folder = SUITE / version / host
        if not folder.is_dir():
            continue
        manifest = ox.Store()
        manifest.load((folder / "manifest.ttl").read_bytes(), format=ox.RdfFormat.TURTLE)
        for quad in manifest.quads_for_pattern(None, ACTION, None):
            case, url = quad.subject, quad.object.value
            kinds = {found.object.value for found in manifest.quads_for_pattern(case, TYPE, None)}
            wanted = manifest.quads_for_pattern(case, ox.NamedNode(SUITE_TERM + "queryParam"), None)
            yield Case(
                version,
                host,
                case.value.rpartition("#")[2],
                folder / url.rpartition("/")[2],
                url,
                SUITE_TERM + "PositiveEvaluationTest" in kinds,
                "".join(found.object.value for found in wanted),
            )
