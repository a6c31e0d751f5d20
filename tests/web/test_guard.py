"""Requests that are refused on every page: foreign host names, other methods, hostile text."""

import re
import socket
from urllib.parse import quote

import pytest
from tests.web.hostile_pages import ORIGIN, PAYLOADS, RUN, WORD, pages
from tests.web.site import LONG_S, Site, trouble_in

from gossamer.store.directory import Directory
from gossamer.web.access.guard import answers_to

ROUTES = [
    "/", "/?q=harbour", "/?q=" + "a" * 2000, "/?from=x", "/search.json?q=harbour", "/search.json", "/page",
    "/page?url=x",
    "/page.json", "/status", "/status.json", "/sparql", "/sparql?query=ASK+%7B%7D", "/sparql?query=nonsense",
    "/sparql?update=x", "/sparql.csv?query=ASK+%7B%7D", "/openapi.json", "/robots.txt", "/static/gossamer.css",
    "/static/gossamer.js", "/static/none", "/none", "/favicon.ico", "/sparql.exe",
]  # fmt: skip
HOSTILE_PLACES = ["/?q={}", "/?q=harbour&from={}", "/page?url={}", "/sparql?query={}", "/{}", "/static/{}",
                  "/sparql.{}", "/search.json?q={}", "/?{}=1",
                  "/sparql?default-graph-uri={}&query=ASK+%7B%7D"]  # fmt: skip


@pytest.mark.parametrize("target", ROUTES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT"])
def test_F_W4_every_answer_has_the_security_headers(site: Site, target: str, method: str) -> None:
    answer = site.ask(target, method, body=b"" if method in ("POST", "PUT") else None)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.status < 500
    assert method != "HEAD" or not answer.body


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:80", "127.0.0.1.evil.test", "", "[::2]", "localhost.evil.test"]
)
def test_F_W7_a_foreign_host_name_is_refused(site: Site, host: str) -> None:
    for target in ("/", "/status.json", "/static/gossamer.css", "/sparql?query=ASK+%7B%7D"):
        answer = site.ask(target, headers={"Host": host})
        assert answer.status == 421 and "it printed when it started" in answer.text


def test_F_W7_a_target_for_a_proxy_is_refused(site: Site) -> None:
    assert site.ask("http://evil.test/", headers={"Host": "127.0.0.1"}).status == 421


def test_every_name_of_this_machine_is_answered(site: Site) -> None:
    for host in (f"127.0.0.1:{site.port}", f"localhost:{site.port}", f"[::1]:{site.port}", "LOCALHOST"):
        assert site.ask("/", headers={"Host": host}).status == 200
    assert not answers_to(None, ("127.0.0.1",))


