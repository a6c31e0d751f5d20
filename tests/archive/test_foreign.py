"""Small archives written by other programs: what is skipped, and why."""

import gzip
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archive.samples import capture
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.archive.foreign.captures import foreign
from gossamer.archive.foreign.records import ImportReport
from gossamer.archive.record import response_record
from gossamer.base.clock import from_words
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


def test_our_own_records_are_read_back_as_they_were(tmp_path):
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
        "not http or https": 1,
        "no date": 1,
        "in segments": 1,
        "conversion": 1,
        "not a record": 1,
        "cut short": 1,
    }


def test_gzip_by_record_gzip_of_the_whole_file_and_plain_read_the_same(tmp_path):
    one, two = warc(), warc(block=b"HTTP/1.0 404 Not Found\n\ngone")
    plain, _ = written(tmp_path, one + two)
    assert written(tmp_path, gzip.compress(one) + gzip.compress(two))[0] == plain
    assert written(tmp_path, gzip.compress(one + two))[0] == plain
    assert [(found.status, found.reason, found.body) for found in plain] == [
        (200, "OK", b"body"),
        (404, "Not Found", b"gone"),
    ]


def test_a_gzip_file_cut_short_yields_its_complete_records(tmp_path):
    whole = gzip.compress(warc()) + gzip.compress(warc(block=b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 40))
    found, skipped = written(tmp_path, whole[:-30])
    assert len(found) == 1
    assert skipped["gzip cut short"] == 1


def test_chunked_coding_is_removed_and_folded_fields_are_unfolded(tmp_path):
    block = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Long: one\r\n two\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    ((found,), _) = written(tmp_path, warc(block=block))
    assert found.body == b"abcde"
    assert found.headers == (("Transfer-Encoding", "chunked"), ("X-Long", "one two"))


def test_a_body_above_the_limit_is_cut_and_marked_as_truncated(tmp_path):
    path = tmp_path / "large.warc"
    path.write_bytes(warc(block=b"HTTP/1.1 200 OK\r\n\r\n" + bytes(300_000)) + warc())
    report = ImportReport()
    large, small = foreign(path, report, most_body_bytes=1000)
    assert (len(large.body), large.truncated) == (1000, Truncated.LENGTH)
    assert (small.body, small.truncated) == (b"body", None)


def test_the_reason_of_a_truncation_is_kept_and_an_unknown_one_counts_as_the_worst(tmp_path):
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


def test_F_X6_a_damaged_gzip_member_and_a_wrong_length_lose_only_their_own_record(tmp_path):
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
def test_F_X6_no_record_header_raises_and_the_next_record_is_read(tmp_path_factory, fields, block, is_packed):
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
def test_F_X6_arbitrary_bytes_never_raise(tmp_path_factory, noise, at, is_packed):
    whole = gzip.compress(warc()) * 2 if is_packed else ARC + warc() * 2
    found, skipped = written(tmp_path_factory.getbasetemp(), whole[:at] + noise + whole[at:])
    assert len(found) + sum(skipped.values()) >= 1


def test_an_import_reports_how_far_it_has_read(tmp_path):
    path = tmp_path / "some.warc"
    path.write_bytes(warc() * 3)
    report = ImportReport()
    assert (report.archive, report.read_bytes, report.size_bytes) == ("", 0, 0)
    assert len(list(foreign(path, report))) == 3
    assert report.read_bytes == len(warc()) * 3 and report.archive == "some.warc"


