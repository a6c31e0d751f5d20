"""TREC Web and TREC Text files as captures."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.archive.foreign.captures import foreign
from gossamer.archive.foreign.records import FIRST_DATE, ImportReport
from gossamer.base.clock import from_words, in_words
from gossamer.values.capture import Capture, Truncated

WT10G = b"""<DOC>
<DOCNO>WTX001-B01-1</DOCNO>
<DOCOLDNO>IA001-000000-B001-13</DOCOLDNO>
<DOCHDR>
http://www.example.com:80/a/b.html 204.244.59.33 19970101013145 text/html 440
HTTP/1.0 200 OK
Date: Wed, 01 Jan 1997 01:21:13 GMT
Content-type: text/html
Transfer-Encoding: chunked
</DOCHDR>
<title>Harbour</title>
<p>Boats and lamps
</DOC>
"""
GOV2 = b"""<DOC>
<DOCNO>GX000-00-0000000</DOCNO>
<DOCHDR>
http://www.example.gov/
HTTP/1.1 404 Not Found
Date: Tue, 09 Dec 2003 21:21:33 GMT
</DOCHDR>
<h1>Nothing here</h1>
</DOC>
"""
NEWS = b"""<DOC>
<DOCNO> FT911-1 </DOCNO>
<DATE>910514 </DATE>
<HEADLINE>Boats</HEADLINE>
<TEXT>
Lamps at the harbour.
</TEXT>
</DOC>
"""
Found = tuple[list[Capture], ImportReport]


def read(folder: Path, content: bytes, **more: int) -> Found:
    path, report = folder / "docs.trec", ImportReport()
    path.write_bytes(content)
    return list(foreign(path, report, **more)), report


def in_two_members(content: bytes) -> bytes:
    return gzip.compress(content[:50]) + gzip.compress(content[50:])


def test_a_document_of_the_web_has_the_url_date_and_header_that_were_kept(tmp_path: Path) -> None:
    (one, two), report = read(tmp_path, WT10G + GOV2)
    assert (one.url.text, one.status, one.address) == ("http://www.example.com/a/b.html", 200, "204.244.59.33")
    assert in_words(one.fetched_at).startswith("1997-01-01") and one.header("content-type") == "text/html"
    assert one.body == b"<title>Harbour</title>\n<p>Boats and lamps\n", "the rest of the document, byte for byte"
    assert one.header("transfer-encoding") is None, "the stored body has no chunks"
    assert (two.status, two.reason) == (404, "Not Found")
    assert two.fetched_at == from_words("2003-12-09T21:21:33Z"), "the date of the response where the line has none"
    assert not report.counts


def test_a_document_of_text_gets_an_address_that_cannot_exist(tmp_path: Path) -> None:
    ((one,), report) = read(tmp_path, NEWS)
    assert one.url.text == "http://trec.invalid/FT911-1" and one.fetched_at == FIRST_DATE
    assert b"<HEADLINE>Boats</HEADLINE>" in one.body and one.header("content-type") == "text/html"
    assert not report.counts


@pytest.mark.parametrize("packed", [gzip.compress, in_two_members])
def test_compressed_files_read_the_same(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    content = WT10G + NEWS + GOV2
    assert read(tmp_path, packed(content))[0] == read(tmp_path, content)[0]


def test_what_cannot_be_used_is_set_aside_with_its_place_and_the_rest_is_read(tmp_path: Path) -> None:
    nameless = NEWS.replace(b"DOCNO", b"NO")
    urlless = GOV2.replace(b"http://www.example.gov/", b"nowhere")
    found, report = read(tmp_path, nameless + b"noise\nmore noise\n" + urlless + NEWS + GOV2[:60])
    assert [one.url.text for one in found] == ["http://trec.invalid/FT911-1"]
    assert [(one.reason, one.offset, one.url) for one in report.records] == [
        ("no DOCNO", 0, ""),
        ("not a document", len(nameless), ""),
        ("no URL", len(nameless) + 17, "GX000-00-0000000"),
        ("cut short", len(nameless) + 17 + len(urlless) + len(NEWS), ""),
    ]


def test_a_body_above_the_limit_is_cut_and_marked(tmp_path: Path) -> None:
    long = NEWS.replace(b"Lamps", b"Lamps " * 100_000)
    ((one, two), _) = read(tmp_path, long + NEWS, most_body_bytes=1000)
    assert len(one.body) == 1000 and one.truncated is Truncated.LENGTH
    assert two.truncated is None


def test_dates_after_now_are_refused(tmp_path: Path) -> None:
    now = from_words("2026-01-01T00:00:00Z")
    found, report = read(tmp_path, WT10G.replace(b"19970101013145", b"29970101013145"), latest=now)
    assert not found and report.counts == {"date in the future": 1}


LINES = [*WT10G.splitlines(True), *NEWS.splitlines(True), b"\xff\x00\n", b"<DOC>\n"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([*WT10G.splitlines(True), *NEWS.splitlines(True), b"\xff\x00\n", b"<DOC>\n"]), max_size=60)
)
def test_no_order_of_lines_raises(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    found, report = read(tmp_path_factory.mktemp("trec"), b"<DOC>\n" + b"".join(lines))
    whole = b"".join(lines).count(b"</DOC>")
    assert len(found) <= whole and (found or report.counts)


def test_a_file_that_is_neither_says_so(tmp_path: Path) -> None:
    found, report = read(tmp_path, bz2.compress(NEWS))
    assert not found and report.counts == {"not a record": 1}
