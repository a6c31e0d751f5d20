"""The server on real loopback sockets."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import brotli
import pytest

from gossamer.base.clock import SECOND, Clock, SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.processes import SystemProcesses
from gossamer.demo.oddities import HUGE_BYTES
from gossamer.demo.server import LOOPBACK, AccessLog, DemoServer, read_log, request_in
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.testing import FakeClock

T = TypeVar("T")
WEB = DemoWeb(seed=1, hosts=12, pages=120, profile_name="quick")
Response = tuple[int, dict[str, str], bytes]


class Client:
    """A connection that sends requests byte for byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def get(self, host: str, target: str, method: str = "GET", more: str = "") -> Response:
        self.writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: tester\r\n{more}\r\n".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.split(": ", 1) for line in head[1:] if line)
        return int(head[0].split()[1]), fields, b"" if method == "HEAD" else await self.body(fields)

    async def body(self, fields: dict[str, str]) -> bytes:
        if fields.get("Transfer-Encoding") != "chunked":
            return await self.reader.readexactly(int(fields.get("Content-Length", "0")))
        whole = b""
        while size := int(await self.reader.readline(), 16):
            whole += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()
        return whole


def with_client(
    use: Callable[[Client, DemoServer], Awaitable[T]], clock: Clock | None = None, log: AccessLog | None = None
) -> T:
    async def run() -> T:
        async with DemoServer(WEB, clock or SystemClock(), log) as server:
            reader, writer = await asyncio.open_connection(LOOPBACK, server.port)
            try:
                return await use(Client(reader, writer), server)
            finally:
                writer.close()

    return asyncio.run(run())


def test_one_connection_serves_every_host_and_all_requests_are_logged() -> None:
    async def use(client: Client, server: DemoServer) -> list[int]:
        for host in ("museum.demo.test", "SHOP.demo.test:80", "open.demo.test"):
            assert (await client.get(host, "/"))[0] == 200
        assert (await client.get("museum.demo.test", "/nothing"))[0] == 404
        return [(hit.host, hit.target, hit.status, hit.agent) for hit in server.log.hits]

    assert with_client(use) == [
        ("museum.demo.test", "/", 200, "tester"),
        ("shop.demo.test", "/", 200, "tester"),
        ("open.demo.test", "/", 200, "tester"),
        ("museum.demo.test", "/nothing", 404, "tester"),
    ]


def test_content_codings_are_used_when_the_client_accepts_them() -> None:
    async def use(client: Client, _: DemoServer) -> None:
        plain = (await client.get("docs.demo.test", "/"))[2]
        _, fields, body = await client.get("docs.demo.test", "/", more="Accept-Encoding: gzip, br\r\n")
        assert fields["Content-Encoding"] == "br" and brotli.decompress(body) == plain
        _, fields, body = await client.get("odd.demo.test", "/coding/gzip", more="Accept-Encoding: gzip, br\r\n")
        assert fields["Content-Encoding"] == "gzip" and b"<html" in gzip.decompress(body)

    with_client(use)


def test_chunked_answers_and_head_and_conditional_requests() -> None:
    async def use(client: Client, _: DemoServer) -> None:
        _, fields, body = await client.get("forum.demo.test", "/")
        assert fields["Transfer-Encoding"] == "chunked" and b"</html>" in body
        status, fields, _ = await client.get("museum.demo.test", "/", "HEAD")
        assert status == 200 and int(fields["Content-Length"]) > 1000
        status, _, body = await client.get("museum.demo.test", "/", more=f"If-None-Match: {fields['ETag']}\r\n")
        assert (status, body) == (304, b"")
        assert (await client.get("museum.demo.test", "/", "POST"))[0] == 405
        assert (await client.get("museum.demo.test", "http://museum.demo.test/"))[0] == 400

    with_client(use)


def test_a_slow_page_waits_by_the_given_clock() -> None:
    async def use(client: Client, server: DemoServer) -> float:
        assert (await client.get("flaky.demo.test", "/slow/1"))[0] == 200
        hit = server.log.hits[-1]
        return (hit.ended_at - hit.asked_at) / SECOND

    assert with_client(use, FakeClock()) == WEB.profile.slow_s


