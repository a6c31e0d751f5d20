"""Search processes: they give the same answers as the web process, even when one of them dies."""

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

PULSE = CrawlPulse(0, {"pages": 40, "queued": 0}, "idle")
UP_S = 300.0


def question(kind: Kind, words: str) -> SearchQuestion:
    return SearchQuestion(kind, search_state(words, {"lang": ("en",)} if " " in words else {}, {}), 10, PULSE)


class EventLog:
    def __init__(self) -> None:
        self.events: list[str] = []

    def __call__(self, event: str, /, **_: object) -> None:
        self.events.append(event)


def with_searchers(
    directory: Directory, use: Callable[[Searchers], Awaitable[None]], size: int = 1, tell: EventLog | None = None
) -> None:
    before = {child.pid for child in psutil.Process().children()}

    async def main() -> None:
        async with Searchers(directory, size, SystemProcesses(), SystemClock(), tell or EventLog()) as searchers:
            await use(searchers)

    asyncio.run(main())
    assert {child.pid for child in psutil.Process().children()} <= before


async def answered(searchers: Searchers, sent: SearchQuestion) -> Reply:
    """Waits until a process is ready."""
    async with asyncio.timeout(UP_S):
        while (reply := await searchers.answer(sent)) is None:
            await asyncio.sleep(0.05)
    return reply


def timeless(reply: Reply) -> object:
    """Without times, which differ between answers."""
    if reply.body[:1] == b"{" and b"took_s" in reply.body:
        return msgspec.structs.replace(decoded(reply.body, SearchAnswer), took_s=0.0, as_of=0)
    page = re.sub(rb"\d+ ms|<time>[^<]+</time>", b"", reply.body)
    return msgspec.structs.replace(reply, body=page)


@pytest.mark.parametrize("kind", ["page", "json", "csv", "suggest"])
@pytest.mark.parametrize("words", ["harbour", "harbour the", "-x", "type:Recipe", "x" * 5000, "nothinglikethis"])
def test_a_question_is_the_same_after_encoding_and_decoding(kind: Kind, words: str) -> None:
    sent = question(kind, words)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=SearchQuestion) == sent


def test_a_search_process_gives_the_same_answers_as_the_web_process(collection: Directory) -> None:
    search = search_of(collection, SystemClock())
    answering = Answering(search.find, search.is_found, search.suggest, make_templates())

    async def compare(searchers: Searchers) -> None:
        kinds: tuple[Kind, ...] = ("page", "json", "csv", "suggest")
        for words in ("harbour", "harbour the", "har", "type:Recipe", "x" * 5000, "nothinglikethis -x"):
            for kind in kinds:
                sent = question(kind, words)
                assert timeless(await answered(searchers, sent)) == timeless(answering(sent)), (kind, words[:20])

    try:
        with_searchers(collection, compare)
    finally:
        search.close()


def test_no_process_is_started_at_once_and_none_at_all_with_size_0(collection: Directory) -> None:
    async def wait(searchers: Searchers) -> None:
        before = len(psutil.Process().children())
        await asyncio.sleep(0)
        assert not searchers.pids and len(psutil.Process().children()) == before

    async def ask(searchers: Searchers) -> None:
        assert await searchers.answer(question("json", "harbour")) is None
        await wait(searchers)

    with_searchers(collection, wait)
    with_searchers(collection, ask, size=0)


def test_processes_are_started_shortly_after_the_server_even_without_requests(collection: Directory) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Searchers(collection, 1, SystemProcesses(), clock, EventLog()) as searchers:
            await asyncio.sleep(0)
            assert not searchers.pids, "not at once"
            clock.advance(START_AFTER_S)
            async with asyncio.timeout(UP_S):
                while not searchers.pids:
                    await asyncio.sleep(0.02)
            (pid,) = searchers.pids
            assert "gossamer.web.search.answer:search_in" in " ".join(psutil.Process(pid).cmdline())

    asyncio.run(main())


def test_a_process_that_dies_is_replaced_and_its_query_repeated(collection: Directory) -> None:
    log = EventLog()

    async def kill_and_ask(searchers: Searchers) -> None:
        first = await answered(searchers, question("json", "harbour"))
        (pid,) = searchers.pids
        os.kill(pid, signal.SIGSTOP)  # so that it dies during the query
        asking = asyncio.ensure_future(searchers.answer(question("json", "harbour")))
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(UP_S):
            again = await asking
        assert again is not None and timeless(again) == timeless(first)
        assert searchers.pids != [pid]

    with_searchers(collection, kill_and_ask, tell=log)
    assert log.events == ["searcher.lost"]


def test_a_search_without_a_collection_finds_no_pages(tmp_path: Path) -> None:
    async def ask(searchers: Searchers) -> None:
        reply = await answered(searchers, question("json", "harbour"))
        assert decoded(reply.body, SearchAnswer).total == 0

    with_searchers(Directory(tmp_path), ask)


def test_a_search_process_does_not_load_the_web_framework() -> None:
    code = "import sys, gossamer.web.search.answer; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"starlette", "uvicorn", "httptools", "cyclopts", "rich", "lxml"} & set(loaded)


def test_processes_end_with_the_server_even_when_it_is_killed(collection: Directory) -> None:
    command = [sys.executable, "-m", "gossamer", "serve", "--dir", str(collection.root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert url is not None
        searchers: list[psutil.Process] = []
        for _ in range(600):
            assert Site(int(url[1])).ask("/search.json?q=harbour").status == 200
            children = psutil.Process(server.pid).children()
            searchers = [child for child in children if any("web.search.answer" in word for word in child.cmdline())]
            if searchers:
                break
        server.kill()
    gone, left = psutil.wait_procs(searchers, timeout=UP_S)
    assert len(gone) == len(searchers) > 0 and not left


def test_an_unreadable_index_does_not_end_a_search_process(tmp_path: Path) -> None:
    """It gives no answer; the web process then searches itself and reports the error."""
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "format").write_text("3")
    job = search_in(str(tmp_path))
    for _ in range(2):
        assert job(RENEW) == NO_ANSWER
        assert job(msgspec.msgpack.encode(question("json", "harbour"))) == NO_ANSWER