def test_a_record_header_that_cannot_be_read_is_skipped_with_its_reason(tmp_path):
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


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("response", None),
        ("RESPONSE", None),
        ("resource", None),
        ("warcinfo", "warcinfo"),
        ("request", "request"),
        ("metadata", "metadata"),
        ("revisit", "revisit"),
        ("conversion", "conversion"),
        ("Conversion", "conversion"),
        ("continuation", "unknown kind"),
        ("other", "unknown kind"),
        ("", "no kind"),
    ],
)
def test_record_types_without_pages_are_counted_and_only_unknown_ones_are_listed(tmp_path, kind, reason):
    path = tmp_path / "some.warc"
    path.write_bytes(warc(kind))
    report = ImportReport()
    assert len(list(foreign(path, report))) == (reason is None)
    assert report.counts == ({} if reason is None else {reason: 1})
    assert written(tmp_path, warc().replace(b"WARC-Type", b"X-Type"))[1] == {"no kind": 1}
    is_loss = reason in ("unknown kind", "no kind")
    assert [(one.reason, one.url) for one in report.records] == ([(reason, "http://example.org/")] if is_loss else [])


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        ("<http://example.org/a>", "http://example.org/a"),
        (" https://example.org/ ", "https://example.org/"),
        ("ftp://example.org/", "not http or https"),
        ("urn:uuid:1", "not http or https"),
        ("x-a+b.c:d", "not http or https"),
        ("http://", "no URL"),
        ("HTTPS://[", "no URL"),
        ("no scheme", "no URL"),
        ("9a:b", "no URL"),
        ("", "no URL"),
    ],
)
def test_a_target_is_an_http_url_or_the_reason_says_what_it_is(tmp_path, target, outcome):
    found, skipped = written(tmp_path, warc(**{"WARC-Target-URI": target}))
    assert [one.url.text for one in found] == ([outcome] if outcome.startswith("http") else [])
    assert skipped == ({} if found else {outcome: 1})


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"),
        ("2020-01-02T03:04:05.25+01:00", "2020-01-02T02:04:05.25Z"),
        ("2008-10-294T05:21:46-0700", "2008-10-20T12:21:46Z"),
        ("2008-01-001T00:00:00Z", "2008-01-01T00:00:00Z"),
        ("2008-01-366T00:00:00Z", "2008-12-31T00:00:00Z"),
        ("1990-01-01T00:00:00Z", "1990-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("2008-01-367T00:00:00Z", "no date"),
        ("2008-01-000T00:00:00Z", "no date"),
        ("2008-13-40T00:00:00Z", "2008-02-09T00:00:00Z"),
        ("1989-12-31T23:59:59Z", "date before the web"),
        ("yesterday", "no date"),
        ("", "no date"),
    ],
)
def test_the_date_of_a_record_may_give_the_day_of_the_year(tmp_path, date, time):
    found, skipped = written(tmp_path, warc(**{"WARC-Date": date}))
    if time[0].isdigit():
        assert [one.fetched_at for one in found] == [from_words(time)] and not skipped
    else:
        assert not found and skipped == {time: 1}


@pytest.mark.parametrize(
    ("digits", "time"),
    [
        ("20260102030405", "2026-01-02T03:04:05Z"),
        ("2026010203040599", "2026-01-02T03:04:05Z"),
        ("202601020304", "2026-01-02T03:04:00Z"),
        ("20261231", "2026-12-31T00:00:00Z"),
        ("202612", "2026-12-01T00:00:00Z"),
        ("2026", "2026-01-01T00:00:00Z"),
        ("20261301", None),
    ],
)
def test_the_date_of_an_arc_record_may_be_shortened(tmp_path, digits, time):
    found, skipped = written(tmp_path, ARC.replace(b"1.2.3.4 20200101000000", f"1.2.3.4 {digits}".encode()))
    assert [one.fetched_at for one in found] == ([from_words(time)] if time else [])
    assert skipped == ({"arc_header": 1} if time else {"arc_header": 1, "no date": 1})


def test_a_capture_from_an_arc_file_has_the_values_of_its_header_line(tmp_path):
    ((one,), _) = written(tmp_path, ARC)
    assert (one.url.text, one.address, one.status, one.reason) == ("http://example.org/a", "1.2.3.4", 200, "OK")
    assert (one.body, one.headers, one.truncated) == (b"<html>\n", (), None)
    ((odd,), _) = written(tmp_path, ARC.replace(b"1.2.3.4", b"1.2.3"))
    assert odd.address == "", "an invalid IP address is left out"


def test_captures_from_the_future_are_skipped(tmp_path):
    path, time = tmp_path / "some.warc", from_words("2020-01-02T03:04:05Z")
    path.write_bytes(warc())
    for latest, kept in ((time, 1), (time - 1, 0)):
        report = ImportReport()
        assert len(list(foreign(path, report, latest=latest))) == kept
        assert report.counts == ({} if kept else {"date in the future": 1})


@pytest.mark.parametrize(
    ("head", "read"),
    [
        (b"HTTP/1.1 200 OK", (200, "OK")),
        (b"http/1.0  404  Not Found here ", (404, "Not Found here")),
        (b"HTTP/2 599", (599, "")),
        (b"HTTP/1.1 100 x", (100, "x")),
        (b"HTTP/1.1 099 x", None),
        (b"HTTP/1.1 20 x", None),
        (b"HTTP/1.1 2000 x", None),
        (b"HTTP/1.1 2x0 x", None),
        (b"HTTP/1.1", None),
        (b"SHTTP/1.1 200 OK", None),
        (b"", None),
    ],
)
def test_a_response_begins_with_an_http_status_line(tmp_path, head, read):
    found, skipped = written(tmp_path, warc(block=head + b"\r\nA: b\r\n\r\nbody"))
    assert [(one.status, one.reason) for one in found] == ([read] if read else [])
    assert skipped == ({} if read else {"no HTTP status": 1})


