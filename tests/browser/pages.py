"""Every page of the site, in each of its states, for tests of all pages. Add new pages here.

REQUIRES: served by the collection of tests/web/site.py.
"""

from urllib.parse import quote

from tests.web.hostile_pages import ORIGIN, WORD

MUSEUM = quote("http://museum.demo.test/", safe="")
HOSTILE = quote(ORIGIN + "/page/1", safe="")

EVERY_PAGE: tuple[str, ...] = (
    "/",
    "/?q=harbour",
    "/?q=qwertzuiop",
    "/?q=type:Recipe",
    "/?q=" + "a" * 5000,
    "/?q=harbour+museum&lang=en&not_type=http://schema.org/Recipe",
    f"/search/why?q=harbour&url={MUSEUM}",
    f"/search/copies?url={MUSEUM}",
    f"/?q={WORD}",
    "/status",
    "/crawl",
    "/crawl/visits",
    "/crawl/visits?reason=failed",
    "/crawl/pages",
    "/crawl/hosts",
    "/crawl/freshness",
    "/crawl/rules",
    "/nodes",
    "/nodes?minutes=5",
    "/none",
    "/api",
    "/door",
    f"/page?url={MUSEUM}",
    f"/page?url={HOSTILE}",
    *[f"/page?url={MUSEUM}&show={tab}" for tab in ("copy", "text", "links", "words", "versions", "why")],
    "/page?url=" + quote("http://museum.demo.test/private/welcome", safe=""),
    "/host?name=museum.demo.test",
    "/entity?iri=schema:Person",
    "/entity?iri=schema:name",
    "/entity?iri=" + quote("http://other.test/x#it", safe=""),
    "/entity?iri=x",
    "/vocabularies",
    "/vocabularies?in=schema",
    "/sparql",
    "/sparql?query=nonsense",
    "/sparql?query=" + quote("SELECT * WHERE { ?s ?p ?o } LIMIT 50"),
)
