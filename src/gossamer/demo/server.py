"""Serves a demonstration web on loopback, for all its hosts at once, and logs every request.

`python -m gossamer.demo.server --log FILE --port-file FILE` runs it as a separate process, so that its log outlives
a crawler that is killed.
"""

import argparse
import asyncio
import contextlib
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.base.clock import Clock, Instant, SystemClock
from gossamer.base.files import Appender, DiskFiles, Files
from gossamer.demo.pages import REASONS, DemoAnswer, DemoRequest, missing
from gossamer.demo.sites import PROFILES
from gossamer.demo.web import DemoWeb


class Logged(msgspec.Struct, frozen=True):
    """One request and its response."""

    host: str
    target: str
    status: int
    asked_at: Instant
    """When the request had arrived."""
    ended_at: Instant
    """When the last byte of the response was sent, or the client hung up."""
    size: int = 0
    """Bytes of body sent."""
    agent: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.target}"


class AccessLog:
    """Requests in memory, and in a file if one is given: a JSON line each, written before the next request is read."""

    def __init__(self, appender: Appender | None = None) -> None:
        self._appender = appender
        self._hits: list[Logged] = []

    @property
    def hits(self) -> list[Logged]:
        return list(self._hits)

    def add(self, hit: Logged) -> None:
        self._hits.append(hit)
        if self._appender is not None:
            self._appender.append(msgspec.json.encode(hit) + b"\n")


def read_log(files: Files, path: Path) -> list[Logged]:
    """The hits of a log file; an incomplete last line is ignored."""
    decoder = msgspec.json.Decoder(Logged)
    return [decoder.decode(line) for line in files.read(path).split(b"\n")[:-1]]


LOOPBACK = "127.0.0.1"
LONGEST_HEAD = 64 << 10
LOOKS_UP_S = 0.01
"""How often a slow response checks that the client is still connected."""
_HUNG_UP = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError)


class Request(NamedTuple):
    """What matters of the head of an HTTP request."""

    method: str
    question: DemoRequest
    agent: str
    keeps_alive: bool


