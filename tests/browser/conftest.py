from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.chromium import program, running
from tests.web.site import Site, make_collection, serving

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def devtools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if program() is None:
        pytest.skip("no Chromium here: install chromium-headless-shell (or chromium) to run the browser tests")
    with running(tmp_path_factory.mktemp("chromium")) as url:
        yield url


@pytest.fixture(scope="session")
def site(devtools: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(make_collection(tmp_path_factory.getbasetemp() / "web")) as served:
        yield served