def test_a_busy_server_sends_retry_after_and_then_answers() -> None:
    async def use(client: Client, _: DemoServer) -> None:
        for _ in range(2):
            status, fields, _ = await client.get("flaky.demo.test", "/busy")
            assert (status, fields["Retry-After"]) == (503, "1")
        assert (await client.get("flaky.demo.test", "/busy"))[0] == 200
        assert [(await client.get("flaky.demo.test", "/always-500"))[0] for _ in range(4)] == [500] * 4

    with_client(use)


def test_a_truncated_answer_ends_in_the_middle() -> None:
    async def use(client: Client, _: DemoServer) -> None:
        with pytest.raises(asyncio.IncompleteReadError) as cut:
            await client.get("flaky.demo.test", "/cut")
        assert len(cut.value.partial) > 1000

    with_client(use)


def test_a_huge_page_is_larger_than_any_limit() -> None:
    async def use(client: Client, server: DemoServer) -> None:
        assert len((await client.get("odd.demo.test", "/huge"))[2]) >= HUGE_BYTES
        assert server.log.hits[-1].size >= HUGE_BYTES

    with_client(use)


def test_a_client_that_disconnects_is_logged_and_others_are_served() -> None:
    async def use(client: Client, server: DemoServer) -> None:
        reader, rude = await asyncio.open_connection(LOOPBACK, server.port)
        rude.write(b"GET /huge HTTP/1.1\r\nHost: odd.demo.test\r\n\r\n")
        assert await reader.read(100)
        rude.transport.abort()
        while "/huge" not in {hit.target for hit in server.log.hits}:
            assert (await client.get("museum.demo.test", "/robots.txt"))[0] == 200

    with_client(use)


def test_the_log_file_has_every_hit_and_an_incomplete_last_line_is_ignored(tmp_path: Path) -> None:
    files, path = DiskFiles(), tmp_path / "hits"

    async def use(client: Client, server: DemoServer) -> list[object]:
        await client.get("museum.demo.test", "/robots.txt")
        await client.get("museum.demo.test", "/")
        return list(server.log.hits)

    appender = files.appender(path)
    hits = with_client(use, log=AccessLog(appender))
    assert read_log(files, path) == hits and len(hits) == 2
    appender.append(b'{"host":"museum.de')
    assert read_log(files, path) == hits
    appender.close()


def test_it_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    port_file, log = tmp_path / "port", tmp_path / "hits"
    arguments = [
        "--hosts",
        "2",
        "--pages",
        "12",
        "--profile",
        "crash",
        "--log",
        str(log),
        "--port-file",
        str(port_file),
    ]
    child = SystemProcesses().start("gossamer.demo.server", arguments)
    try:
        clock = SystemClock()
        while not port_file.exists() and child.exit_code() is None:
            clock.pause(0.01)

        async def ask() -> Response:
            reader, writer = await asyncio.open_connection(LOOPBACK, int(port_file.read_text()))
            try:
                return await Client(reader, writer).get("people.demo.test", "/robots.txt")
            finally:
                writer.close()

        status, _, body = asyncio.run(ask())
        assert status == 200 and b"Crawl-delay: 2" in body
        child.ask_to_stop()
        assert child.wait(10) == 0
        assert [hit.target for hit in read_log(DiskFiles(), log)] == ["/robots.txt"]
    finally:
        child.kill()


def test_the_address_plan_leads_every_name_to_the_server_and_no_other() -> None:
    plan = address_plan(WEB, 4711)
    for name in WEB.host_names:
        (address,) = asyncio.run(plan.addresses(name))
        assert plan.endpoint(address, 80) == (LOOPBACK, 4711)
    assert asyncio.run(plan.addresses("nowhere.demo.test")) == []


def test_invalid_request_heads_are_answered_with_400() -> None:
    assert request_in(b"nonsense\r\n\r\n").question.target == ""
    assert not request_in(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").keeps_alive
