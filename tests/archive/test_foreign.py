"""Archives others made, in the small: what is skipped, and why."""

import gzip
from io import BytesIO

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archive.samples import capture
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.archive.foreign import foreign
from gossamer.archive.foreign_records import ImportReport
from gossamer.archive.record import response_record
from gossamer.values.capture import Truncated

ARC = b"""filedesc://x.arc 0.0.0.0 20200101000000 text/plain 12
1 0 Test
x

http://example.org/a 1.2.3.4 20200101000000 text/html 24
HTTP/1.1 200 OK

<html>
"""


def written(tmp_path, content: bytes) -> tuple[list, dict]:
    path = tmp_path / "some.warc"
    path.write_bytes(content)
    report = ImportReport()
    return list(foreign(path, report)), report.counts


def warc(kind="response", block=b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nbody", **fields: str) -> bytes:
    given = {"WARC-Target-URI": "http://example.org/", "WARC-Date": "2020-01-02T03:04:05Z", **fields}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value)
    return f"WARC/1.0\r\nWARC-Type: {kind}\r\n{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def test_our_own_records_come_back_as_they_were(tmp_path):
    ours = capture(headers=(("Transfer-Encoding", "chunked"), ("Content-Length", "9"), ("X-Odd", "\xe9")), took_s=0.0)
    found, skipped = written(tmp_path, response_record(ours))
    assert found == [ours] and not skipped


def test_a_bad_record_is_skipped_with_its_reason_and_the_next_is_read(tmp_path):
    found, skipped = written(
        tmp_path,
        warc(block=b"no http at all")
        + warc(**{"WARC-Target-URI": "dns:example.org"})
        + warc(**{"WARC-Date": "yesterday"})
        + warc(**{"WARC-Segment-Number": "2"})
        + warc("conversion")
        + b"garbage\nmore garbage\n"
        + warc()
        + warc()[:-9],
    )
    assert [one.body for one in found] == [b"body"]
    assert skipped == {
        "no HTTP status": 1,
        "not of the web": 1,
        "no date": 1,
        "in segments": 1,
        "conversion": 1,
        "not a record": 1,
        "cut short": 1,
    }


def test_gzip_by_record_as_a_whole_and_plain_read_the_same(tmp_path):
    one, two = warc(), warc(block=b"HTTP/1.0 404 Not Found\n\ngone")
    plain, _ = written(tmp_path, one + two)
    assert written(tmp_path, gzip.compress(one) + gzip.compress(two))[0] == plain
    assert written(tmp_path, gzip.compress(one + two))[0] == plain
    assert [(found.status, found.reason, found.body) for found in plain] == [
        (200, "OK", b"body"),
        (404, "Not Found", b"gone"),
    ]


def test_a_gzip_file_cut_short_yields_what_is_whole(tmp_path):
    whole = gzip.compress(warc()) + gzip.compress(warc(block=b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 40))
    found, skipped = written(tmp_path, whole[:-30])
    assert len(found) == 1
    assert skipped["gzip cut short"] == 1


def test_chunks_are_taken_off_and_folded_fields_unfolded(tmp_path):
    block = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Long: one\r\n two\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    ((found,), _) = written(tmp_path, warc(block=block))
    assert found.body == b"abcde"
    assert found.headers == (("Transfer-Encoding", "chunked"), ("X-Long", "one two"))


def test_a_body_beyond_the_limit_is_cut_and_says_so(tmp_path):
    path = tmp_path / "large.warc"
    path.write_bytes(warc(block=b"HTTP/1.1 200 OK\r\n\r\n" + bytes(300_000)) + warc())
    report = ImportReport()
    large, small = foreign(path, report, most_body_bytes=1000)
    assert (len(large.body), large.truncated) == (1000, Truncated.LENGTH)
    assert (small.body, small.truncated) == (b"body", None)


def test_truncation_is_kept_and_unknown_words_count_as_the_worst(tmp_path):
    found, _ = written(tmp_path, warc(**{"WARC-Truncated": "time"}) + warc(**{"WARC-Truncated": "unspecified"}))
    assert [one.truncated for one in found] == [Truncated.TIME, Truncated.DISCONNECT]


