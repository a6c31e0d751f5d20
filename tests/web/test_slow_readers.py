"""Clients that request a long answer and hardly read it (FAULTS X10): a real server process, real sockets."""

import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.web.site import LONG_S, Site

from gossamer.store.directory import Directory
from gossamer.web.streams import MOST_EXPORTS

READERS = 260
MIB = 1 << 20
ESTABLISHED = 1  # tcp(7), TCP_INFO
REQUEST = b"GET /export/outcomes.csv HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@dataclass(frozen=True)
class Served:
    process: "subprocess.Popen[str]"
    site: Site

    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def load(self) -> tuple[int, int]:
        """Answers being made, and long ones being sent."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        return int(words[1]), int(words[2])

    def check_search(self) -> None:
        answer = self.site.ask("/search.json?q=harbour")
        assert answer.status == 200 and answer.json["total"] > 0


@pytest.fixture
def served(collection: Directory) -> Iterator[Served]:
    command = [sys.executable, "-m", "tests.web.endless", str(collection.root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=Path(__file__).parents[2], **pipes) as process:  # type: ignore[call-overload]
        try:
            port = re.search(r":(\d+)/", process.stdout.readline())
            assert port is not None, "the server did not start"
            yield Served(process, Site(int(port[1])))
        finally:
            process.terminate()


def slow_reader(port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(LONG_S)
    connection.connect(("127.0.0.1", port))
    connection.sendall(REQUEST)
    return connection


def head_of(connection: socket.socket) -> bytes:
    """The head of the answer, read a few bytes at a time."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(256)
        assert piece, received
        received += piece
    return received


def is_open(connection: socket.socket) -> bool:
    """Has the server not closed the connection? Checked without reading."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


def wait_until(is_true: Callable[[], bool], message: str) -> None:
    until = time.monotonic() + LONG_S
    while not is_true():
        assert time.monotonic() < until, message
        time.sleep(0.05)


def test_F_X10_slow_clients_of_an_endless_export_do_not_delay_others(served: Served) -> None:
    served.check_search()
    before = served.resident()
    for _ in range(2):
        readers = [slow_reader(served.site.port) for _ in range(READERS)]
        try:
            served.check_search()
            heads = [head_of(connection) for connection in readers]
            accepted = [one for one, head in zip(readers, heads, strict=True) if head.startswith(b"HTTP/1.1 200")]
            refused = [head for head in heads if head.startswith(b"HTTP/1.1 503")]
            assert len(accepted) >= MOST_EXPORTS and len(accepted) + len(refused) == READERS
            assert all(b"retry-after: 60" in head.lower() for head in refused)
            grown = served.resident() - before
            assert grown < 150 * MIB, f"{grown // MIB} MiB for {READERS} slow clients"
            served.check_search()
            wait_until(lambda accepted=accepted: not any(map(is_open, accepted)), "idle clients are disconnected")
            served.check_search()
        finally:
            for connection in readers:
                connection.close()
        wait_until(lambda: served.load() == (0, 0), "the counters return to 0")
    print(f"{READERS} slow clients: {grown / MIB:.0f} MiB more at most")
    assert served.resident() - before < 150 * MIB
    again = []
    for _ in range(MOST_EXPORTS):  # each head at once: a client that does not read is disconnected
        again.append(slow_reader(served.site.port))
        assert head_of(again[-1]).startswith(b"HTTP/1.1 200"), "every slot is free again"
    refused_one = served.site.ask("/export/outcomes.csv", accept="*/*")
    assert refused_one.status == 503 and "try again" in refused_one.json["error"]
    for connection in again:
        connection.close()
