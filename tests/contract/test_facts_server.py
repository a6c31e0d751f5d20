"""One collection in two forms, with its facts in the embedded store or on a SPARQL server: the same answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse
from tests.cli.site import QUICK, Site, gossamer, harbour, page
from tests.services import fuseki

import gossamer as face
from gossamer.values.url import Url
from gossamer.views.facts.sources import graph_name

LABEL = re.compile(r"_:c[0-9a-f]{16}")
PEOPLE = "SELECT ?name { ?one <https://schema.org/name> ?name } ORDER BY ?name"
ORIGINS = (
    "SELECT ?name (<urn:gossamer:syntax>(?page, ?one, <http://schema.org/name>, ?name) AS ?syntax) "
    "(<urn:gossamer:path>(?page, ?one, <http://schema.org/name>, ?name) AS ?path) "
    "{ GRAPH ?page { ?one <http://schema.org/name> ?name } } ORDER BY ?name"
)
ODD = r"""
<script type="application/ld+json">{"@context": "https://schema.org/", "@type": "Restaurant",
  "name": "a \"quote\", a \\u0022 and a \\ at the end\\",
  "description": "line\nline\ttab } ; DROP ALL # \u2028 \ud83c\udf0d",
  "url": "urn:gossamer:blank:forged", "sameAs": "urn:gossamer:quoted:urn:gossamer:blank:x",
  "offers": {"@type": "Offer", "price": "01.50", "priceCurrency": {"@value": "EUR", "@language": "EN-gb"}},
  "foundingDate": {"@value": "2001-02-03", "@type": "http://www.w3.org/2001/XMLSchema#date"},
  "latitude": {"@value": "007.50", "@type": "http://www.w3.org/2001/XMLSchema#decimal"},
  "numberOfRooms": 7, "ratingValue": 4.0e1, "isAccessibleForFree": true}</script>
"""
Forms = tuple[str, Path, Path]
"""The URL of the site, and the two collections."""


def pages() -> dict[str, str]:
    found = harbour()
    found["/odd"] = page("Odd", "Strings that want to be code.", "/", facts=ODD)
    found["/docs/"] = found["/docs/"].replace("</body>", '<a href="/odd">odd</a></body>')
    return found


def on_server(root: Path, address: str) -> Path:
    """A directory whose settings name the server, and are trusted."""
    root.mkdir(parents=True)
    (root / "gossamer.toml").write_text(f'[views]\nfacts = "{address}"\n')
    done = gossamer("trust", "--dir", root, "--allow")
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    address = fuseki.server().query
    folder = tmp_path_factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patched, Site(pages()).serving() as site:
        patched.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        roots = folder / "here", on_server(folder / "there", address)
        for root in roots:
            done = gossamer("crawl", site.root, "--dir", root, *QUICK)
            assert done.returncode == 0, done.stderr
        yield site.root, *roots


def answer(root: Path, *words: str) -> str:
    done = gossamer(*words, "--dir", root)
    assert done.returncode == 0, done.stderr
    return done.stdout


def canonical(quads: str) -> set[str]:
    """Of the facts, without dates and captures: these differ between two crawls."""
    found = Dataset(parse(quads.encode(), RdfFormat.N_QUADS))
    found.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in found}


def test_the_settings_of_a_collection_from_elsewhere_send_no_facts(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text('[views]\nfacts = "http://127.0.0.1:9/x/query"\n')
    shown = gossamer("config", "show", "--dir", tmp_path)
    assert "asks for views.facts" in shown.stderr + shown.stdout


def test_the_same_facts_are_exported(forms: Forms) -> None:
    _, here, there = forms
    one, two = canonical(answer(here, "export", "nquads")), canonical(answer(there, "export", "nquads"))
    assert one == two and len(one) > 20
    assert not list((there / "checkpoints").glob("*")) and not list((there / "graph").glob("*.sst"))


@pytest.mark.parametrize(
    "words",
    [
        ("sparql", PEOPLE),
        ("sparql", ORIGINS),
        ("sparql", "SELECT (COUNT(*) AS ?n) { GRAPH ?page { ?s ?p ?o } FILTER(!STRSTARTS(STR(?page), 'urn:')) }"),
        ("sparql", "SELECT ?o { ?s a <http://schema.org/Restaurant> ; ?p ?o FILTER(isLiteral(?o)) } ORDER BY STR(?o)"),
        ("sparql", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(isBlank(?o)) }"),
        ("sparql", "SELECT DISTINCT ?o { ?s ?p ?o FILTER(isIRI(?o) && STRSTARTS(STR(?o), 'urn:')) } ORDER BY ?o"),
        ("sparql", "ASK { ?s ?p <urn:gossamer:blank:forged> }", "--json"),
        ("sparql", "ASK { ?s a <http://schema.org/Place> }", "--inference", "--json"),
        ("sparql", "ASK { ?s a <http://schema.org/Place> }", "--json"),
        ("sparql", "SELECT ?t { ?s a ?t FILTER(<urn:gossamer:is-a>(?t, <http://schema.org/Organization>)) }"),
        ("sparql", "CONSTRUCT { ?s ?p ?o } WHERE { ?s a <http://schema.org/Person> ; ?p ?o }", "--format", "nt"),
        ("export", "jsonl"),
        ("export", "pages"),
    ],
    ids=str,
)
def test_both_forms_give_the_same_answers(words: tuple[str, ...], forms: Forms) -> None:
    _, here, there = forms
    instants = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
    one, two = (
        sorted(re.split(r"[\s,]+", instants.sub("", LABEL.sub("_:", answer(root, *words))))) for root in (here, there)
    )
    assert one == two and len(one) > 2, one
    if words[1] == ORIGINS:
        assert "json-ld" in answer(there, *words)


def test_python_programs_read_the_same_from_both_forms(forms: Forms) -> None:
    def seen(root: Path) -> object:
        with face.open(root) as collection:
            facts = collection.facts(f"{site}people/1")
            return len(facts), collection.export("nquads", root / "facts.nq"), collection.sparql(PEOPLE).rows

    site, here, there = forms
    assert seen(here) == seen(there)


def test_verify_compares_the_server_with_the_archive(forms: Forms) -> None:
    site, _, there = forms
    says = json.loads(answer(there, "verify", "--json"))
    [facts] = [one for one in says["views"] if one["name"] == "facts"]
    assert facts["fault"] == "" and facts["behind"] == facts["missing"] == 0, facts
    server = fuseki._server().opened()
    server.remove([graph_name(Url(f"{site}people/1"))])
    done = gossamer("verify", "--dir", there)
    assert done.returncode == 4 and "1 page missing" in done.stdout
    assert gossamer("rebuild", "--dir", there).returncode == 0
    assert gossamer("verify", "--dir", there).returncode == 0
    server.close()
