"""The vocabularies in use, and the terms of each."""

import asyncio
import csv
import io
from collections.abc import Callable

from tests.web.site import Site

from gossamer.base.clock import SECOND
from gossamer.base.errors import QueryTooLong
from gossamer.collection.vocabulary import COUNT_FRESH_S, OLD_S, FactCounter, FactsInUse, TermsInUse
from gossamer.testing import FakeClock
from gossamer.views.facts.query_job import SparqlResult
from gossamer.web.entities.vocabularies import all_of, one_of

SCHEMA = "http://schema.org/"
FOAF = "http://xmlns.com/foaf/0.1/"


def test_M_A9_each_vocabulary_has_its_counts_and_links_to_searches_with_and_without_it(site: Site) -> None:
    page = site.ask("/vocabularies").page
    first = page.css("table tbody tr")[0]
    assert first.css_first("th a").text() == "schema" and first.css_first("th a").attributes["href"].startswith(
        "/vocabularies?in="
    )
    links = [link.attributes["href"] for link in first.css("td.word a")]
    assert links == ["/?ontology=http%3A%2F%2Fschema.org%2F", "/?not_ontology=http%3A%2F%2Fschema.org%2F"]
    answer = site.ask("/vocabularies.json").json
    schema = next(one for one in answer["vocabularies"] if one["namespace"] == SCHEMA)
    assert schema["pages"] > 20 and schema["classes"] > 10 and schema["properties"] > 20 and schema["known_terms"] > 500
    assert answer["as_of"].endswith("Z") and answer["facts_as_of"].endswith("Z")
    count = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o FILTER STRSTARTS(STR(?p), 'http://schema.org/') }"
    assert schema["facts"] == int(site.sparql(count).json["results"]["bindings"][0]["n"]["value"])


def test_the_terms_of_a_vocabulary_link_to_their_pages(site: Site) -> None:
    terms = site.ask("/vocabularies.json?in=schema").json
    assert terms["vocabulary"]["namespace"] == SCHEMA
    classes = {one["iri"]: one for one in terms["classes"]}
    person = classes[SCHEMA + "Person"]
    assert person["label"] == "person" and person["facts"] >= person["pages"] > 5
    assert (
        len(classes) == terms["vocabulary"]["classes"] and len(terms["properties"]) == terms["vocabulary"]["properties"]
    )
    page = site.ask("/vocabularies?in=http%3A%2F%2Fschema.org%2F").page
    links = [link.attributes["href"] for link in page.css("table th a")]
    assert len(links) == len(terms["classes"]) + len(terms["properties"])
    assert site.ask(links[0]).status == 200


def test_vocabularies_as_csv(site: Site) -> None:
    rows = list(csv.reader(io.StringIO(site.ask("/vocabularies.csv").text)))
    assert rows[0][:3] == ["namespace", "prefix", "pages"] and rows[1][1] == "schema"
    terms = list(csv.reader(io.StringIO(site.ask("/vocabularies.csv?in=schema").text)))
    assert sorted({row[1] for row in terms[1:]}) == ["class", "property"]


def test_an_unused_vocabulary_is_not_found(site: Site) -> None:
    assert site.ask("/vocabularies?in=http://none.test/").status == 404
    assert "namespace usually ends in" in site.ask("/vocabularies.json?in=x").json["error"]
    assert site.ask("/vocabularies?in=" + "x" * 3000).status == 400


def test_the_number_of_facts_is_empty_until_they_are_counted() -> None:
    terms = TermsInUse({SCHEMA + "Person": 3}, {FOAF + "name": 2, SCHEMA + "name": 3}, {SCHEMA: 4, FOAF: 2}, 9, 1)
    early = all_of(terms, None)
    assert [(one.prefix, one.pages, one.facts) for one in early.vocabularies] == [
        ("schema", 4, None),
        ("foaf", 2, None),
    ]
    counted = FactsInUse({SCHEMA + "name": 30, FOAF + "name": 20, "urn:gossamer:capture": 9}, {SCHEMA + "Person": 5}, 7)
    assert [one.facts for one in all_of(terms, counted).vocabularies] == [30, 20]
    one = one_of(terms, counted, SCHEMA)
    assert one is not None and one.classes[0].facts == 5 and one.facts_as_of == "1970-01-01T00:00:00.000007Z"
    assert one_of(terms, counted, "http://none.test/") is None


class Counting:
    """A fake of the query workers: every count is the number of queries so far."""

    def __init__(self, is_too_much: bool = False) -> None:
        self.queries = 0
        self.takes: Callable[[], None] = lambda: None
        self._is_too_much = is_too_much

    async def __call__(
        self,
        query: str,
        accept: str,
        default_graphs: tuple[str, ...] = (),
        named_graphs: tuple[str, ...] = (),
        most_rows: int = 1,
    ) -> SparqlResult:
        self.queries += 1
        self.takes()
        if self._is_too_much:
            raise QueryTooLong("stopped")
        row = b'{"term":{"type":"uri","value":"a:b"},"facts":{"type":"literal","value":"%d"}}' % self.queries
        return SparqlResult("json", b'{"head":{"vars":[]},"results":{"bindings":[' + row + b"]}}", False, 5)


def test_facts_are_counted_once_for_many_requests_and_again_when_the_count_is_old() -> None:
    async def main() -> None:
        clock, ask = FakeClock(1_000 * SECOND), Counting()
        async with FactCounter(ask, clock) as counter:
            first, second = await asyncio.gather(counter.latest(), counter.latest())
            assert first is second is not None and ask.queries == 2
            clock.advance(COUNT_FRESH_S + 1)
            second = await counter.latest()
            assert ask.queries == 4 and second is not first and await counter.latest() is second

    asyncio.run(main())


def test_a_count_made_before_the_facts_were_in_the_graph_is_not_shown_as_zero() -> None:
    """A page opened before the first checkpoint once showed zeros until the count was old, and once after that."""
    terms = TermsInUse({SCHEMA + "Person": 3}, {SCHEMA + "name": 3}, {SCHEMA: 3}, 3, 1)
    one = one_of(terms, FactsInUse({}, {}, 7), SCHEMA)
    assert one is not None and one.vocabulary.facts is None
    assert [term.facts for term in (*one.classes, *one.properties)] == [None, None]


def test_a_slow_count_is_not_waited_for_and_made_less_often() -> None:
    async def main() -> None:
        clock, ask = FakeClock(1_000 * SECOND), Counting()
        ask.takes = lambda: clock.advance(10)
        async with FactCounter(ask, clock) as counter:
            first = await counter.latest()
            clock.advance(COUNT_FRESH_S + 1)
            assert await counter.latest() is first
            clock.advance(OLD_S)
            assert await counter.latest() is not first

    asyncio.run(main())


def test_a_count_that_takes_too_long_is_left_out() -> None:
    async def main() -> None:
        ask = Counting(is_too_much=True)
        async with FactCounter(ask, FakeClock(0)) as counter:
            assert await counter.latest() is None and await counter.latest() is None
            assert ask.queries == 1

    asyncio.run(main())
