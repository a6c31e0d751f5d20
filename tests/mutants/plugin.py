"""A pytest plugin, in the two roles that `MUTANTS_ROLE` names in a JSON file.

With `hits` it writes which statements each test ran. With `tests` it runs those alone, in that order, each with its own
time limit, and writes the name of the one that failed.
"""

import json
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROLE: dict[str, Any] = json.loads(Path(os.environ["MUTANTS_ROLE"]).read_text())


def pytest_configure() -> None:
    """A failing property is enough: a search for the smallest example would take minutes."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", hypothesis.settings(), phases=phases)
    hypothesis.settings.load_profile("mutants")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if wanted := ROLE.get("tests"):
        items[:] = sorted(
            (item for item in items if item.nodeid in wanted), key=lambda item: list(wanted).index(item.nodeid)
        )
        for item in items:
            item.add_marker(pytest.mark.timeout(wanted[item.nodeid]))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not ROLE.get("hits"):
        return (yield)
    with Path(ROLE["hits"]).open("r+b") as file, mmap.mmap(file.fileno(), 0) as hits:
        hits[:] = bytes(len(hits))
        started = time.monotonic()
        result = yield
        took = time.monotonic() - started
        ran = [number for number, hit in enumerate(hits[:]) if hit]
    _report({"test": item.nodeid, "seconds": took, "ran": ran})
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed or report.skipped:
        _report({"test": report.nodeid, "outcome": report.outcome, "why": str(report.longrepr)[-2000:]})


def _report(line: dict[str, Any]) -> None:
    with Path(ROLE["report"]).open("a") as file:
        file.write(json.dumps(line) + "\n")
