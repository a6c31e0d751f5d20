"""For every test: programs that it starts can be interrupted, even if the suite runs in the background; no property
fails because it was slow on a busy machine; and the longest tests start first."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from gossamer.values.url import DEFAULT_PORTS

HERE = Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
"""Child processes of the program do not import from the working directory, and some need modules of `tests`."""
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="gossamer-config-")
"""What tests allow to run is not allowed outside of the tests."""
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="gossamer-cache-")
"""Scratch folders of clusters."""
LONGEST = (
    "crash/test_crash.py",
    "browser/test_xss.py",
    "browser/test_every_page.py",
    "attack/test_attack.py",
    "crash/test_forever.py",
    "cli/test_demo.py",
    "crawler/test_commands.py",
    "docs/test_readme_runs.py",
    "web/test_api.py",
    "cli/test_lists.py",
    "cli/test_stopping.py",
    "browser/test_crawl.py",
    "plugins/test_filters.py",
    "collection/test_history_replay.py",
    "hostile/test_whole_crawls.py",
    "cli/test_elsewhere.py",
    "web/test_crawl.py",
    "cli/test_serve.py",
    "web/test_matrix.py",
    "browser/test_page_view.py",
    "browser/test_nodes.py",
    "cli/test_crawl.py",
    "collection/test_backup.py",
)
"""Each file runs on one worker, so these start first: none of them is left at the end while other workers idle."""

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and their children too
hypothesis.settings.register_profile(
    "without a clock", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("without a clock")
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # hundreds of programs are started: compile once
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(tempfile.gettempdir()) / f"gossamer-bytecode-{os.getuid()}"))


@pytest.fixture(autouse=True)
def _no_schemes_of_other_tests() -> Iterator[None]:
    """Schemes that a collection accepts are accepted in the whole process, which tests share."""
    before = dict(DEFAULT_PORTS)
    yield
    DEFAULT_PORTS.clear()
    DEFAULT_PORTS.update(before)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # pytest-xdist would order by the number of tests in a file


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    positions = {HERE / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: positions.get(item.path, len(positions)))
