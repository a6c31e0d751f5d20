"""Records: readable by any WARC reader, and read back as they were written."""

import gzip
import hashlib
from io import BytesIO
from pathlib import Path
from uuid import RFC_4122, UUID

import fastwarc
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archive.samples import START_AT, capture
from warcio.archiveiterator import ArchiveIterator

from gossamer.archive.reader import Scanned, read_record
from gossamer.archive.record import (
    metadata_record,
    one_line,
    original_fields,
    response_record,
    revisit_record,
    stored_fields,
    warcinfo_record,
)
from gossamer.base.files import DiskFiles
from gossamer.values.capture import Capture, Place, Truncated, capture_id_of
from gossamer.values.history import Original
from gossamer.values.url import Url

VOLUME = "gossamer-00000001-20261115083000.warc.gz"

header_text = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=30)
header_names = st.one_of(
    st.sampled_from(
        [
            "Content-Length",
            "content-length",
            "Transfer-Encoding",
            "X-Archive-Orig-Content-Length",
            "x-archive-orig-content-length",
            "X-Archive-Orig-X",
        ]
    ),
    st.text(st.characters(max_codepoint=255, exclude_characters="\r\n:"), max_size=12),
)
captures = st.builds(
    Capture,
    url=st.sampled_from([Url("https://example.org/"), Url("http://[2001:db8::1]:8080/a%20b?c=%C3%A9")]),
    fetched_at=st.integers(0, 4_000_000_000_000_000),
    status=st.integers(100, 599),
    reason=header_text,
    headers=st.lists(st.tuples(header_names, st.one_of(header_text, st.just("3"))), max_size=8).map(tuple),
    body=st.binary(max_size=300),
    address=st.sampled_from(["", "20.0.0.1", "2001:db8::1"]),
    truncated=st.sampled_from([None, *Truncated]),
    took_s=st.floats(0, 1000),
)


def read_back(folder: Path, record: bytes) -> Scanned:
    (folder / VOLUME).write_bytes(record)
    return read_record(DiskFiles(), folder, Place(VOLUME, 0, 0, len(record)))


@given(captures)
@settings(max_examples=150, deadline=None)
def test_a_capture_is_read_back_as_it_was_written(tmp_path_factory, written):
    folder = tmp_path_factory.getbasetemp()
    assert read_back(folder, response_record(written)).capture == written


@given(st.lists(st.tuples(header_names, header_text), max_size=8), st.integers(0, 99))
def test_the_renaming_of_header_fields_can_be_undone(headers, size):
    stored = stored_fields(headers, size)
    assert list(original_fields(stored)) == headers
    assert not any(name.lower() == "transfer-encoding" for name, _ in stored)
    assert {value for name, value in stored if name.lower() == "content-length"} <= {str(size)}


def test_other_readers_find_what_the_standard_requires():
    written = capture(
        body=b"abc",
        headers=(("Transfer-Encoding", "chunked"), ("Content-Length", "99"), ("X-Odd", "caf\xe9")),
        truncated=Truncated.DISCONNECT,
    )
    record = next(iter(ArchiveIterator(BytesIO(response_record(written)), check_digests="raise")))
    fields = record.rec_headers
    assert fields.protocol == "WARC/1.1"
    assert fields.get_header("WARC-Type") == "response"
    assert fields.get_header("WARC-Target-URI") == written.url.text
    assert fields.get_header("WARC-Date") == "2023-11-14T22:13:20.000000Z"
    assert fields.get_header("WARC-IP-Address") == "20.0.0.1"
    assert fields.get_header("WARC-Truncated") == "disconnect"
    assert fields.get_header("WARC-Payload-Digest") == "sha256:" + hashlib.sha256(b"abc").hexdigest()
    assert record.http_headers.get_header("X-Archive-Orig-Transfer-Encoding") == "chunked"
    assert record.http_headers.get_header("X-Archive-Orig-Content-Length") == "99"
    assert record.http_headers.get_header("Content-Length") == "3"
    assert record.content_stream().read() == b"abc"
    assert record.digest_checker.passed


def test_fastwarc_agrees_on_both_digests():
    for written in (capture(body=b""), capture(body=b"x" * 100_000)):
        record = next(iter(fastwarc.ArchiveIterator(BytesIO(response_record(written)), parse_http=False)))
        assert record.verify_block_digest()
        record.parse_http()
        assert record.verify_payload_digest()
        assert record.reader.read() == written.body


