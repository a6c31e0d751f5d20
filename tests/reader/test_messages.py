"""The messages to readers, and processes that must not load the parsers."""

import subprocess
import sys

import pytest

from gossamer.archive.record import stored
from gossamer.reader.reading import done, job
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadJob
from gossamer.values.url import Url
from gossamer.workers.jobs import READ
from gossamer.workers.pool import name_of

PARSING = (
    "gossamer.reader.reading",
    "gossamer.extract.page",
    "gossamer.parse.html.tree",
    "selectolax",
    "lxml",
    "fasttext",
    "rensa",
)


def test_the_name_of_the_readers_job_is_that_of_the_function() -> None:
    assert name_of(job) == READ


@pytest.mark.parametrize(
    "process", ["gossamer.cli.crawl.crawl", "gossamer.indexer.process", "gossamer.views.facts.query_job"]
)
def test_only_readers_load_the_parsers(process: str) -> None:
    program = f"import sys, {process}; print(*[name for name in {PARSING} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_record_stored_without_a_reader_is_the_same() -> None:
    capture = Capture(Url("http://a.test/"), 1, 200, "OK", (("Content-Type", "text/html"),), b"<p>Words.", "192.0.2.1")
    assert stored(capture) == done(ReadJob(capture, task="store"))
