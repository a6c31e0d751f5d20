"""A crawl, its commands and its web site while the SPARQL server with the facts is killed and started again."""

import json
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, harbour, started, wait_until
from tests.contract.test_facts_server import PEOPLE, answer, canonical, on_server
from tests.services import fuseki

MANY = 60
GONE = re.compile(r"views\.facts at http://127\.0\.0\.1:\d+/gossamer/query: no answer since [\dT:-]+Z \([a-z ]+\)")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fuseki.Server]:
    (tmp_path / "fuseki").mkdir()
    server = fuseki.another(tmp_path / "fuseki")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield server
    server.kill()


def fetched(address: str, accept: str = "application/json") -> tuple[int, str]:
    request = urllib.request.Request(address, headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_crawl_goes_on_while_the_server_is_gone_and_loses_nothing(tmp_path: Path, own: fuseki.Server) -> None:
    site = Site(harbour(MANY), wait_s=0.05)
    there, here = on_server(tmp_path / "there", own.query), tmp_path / "here"
    own.start()
    with site.serving():
        crawl = started("crawl", site.root, "--dir", there, *QUICK)
        wait_until(lambda: len(site.pages_hit()) > 5, "it has begun")
        own.kill()
        wait_until(lambda: len(site.pages_hit()) >= MANY + 5, "it goes on without the server")
        says: list[str] = []

        def is_found() -> bool:
            says[:] = [gossamer("search", "lamps", "--dir", there, "--json").stdout]
            return f"{MANY}" in says[0]

        wait_until(is_found, "words do not wait for facts")
        assert crawl.poll() is None, "its facts are not stored yet"
        lost = gossamer("sparql", PEOPLE, "--dir", there)
        assert lost.returncode == 1 and GONE.search(lost.stderr) and lost.stderr.count("\n") == 1, lost.stderr
        assert GONE.search(gossamer("export", "nquads", "--dir", there).stderr)
        assert GONE.search(gossamer("status", "--dir", there).stdout)
        own.start()
        assert crawl.wait(PATIENCE_S) == 0, crawl.communicate()[1]
        assert gossamer("crawl", site.root, "--dir", here, *QUICK).returncode == 0
    one, two = (canonical(answer(root, "export", "nquads")) for root in (here, there))
    assert one == two and len(one) == 3 * MANY
    assert json.loads(answer(there, "verify", "--json"))["views"][2]["fault"] == ""


def test_the_web_site_says_what_is_gone_and_forget_and_rebuild_reach_the_server(
    tmp_path: Path, own: fuseki.Server
) -> None:
    own.start()
    there = on_server(tmp_path / "there", own.query)
    with Site(harbour()).serving() as site:
        assert gossamer("crawl", site.root, "--dir", there, *QUICK).returncode == 0
    person = f"{site.root}people/1"
    web = started("serve", "--dir", there, "--port", "0")
    assert web.stdout is not None
    try:
        [address] = re.findall(r"http://127\.0\.0\.1:\d+/", web.stdout.readline())
        query = f"{address}sparql?query={quote(PEOPLE)}"
        status, body = fetched(query, "application/sparql-results+json")
        assert status == 200 and len(json.loads(body)["results"]["bindings"]) == 4
        status, body = fetched(f"{address}entity?iri={quote('http://schema.org/Person')}")
        assert status == 200 and '"instances"' in body
        status, body = fetched(f"{address}page.json?url={quote(person)}")
        [facts] = [json.loads(body)["facts"]]
        assert status == 200 and len(facts) == 3 and {one["syntax"]["value"] for one in facts} == {"json-ld"}
        assert fetched(f"{address}sparql?query={quote('DROP ALL')}")[0] == 400
        own.kill()
        for path in (f"sparql?query={quote(PEOPLE)}", "entity?iri=http%3A%2F%2Fschema.org%2FPerson"):
            status, body = fetched(address + path)
            assert status == 503 and "no answer since" in body and "Traceback" not in body
        assert fetched(f"{address}?q=lamps")[0] == 200
        assert fetched(f"{address}page.json?url={quote(person)}")[0] == 200, "without its facts"
        own.start()
        assert fetched(query)[0] == 200
    finally:
        web.send_signal(signal.SIGINT)
        assert web.wait(PATIENCE_S) in (0, 130)
    assert gossamer("forget", person, "--yes", "--dir", there).returncode == 0
    server = own.opened()
    assert person not in set(server.pages()) and person.encode() not in b"".join(server.page_facts())
    moment = '"2020-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    about = f"<http://lost.test/> <http://www.w3.org/ns/prov#generatedAtTime> {moment}"
    fact = "GRAPH <http://lost.test/> { <http://s> <http://p> 1 }"
    server.update(f"INSERT DATA {{ GRAPH <urn:gossamer:provenance> {{ {about} }} {fact} }}")
    server.update(f"DELETE WHERE {{ GRAPH <{site.root}people/2> {{ ?s ?p ?o }} }}")
    assert "1 page that the archive does not have" in gossamer("verify", "--dir", there).stdout
    assert gossamer("rebuild", "--dir", there).returncode == 0
    left = b"".join(server.page_facts())
    assert b"lost.test" not in left and left.count(b"people/2>") == 3 and left.count(b"\n") == 3 * 3
    assert server.holds("ASK { GRAPH <urn:gossamer:writers> { ?one ?p ?o } }")
    with server.rows("SELECT * { GRAPH <urn:gossamer:writers> { ?one ?p ?o } }") as found:
        assert len(list(found)) == 1, "the old views have no position any more"
    server.close()