def test_unusual_bytes_in_header_fields_are_not_changed():
    record = response_record(capture(headers=(("X-Odd", "caf\xe9 \xc3\xa9 \x00\xff"),), reason="d\xe9j\xe0"))
    plain = gzip.decompress(record)
    assert b"X-Odd: caf\xe9 \xc3\xa9 \x00\xff\r\n" in plain
    assert b"HTTP/1.1 200 d\xe9j\xe0\r\n" in plain


def test_a_line_break_in_a_header_field_does_not_begin_a_new_field(tmp_path):
    written = capture(headers=(("X-Folded", "one\r\n  two\nWARC-Type: warcinfo"),), reason="a\r\nb")
    read = read_back(tmp_path, response_record(written)).capture
    assert read.headers == (("X-Folded", "one two WARC-Type: warcinfo"),)
    assert read.reason == "a b"


def test_the_same_capture_makes_the_same_record_and_a_different_one_a_different_id():
    ids = set()
    for written in (capture(1), capture(2), capture(1, body=b"changed")):
        first, second = response_record(written), response_record(written)
        assert first == second
        record = next(iter(ArchiveIterator(BytesIO(first))))
        ids.add(record.rec_headers.get_header("WARC-Record-ID"))
    assert len(ids) == 3


def test_a_known_digest_is_not_computed_again():
    written = capture()
    assert response_record(written, hashlib.sha256(written.body).digest()) == response_record(written)


def test_a_page_without_a_stored_body_keeps_its_header_digest_and_links(tmp_path):
    written = capture(headers=(("X-Odd", "caf\xe9"), ("Content-Type", "text/html")))
    links = ["https://example.org/a", "https://example.org/b"]
    found = read_back(tmp_path, metadata_record(written, links))
    assert found.capture is None
    assert found.trace.headers == written.headers
    assert found.trace.digest == hashlib.sha256(written.body).digest()
    assert found.trace.size == len(written.body)
    assert found.trace.links == tuple(links)
    assert (found.trace.url, found.trace.fetched_at, found.trace.status) == (written.url, written.fetched_at, 200)
    record = next(iter(ArchiveIterator(BytesIO(metadata_record(written, links)), check_digests="raise")))
    assert record.rec_type == "metadata"
    assert b"outlink: https://example.org/b\r\n" in record.content_stream().read()


def test_a_volume_begins_with_its_creator():
    record = next(iter(ArchiveIterator(BytesIO(warcinfo_record(VOLUME, START_AT, {"software": "gossamer"})))))
    assert record.rec_headers.get_header("WARC-Filename") == VOLUME
    assert b"software: gossamer\r\nformat: WARC File Format 1.1\r\n" in record.content_stream().read()


def original_of(written: Capture) -> Original:
    return Original(written.url.text, written.fetched_at, hashlib.sha256(written.body).digest())


@pytest.mark.parametrize("status", [304, 200])
def test_a_response_without_a_body_refers_to_the_capture_that_has_it(tmp_path, status):
    first = capture(1, b"<p>the body</p>")
    later = capture(
        1, b"" if status == 304 else first.body, status=status, fetched_at=first.fetched_at + 86_400_000_000
    )
    packed = revisit_record(later, original_of(first))
    (record,) = ArchiveIterator(BytesIO(packed), check_digests="raise")
    fields = record.rec_headers
    assert record.rec_type == "revisit" and record.content_stream().read() == b""
    assert fields["WARC-Profile"].endswith("server-not-modified" if status == 304 else "identical-payload-digest")
    (before,) = ArchiveIterator(BytesIO(response_record(first)))
    assert fields["WARC-Refers-To"] == before.rec_headers["WARC-Record-ID"]
    assert fields["WARC-Refers-To-Date"] == before.rec_headers["WARC-Date"]
    assert fields["WARC-Refers-To-Target-URI"] == first.url.text
    assert fields["WARC-Payload-Digest"] == before.rec_headers["WARC-Payload-Digest"]
    assert record.http_headers.get_statuscode() == str(status)
    (other,) = fastwarc.ArchiveIterator(BytesIO(packed), parse_http=True)
    assert other.record_type == fastwarc.WarcRecordType.revisit and other.http_headers.status_code == status
    again = read_back(tmp_path, packed).again
    assert again is not None and again.refers_at == first.fetched_at and again.answer.fetched_at == later.fetched_at
    assert again.digest == hashlib.sha256(first.body).digest()


