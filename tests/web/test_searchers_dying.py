"""The answer when search processes die during a query: real processes, a real socket."""

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
    """Its search processes die of one word; all of them are recorded."""

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
            url = await server_url(server, running)
            ports.append(int(url.rstrip("/").rpartition(":")[2]))
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


def answer_of_death(site: Site, target: str, accept: str = "text/html") -> Answer:
    """Until a search process is ready, the web process answers itself, and does not die of the word."""
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


def test_after_two_processes_died_the_page_keeps_the_query_and_says_what_to_do(weak_site: Site) -> None:
    answer = answer_of_death(weak_site, f"/?q={WORD}&lang=en")
    assert answer.status == 503 and answer.headers["retry-after"] == "5"
    page = answer.page
    box, alert, lang = (page.css_first(one) for one in ("#q", "#found [role=alert]", "#carried input[name=lang]"))
    assert box is not None and box.attributes["value"] == WORD
    assert lang is not None and lang.attributes["value"] == "en"
    assert alert is not None and DIED in alert.text()
    assert page.css_first("#found .hits") is None


@pytest.mark.parametrize("target", [f"/search.json?q={WORD}", f"/suggest.json?q={WORD}"])
def test_a_program_gets_the_same_message_as_json(weak_site: Site, target: str) -> None:
    answer = answer_of_death(weak_site, target, "application/json")
    assert answer.status == 503 and answer.headers["retry-after"] == "5"
    assert answer.json == {"error": DIED}


def test_a_request_for_csv_gets_the_message_as_text(weak_site: Site) -> None:
    answer = answer_of_death(weak_site, f"/search.csv?q={WORD}", "text/csv")
    assert answer.status == 503 and answer.text == f"{DIED}\n"


def test_other_queries_are_answered_after_processes_died(weak_site: Site, processes: WeakProcesses) -> None:
    answer_of_death(weak_site, f"/search.json?q={WORD}")
    dead = len([child for child in processes.searchers if child.exit_code() is not None])
    assert dead >= 2
    for _ in range(20):
        assert weak_site.ask("/search.json?q=harbour").json["total"] > 0
