from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.site import SPARQL_S, Site, make_collection, serving

from gossamer.store.directory import Directory


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    return make_collection(tmp_path_factory.getbasetemp() / "web")


@pytest.fixture(scope="session")
def site(collection: Directory) -> Iterator[Site]:
    with serving(collection) as served:
        yield served


@pytest.fixture(scope="module")
def hurried_site(collection: Directory) -> Iterator[Site]:
    """Its queries have a short time limit."""
    with serving(collection, sparql_s=SPARQL_S) as served:
        yield served


@pytest.fixture
def empty_site(tmp_path: Path) -> Iterator[Site]:
    with serving(Directory(tmp_path / "empty")) as served:
        yield served