class DemoServer:
    """`async with DemoServer(web, clock) as server: server.port`. Nothing binds beyond loopback."""

    def __init__(self, web: DemoWeb, clock: Clock, log: AccessLog | None = None) -> None:
        self._web = web
        self._clock = clock
        self.log = log if log is not None else AccessLog()
        self._asked: Counter[tuple[str, str]] = Counter()
        self._open: dict[asyncio.StreamWriter, asyncio.Task[object] | None] = {}
        self._server: asyncio.Server | None = None
        self.port = 0

    async def __aenter__(self) -> "DemoServer":
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0, limit=LONGEST_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            serving = [task for task in self._open.values() if task is not None]
            for writer in list(self._open):
                writer.close()
            await self._server.wait_closed()
            await asyncio.gather(*serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.current_task()
        try:
            while await self._exchange(reader, writer):
                pass
        except _HUNG_UP:
            pass  # the client hung up; its request is in the log
        finally:
            self._open.pop(writer, None)
            writer.close()
            with contextlib.suppress(*_HUNG_UP):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is to be closed."""
        request = request_in(await reader.readuntil(b"\r\n\r\n"))
        asked_at = self._clock.now()
        question = request.question
        answer = self._answer(request)
        sending = _Sending(writer, self._clock)
        try:
            if await self._waited(answer.wait_s, reader):
                await sending.send(answer, with_body=request.method != "HEAD")
        finally:
            ended_at, size = sending.last_at or self._clock.now(), sending.size
            self.log.add(Logged(question.host, question.target, answer.status, asked_at, ended_at, size, request.agent))
        return request.keeps_alive and not answer.is_cut and not reader.at_eof()

    async def _waited(self, wait_s: float, reader: asyncio.StreamReader) -> bool:
        """Waits this long. False when the client hangs up meanwhile: its request ends there."""
        until = self._clock.elapsed_s() + wait_s
        while wait_s and (left := until - self._clock.elapsed_s()) > 0:
            if reader.at_eof():
                return False
            await self._clock.sleep(min(left, LOOKS_UP_S))
        return True

    def _answer(self, request: Request) -> DemoAnswer:
        question = request.question
        if request.method not in ("GET", "HEAD"):
            return missing(405)
        if not question.target.startswith("/"):
            return missing(400)
        if self._web.has_state(question.host):
            key = (question.host, question.target)
            question = question._replace(asked_before=self._asked[key])
            self._asked[key] += 1
        return self._web.answer(question._replace(now=self._clock.now()))


def request_in(head: bytes) -> Request:
    """Parses a request's head; a malformed one gets an empty target, which is answered with 400."""
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    method, target = (parts[0], parts[1]) if len(parts) == 3 else ("GET", "")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    host = fields.get("host", "").partition(":")[0].lower()
    question = DemoRequest(host, target, fields.get("accept-encoding", ""), fields.get("if-none-match", ""))
    return Request(method, question, fields.get("user-agent", ""), fields.get("connection", "").lower() != "close")


def head_of(answer: DemoAnswer) -> bytes:
    framing = [("Content-Length", str(len(answer.body) * answer.repeats))]
    if answer.status == 304:
        framing = []
    elif answer.is_chunked:
        framing = [("Transfer-Encoding", "chunked")]
    lines = [f"HTTP/1.1 {answer.status} {REASONS[answer.status]}", "Server: demonstration"]
    lines += [f"{name}: {value}" for name, value in (*answer.headers, *framing)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class _Sending:
    """`last_at` is just before the last bytes are sent: no client has seen the end of the response by then, so a gap
    counted from it is never shorter than the client kept."""

    def __init__(self, writer: asyncio.StreamWriter, clock: Clock) -> None:
        self._writer, self._clock = writer, clock
        self.last_at: Instant | None = None
        self.size = 0
        """Bytes of body sent."""

    async def send(self, answer: DemoAnswer, with_body: bool) -> None:
        head = head_of(answer)
        if not with_body or answer.status == 304:
            await self._write(head)
            return
        body = answer.body[: len(answer.body) // 2] if answer.is_cut else answer.body
        piece = b"%x\r\n%b\r\n" % (len(body), body) if answer.is_chunked else body
        for number in range(answer.repeats):
            await self._write(piece if number else head + piece)
            self.size += len(body)
        if answer.is_chunked:
            await self._write(b"0\r\n\r\n")

    async def _write(self, piece: bytes) -> None:
        self.last_at = self._clock.now()
        self._writer.write(piece)
        await self._writer.drain()


async def _run(web: DemoWeb, log_file: Path | None, port_file: Path | None) -> None:
    files = DiskFiles()
    log = AccessLog(files.appender(log_file) if log_file is not None else None)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with DemoServer(web, SystemClock(), log) as server:
        if port_file is not None:
            files.write(port_file, f"{server.port}\n".encode())
        await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gossamer.demo.server", description="Serve a demonstration web.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=12)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--profile", choices=sorted(PROFILES), default="demo")
    parser.add_argument("--trap-pages", type=int, default=12)
    parser.add_argument("--traps", type=int, default=0, help="real pages on each crawler-trap site; 0: no such sites")
    parser.add_argument("--changing", type=float, default=0.0, help="pages change in turns of so many seconds")
    parser.add_argument("--log", type=Path, help="append a line of JSON to this file for every request")
    parser.add_argument("--port-file", type=Path, help="write the port here once the server listens")
    given = parser.parse_args()
    web = DemoWeb(given.seed, given.hosts, given.pages, given.profile, given.trap_pages, given.traps)
    if given.changing > 0:
        web = replace(web, turn_s=given.changing, started_at=SystemClock().now())
    asyncio.run(_run(web, given.log, given.port_file))


if __name__ == "__main__":
    main()
