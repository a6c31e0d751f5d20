"""Runaway queries are stopped, and other clients are not affected (FAULTS W11). Counted, not timed."""

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

SEARCHES, QUERIES_SENT = 50, 10


def search_statuses(site: Site, times: int) -> list[int]:
    return [site.ask(f"/search.json?q=harbour&from={number % 3}").status for number in range(times)]


def send_runaway(site: Site) -> socket.socket:
    """A connection that waits for a query without end; closing it ends the request."""
    connection = socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S)
    target = f"/sparql?query={quote(RUNAWAY)}"
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n".encode())
    return connection


@pytest.mark.slow
@pytest.mark.parametrize("runaways", [1, QUERIES - 1])
def test_F_W11_searches_and_queries_are_answered_during_runaway_queries(collection: Directory, runaways: int) -> None:
    with serving(collection, sparql_s=300.0) as site:
        assert site.sparql(COUNT).status == 200, "the facts are there"
        running = [send_runaway(site) for _ in range(runaways)]
        try:
            searches = search_statuses(site, SEARCHES)
            queries = [site.sparql(COUNT).status for _ in range(QUERIES_SENT)]
            pages = [site.ask(path).status for path in ("/", "/status.json", "/sparql", "/crawl")]
            assert not select(running, [], [], 0)[0], "all were answered before the first runaway ended"
        finally:
            for connection in running:
                connection.close()
        assert searches == [200] * SEARCHES and queries == [200] * QUERIES_SENT and pages == [200] * 4


@pytest.mark.slow
def test_F_W11_too_many_runaway_queries_are_answered_with_retry_after(collection: Directory) -> None:
    many = 10 * QUERIES
    with serving(collection, sparql_s=3.0) as site, ThreadPoolExecutor(many) as clients:
        assert site.sparql(COUNT).status == 200
        running = [clients.submit(site.sparql, RUNAWAY) for _ in range(many)]
        searches = search_statuses(site, 5)
        ends: list[Answer] = [one.result(3 * LONG_S) for one in running]
        assert searches == [200] * 5
        assert [one.status for one in ends] == [503] * many
        assert all(int(one.headers["retry-after"]) > 0 for one in ends)
        stopped = [one for one in ends if "stopped after" in one.text]
        assert len(stopped) >= QUERIES and sum(BUSY in one.text for one in ends) == many - len(stopped) > 0
        assert site.sparql(COUNT).status == 200, "none of them is still running"