def test_records_warcio_writes_are_read(tmp_path):
    target = BytesIO()
    writer = WARCWriter(target, gzip=True)
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.0")
    fields = {"WARC-IP-Address": "20.1.2.3"}
    writer.write_record(
        writer.create_warc_record(
            "http://example.org/a b", "response", BytesIO(b"text"), http_headers=head, warc_headers_dict=fields
        )
    )
    writer.write_record(
        writer.create_warc_record("http://example.org/r", "resource", BytesIO(b"{}"), warc_content_type="text/json")
    )
    found, skipped = written(tmp_path, target.getvalue())
    assert [(one.url.text, one.body, one.header("content-type"), one.address) for one in found] == [
        ("http://example.org/a%20b", b"text", "text/plain", "20.1.2.3"),
        ("http://example.org/r", b"{}", "text/json", ""),
    ]
    assert not skipped


def test_F_X6_a_damaged_gzip_member_and_a_wrong_length_cost_their_own_record_only(tmp_path):
    whole = [gzip.compress(warc(block=b"HTTP/1.1 200 OK\r\n\r\n" + bytes([65 + n]) * 3000)) for n in range(5)]
    flipped = bytearray(whole[1])
    flipped[30] ^= 255
    long = gzip.compress(warc().replace(b"Content-Length: 29", b"Content-Length: 999999"))
    found, skipped = written(tmp_path, b"".join([whole[0], flipped, whole[2], whole[3][:40], long, whole[4]]))
    assert [one.body[:1] for one in found] == [b"A", b"C", b"E"]
    assert skipped["gzip damaged"] == 2 and skipped["cut short"] >= 1


FIELDS = st.sampled_from(
    ["WARC-Type", "WARC-Date", "WARC-Target-URI", "Content-Length", "WARC-IP-Address", "WARC-Truncated", "Content-Type"]
)
VALUES = st.one_of(
    st.sampled_from(["response", "resource", "2020-01-02T03:04:05Z", "http://example.org/", "29", "-1", "length"]),
    st.text(max_size=40),
    st.from_regex(r"[0-9]{1,5}-[0-9]{2}-[0-9]{2,3}T[0-9:]{0,8}([+-][0-9:]{1,6}|Z)?", fullmatch=True),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(FIELDS, VALUES), max_size=9), st.binary(max_size=80), st.booleans())
def test_F_X6_no_head_whatever_raises_and_the_next_record_is_read(tmp_path_factory, fields, block, is_packed):
    head = "".join(f"{name}: {value}\r\n" for name, value in fields).encode("utf-8", "surrogatepass")
    wrap = gzip.compress if is_packed else bytes
    content = wrap(b"WARC/1.0\r\n" + head + b"\r\n" + block + b"\r\n\r\n") + wrap(warc())
    found, skipped = written(tmp_path_factory.getbasetemp(), content)
    for one in found:
        response_record(one)
    if is_packed:
        assert found[-1].body == b"body"
    else:
        assert found or skipped


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400), st.booleans())
def test_F_X6_no_bytes_whatever_raise(tmp_path_factory, noise, at, is_packed):
    whole = gzip.compress(warc()) * 2 if is_packed else ARC + warc() * 2
    found, skipped = written(tmp_path_factory.getbasetemp(), whole[:at] + noise + whole[at:])
    assert len(found) + sum(skipped.values()) >= 1


def test_an_import_tells_how_far_it_has_read(tmp_path):
    path = tmp_path / "some.warc"
    path.write_bytes(warc() * 3)
    report = ImportReport()
    assert (report.archive, report.read_bytes, report.size_bytes) == ("", 0, 0)
    assert len(list(foreign(path, report))) == 3
    assert report.read_bytes == len(warc()) * 3 and report.archive == "some.warc"


def test_a_head_that_cannot_be_read_is_set_aside_with_its_reason(tmp_path):
    folded = warc().replace(b"WARC-Date", b"X-Note: one\r\n\ttwo\r\nWARC-Date")
    long = b"WARC/1.0\r\nWARC-Type: response\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n"
    twice = warc().replace(b"Content-Length: ", b"Content-Length: 1\r\nContent-Length: ")
    without = warc().replace(b"Content-Length", b"X-Length")
    strange = warc().replace(b"Content-Length: ", b"Content-Length: +")
    found, skipped = written(tmp_path, folded + long + folded + twice + folded + without + folded + strange + folded)
    assert len(found) == 5
    assert {"head too long", "contradictory lengths", "no length", "bad length"} <= set(skipped)
    found, skipped = written(tmp_path, folded + b"WARC/1.0\r\nWARC-Type: resp")
    assert len(found) == 1 and skipped == {"cut short": 1}
