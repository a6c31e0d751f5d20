"""The page of an IRI: facts about it with their sources, and facts that refer to it; also as files."""

import csv
import io
import re
from collections.abc import Iterator
from urllib.parse import quote, unquote, urlencode

import pytest
from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse
from tests.web.hostile_pages import ORIGIN, PAYLOADS, RUN
from tests.web.site import Site, serving

from gossamer.store.directory import Directory
from gossamer.web.entities.facts import facts_in
from gossamer.web.entities.queries import (
    LONGEST_IRI,
    Iri,
    description_of,
    facts_of,
    instances_of,
    iri_of,
    pointing_to,
    uses_of,
)

SCHEMA = "http://schema.org/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
MOST_DESCRIBED = """SELECT ?entity (COUNT(DISTINCT ?page) AS ?pages)
WHERE { GRAPH ?page { ?entity a <http://schema.org/Person> }
FILTER STRSTARTS(STR(?entity), "http://people.demo.test/") } GROUP BY ?entity ORDER BY DESC(?pages) ?entity LIMIT 1"""
HOSTILE_IRIS = [
    f"javascript:{RUN}",
    f"javascript:{RUN}//0",
    f"http://types.test/0'onclick='{RUN}",
    "http://other.test/x#it",
]
INVALID_IRIS = ["", "  ", "x", "a b", "//evil.test", "<>", "http://a.test/> ?p ?o } } #", 'http://a.test/"', "http://a.test/\nx",
           "http://a.test/\\u003E", "a:" + "b" * LONGEST_IRI, "http://[", "http://a.test/%zz|", "http://a.test/{x}",
           "\ufffe", ":x", "http://a.test/`"]  # fmt: skip

PLACES = ["/entity?iri={}", "/entity?iri=schema:Person&via={}", "/vocabularies?in={}", "/entity.{}?iri=a:b",
          "/entity?iri=urn:x:{}"]  # fmt: skip


def target_of(iri: str, ending: str = "", **more: str) -> str:
    return f"/entity{ending}?" + urlencode({"iri": iri, **more})


@pytest.fixture(scope="module")
def person(site: Site) -> str:
    """The person that most pages describe."""
    return str(site.sparql(MOST_DESCRIBED).json["results"]["bindings"][0]["entity"]["value"])


@pytest.fixture
def slow_site(collection: Directory) -> Iterator[Site]:
    """Its queries are stopped at once; rarely one ends before that, when the site itself was delayed."""
    with serving(collection, sparql_s=1e-6) as served:
        yield served


def stated(site: Site, iri: str) -> set[tuple[str, str, str]]:
    """Page, property and value from the SPARQL endpoint, without blank nodes."""
    query = f"SELECT ?g ?p ?o WHERE {{ GRAPH ?g {{ <{iri}> ?p ?o }} FILTER(!isBlank(?o)) }}"
    rows = site.sparql(query).json["results"]["bindings"]
    return {(row["g"]["value"], row["p"]["value"], row["o"]["value"]) for row in rows}


def test_M_A7_facts_are_listed_by_property_with_the_pages_that_state_them(site: Site, person: str) -> None:
    entity = site.ask(target_of(person, ".json")).json
    facts = {
        (one["page"], property["property"], value["text"])
        for property in entity["says"]
        for value in property["values"]
        if value["kind"] != "blank"
        for one in value["stated_by"]
    }
    assert facts == stated(site, person) and len({page for page, _, _ in facts}) > 3
    assert entity["name"] and entity["missing"] == [] and not entity["is_cut"]


def test_M_Z1_each_fact_links_to_its_page_time_syntax_and_element(site: Site, person: str) -> None:
    entity = site.ask(target_of(person, ".json")).json
    sources = [one for property in entity["says"] for value in property["values"] for one in value["stated_by"]]
    assert all(
        one["path"].startswith("/html/") and one["syntaxes"] and one["fetched_at"][:2] == "20" for one in sources
    )
    page = site.ask(target_of(person)).page
    shown = page.css("table.said ul.sources li")
    assert len(shown) == len(sources)
    link = shown[0].css_first("a").attributes["href"]
    target, _, anchor = link.partition("#")
    assert site.ask(target).page.css_first(f"tbody[id='{anchor}']") is not None, "it leads to the entity on that page"


def test_M_A7_inferred_types_are_listed_and_marked_as_inferred(site: Site, person: str) -> None:
    types = site.ask(target_of(person, ".json")).json["types"]
    assert types[0] == {"iri": SCHEMA + "Person", "pages": types[0]["pages"], "because": ""}
    assert {"iri": SCHEMA + "Thing", "pages": 0, "because": SCHEMA + "Person"} in types
    tags = site.ask(target_of(person)).page.css("ul.tags li.inferred")
    assert any("schema:Thing" in tag.text() and "inferred" in tag.text() for tag in tags)


