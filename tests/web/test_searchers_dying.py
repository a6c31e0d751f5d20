"""What one is shown when the processes that search die over a question. Real ones, over a real socket."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.web.dying import DEADLY
from tests.web.site import Answer, Site

from gossamer.base.environment import Outside, real_outside
from gossamer.base.processes import Child, SystemProcesses
from gossamer.cli.crawl.demo import settings_for
from gossamer.cli.serve import server_url, web_server
from gossamer.config.settings import WebSettings
from gossamer.store.directory import Directory
from gossamer.web.search.routes import DIED
from gossamer.workers.jobs import SEARCH

WORD = DEADLY.decode()
TRIES = 3_000


class WeakProcesses(SystemProcesses):
    """Searchers have the weak spot, and all is counted."""

    def __init__(self) -> None:
        self.searchers: list[Child] = []

    def start(self, module: str, arguments: Sequence[str], channel: socket.socket | None = None) -> Child:
        name, space, argument = arguments[0].partition(" ") if arguments else ("", "", "")
        if name != SEARCH:
            return super().start(module, arguments, channel)
        child = super().start(module, [f"tests.web.dying:search_in{space}{argument}", *arguments[1:]], channel)
        self.searchers.append(child)
        return child


@contextmanager
def serving(directory: Directory, outside: Outside) -> Iterator[Site]:
    started, stopping, ports = threading.Event(), [], []

    async def serve() -> None:
        settings = replace(settings_for(0), web=WebSettings(port=0, searchers=1))
        async with web_server(directory, settings, outside) as server:
            running = asyncio.ensure_future(server.serve())
            address = await server_url(server, running)
            ports.append(int(address.rstrip("/").rpartition(":")[2]))
            stopping.append(server)
            started.set()
            await running

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(60)
    try:
        yield Site(ports[0])
    finally:
        stopping[0].should_exit = True
        thread.join(60)


def once_it_dies(site: Site, target: str, accept: str = "text/html") -> Answer:
    """Until a searcher is up, the web process answers by itself, and does not have the weak spot."""
    for _ in range(TRIES):
        answer = site.ask(target, accept=accept)
        if answer.status != 200:
            return answer
    raise AssertionError("no search process was started")


@pytest.fixture(scope="module")
def processes() -> WeakProcesses:
    return WeakProcesses()


@pytest.fixture(scope="module")
def weak_site(collection: Directory, processes: WeakProcesses) -> Iterator[Site]:
    with serving(collection, replace(real_outside(), processes=processes)) as site:
        yield site


def test_who_asked_what_two_processes_died_of_keeps_the_page_and_is_told_what_to_do(weak_site: Site) -> None:
    answer = once_it_dies(weak_site, f"/?q={WORD}&lang=en")
    assert answer.status == 503 and answer.headers["retry-after"] == "5"
    page = answer.page
    box, alert, lang = (page.css_first(one) for one in ("#q", "#found [role=alert]", "#carried input[name=lang]"))
    assert box is not None and box.attributes["value"] == WORD
    assert lang is not None and lang.attributes["value"] == "en"
    assert alert is not None and DIED in alert.text()
    assert page.css_first("#found .hits") is None


@pytest.mark.parametrize("target", [f"/search.json?q={WORD}", f"/suggest.json?q={WORD}"])
def test_a_program_is_told_the_same_as_json(weak_site: Site, target: str) -> None:
    answer = once_it_dies(weak_site, target, "application/json")
    assert answer.status == 503 and answer.headers["retry-after"] == "5"
    assert answer.json == {"error": DIED}


def test_who_wanted_a_table_is_told_in_words(weak_site: Site) -> None:
    answer = once_it_dies(weak_site, f"/search.csv?q={WORD}", "text/csv")
    assert answer.status == 503 and answer.text == f"{DIED}\n"


def test_others_are_answered_before_and_after(weak_site: Site, processes: WeakProcesses) -> None:
    once_it_dies(weak_site, f"/search.json?q={WORD}")
    dead = len([child for child in processes.searchers if child.exit_code() is not None])
    assert dead >= 2
    for _ in range(20):
        assert weak_site.ask("/search.json?q=harbour").json["total"] > 0