def test_a_correct_length_is_kept_and_a_wrong_one_is_renamed():
    true = (("Content-Length", "5"), ("X-Other", "y"))
    assert stored_fields(true, 5) == list(true)
    assert stored_fields(true[1:], 5) == list(true[1:])
    assert stored_fields(true, 6) == [("X-Archive-Orig-Content-Length", "5"), ("X-Other", "y"), ("Content-Length", "6")]


def test_the_id_of_a_record_is_a_uuid_that_never_changes():
    """Other archives may refer to it."""
    record = next(iter(ArchiveIterator(BytesIO(response_record(capture(1))))))
    given = record.rec_headers.get_header("WARC-Record-ID")
    assert given == "<urn:uuid:0d55618d-b1f2-8299-b4db-65ac123d19b6>"
    found = UUID(given.removeprefix("<urn:uuid:").removesuffix(">"))
    assert (found.version, found.variant) == (8, RFC_4122)


def uuid_of(name: str) -> str:
    """The UUID of a record: a hash of its name with version 8 and the variant."""
    bits = xxhash.xxh3_128_intdigest(name.encode())
    bits = bits & ~(0xF << 76) | 8 << 76
    bits = bits & ~(0b11 << 62) | 0b10 << 62
    return f"<urn:uuid:{UUID(int=bits)}>"


def sha(algorithm: str, content: bytes) -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


DATE = "2023-11-14T22:13:20.000000Z"
URL = "https://example.org/page/0"


def framed(lines: list[str], block: bytes) -> bytes:
    head = "".join(f"{line}\r\n" for line in ["WARC/1.1", *lines, f"Content-Length: {len(block)}"])
    return head.encode() + b"\r\n" + block + b"\r\n\r\n"


def test_a_response_is_written_byte_for_byte():
    block = b"HTTP/1.1 201 Made\r\nA: b\r\nX-Archive-Orig-Content-Length: 9\r\nContent-Length: 3\r\n\r\nabc"
    digest = hashlib.sha256(b"abc").hexdigest()
    written = capture(body=b"abc", status=201, reason="Made", headers=(("A", "b"), ("Content-Length", "9")),
                      truncated=Truncated.TIME, distrust="self-signed\r\n by x", took_s=0.5)  # fmt: skip
    expected = [
        "WARC-Type: response", f"WARC-Record-ID: {uuid_of(f'response {written.id} {digest}')}",
        f"WARC-Target-URI: {URL}", f"WARC-Date: {DATE}", "WARC-IP-Address: 20.0.0.1", "WARC-Truncated: time",
        "X-Gossamer-Took: 0.5", "X-Gossamer-Distrust: self-signed by x", f"WARC-Payload-Digest: sha256:{digest}",
        f"WARC-Block-Digest: {sha('sha1', block)}", "Content-Type: application/http; msgtype=response",
    ]  # fmt: skip
    assert gzip.decompress(response_record(written)) == framed(expected, block)
    plain = capture(address="", took_s=0.0, truncated=None, distrust="")
    head = gzip.decompress(response_record(plain)).partition(b"\r\n\r\n")[0]
    names = [line.partition(b":")[0] for line in head.split(b"\r\n")]
    assert b"WARC-IP-Address" not in names and b"WARC-Truncated" not in names
    assert b"X-Gossamer-Took" not in names and b"X-Gossamer-Distrust" not in names
    other = hashlib.sha256(b"other").digest()
    assert f"sha256:{other.hex()}".encode() in gzip.decompress(response_record(plain, other)), "a digest that is known"