def test_references_to_an_entity_are_counted_by_property_and_paged(site: Site, person: str) -> None:
    entity = site.ask(target_of(person, ".json")).json
    counts = {one["term"]["text"]: one["things"] for one in entity["pointing"]}
    assert counts and TYPE not in counts
    via = max(counts, key=lambda name: counts[name])
    narrowed = site.ask(target_of(person, ".json", via=via)).json
    assert len(narrowed["points_here"]) == counts[via] and {one["property"] for one in narrowed["points_here"]} == {via}
    later = site.ask(target_of(person, ".json", via=via, **{"from": "1"})).json
    assert texts(later["points_here"]) < texts(narrowed["points_here"]) and len(later["points_here"]) == counts[via] - 1
    page = site.ask(target_of(person, via=via)).page
    assert page.css_first("nav li.chosen a").attributes["aria-current"] == "true"


def texts(listed: list[dict[str, dict[str, str]]]) -> set[str]:
    return {one["thing"]["text"] for one in listed}


def test_the_table_of_neighbours_has_the_data_of_the_drawing(site: Site, person: str) -> None:
    entity = site.ask(target_of(person, ".json")).json
    rows = site.ask(target_of(person)).page.css("#neighbours tbody tr")
    assert len(rows) == len(entity["neighbours"]) > 3
    neighbours = [(one["direction"], f"{one['thing']['kind']} {one['thing']['text']}") for one in entity["neighbours"]]
    assert [(row.attributes["data-direction"], row.attributes["data-id"]) for row in rows] == neighbours


def test_blank_nodes_are_shown_below_the_property_that_has_them(site: Site, person: str) -> None:
    by_property = {one["property"]: one for one in site.ask(target_of(person, ".json")).json["says"]}
    place = by_property[SCHEMA + "birthPlace"]["values"][0]
    assert place["kind"] == "blank"
    assert {SCHEMA + "name", TYPE} <= {inner["property"] for inner in place["says"]}
    assert site.ask(target_of(person)).page.css("td dl.inner dt")


def test_a_class_has_its_instances_properties_and_relatives(site: Site) -> None:
    entity = site.ask(target_of(SCHEMA + "Person", ".json")).json
    use = entity["as_class"]
    assert use["pages"] > 5 and SCHEMA + "Thing" in use["superclasses"] and use["instances"]
    assert SCHEMA + "name" in {one["term"]["text"] for one in use["properties"]}
    page = site.ask(target_of("schema:Person")).page
    assert page.css_first("h1").text() == "Person" and page.css("a[href^='/?type=http']")
    article = site.ask(target_of(SCHEMA + "Article", ".json")).json["as_class"]
    assert SCHEMA + "NewsArticle" in article["subclasses"][:3] and article["instances"] == []
    assert (
        article["in_use"][SCHEMA + "NewsArticle"] > 0 and article["pages"] >= article["in_use"][SCHEMA + "NewsArticle"]
    )


def test_the_instances_of_a_class_are_paged(site: Site) -> None:
    every = site.ask(target_of(SCHEMA + "WebPage", ".json")).json["as_class"]["instances"]
    rest = site.ask(target_of(SCHEMA + "WebPage", ".json", instances_from="2")).json["as_class"]["instances"]
    assert len(rest) == len(every) - 2 > 5 and texts(rest) < texts(every)
    beyond = site.ask(target_of(SCHEMA + "WebPage", instances_from="9999"))
    assert beyond.status == 200 and "No more results." in beyond.text


def test_a_property_has_its_values_and_the_classes_it_is_used_on(site: Site) -> None:
    use = site.ask(target_of(SCHEMA + "name", ".json")).json["as_property"]
    assert use["facts"] >= use["things"] > 10 and not use["is_at_least"]
    assert SCHEMA + "Person" in {one["term"]["text"] for one in use["on"]} and len(use["values"]) == 25
    assert "http://www.w3.org/2000/01/rdf-schema#label" in use["superproperties"]
    unused = site.ask(target_of("http://xmlns.com/foaf/0.1/skypeID"))
    assert unused.status == 200 and "no page uses it" in unused.text


