"""A collection of an older version opens with this one. Only commands are used, so that the test does not depend on any
module.

`fixtures/collection-2026-11.tar.xz` was crawled from eight pages on loopback: one page was fetched twice and its price
had changed, one URL was forgotten, one is noindex, robots.txt disallows one and one is gone.
"""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parent / "fixtures" / "collection-2026-11.tar.xz"
SITE = "http://127.0.0.1:8765/"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("old") / "collection"
    with tarfile.open(FIXTURE) as packed:
        packed.extractall(root, filter="data")
    return root


def gossamer(*arguments: str, collection: Path, exit_code: int = 0) -> str:
    command = [sys.executable, "-m", "gossamer", *arguments, "--dir", str(collection)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == exit_code, done.stdout + done.stderr
    return done.stdout


def test_words_and_facts_are_found(collection: Path) -> None:
    hits = json.loads(gossamer("search", "tropical fish", "--json", collection=collection))["hits"]
    assert {hit["url"] for hit in hits} == {SITE, SITE + "fish/", SITE + "fish/angelfish.html"}
    people = "PREFIX schema: <http://schema.org/> SELECT ?name { ?s a schema:Person ; schema:name ?name }"
    found = gossamer("sparql", people, "--format", "csv", collection=collection)
    assert found.split() == ["name", "Ada", "Close"]


def test_every_decision_is_kept(collection: Path) -> None:
    status = json.loads(gossamer("status", "--json", collection=collection))
    assert status["pages"] == 6 and status["outcomes"] == {"fetched": 6, "gone": 1, "robots": 1}
    assert "Disallow: /private/" in gossamer("why", SITE + "private/", collection=collection)
    assert "/print/" in gossamer("rules", "list", collection=collection)
    assert "127.0.0.0/8" in gossamer("config", "show", collection=collection)
    assert SITE + "old.html" in gossamer("forget", "--list", collection=collection)


def test_both_versions_of_a_page_can_be_compared(collection: Path) -> None:
    changes = gossamer("history", SITE + "fish/angelfish.html", "--diff", collection=collection)
    assert '"12"' in changes and '"15"' in changes


def test_it_verifies_and_can_be_rebuilt(collection: Path) -> None:
    gossamer("verify", collection=collection)
    before = sorted(gossamer("export", "nquads", collection=collection).splitlines())
    gossamer("rebuild", collection=collection)
    assert sorted(gossamer("export", "nquads", collection=collection).splitlines()) == before
    gossamer("verify", collection=collection)


def test_a_crawl_of_it_continues_and_has_nothing_left_to_fetch(collection: Path) -> None:
    lines = gossamer("crawl", "--json", collection=collection).splitlines()
    ended = json.loads(lines[-1])
    assert ended["event"] == "crawl.ended" and ended["fetched"] == 0 and ended["pages"] == 6