def test_a_request_without_a_host_header_is_refused(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 421")
        assert b"\r\nserver:" not in answer.lower(), "the answer does not name the server software"


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PROPFIND", "BREW"])
def test_other_methods_are_refused(site: Site, method: str) -> None:
    assert site.ask("/", method).status == 405
    assert site.ask("/none", method).status == 405


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_F_W6_nothing_is_changed_without_the_token(site: Site, collection: Directory, method: str) -> None:
    token = (collection.root / "token").read_text().strip()
    for target in ("/", "/page", "/status", "/search.json", "/none", "/crawl/pause"):
        assert site.ask(target, method, b"q=x").status == 403
    allowed = site.ask("/search.json", method, b"q=x", headers={"Authorization": f"Bearer {token}"})
    assert allowed.status == 405 and allowed.headers["allow"] == "GET, HEAD"


def test_F_W6_another_site_may_not_post_in_the_name_of_a_user(site: Site) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    foreign = site.ask("/sparql", "POST", b"query=ASK{}", headers={**form, "Origin": "http://evil.test"})
    own = site.ask("/sparql", "POST", b"query=ASK{}", headers={**form, "Origin": site.address}, accept="*/*")
    assert (foreign.status, own.status) == (403, 200)
    assert site.ask("/sparql", "POST", b"query=ASK{}", headers={**form, "Origin": "null"}).status == 403


def test_a_url_that_is_too_long_is_refused_with_a_message(site: Site) -> None:
    answer = site.ask("/?q=" + "a" * 70_000)
    assert answer.status == 414 and "with POST" in answer.page.css_first("[role=alert]").text()
    assert site.ask("/" + "a" * 70_000).status == 414


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("place", HOSTILE_PLACES)
def test_F_W2_parameters_of_a_request_are_shown_as_text_only(site: Site, place: str, payload: str) -> None:
    answer = site.ask(place.format(quote(payload, safe="")))
    assert answer.status < 500
    if answer.headers["content-type"].startswith("text/html"):
        assert trouble_in(answer.page) == []
        assert "<img src=x" not in answer.text and f"<script>{RUN}" not in answer.text
        assert "49" not in answer.page.css_first("title").text()


def test_F_W1_crawled_text_is_shown_as_text_only(site: Site) -> None:
    results = site.ask(f"/?q={WORD}")
    assert len(results.page.css("ol.hits > li")) >= 5
    assert trouble_in(results.page) == []
    assert PAYLOADS[0] in results.page.css_first("ol.hits").text(), "the text is shown, not removed"


@pytest.mark.parametrize("url", [url for url, _ in pages()])
def test_F_W1_a_hostile_page_has_a_harmless_page_view(site: Site, url: str) -> None:
    answer = site.ask("/page?url=" + quote(url, safe=""))
    assert answer.status == 200
    assert trouble_in(answer.page) == []
    facts = answer.page.css_first("table.facts")
    assert facts is not None and "javascript:" in facts.text(), "the facts are shown, as text"
    targets = [link.attributes["href"] for link in answer.page.css("main a")]
    assert [href for href in targets if not href.startswith(("/", "#", ORIGIN))] == []


def test_F_W1_hostile_facts_are_harmless_in_the_console(site: Site) -> None:
    query = f"SELECT ?g ?s ?p ?o WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER STRSTARTS(STR(?g), '{ORIGIN}') }}"
    answer = site.sparql(query, accept="text/html")
    assert answer.status == 200 and len(answer.page.css("table tbody tr")) > 20
    assert trouble_in(answer.page) == []
    cells = answer.page.css_first("table").text()
    assert "javascript:" in cells and PAYLOADS[0] in cells


def test_F_W15_no_path_leads_out_of_the_static_folder(site: Site) -> None:
    for path in (
        "../app.py",
        "%2e%2e/app.py",
        "..%2fapp.py",
        "..%5capp.py",
        "%2e%2e%2f%2e%2e%2fweb/app.py",
        "%00",
        ".",
        "",
    ):
        answer = site.ask(f"/static/{path}")
        assert answer.status == 404 and "import" not in answer.text


def test_F_W18_error_pages_reveal_nothing_about_this_machine(site: Site) -> None:
    for target in ROUTES:
        text = site.ask(target).text
        assert "Traceback" not in text and not re.search(r"/(home|tmp|work|root|usr)/", text)


def test_F_W18_other_sites_may_not_read_the_answers(site: Site) -> None:
    answer = site.ask("/status.json", headers={"Origin": "http://evil.test"})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_F_W5_nothing_is_ever_redirected(site: Site) -> None:
    for target in ("//evil.test/", "/status/", "/page/?next=//evil.test", "/%5cevil.test", "//evil.test/%2f.."):
        answer = site.ask(target)
        assert answer.status == 404 and "location" not in answer.headers


def test_errors_are_in_the_format_that_the_client_accepts(site: Site) -> None:
    assert site.ask("/none", accept="text/html").page.css_first("h1").text() == "Not found"
    assert site.ask("/none.json").json["error"]
    assert site.ask("/none", accept="application/json").json["error"]
    assert site.ask("/none", accept="*/*").headers["content-type"].startswith("text/plain")
