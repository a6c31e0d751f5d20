"""Processes that do nothing but search: the same answers, whatever becomes of one of them."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.json_answers import decoded
from tests.web.site import Site

from gossamer.base.clock import SystemClock
from gossamer.base.processes import SystemProcesses
from gossamer.collection.views import search_of
from gossamer.search.find import SearchAnswer
from gossamer.store.directory import Directory
from gossamer.testing import FakeClock
from gossamer.web.render import make_templates
from gossamer.web.search.answer import NO_ANSWER, RENEW, Answering, CrawlPulse, Kind, Reply, SearchQuestion, search_in
from gossamer.web.search.processes import START_AFTER_S, Searchers
from gossamer.web.search.state import search_state

PULSE = CrawlPulse(0, {"pages": 40, "queued": 0}, "at rest")
UP_S = 300.0


def question(kind: Kind, words: str) -> SearchQuestion:
    return SearchQuestion(kind, search_state(words, {"lang": ("en",)} if " " in words else {}, {}), 10, PULSE)


class Told:
    def __init__(self) -> None:
        self.events: list[str] = []

    def __call__(self, event: str, /, **_: object) -> None:
        self.events.append(event)


def with_searchers(
    directory: Directory, use: Callable[[Searchers], Awaitable[None]], size: int = 1, tell: Told | None = None
) -> None:
    before = {child.pid for child in psutil.Process().children()}

    async def scene() -> None:
        async with Searchers(directory, size, SystemProcesses(), SystemClock(), tell or Told()) as searchers:
            await use(searchers)

    asyncio.run(scene())
    assert {child.pid for child in psutil.Process().children()} <= before


async def answered(searchers: Searchers, asked: SearchQuestion) -> Reply:
    """Once one is up."""
    async with asyncio.timeout(UP_S):
        while (reply := await searchers.answer(asked)) is None:
            await asyncio.sleep(0.05)
    return reply


def timeless(reply: Reply) -> object:
    """Without what no two answers share."""
    if reply.body[:1] == b"{" and b"took_s" in reply.body:
        return msgspec.structs.replace(decoded(reply.body, SearchAnswer), took_s=0.0, as_of=0)
    page = re.sub(rb"\d+ ms|<time>[^<]+</time>", b"", reply.body)
    return msgspec.structs.replace(reply, body=page)


@pytest.mark.parametrize("kind", ["page", "json", "csv", "suggest"])
@pytest.mark.parametrize("words", ["harbour", "harbour the", "-x", "type:Recipe", "x" * 5000, "nothinglikethis"])
def test_a_question_and_its_reply_travel_whole(kind: Kind, words: str) -> None:
    asked = question(kind, words)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(asked), type=SearchQuestion) == asked


def test_another_process_answers_as_the_web_process_does(collection: Directory) -> None:
    search = search_of(collection, SystemClock())
    answering = Answering(search.find, search.is_found, search.suggest, make_templates())

    async def compare(searchers: Searchers) -> None:
        kinds: tuple[Kind, ...] = ("page", "json", "csv", "suggest")
        for words in ("harbour", "harbour the", "har", "type:Recipe", "x" * 5000, "nothinglikethis -x"):
            for kind in kinds:
                asked = question(kind, words)
                assert timeless(await answered(searchers, asked)) == timeless(answering(asked)), (kind, words[:20])

    try:
        with_searchers(collection, compare)
    finally:
        search.close()


def test_none_is_started_at_once_nor_ever_when_none_is_wanted(collection: Directory) -> None:
    async def wait(searchers: Searchers) -> None:
        before = len(psutil.Process().children())
        await asyncio.sleep(0)
        assert not searchers.pids and len(psutil.Process().children()) == before

    async def ask(searchers: Searchers) -> None:
        assert await searchers.answer(question("json", "harbour")) is None
        await wait(searchers)

    with_searchers(collection, wait)
    with_searchers(collection, ask, size=0)


def test_they_are_started_a_moment_after_the_server_though_nobody_asks(collection: Directory) -> None:
    async def scene() -> None:
        clock = FakeClock()
        async with Searchers(collection, 1, SystemProcesses(), clock, Told()) as searchers:
            await asyncio.sleep(0)
            assert not searchers.pids, "not at once"
            clock.advance(START_AFTER_S)
            async with asyncio.timeout(UP_S):
                while not searchers.pids:
                    await asyncio.sleep(0.02)
            (pid,) = searchers.pids
            assert "gossamer.web.search.answer:search_in" in " ".join(psutil.Process(pid).cmdline())

    asyncio.run(scene())


def test_one_that_dies_is_replaced_and_the_question_asked_again(collection: Directory) -> None:
    told = Told()

    async def kill_and_ask(searchers: Searchers) -> None:
        first = await answered(searchers, question("json", "harbour"))
        (pid,) = searchers.pids
        os.kill(pid, signal.SIGSTOP)  # so that it dies with the question in its hands
        asking = asyncio.ensure_future(searchers.answer(question("json", "harbour")))
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(UP_S):
            again = await asking
        assert again is not None and timeless(again) == timeless(first)
        assert searchers.pids != [pid]

    with_searchers(collection, kill_and_ask, tell=told)
    assert told.events == ["searcher.lost"]


def test_a_collection_that_is_not_there_yet_is_an_answer_without_pages(tmp_path: Path) -> None:
    async def ask(searchers: Searchers) -> None:
        reply = await answered(searchers, question("json", "harbour"))
        assert decoded(reply.body, SearchAnswer).total == 0

    with_searchers(Directory(tmp_path), ask)


def test_the_process_loads_nothing_of_the_web_framework() -> None:
    asked = "import sys, gossamer.web.search.answer; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert not {"starlette", "uvicorn", "httptools", "cyclopts", "rich", "lxml"} & set(loaded)


def test_they_end_with_the_server_whatever_ends_it(collection: Directory) -> None:
    command = [sys.executable, "-m", "gossamer", "serve", "--dir", str(collection.root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert found is not None
        searchers: list[psutil.Process] = []
        for _ in range(600):
            assert Site(int(found[1])).ask("/search.json?q=harbour").status == 200
            children = psutil.Process(server.pid).children()
            searchers = [child for child in children if any("web.search.answer" in word for word in child.cmdline())]
            if searchers:
                break
        server.kill()
    gone, left = psutil.wait_procs(searchers, timeout=UP_S)
    assert len(gone) == len(searchers) > 0 and not left


def test_a_view_that_cannot_be_read_is_no_end_of_the_process_that_searches(tmp_path: Path) -> None:
    """It gives no answer; the web process then asks its own handles, and says what is wrong."""
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "format").write_text("3")
    job = search_in(str(tmp_path))
    for _ in range(2):
        assert job(RENEW) == NO_ANSWER
        assert job(msgspec.msgpack.encode(question("json", "harbour"))) == NO_ANSWER