@pytest.mark.parametrize("way", ["ending", "accept"])
def test_an_entity_as_rdf_has_the_facts_that_pages_state(site: Site, person: str, way: str) -> None:
    def downloaded(ending: str, media_type: str) -> bytes:
        if way == "ending":
            answer = site.ask(target_of(person, ending), accept="*/*")
        else:
            answer = site.ask(target_of(person), accept=f"{media_type}, text/html;q=0.5")
            assert answer.headers["vary"] == "Accept"
        assert answer.headers["content-type"].startswith(media_type) and answer.headers["x-gossamer-as-of"]
        return answer.body

    me = NamedNode(person)
    facts = stated(site, person)
    triples = list(parse(downloaded(".ttl", "text/turtle"), RdfFormat.TURTLE))
    own = {
        (t.predicate.value, t.object.value) for t in triples if t.subject == me and not isinstance(t.object, BlankNode)
    }
    assert own == {(property, value) for _, property, value in facts}
    quads = list(parse(downloaded(".nq", "application/n-quads"), RdfFormat.N_QUADS))
    assert quads_of(quads, me) == facts
    linked = list(parse(downloaded(".jsonld", "application/ld+json"), RdfFormat.JSON_LD))
    assert quads_of(linked, me) == facts
    assert {t.subject for t in triples if isinstance(t.subject, BlankNode)}, "facts about blank nodes are included"
    assert len({Quad(q.subject, q.predicate, q.object) for q in quads}) == len(triples)


def quads_of(quads: list[Quad], me: NamedNode) -> set[tuple[str, str, str]]:
    return {
        (q.graph_name.value, q.predicate.value, q.object.value)
        for q in quads
        if q.subject == me and not isinstance(q.object, BlankNode)
    }


def test_an_entity_as_csv(site: Site, person: str) -> None:
    rows = list(csv.reader(io.StringIO(site.ask(target_of(person, ".csv")).text)))
    assert rows[0] == ["thing", "property", "value", "language", "datatype", "page"]
    assert {(row[5], row[1], row[2]) for row in rows[1:] if row[0] == person and row[2][:2] != "_:"} == stated(
        site, person
    )


def test_browsers_get_html_and_clients_that_accept_json_get_json(site: Site, person: str) -> None:
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    assert site.ask(target_of(person), accept=browser).headers["content-type"].startswith("text/html")
    assert site.ask(target_of(person), accept="application/json").json["iri"] == person
    assert site.ask(target_of(person, ".exe")).status == 404


@pytest.mark.parametrize("iri", INVALID_IRIS)
def test_a_text_that_is_not_an_iri_is_refused_with_a_message(site: Site, iri: str) -> None:
    for ending in ("", ".json", ".ttl"):
        answer = site.ask(target_of(iri, ending))
        assert answer.status == 400, iri[:80]
    assert "IRI" in site.ask(target_of(iri, ".json")).json["error"]
    assert site.ask(target_of("schema:Person", via=iri.strip() or "x")).status == 400


@pytest.mark.parametrize(
    "iri",
    ["http://nowhere.test/", "javascript:nothing", "urn:x:" + "y" * 8000, "http://ünï.test/日本", "a:", "data:,x"],
)
def test_an_entity_without_facts_is_not_found(site: Site, iri: str) -> None:
    assert site.ask(target_of(iri)).status == 404
    assert "no page states a fact" in site.ask(target_of(iri, ".json")).json["error"]
    assert site.ask(target_of(iri, ".ttl"), accept="*/*").status == 404


@pytest.mark.parametrize("parameter", ["from=-1", "from=x", "instances_from=999999999", "from=1e9"])
def test_an_invalid_offset_is_refused(site: Site, parameter: str) -> None:
    assert site.ask(f"/entity?iri=schema:Person&{parameter}").status == 400


@pytest.mark.parametrize("text", INVALID_IRIS)
def test_only_a_valid_iri_is_put_into_a_query(text: str) -> None:
    with pytest.raises(ValueError, match="IRI"):
        iri_of(text)


def test_a_query_contains_the_iri_only_between_angle_brackets() -> None:
    iri = Iri("http://a.test/'--;)(*&?x=1#$@é")
    for query in (facts_of(iri), description_of(iri), pointing_to(iri, iri, 7), instances_of(iri, 0), uses_of(iri)):
        assert f"<{iri.text}>" in query and query.replace(f"<{iri.text}>", "").count(iri.text) == 0
        assert len(re.findall(r"LIMIT \d+", query)) >= 1


@pytest.mark.parametrize("iri", HOSTILE_IRIS)
def test_F_W1_hostile_entities_are_shown_as_text_only(site: Site, iri: str) -> None:
    answer = site.ask(target_of(iri))
    assert answer.status == 200 and wrong_in(answer.page) == []
    for ending in (".json", ".csv"):
        assert site.ask(target_of(iri, ending)).status in (200, 404)


def test_F_W1_payloads_in_facts_are_shown_as_text(site: Site) -> None:
    page = site.ask(target_of(f"javascript:{RUN}//0")).page
    assert PAYLOADS[0] in page.css_first("table.said").text() and PAYLOADS[0] in page.css_first("h1").text()
    for target in (
        "/entity?iri=schema:name",
        "/entity?iri=schema:Person",
        "/vocabularies?in=http%3A%2F%2Ftypes.test%2F",
    ):
        assert wrong_in(site.ask(target).page) == []


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("place", PLACES)
def test_F_W2_parameters_of_a_request_are_shown_as_text_only(site: Site, place: str, payload: str) -> None:
    answer = site.ask(place.format(quote(payload, safe="")))
    assert answer.status in (400, 404) and wrong_in(answer.page) == []


