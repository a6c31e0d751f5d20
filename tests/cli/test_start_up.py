"""What the processes of a crawl import: it costs time at every start, and readers are restarted often."""

import subprocess
import sys

import pytest

SERVING = {"jinja2", "starlette", "uvicorn"}
FETCHING = {"httptools"}
READING = {"fasttext", "lxml", "rensa", "selectolax"}
VIEWS = {"pyoxigraph", "tantivy"}
HEAVY = {"httptools", "cyclopts", "jinja2", "rich", "starlette", "uvicorn"}


def loaded_by(module):
    script = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("gossamer.indexer.process", {"selectolax", "lxml", "fasttext", "publicsuffixlist"}),
        ("gossamer.indexer.graph_process", {"tantivy", "selectolax", "lxml"}),
        ("gossamer.reader.reading", {"tantivy", "sqlite3"}),
    ],
)
def test_a_child_process_loads_nothing_that_it_does_not_need(module, others):
    assert not (HEAVY | others) & loaded_by(module)


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("gossamer.cli.ask.why", set()),
        ("gossamer.cli.crawl.hosts", set()),
        ("gossamer.cli.crawl.rules", {"rich"}),
        ("gossamer.cli.ask.politeness", set()),
    ],
)
def test_a_command_that_only_reports_loads_nothing_that_fetches_reads_or_serves(module, others):
    assert not (SERVING | FETCHING | READING | VIEWS | others) & loaded_by(module)


def test_status_opens_the_views_and_loads_nothing_that_fetches_reads_or_serves():
    assert not (SERVING | FETCHING | READING | {"publicsuffixlist"}) & loaded_by("gossamer.cli.ask.status")


def test_the_web_server_loads_nothing_that_fetches_or_reads():
    """Copies and histories of pages are made by workers, and a crawl runs in a process of its own."""
    assert not (FETCHING | READING) & loaded_by("gossamer.cli.serve")
