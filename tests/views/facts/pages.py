"""Pages with facts for the tests of the graph."""

from pathlib import Path

from gossamer.base.clock import SECOND, Instant
from gossamer.base.files import DiskFiles
from gossamer.base.tell import Tell, silent
from gossamer.testing import FakeClock
from gossamer.values.capture import capture_id_of
from gossamer.values.messages import PageFacts
from gossamer.values.url import Url, url_of
from gossamer.views.facts.store import Graph

START: Instant = 1_700_000_000 * SECOND


def url(text: str) -> Url:
    found = url_of(text)
    assert found is not None
    return found


def page(address: str, *lines: str, at: Instant = START) -> PageFacts:
    """Lines are given without ` .`; `_:x` becomes a label of this capture."""
    where = url(address)
    capture_id = capture_id_of(where, at)
    own = f"_:c{capture_id % (1 << 64):016x}"
    facts = "".join(f"{line.replace('_:', own)} .\n" for line in lines)
    return PageFacts(where, facts.encode(), capture_id, at)


def entity_page(number: int, facts: int = 20, at: Instant = START) -> PageFacts:
    """A typical page: one entity, its properties, and a blank node."""
    iri = f"<http://host{number % 7}.test/page/{number}#it>"
    lines = [f'{iri} <http://schema.org/p{k}> "value {k} of {number} at {at}"@en' for k in range(facts - 2)]
    lines += [f"{iri} <http://schema.org/offers> _:n0", f'_:n0 <http://schema.org/price> "{number}"']
    return page(f"http://host{number % 7}.test/page/{number}", *lines, at=at)


thing = entity_page  # the name that tests/indexer imports


def graph_in(folder: Path, tell: Tell = silent) -> Graph:
    return Graph(folder, DiskFiles(), FakeClock(), tell)
