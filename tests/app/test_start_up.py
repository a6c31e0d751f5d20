"""What the processes of a crawl load: each pays for it at every start, and readers are started again and again."""

import subprocess
import sys

import pytest

HEAVY = {"aiohttp", "cyclopts", "fastapi", "jinja2", "pydantic", "rich", "uvicorn"}


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("gossamer.app.indexer", {"selectolax", "lxml", "fasttext", "publicsuffixlist"}),
        ("gossamer.reading", {"tantivy", "sqlite3"}),
        ("gossamer.app.plugged_reader", {"tantivy", "sqlite3"}),
    ],
)
def test_a_child_process_loads_nothing_that_it_does_not_need(module, others):
    asked = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert not (HEAVY | others) & set(loaded)
