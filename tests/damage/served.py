"""`gossamer serve`, and the responses of its main pages."""

import re
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tests.cli.site import wait_until
from tests.damage.isolated import Ended, ended, running

QUERY = urllib.parse.quote("SELECT (COUNT(*) AS ?n) {?s ?p ?o}")
PAGES = (
    "",
    "?q=keeper",
    "search.json?q=keeper",
    "suggest.json?q=kee",
    f"sparql?query={QUERY}",
    "page?url={at}",
    "page.json?url={at}",
    "page/cached?url={at}",
    "page/arguments.json?url={at}",
    "page/why.json?url={at}",
    "page/versions.json?url={at}",
    "entity.json?iri={at}",
    "vocabularies.json",
    "crawl",
    "crawl/hosts.json",
    "crawl/visits.json",
    "crawl/freshness.json",
    "crawl/rules.json",
    "status.json",
    "nodes.json",
    "export/facts.nq",
)
LIVE = ("", "?q", "page?", "page.json", "entity.json", "crawl", "status.json", "nodes.json", "crawl/freshness.json")
"""They have ages and loads, so only their status is compared."""


def served(arguments: list[str], origin: str, scratch: Path) -> Ended:
    """One line for each page: its status and its text."""
    with running(arguments, scratch, obeys_modes=True) as process:
        wait_until(lambda: "search page:" in (scratch / "out").read_text() or not process.is_alive(), "no server")
        if not process.is_alive():
            return ended(process, scratch)
        url = (scratch / "out").read_text().split()[2].partition("?")[0]
        at = urllib.parse.quote(f"{origin}people/1", safe="")
        lines = [answer(url, page.format(at=at)) for page in PAGES]
        assert process.is_alive(), "the server ended"
        process.terminate()
        process.join()
    return Ended(0, "\n".join(lines), (scratch / "errors").read_text())


def answer(url: str, page: str) -> str:
    """Versions are compared in the background: their page is fetched again until that is done."""
    text = fetched(url, page)
    for _ in range(600):
        if "not compared yet" not in text:
            break
        time.sleep(0.1)
        text = fetched(url, page)
    return text


def fetched(url: str, page: str) -> str:
    try:
        with urllib.request.urlopen(url + page, timeout=120) as response:
            status, body = response.status, response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as refused:
        status, body = refused.code, refused.read().decode("utf-8", "replace")
    except OSError as error:
        return f"{page}: disconnected: {error}"
    is_live = status == 200 and any(page == one or (one and page.startswith(one)) for one in LIVE)
    return f"{page}: {status}" + ("" if is_live else " " + re.sub(r"\s+", " ", body.replace(url, "")))