def test_header_fields_are_read_as_servers_write_them(tmp_path):
    lines = b"A:  b \nC : d\n e\n\tf\nno colon\nG:\nH: \xe9:i"
    for empty_line, head in ((b"\n\n", lines), (b"\r\n\r\n", lines.replace(b"\n", b"\r\n"))):
        ((one,), _) = written(tmp_path, warc(block=b"HTTP/1.1 200 OK\n" + head + empty_line + b"body\n\n\r\n\r\nrest"))
        assert one.headers == (("A", "b"), ("C", "d e f"), ("G", ""), ("H", "\xe9:i"))
        assert one.body == b"body\n\n\r\n\r\nrest"
    ((one,), _) = written(tmp_path, warc(block=b"HTTP/1.1 200 OK\n lost\nA: b"))
    assert (one.headers, one.body) == ((("A", "b"),), b""), "a header that does not end has no body"


@pytest.mark.parametrize(
    ("coded", "plain"),
    [
        (b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"A;x=y\r\n0123456789\r\n0\r\n", b"0123456789"),
        (b"3 \nabc\n0\n", b"abc"),
        (b"3\r\nabc\r\n0\r\nTrailer: x\r\n\r\nmore", b"abc"),
        (b"3\r\nabc\r\nnot a size", b"abc\r\nnot a size"),
        (b"not chunked", b"not chunked"),
        (b"9\r\nshort", b"short"),
        (b"", b""),
    ],
)
def test_chunked_coding_is_removed_as_far_as_it_is_valid(tmp_path, coded, plain):
    ((one,), skipped) = written(
        tmp_path, warc(block=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: X, CHUNKED\r\n\r\n" + coded)
    )
    assert one.body == plain and not skipped
    ((one,), _) = written(tmp_path, warc(block=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + coded))
    assert one.body == coded


@pytest.mark.parametrize(
    ("field", "is_whole"),
    [
        ("Content-Length: 4", True),
        ("content-length: 3", True),
        ("Content-Length: 5", False),
        ("Content-Length: four", False),
        ("Content-Length: 0000000000000000000", False),
        ("Content-Length: 000000000000000000", True),
        ("X: y", False),
        ("Content-Length: 4\r\nTransfer-Encoding: chunked", False),
    ],
)
def test_a_page_of_its_content_length_is_complete_even_if_its_record_is_short(tmp_path, field, is_whole):
    whole = warc(block=f"HTTP/1.1 200 OK\r\n{field}\r\n\r\nbody".encode())
    found, skipped = written(tmp_path, whole.removesuffix(b"\r\n\r\n").replace(b"\r\n\r\nHTTP", b"0\r\n\r\nHTTP", 1))
    assert [one.body for one in found] == ([b"body"] if is_whole else [])
    assert skipped == ({} if is_whole else {"cut short": 1})


@pytest.mark.parametrize("kind", ["response", "resource"])
@pytest.mark.parametrize(("size", "is_cut"), [(999, False), (1000, False), (1001, True), (90_000, True)])
def test_only_a_body_above_the_limit_is_cut(tmp_path, kind, size, is_cut):
    head = b"HTTP/1.1 200 OK\r\n\r\n" if kind == "response" else b""
    path = tmp_path / "some.warc"
    path.write_bytes(warc(kind, head + b"x" * size, **{"WARC-Truncated": "time"}))
    (one,) = foreign(path, ImportReport(), most_body_bytes=1000)
    assert len(one.body) == min(size, 1000)
    assert one.truncated is (Truncated.LENGTH if is_cut else Truncated.TIME)


def test_a_resource_has_the_media_type_of_its_record_and_a_cut_one_is_skipped(tmp_path):
    typed, plain = warc("resource", b"{}", **{"Content-Type": "text/json"}), warc("resource", b"{}")
    found, _ = written(tmp_path, typed + plain)
    assert [(one.headers, one.body, one.status, one.reason) for one in found] == [
        ((("Content-Type", "text/json"),), b"{}", 200, "OK"),
        ((), b"{}", 200, "OK"),
    ]
    assert written(tmp_path, plain[:-5]) == ([], {"cut short": 1})


def test_the_length_of_a_record_shows_that_a_chunked_body_was_cut(tmp_path):
    path = tmp_path / "some.warc"
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    for padding, is_cut in ((0, False), (70_000, True)):
        path.write_bytes(warc(block=chunked + b"x" * padding))
        (one,) = foreign(path, ImportReport(), most_body_bytes=1000)
        assert (one.body, one.truncated) == (b"abc", Truncated.LENGTH if is_cut else None)