def wrong_in(page: object) -> list[str]:
    """Harmful elements, attributes and links that are not part of our own pages."""
    wrong = []
    for node in page.css("*"):  # type: ignore[attr-defined]
        attrs = node.attributes
        wrong += [f"{node.tag} has {name}" for name in attrs if name.startswith("on") or name in ("style", "srcdoc")]
        if node.tag in ("iframe", "object", "embed", "base", "svg", "math", "template", "style", "frame"):
            wrong.append(f"there is a {node.tag}")
        if node.tag == "script" and (not (attrs.get("src") or "").startswith("/static/") or node.text().strip()):
            wrong.append(f"a script: {node.html}")
        for name in ("href", "src", "action", "formaction"):
            value = attrs.get(name) or "/"
            if not value.startswith(("/", "#", "http://", "https://")) or value.startswith(("//", "/\\")):
                wrong.append(f"{node.tag} leads to {value[:80]}")
            if value.startswith("http") and attrs.get("rel") != "noopener noreferrer nofollow external":
                wrong.append(f"{value[:80]} is open")
    return wrong


def test_an_entity_that_is_a_crawled_page_links_to_its_page_view(site: Site) -> None:
    entity = site.ask(target_of("http://museum.demo.test/", ".json")).json
    assert entity["is_page"]
    links = [link.attributes["href"] for link in site.ask(target_of("http://museum.demo.test/")).page.css("main a")]
    assert "/page?url=http%3A%2F%2Fmuseum.demo.test%2F" in links


def test_every_link_on_an_entity_page_works(site: Site, person: str) -> None:
    page = site.ask(target_of(person)).page
    inner = {link.attributes["href"].partition("#")[0] for link in page.css("main a")}
    ours = sorted(one for one in inner if one.startswith(("/entity", "/page")))
    assert len(ours) > 10
    for target in ours:
        if "images" not in unquote(target):
            assert site.ask(target).status == 200, target


def test_the_picture_of_an_entity_is_named_and_never_loaded(site: Site, person: str) -> None:
    page = site.ask(target_of(person)).page
    assert site.ask(target_of(person, ".json")).json["picture"].startswith("http://people.demo.test/images/")
    assert {image.attributes["src"] for image in page.css("img")} == {"/static/gossamer.svg"}


def test_F_W11_a_page_whose_queries_take_too_long_shows_the_rest(slow_site: Site) -> None:
    answers = [slow_site.ask(target_of(SCHEMA + "Person")) for _ in range(5)]
    assert {answer.status for answer in answers} == {200}
    assert any("took too long to load" in answer.text for answer in answers)
    assert all("Wider classes" in answer.text for answer in answers), "parts that need no query are there"
    assert 503 in [slow_site.ask(target_of(SCHEMA + "Person", ".ttl"), accept="*/*").status for _ in range(5)]


def test_an_empty_collection_has_pages_for_vocabulary_terms_only(empty_site: Site) -> None:
    assert empty_site.ask(target_of("http://a.test/x")).status == 404
    assert empty_site.ask(target_of(SCHEMA + "Person")).status == 200
    assert "No page states a fact yet" in empty_site.ask("/vocabularies").text


def test_different_values_from_different_pages_are_marked() -> None:
    def row(page: str, value: str, language: str = "") -> dict[str, dict[str, str]]:
        cell = {"type": "literal", "value": value} | ({"xml:lang": language} if language else {})
        return {"page": {"type": "uri", "value": page}, "thing": {"type": "uri", "value": "a:b"},
                "property": {"type": "uri", "value": SCHEMA + "birthDate"}, "value": cell}  # fmt: skip

    differing, _ = facts_in([row("p:1", "1969"), row("p:2", "1970"), row("p:3", "1969")], "a:b")
    assert differing[0].differ and [(one.text, one.pages) for one in differing[0].values] == [("1969", 2), ("1970", 1)]
    listed, _ = facts_in([row("p:1", "1969"), row("p:1", "1970"), row("p:2", "1969")], "a:b")
    translated, _ = facts_in([row("p:1", "Rom", "de"), row("p:2", "Rome", "en")], "a:b")
    assert not listed[0].differ and not translated[0].differ


def test_a_hostile_page_is_listed_as_a_source(site: Site) -> None:
    entity = site.ask(target_of(f"javascript:{RUN}", ".json")).json
    pages = {one["page"] for property in entity["says"] for value in property["values"] for one in value["stated_by"]}
    assert all(page.startswith(ORIGIN) for page in pages) and len(pages) > 5
