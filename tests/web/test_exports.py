"""Exports of all pages, facts, links and fetches, as streams."""

import asyncio
import csv
import io
import json
import socket
from collections.abc import Generator
from typing import Any

import pytest
from pyoxigraph import RdfFormat, parse
from tests.web.hostile_pages import RUN, WORD
from tests.web.site import LONG_S, Site

from gossamer.collection.tables import LINK_COLUMNS, PAGE_COLUMNS, PIECE, VISIT_COLUMNS, in_pieces
from gossamer.values.format import csv_line
from gossamer.web.streams import Slots, Stream

SLOT = Slots(1)
EXPORTS = {
    "pages.jsonl": "application/jsonl",
    "pages.csv": "text/csv; charset=utf-8",
    "facts.nq": "application/n-quads",
    "links.csv": "text/csv; charset=utf-8",
    "outcomes.csv": "text/csv; charset=utf-8",
    "urls.csv": "text/csv; charset=utf-8",
    "captures.csv": "text/csv; charset=utf-8",
    "revisits.csv": "text/csv; charset=utf-8",
}


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_has_its_media_type_a_file_name_and_the_security_headers(site: Site, name: str) -> None:
    answer = site.ask(f"/export/{name}")
    assert answer.status == 200 and answer.headers["content-type"] == EXPORTS[name]
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["x-content-type-options"] == "nosniff" and "default-src 'none'" in str(answer.headers)
    assert answer.headers["transfer-encoding"] == "chunked"
    head = site.ask(f"/export/{name}", "HEAD")
    assert head.status == 200 and head.headers["content-type"] == EXPORTS[name] and not head.body


def test_pages_as_json_lines_and_as_csv_are_the_same(site: Site) -> None:
    lines = [json.loads(line) for line in site.ask("/export/pages.jsonl").text.splitlines()]
    head, *table = rows(site.ask("/export/pages.csv").text)
    assert tuple(head) == PAGE_COLUMNS
    assert sorted(line["url"] for line in lines) == sorted(row[0] for row in table)
    assert len(lines) > 40 and sum(bool(line["text"]) for line in lines) > 30
    assert len({line["url"] for line in lines}) == len(lines)
    assert {line["url"]: line["fetched_at"] for line in lines} == {row[0]: row[5] for row in table}
    assert all(line["fetched_at"].endswith("Z") for line in lines)


def test_an_export_can_be_filtered_like_a_search(site: Site) -> None:
    by_word = rows(site.ask(f"/export/pages.csv?q={WORD}").text)[1:]
    on_site = rows(site.ask("/export/pages.csv?site=hostile.test").text)[1:]
    total = site.ask(f"/search.json?q={WORD}").json["total"]
    assert by_word and {row[1] for row in by_word} == {row[1] for row in on_site} == {"hostile.test"}
    assert len(by_word) <= total
    assert rows(site.ask("/export/pages.csv?q=nosuchwordanywhere").text)[1:] == []


def test_facts_as_n_quads_are_complete(site: Site) -> None:
    body = site.ask("/export/facts.nq").body
    quads = list(parse(body, format=RdfFormat.N_QUADS))
    count = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } FILTER(?g != <urn:gossamer:provenance>) }"
    assert len(quads) == int(site.sparql(count).json["results"]["bindings"][0]["n"]["value"]) > 100


def test_links_and_fetches_are_exported(site: Site) -> None:
    head, *links = rows(site.ask("/export/links.csv").text)
    assert tuple(head) == LINK_COLUMNS and len(links) > 100
    assert all(len(row) == 3 and row[1].startswith(("http://", "https://")) for row in links)
    head, *visits = rows(site.ask("/export/outcomes.csv").text)
    assert tuple(head) == VISIT_COLUMNS and len(visits) > 40
    outcomes = site.ask("/status.json").json["outcomes"]
    assert {row[1] for row in visits} <= set(outcomes)


@pytest.mark.parametrize("wrong", ["since=yesterday", "from=-1", "from=999999", "sort=odd", "q=" + "x" * 5000])
def test_an_invalid_filter_is_refused_in_json(site: Site, wrong: str) -> None:
    answer = site.ask(f"/export/pages.csv?{wrong}")
    assert answer.status == 400 and answer.json["error"]


def test_exports_of_an_empty_collection_are_empty_or_not_ready_yet(empty_site: Site) -> None:
    for name in EXPORTS:
        answer = empty_site.ask(f"/export/{name}")
        assert answer.status in (200, 503)
        assert answer.status == 200 or answer.json["error"]


def test_F_W17_a_cell_is_never_a_formula() -> None:
    for text in ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"):
        (cell,) = next(csv.reader(io.StringIO(csv_line([text]).decode(), newline="")))
        assert cell[0] == "'" and cell[1:] == text
    plain = ["http://a.test/", "it's", 'a "b"', "a,b", "two\nlines", ""]
    assert next(csv.reader(io.StringIO(csv_line(plain).decode(), newline=""))) == plain
    assert csv_line([-1, 0.5, None, "a\0b\ud800"]) == b"-1,0.5,,ab?\r\n"


def test_F_W17_hostile_text_stays_in_its_cell(site: Site) -> None:
    table = rows(site.ask(f"/export/pages.csv?q={WORD}").text)
    assert all(len(row) == len(PAGE_COLUMNS) for row in table) and RUN in str(table)


def sent_by(stream: Stream, disconnects_after: int | None = None) -> list[dict[str, Any]]:
    """What a stream sends to a client that disconnects after this many messages."""
    sent: list[dict[str, Any]] = []

    async def ask() -> None:
        is_disconnected = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await is_disconnected.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if disconnects_after is not None and len(sent) > disconnects_after:
                is_disconnected.set()
            await asyncio.sleep(0)

        await stream({"type": "http"}, receive, send)

    asyncio.run(ask())
    return sent


class Source:
    """Pieces, and how many were made."""

    def __init__(self) -> None:
        self.made, self.is_closed = 0, False

    def pieces(self) -> Generator[bytes, None, None]:
        try:
            for self.made in range(1, 100_001):
                yield b"x" * 1000
        finally:
            self.is_closed = True


def test_a_stream_is_closed_when_the_client_disconnects() -> None:
    source = Source()
    sent = sent_by(
        Stream(lambda: in_pieces(source.pieces()), "text/plain", "x.txt", SLOT),
        disconnects_after=3,
    )
    assert source.is_closed and len(sent) < 10
    assert source.made * 1000 < 10 * PIECE, "pieces are made only when they are sent"


def test_a_stream_ends_with_its_last_piece() -> None:
    sent = sent_by(Stream(lambda: in_pieces(iter([b"a", b"b"])), "text/plain", "x.txt", SLOT))
    assert [one.get("body") for one in sent] == [None, b"ab", b""] and not sent[-1].get("more_body")


def test_clients_that_disconnect_from_an_export_do_not_affect_others(site: Site) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S) as connection:
            connection.sendall(b"GET /export/facts.nq HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            connection.recv(100)
    assert site.ask("/export/facts.nq").status == 200
