"""`gossamer serve`, and what its main pages answer."""

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
    "page/words.json?url={at}",
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
"""Ages and loads are in them: only their status is compared."""


def served(words: list[str], origin: str, scratch: Path) -> Ended:
    """One line for each page: its status and its words."""
    with running(words, scratch, obeys_modes=True) as process:
        wait_until(lambda: "search page:" in (scratch / "out").read_text() or not process.is_alive(), "no server")
        if not process.is_alive():
            return ended(process, scratch)
        address = (scratch / "out").read_text().split()[2].partition("?")[0]
        at = urllib.parse.quote(f"{origin}people/1", safe="")
        lines = [answer(address, page.format(at=at)) for page in PAGES]
        assert process.is_alive(), "the server ended"
        process.terminate()
        process.join()
    return Ended(0, "\n".join(lines), (scratch / "told").read_text())


def answer(address: str, page: str) -> str:
    """Versions are compared beside the server's other work: their page is asked again until that is done."""
    said = asked(address, page)
    for _ in range(600):
        if "not compared yet" not in said:
            break
        time.sleep(0.1)
        said = asked(address, page)
    return said


def asked(address: str, page: str) -> str:
    try:
        with urllib.request.urlopen(address + page, timeout=120) as response:
            status, body = response.status, response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as refused:
        status, body = refused.code, refused.read().decode("utf-8", "replace")
    except OSError as trouble:
        return f"{page}: broken off: {trouble}"
    is_live = status == 200 and any(page == one or (one and page.startswith(one)) for one in LIVE)
    return f"{page}: {status}" + ("" if is_live else " " + re.sub(r"\s+", " ", body.replace(address, "")))
