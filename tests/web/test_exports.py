"""Everything there is, streamed."""

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
    "visits.csv": "text/csv; charset=utf-8",
    "addresses.csv": "text/csv; charset=utf-8",
    "captures.csv": "text/csv; charset=utf-8",
    "revisits.csv": "text/csv; charset=utf-8",
}


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_says_what_it_is_and_is_as_harmless_as_a_page(site: Site, name: str) -> None:
    answer = site.ask(f"/export/{name}")
    assert answer.status == 200 and answer.headers["content-type"] == EXPORTS[name]
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["x-content-type-options"] == "nosniff" and "default-src 'none'" in str(answer.headers)
    assert answer.headers["transfer-encoding"] == "chunked"
    head = site.ask(f"/export/{name}", "HEAD")
    assert head.status == 200 and head.headers["content-type"] == EXPORTS[name] and not head.body


def test_pages_come_as_lines_and_as_a_table(site: Site) -> None:
    lines = [json.loads(line) for line in site.ask("/export/pages.jsonl").text.splitlines()]
    head, *table = rows(site.ask("/export/pages.csv").text)
    assert tuple(head) == PAGE_COLUMNS
    assert sorted(line["url"] for line in lines) == sorted(row[0] for row in table)
    assert len(lines) > 40 and sum(bool(line["text"]) for line in lines) > 30
    assert len({line["url"] for line in lines}) == len(lines)
    assert {line["url"]: line["fetched_at"] for line in lines} == {row[0]: row[5] for row in table}
    assert all(line["fetched_at"].endswith("Z") for line in lines)


def test_an_export_may_be_narrowed_like_a_search(site: Site) -> None:
    found = rows(site.ask(f"/export/pages.csv?q={WORD}").text)[1:]
    on_site = rows(site.ask("/export/pages.csv?site=hostile.test").text)[1:]
    total = site.ask(f"/search.json?q={WORD}").json["total"]
    assert found and {row[1] for row in found} == {row[1] for row in on_site} == {"hostile.test"}
    assert len(found) <= total
    assert rows(site.ask("/export/pages.csv?q=nosuchwordanywhere").text)[1:] == []


def test_facts_are_whole_n_quads(site: Site) -> None:
    body = site.ask("/export/facts.nq").body
    quads = list(parse(body, format=RdfFormat.N_QUADS))
    count = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } FILTER(?g != <urn:gossamer:provenance>) }"
    assert len(quads) == int(site.sparql(count).json["results"]["bindings"][0]["n"]["value"]) > 100


def test_links_and_visits_are_all_there(site: Site) -> None:
    head, *links = rows(site.ask("/export/links.csv").text)
    assert tuple(head) == LINK_COLUMNS and len(links) > 100
    assert all(len(row) == 3 and row[1].startswith(("http://", "https://")) for row in links)
    head, *visits = rows(site.ask("/export/visits.csv").text)
    assert tuple(head) == VISIT_COLUMNS and len(visits) > 40
    outcomes = site.ask("/status.json").json["outcomes"]
    assert {row[1] for row in visits} <= set(outcomes)


@pytest.mark.parametrize("wrong", ["since=yesterday", "from=-1", "from=999999", "sort=odd", "q=" + "x" * 5000])
def test_what_cannot_be_asked_is_refused_in_json(site: Site, wrong: str) -> None:
    answer = site.ask(f"/export/pages.csv?{wrong}")
    assert answer.status == 400 and answer.json["error"]


def test_before_there_is_anything_exports_are_empty_or_asked_for_again(empty_site: Site) -> None:
    for name in EXPORTS:
        answer = empty_site.ask(f"/export/{name}")
        assert answer.status in (200, 503)
        assert answer.status == 200 or answer.json["error"]


def test_F_W17_a_cell_is_never_a_command() -> None:
    for text in ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"):
        (cell,) = next(csv.reader(io.StringIO(csv_line([text]).decode(), newline="")))
        assert cell[0] == "'" and cell[1:] == text
    plain = ["http://a.test/", "it's", 'a "b"', "a,b", "two\nlines", ""]
    assert next(csv.reader(io.StringIO(csv_line(plain).decode(), newline=""))) == plain
    assert csv_line([-1, 0.5, None, "a\0b\ud800"]) == b"-1,0.5,,ab?\r\n"


def test_F_W17_hostile_texts_stay_in_their_cells(site: Site) -> None:
    found = rows(site.ask(f"/export/pages.csv?q={WORD}").text)
    assert all(len(row) == len(PAGE_COLUMNS) for row in found) and RUN in str(found)


def asked(stream: Stream, leaves_after: int | None = None) -> list[dict[str, Any]]:
    """What a Stream sends to somebody who leaves after so many pieces."""
    sent: list[dict[str, Any]] = []

    async def ask() -> None:
        has_left = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await has_left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if leaves_after is not None and len(sent) > leaves_after:
                has_left.set()
            await asyncio.sleep(0)

        await stream({"type": "http"}, receive, send)

    asyncio.run(ask())
    return sent


class Source:
    """Pieces, and how many were in_pieces."""

    def __init__(self) -> None:
        self.in_pieces, self.is_closed = 0, False

    def pieces(self) -> Generator[bytes, None, None]:
        try:
            for self.in_pieces in range(1, 100_001):
                yield b"x" * 1000
        finally:
            self.is_closed = True


def test_a_reader_who_leaves_frees_everything() -> None:
    source = Source()
    sent = asked(
        Stream(lambda: in_pieces(source.pieces()), "text/plain", "x.txt", SLOT),
        leaves_after=3,
    )
    assert source.is_closed and len(sent) < 10
    assert source.in_pieces * 1000 < 10 * PIECE, "no more is made than was taken"


def test_a_stream_ends_with_its_last_piece() -> None:
    sent = asked(Stream(lambda: in_pieces(iter([b"a", b"b"])), "text/plain", "x.txt", SLOT))
    assert [one.get("body") for one in sent] == [None, b"ab", b""] and not sent[-1].get("more_body")


def test_a_reader_who_leaves_a_real_export_disturbs_nobody(site: Site) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S) as line:
            line.sendall(b"GET /export/facts.nq HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            line.recv(100)
    assert site.ask("/export/facts.nq").status == 200
