"""Queries that run away: they are stopped, and nobody else notices (FAULTS W11). Counted, not timed."""

import socket
from concurrent.futures import ThreadPoolExecutor
from select import select
from urllib.parse import quote

import pytest
from tests.web.site import LONG_S, Answer, Site, serving
from tests.web.test_sparql import COUNT, RUNAWAY

from gossamer.cli.serve import QUERIES
from gossamer.store.directory import Directory
from gossamer.views.facts.sparql import BUSY

SEARCHES, ASKED = 50, 10


def searched(site: Site, times: int) -> list[int]:
    return [site.ask(f"/search.json?q=harbour&from={number % 3}").status for number in range(times)]


def runs_away(site: Site) -> socket.socket:
    """Asks without end; whoever closes it leaves."""
    line = socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S)
    target = f"/sparql?query={quote(RUNAWAY)}"
    line.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n".encode())
    return line


@pytest.mark.slow
@pytest.mark.parametrize("runaways", [1, QUERIES - 1])
def test_F_W11_searches_and_queries_are_answered_while_others_run_away(collection: Directory, runaways: int) -> None:
    with serving(collection, sparql_s=300.0) as site:
        assert site.sparql(COUNT).status == 200, "the facts are there"
        running = [runs_away(site) for _ in range(runaways)]
        try:
            found = searched(site, SEARCHES)
            asked = [site.sparql(COUNT).status for _ in range(ASKED)]
            pages = [site.ask(path).status for path in ("/", "/status.json", "/sparql", "/crawl")]
            assert not select(running, [], [], 0)[0], "everybody was answered before the first of them ended"
        finally:
            for line in running:
                line.close()
        assert found == [200] * SEARCHES and asked == [200] * ASKED and pages == [200] * 4


@pytest.mark.slow
def test_F_W11_a_line_of_runaways_is_told_to_come_back(collection: Directory) -> None:
    many = 10 * QUERIES
    with serving(collection, sparql_s=3.0) as site, ThreadPoolExecutor(many) as crew:
        assert site.sparql(COUNT).status == 200
        running = [crew.submit(site.sparql, RUNAWAY) for _ in range(many)]
        found = searched(site, 5)
        ends: list[Answer] = [one.result(3 * LONG_S) for one in running]
        assert found == [200] * 5
        assert [one.status for one in ends] == [503] * many
        assert all(int(one.headers["retry-after"]) > 0 for one in ends)
        stopped = [one for one in ends if "stopped after" in one.text]
        assert len(stopped) >= QUERIES and sum(BUSY in one.text for one in ends) == many - len(stopped) > 0
        assert site.sparql(COUNT).status == 200, "and nobody of them is left"