@pytest.mark.parametrize(
    ("status", "profile"), [(304, "server-not-modified"), (200, "identical-payload-digest"),
                          (404, "identical-payload-digest")],
)  # fmt: skip
def test_a_revisit_is_written_byte_for_byte(status, profile):
    digest = hashlib.sha256(b"abc").digest()
    written = capture(body=b"", status=status, reason="", headers=(("A", "b"),), address="", took_s=0.0)
    block = f"HTTP/1.1 {status} \r\nA: b\r\n\r\n".encode()
    before = capture_id_of(Url("http://a.test/"), START_AT - 5)
    expected = [
        "WARC-Type: revisit", f"WARC-Record-ID: {uuid_of(f'revisit {written.id} {digest.hex()}')}",
        f"WARC-Target-URI: {URL}", f"WARC-Date: {DATE}",
        f"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/{profile}",
        f"WARC-Refers-To: {uuid_of(f'response {before} {digest.hex()}')}",
        "WARC-Refers-To-Target-URI: http://a.test/", "WARC-Refers-To-Date: 2023-11-14T22:13:19.999995Z",
        f"WARC-Payload-Digest: sha256:{digest.hex()}", f"WARC-Block-Digest: {sha('sha1', block)}",
        "Content-Type: application/http; msgtype=response",
    ]  # fmt: skip
    original = Original(url="http://a.test/", fetched_at=START_AT - 5, digest=digest)
    assert gzip.decompress(revisit_record(written, original)) == framed(expected, block)


def test_the_metadata_of_a_page_without_a_stored_body_is_written_byte_for_byte():
    written = capture(body=b"abc", headers=(("A", "b\r\n c"),), address="", took_s=0.0)
    digest = hashlib.sha256(b"abc").hexdigest()
    block = (
        f"status: 200 OK\r\ndigest: sha256:{digest}\r\nsize: 3\r\nheader: A: b c\r\n"
        "outlink: http://b.test/\r\noutlink: http://c.test/\r\n"
    ).encode()
    expected = [
        "WARC-Type: metadata", f"WARC-Record-ID: {uuid_of(f'metadata {written.id} {digest}')}",
        f"WARC-Target-URI: {URL}", f"WARC-Date: {DATE}", f"WARC-Block-Digest: {sha('sha256', block)}",
        f"WARC-Payload-Digest: {sha('sha256', block)}", "Content-Type: application/warc-fields",
    ]  # fmt: skip
    assert gzip.decompress(metadata_record(written, ["http://b.test/", "http://c.test/"])) == framed(expected, block)


def test_the_first_record_of_a_volume_is_written_byte_for_byte():
    block = (
        b"software: x\r\nformat: WARC File Format 1.1\r\n"
        b"conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    )
    expected = [
        "WARC-Type: warcinfo", f"WARC-Record-ID: {uuid_of(f'warcinfo {VOLUME}')}", f"WARC-Filename: {VOLUME}",
        f"WARC-Date: {DATE}", f"WARC-Block-Digest: {sha('sha256', block)}", "Content-Type: application/warc-fields",
    ]  # fmt: skip
    assert gzip.decompress(warcinfo_record(VOLUME, START_AT, {"software": "x"})) == framed(expected, block)


@pytest.mark.parametrize(
    ("headers", "size", "stored"),
    [
        ([("Content-Length", "3")], 3, [("Content-Length", "3")]),
        ([("CONTENT-LENGTH", "4"), ("A", "b")], 3,
         [("X-Archive-Orig-CONTENT-LENGTH", "4"), ("A", "b"), ("Content-Length", "3")]),
        ([("Content-Length", "3"), ("Content-Length", "4")], 3,
         [("X-Archive-Orig-Content-Length", "3"), ("X-Archive-Orig-Content-Length", "4"), ("Content-Length", "3")]),
        ([("transfer-encoding", "chunked")], 3, [("X-Archive-Orig-transfer-encoding", "chunked")]),
        ([("X-Archive-Orig-A", "b")], 3, [("X-Archive-Orig-X-Archive-Orig-A", "b")]),
        ([("x-archive-orig-a", "b")], 3, [("x-archive-orig-a", "b")]),
        ([("A", "3")], 3, [("A", "3")]),
        ([], 3, []),
    ],
)  # fmt: skip
def test_header_fields_that_do_not_fit_the_stored_body_are_renamed(headers, size, stored):
    assert stored_fields(headers, size) == stored and original_fields(stored) == tuple(headers)


def test_header_fields_of_other_archives_are_not_changed():
    for fields in (
        [("x-archive-orig-content-length", "5"), ("Content-Length", "3")],
        [("Content-Length", "3")],
    ):
        assert original_fields(fields) == tuple(fields)
    assert original_fields([("X-Archive-Orig-Content-Length", "5")]) == (("Content-Length", "5"),)


def test_breaks_in_a_line_become_one_space():
    assert [one_line(text) for text in ("a\r\n\t b", "a\rb", "a\nb", "a\n\r\n \tb", "a  b")] == [
        "a b", "a b", "a b", "a b", "a  b",
    ]  # fmt: skip
