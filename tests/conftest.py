"""For every test: programs they start can be told to stop, also where the suite itself runs in the background; no
property fails for the time it took, on a machine that has other work; and what takes longest begins first."""

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
"""Processes that the program starts do not import from the working directory; some of ours are in `tests`."""
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="gossamer-config-")
"""What tests allow to run is not allowed to anybody else."""
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
"""Files that are done by one worker each, so that none of them is left to the end while the other workers rest."""

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would theirs
hypothesis.settings.register_profile(
    "without a clock", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("without a clock")
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # hundreds of programs are started: they need not be compiled anew
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(tempfile.gettempdir()) / f"gossamer-bytecode-{os.getuid()}"))


@pytest.fixture(autouse=True)
def _no_scheme_of_another_test() -> Iterator[None]:
    """What a collection admits is admitted for the whole process, and tests share theirs."""
    before = dict(DEFAULT_PORTS)
    yield
    DEFAULT_PORTS.clear()
    DEFAULT_PORTS.update(before)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # the order of pytest-xdist is by the number of tests in a file


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
