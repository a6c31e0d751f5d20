"""The two forms of the links, for suites that both must pass: SQLite in a folder, and OpenSearch."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.services import opensearch
from tests.views.words.forms import SettledWriter

from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.store.service import Service
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.links.opensearch import LINKS_FORM, ServiceLinks
from gossamer.views.links.reader import LinksReader
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.opensearch.index import remove
from gossamer.views.words.opensearch.writer import WriterIdentity

FORMS = {"merged at once": 1, "never merged": 1_000_000, "opensearch": 0}


def reading(address: str, links: list[tuple[str, str]], at: int = 1, **more: object) -> Reading:
    found = tuple(Link(Url(target), text) for target, text in links)
    return Reading(at, at, Page(Url(address), "text/html", "utf-8", links=found, **more))


def opened(tmp_path: Path, merge_at: int = 1_000_000) -> LinksWriter:
    links = LinksWriter(tmp_path / "links.db", DiskFiles(), silent, merge_at)
    links.open()
    return links


def service() -> Service:
    return Service("views.words", opensearch.server(), SystemClock(), silent)


@contextmanager
def both_sides(form: str, folder: Path) -> Iterator[tuple[Any, Any]]:
    """A writer, whose commits can be found when they return, and a reader; of new links."""
    if form != "opensearch":
        links, reader = opened(folder, FORMS[form]), LinksReader(folder / "links.db")
        reader.open()
        yield links, reader
        reader.close()
        links.close()
        return
    index = opensearch.index_for(folder) + "-links"
    links = SettledWriter(service(), WriterIdentity(index, "tests"), silent, LINKS_FORM)
    links.open()
    yield links, ServiceLinks(service(), index)
    links.close()
    remove(service(), index)
