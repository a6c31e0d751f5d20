"""Ten thousand idle connections to the real site (FAULTS W16): it answers, and its memory does not grow."""

import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.web.site import LONG_S, Site, serving

from gossamer.store.directory import Directory
from gossamer.web.access.connections import MOST_CONNECTIONS

IDLE = 10_000
PAGE = resource.getpagesize()


@contextmanager
def file_limit_raised() -> Iterator[int]:
    """How many connections this process can hold in addition to those of the server, which runs in it too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield min(IDLE, hard - MOST_CONNECTIONS - 1_500)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


@pytest.mark.slow
def test_F_W16_searches_are_answered_during_ten_thousand_idle_connections(collection: Directory) -> None:
    connections: list[socket.socket] = []
    with file_limit_raised() as many, serving(collection) as site:
        if many < 1_000:
            pytest.skip(f"this machine lets a process have too few files open: {many} connections could be held")
        check_search(site)
        before = resident()
        try:
            for number in range(many):
                connections.append(socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S))
                if number % 1_000 == 999:
                    check_search(site)
            grown = resident() - before
            check_search(site)
            print(f"{many:,} idle connections, {grown / 2**20:.0f} MiB more")
            assert grown < 200 << 20, f"{grown >> 20} MiB for {many:,} idle connections"
        finally:
            for connection in connections:
                connection.close()
        check_search(site)


def check_search(site: Site) -> None:
    answer = site.ask("/search.json?q=harbour")
    assert answer.status == 200 and answer.json["total"] > 0
