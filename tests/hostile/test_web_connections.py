"""Clients that hold connections, flood, or send ambiguous requests (FAULTS W16): the real server serves others."""

import asyncio
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
import uvicorn
from tests.web.gate import gate_of

from gossamer.base.clock import SystemClock
from gossamer.web.access import connections, guard
from gossamer.web.access.connections import Serving, server_of
from gossamer.web.access.guard import HEADERS

GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SHORT_S = 0.4
LONG_S = 120.0


BIG = b"x" * (8 << 20)


async def echo_size(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads the request body and answers with its size; a few paths are odd."""
    if scope["path"] == "/broken":
        raise RuntimeError("an error of the application")
    if scope["path"] == "/breaks-off":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        raise RuntimeError("an error of the application")
    if scope["path"] == "/big":
        length = [(b"content-length", str(len(BIG)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": BIG})
        return
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    status = 200 if message["type"] == "http.request" else 408
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": str(size).encode()})


@pytest.fixture(scope="module")
def server() -> Iterator[uvicorn.Server]:
    gate = gate_of(SystemClock(), inner=echo_size)
    server = server_of(gate, "127.0.0.1", 0)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), name="the server")
    thread.start()
    until = time.monotonic() + LONG_S
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    yield server
    server.should_exit = True
    thread.join(LONG_S)


@pytest.fixture
def port(server: uvicorn.Server) -> int:
    found: int = server.servers[0].sockets[0].getsockname()[1]
    return found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", SHORT_S)
    monkeypatch.setattr(guard, "BODY_S", SHORT_S)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=LONG_S)


def read_all(connection: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def is_served(port: int) -> bool:
    with closing(connect(port)) as connection:
        connection.sendall(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        return read_all(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.usefixtures("impatient")
def test_F_W16_an_endless_request_head_times_out(port: int) -> None:
    with closing(connect(port)) as slow, closing(connect(port)) as silent:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        answer = read_all(slow)
        assert answer.startswith(b"HTTP/1.1 408")
        assert all(f"{name}: {value}".lower().encode() in answer.lower() for name, value in HEADERS.items())
        assert read_all(silent) != b"", "a silent client is too slow too"
    assert is_served(port)


@pytest.mark.usefixtures("impatient")
def test_F_W16_a_byte_at_a_time_is_too_slow(port: int) -> None:
    with closing(connect(port)) as connection:
        count = 0
        try:
            for count in range(3_000):
                connection.sendall(b"x" if count else b"G")
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert count < 2_999, "a byte does not restart the timeout"


@pytest.mark.usefixtures("impatient")
def test_F_W16_the_second_request_must_be_complete_too(port: int) -> None:
    with closing(connect(port)) as connection:
        connection.sendall(GET)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET / HT")
        assert b"408" in read_all(connection)


@pytest.mark.usefixtures("impatient")
def test_F_W16_a_body_that_is_never_sent_times_out(port: int) -> None:
    with closing(connect(port)) as connection:
        connection.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408") and b"connection: close" in answer.lower()


def test_F_W16_a_body_of_a_hundred_megabytes_is_refused_before_it_is_sent(port: int) -> None:
    with closing(connect(port)) as connection:
        connection.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 104857600\r\n\r\n")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 413") and b"connection: close" in answer.lower()


def test_F_W16_an_endless_body_is_cut_off(port: int) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    with closing(connect(port)) as connection:
        connection.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while sent < 100 << 20:
                connection.sendall(chunk)
                sent += len(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 20 << 20, "no more than the buffers of both sides hold"
    assert is_served(port)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        b"Content-Length: -4\r\n\r\n",
        b"Content-Length: 4, 5\r\n\r\nabcde",
        b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        b"Host: 127.0.0.1\r\n\r\n",
        b"Bad Name: x\r\n\r\n",
        b"X: a\0b\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    ],
)
def test_F_W16_two_lengths_two_hosts_or_nonsense_are_refused(port: int, head: bytes) -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with closing(connect(port)) as connection:
        connection.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + smuggled)
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
    status = answer.split(b" ", 2)[1]
    assert status.startswith(b"4") or status == b"501"
    assert answer.count(b"HTTP/1.1 ") == 1, "there is one response only"
    assert b"content-security-policy" in answer.lower()


def test_F_W16_idle_connections_are_closed_for_new_ones(server: uvicorn.Server, port: int) -> None:
    held: list[socket.socket] = []
    assert isinstance(server.config, Serving)
    server.config.most_connections = 400
    try:
        for _ in range(600):
            held.append(connect(port))
        assert is_served(port)
        held[-1].sendall(GET)
        assert held[-1].recv(65536).startswith(b"HTTP/1.1 200"), "the newest are kept"
        held[0].settimeout(LONG_S)
        assert held[0].recv(10) == b"", "the oldest is closed"
        assert len(server.server_state.connections) <= 400
    finally:
        server.config.most_connections = connections.MOST_CONNECTIONS
        for connection in held:
            connection.close()
    assert is_served(port)


@pytest.mark.parametrize(
    ("soft", "hard", "files", "allowed"),
    [
        (256, 256, 256, 16),
        (1024, 1024, 1024, 424),
        (4096, 4096, 4096, 2048),
        (1024, 1 << 20, 16_384, 4_000),
        (1 << 20, 1 << 20, 1 << 20, 4_000),
    ],
)
def test_F_W16_the_limit_of_open_files_is_raised_if_allowed(soft: int, hard: int, files: int, allowed: int) -> None:
    """In a process of its own, because a lowered limit cannot be raised again."""
    script = (
        "import resource\n"
        "from gossamer.web.access.connections import connections_allowed\n"
        f"most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        f"limits = [most if most != -1 and one > most else one for one in ({soft}, {hard})]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, tuple(limits))\n"
        "print(connections_allowed(), resource.getrlimit(resource.RLIMIT_NOFILE)[0], limits[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG_S, check=True)
    found, opened, most = map(int, done.stdout.split())
    assert opened == min(files, most) and found == min(allowed, max(16, opened - connections.FILES_KEPT))


def test_F_W16_a_flood_on_one_connection_does_not_block_the_others(port: int) -> None:
    with closing(connect(port)) as flood:
        flood.settimeout(0.2)
        sent = 0
        try:
            for _ in range(200):
                flood.sendall(GET * 100)  # and none of the responses is read
                sent += 100
        except TimeoutError:
            pass
        assert all(is_served(port) for _ in range(5))
    assert is_served(port)


def gate_behind(server: uvicorn.Server) -> Any:
    return server.config.app


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def test_F_W16_too_many_requests_at_once_are_answered_with_503(
    server: uvicorn.Server, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_behind(server)._making, "most", 1)
    with closing(connect(port)) as busy:
        busy.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nab")
        wait_until(lambda: gate_behind(server).load == (1, 0), "the first request is in progress")
        with closing(connect(port)) as connection:
            connection.sendall(GET)
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503") and b"retry-after" in answer.lower()
        busy.sendall(b"c")
        assert busy.recv(65536).startswith(b"HTTP/1.1 200")
    assert is_served(port), "after it there is room again"


KINDS = {
    "answered": GET,
    "head": GET.replace(b"GET", b"HEAD"),
    "refused": b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "another-site": GET.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nOrigin: http://evil.test\r\n\r\n"),
    "broken": GET.replace(b"GET /", b"GET /broken"),
    "breaks-off": GET.replace(b"GET /", b"GET /breaks-off"),
    "long": GET.replace(b"GET /", b"GET /big"),
    "long-head": GET.replace(b"GET /", b"HEAD /big"),
    "body-too-long": b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 104857600\r\n\r\n",
    "body-missing": b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc",
    "head-unfinished": b"GET / HTTP/1.1\r\nHo",
    "nonsense": b"\0\0\0\r\n\r\n",
    "pipelined": GET * 20,
    "nothing": b"",
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("client", ["reads", "closes", "resets"])
@pytest.mark.parametrize("kind", KINDS)
def test_F_W16_every_counter_returns_to_zero(
    server: uvicorn.Server, port: int, kind: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three rounds with room for two: a counter that leaks would refuse the third."""
    gate, config = gate_behind(server), server.config
    assert isinstance(config, Serving)
    monkeypatch.setattr(gate._making, "most", 2)
    monkeypatch.setattr(gate._long, "most", 2)
    for _ in range(3):
        connection = connect(port)
        connection.sendall(KINDS[kind])
        if client == "reads":
            connection.settimeout(1.0)
            with suppress(TimeoutError, ConnectionError):
                while connection.recv(1 << 20):
                    connection.settimeout(0.1)
        elif client == "resets":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        wait_until(lambda: gate.load == (0, 0), "no request is in progress")
        wait_until(lambda: not server.server_state.connections, "no connection is kept")
        assert not config.waiting and not config.slow
        assert is_served(port)
        wait_until(lambda: gate.load == (0, 0) and not config.waiting, "nor after a request that is served")


def test_F_X10_long_responses_that_are_not_read_are_limited_and_cut_off(
    server: uvicorn.Server, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = gate_behind(server)
    monkeypatch.setattr(connections, "RATE_S", SHORT_S)
    monkeypatch.setattr(gate._long, "most", 3)
    held = [connect(port) for _ in range(3)]
    try:
        for number, connection in enumerate(held, 1):
            connection.sendall(KINDS["long"])
            wait_until(lambda number=number: gate.load[1] == number, "the response waits to be read")
        with closing(connect(port)) as connection:
            connection.sendall(KINDS["long"])
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503") and b"retry-after" in answer.lower()
        assert is_served(port), "short responses are still sent"
        wait_until(lambda: gate.load == (0, 0), "responses that are not read are cut off")
    finally:
        for connection in held:
            connection.close()
    with closing(connect(port)) as connection:
        connection.sendall(KINDS["long"].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert read_all(connection).endswith(BIG), "a client that reads gets all of it"


def test_bytes_that_are_not_http_are_refused_with_the_usual_headers(port: int) -> None:
    for nonsense in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0" * 99,
    ):
        with closing(connect(port)) as connection:
            connection.sendall(nonsense + b"\r\n\r\n")
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 4") and b"nosniff" in answer
