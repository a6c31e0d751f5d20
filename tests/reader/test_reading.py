"""A capture is read: its reading and its record."""

import gzip
import hashlib
import io

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.reader.reading import done, is_readable, job, read
from gossamer.spool.codec import decode
from gossamer.values.capture import Capture, Truncated
from gossamer.values.messages import ReadDone, ReadJob, parts_of
from gossamer.values.url import Url

URL = Url("https://www.example.org/a/page")
FACTS = """<html lang="en"><title>Ada</title><body>
<p typeof="schema:Person" resource="#ada">The engineer <span property="schema:name">Ada</span>
wrote the first published program.</p>
<a href="next">More about her</a><a href="/hidden" rel="nofollow">Not this</a></body></html>"""
NO_FACTS = "<title>Plain</title><p>Nothing is stated here.</p><a href=/x>x</a>"


def captured(body, content_type="text/html; charset=utf-8", headers=(), truncated=None):
    if isinstance(body, str):
        body = body.encode()
    fields = (("Content-Type", content_type), *headers) if content_type else tuple(headers)
    return Capture(URL, 1_700_000_000_000_000, 200, "OK", fields, body, "20.0.0.1", truncated)


def read_by_job(capture, task="read", keep="all", agent="gossamer"):
    payload = b"".join(parts_of(ReadJob(capture, task, keep, agent)))
    return msgspec.msgpack.decode(job(payload), type=ReadDone)


def record_of(read_done):
    return next(ArchiveIterator(io.BytesIO(read_done.record)))


def test_a_page_is_read_and_its_record_is_made():
    capture = captured(FACTS)
    found = read_by_job(capture)
    assert found.is_page and found.title == "Ada" and found.media_type == "text/html"
    assert found.links == ("https://www.example.org/a/next",)
    assert found.digest == hashlib.sha256(capture.body).digest()
    assert found.fact_count == 2 and found.flags == ()
    assert decode(found.reading) == read(capture, "gossamer")
    record = record_of(found)
    assert record.rec_type == "response" and record.content_stream().read() == capture.body


@pytest.mark.parametrize(
    ("content_type", "codec", "charset", "charset_from"),
    [
        (None, "utf-32", "utf-32le", "bom"),
        (None, "utf-32-be", "utf-32be", "zeros"),
        ("text/html; charset=utf-32", "utf-32-le", "utf-32le", "zeros"),
        (None, "utf-16", "utf-16le", "bom"),
        (None, "utf-16-be", "utf-16be", "zeros"),
        ("text/html; charset=ibm500", "cp500", "ibm500", "header"),
        ("text/html; charset=ebcdic-cp-us", "cp037", "ibm037", "header"),
        (None, "utf-8", "utf-8", "utf-8"),
    ],
)
def test_M_C10_a_page_has_the_same_content_in_every_encoding(content_type, codec, charset, charset_from):
    found = read_by_job(captured(FACTS.encode(codec), content_type))
    assert (found.charset, found.charset_from) == (charset, charset_from)
    assert found.is_page and (found.media_type, found.title, found.fact_count) == ("text/html", "Ada", 2)
    assert found.links == ("https://www.example.org/a/next",)
    assert decode(found.reading).page.content == read(captured(FACTS)).page.content


def test_a_reading_has_text_links_and_facts_of_the_page():
    reading = read(captured(FACTS))
    page = reading.page
    assert (page.title, page.language, page.charset, page.url) == ("Ada", "en", "utf-8", URL)
    assert page.content.startswith("The engineer Ada wrote the first published program.")
    assert [(link.url.path, link.text, link.may_follow) for link in page.links] == [
        ("/a/next", "More about her", True),
        ("/hidden", "Not this", False),
    ]
    assert reading.types == ("http://schema.org/Person",)
    assert reading.syntaxes == ("rdfa",)
    assert b'<https://www.example.org/a/page#ada> <http://schema.org/name> "Ada"' in reading.facts
    assert reading.fact_count == reading.facts.count(b"\n") == 2
    assert len(page.exact) == 32 and len(page.near) == 64


def test_the_same_capture_always_gives_the_same_reading():
    assert read(captured(FACTS)) == read(captured(FACTS))


def test_facts_are_relative_to_the_base_of_the_page():
    reading = read(captured(FACTS.replace("<title>", '<base href="https://other.example/b/"><title>')))
    assert b"<https://other.example/b/#ada>" in reading.facts
    assert reading.page.links[0].url == Url("https://other.example/b/next")
    assert reading.page.url == URL


def test_M_A6_with_keep_structured_a_page_without_facts_has_only_a_metadata_record():
    found = read_by_job(captured(NO_FACTS), keep="structured")
    assert not found.is_page and found.reading == b""
    assert found.links == ("https://www.example.org/x",)
    record = record_of(found)
    assert record.rec_type == "metadata"
    assert b"https://www.example.org/x" in record.content_stream().read()


def test_M_A6_with_keep_structured_a_page_with_facts_is_stored_in_full():
    found = read_by_job(captured(FACTS), keep="structured")
    assert found.is_page and found.reading
    assert record_of(found).rec_type == "response"


def test_F_R12_a_noindex_page_is_stored_and_its_links_are_followed():
    found = read_by_job(captured('<meta name="robots" content="noindex">' + NO_FACTS))
    assert not found.is_page and found.record
    silent = decode(found.reading)
    assert not silent.page.directives.may_index and not silent.page.content and not silent.facts, "it is a placeholder"
    assert found.links == ("https://www.example.org/x",)


def test_F_R12_links_of_a_nofollow_page_are_not_followed():
    found = read_by_job(captured(NO_FACTS, headers=[("x-robots-TAG", "nofollow")]))
    assert found.is_page and found.links == () and not found.may_follow
    assert decode(found.reading).page.links[0].may_follow is False


def test_F_R12_noarchive_is_stored_with_the_page():
    reading = decode(read_by_job(captured(NO_FACTS, headers=[("X-Robots-Tag", "gossamer: noarchive")])).reading)
    assert not reading.page.directives.may_cache and reading.page.directives.may_index


def test_a_compressed_body_is_decoded_for_reading_and_stored_as_received():
    body = gzip.compress(FACTS.encode())
    found = read_by_job(captured(body, headers=[("Content-Encoding", "gzip")]))
    assert found.title == "Ada" and found.digest == hashlib.sha256(body).digest()


@pytest.mark.parametrize(("coding", "flag"), [("gzip", "broken-coding"), ("snappy", "unknown-coding")])
def test_F_H7_a_body_with_a_wrong_or_unknown_coding_is_stored_but_not_indexed(coding, flag):
    found = read_by_job(captured(FACTS, headers=[("Content-Encoding", coding)]))
    assert not found.is_page and found.record and flag in found.flags


def test_a_truncated_capture_is_read_up_to_its_end():
    body = gzip.compress(("<title>T</title>" + "<p>words and words</p>" * 2000 + FACTS).encode(), 0)[:20_000]
    found = read_by_job(captured(body, headers=[("Content-Encoding", "gzip")], truncated=Truncated.LENGTH))
    assert found.is_page and found.title == "T"
    assert "truncated" in found.flags


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n"),
        ("application/pdf", b"%PDF-1.7"),
        (None, b"\x00\x01\x02"),
        ("text/html", b"%PDF-1"),
    ],
)
def test_a_document_that_is_not_text_is_stored_but_is_no_page(content_type, body):
    found = read_by_job(captured(body, content_type))
    assert not found.is_page and found.reading == b"" and found.record
    assert found.flags == (("document-damaged", "not-text") if body.startswith(b"%PDF") else ("not-text",))


def test_the_title_of_a_plain_text_is_its_first_line_and_it_has_no_links():
    reading = read(captured("A title\n\nThe body, with <b>brackets</b> and https://x.example/.", "text/plain"))
    assert reading.page.title == "A title"
    assert reading.page.content == "A title The body, with <b>brackets</b> and https://x.example/."
    assert reading.page.links == ()


def test_a_feed_is_read_as_text():
    reading = read(captured("<rss><channel><title>News</title><item>One</item></channel></rss>", "application/rss+xml"))
    assert (reading.page.title, reading.page.content) == ("News", "News One")
    assert is_readable(reading)


def test_a_page_in_a_legacy_encoding_is_decoded():
    reading = read(captured("<title>Käse</title>".encode("cp1252"), "text/html; charset=iso-8859-1"))
    assert (reading.page.title, reading.page.charset) == ("Käse", "windows-1252")


def test_robots_txt_is_parsed_and_stored():
    found = read_by_job(captured("User-agent: *\nDisallow: /private", "text/plain"), task="robots")
    assert found.robots is not None and found.robots.rules[0].pattern == "/private"
    assert found.record and found.reading == b"" and not found.is_page


def test_robots_txt_may_be_compressed():
    body = gzip.compress(b"User-agent: gossamer\nDisallow: /g\n\nUser-agent: *\nDisallow: /all")
    found = read_by_job(captured(body, "text/plain", [("Content-Encoding", "gzip")]), task="robots")
    assert [rule.pattern for rule in found.robots.rules] == ["/g"]


def test_the_store_task_does_not_read_the_capture():
    found = read_by_job(captured(FACTS), task="store")
    assert found.record and not found.is_page and found.links == () and found.title == ""
    assert found.digest == hashlib.sha256(FACTS.encode()).digest()


MARKUP = st.sampled_from(
    [
        "<p>", "</p>", "<a href='", "'>", "</a>", "<base href=", ">", "<script type=application/ld+json>", "</script>",
        '{"@context":"https://schema.org","@type":"Thing","name":"\\ud800"}', "<meta name=robots content='", "noindex",
        " vocab='http://schema.org/'", "<div typeof=Thing", " property=name", "\x00", "\ufffd", "&#xD800;", "&amp;",
        "<svg>", "<template>", "<!--", "-->", "<frameset>", "<title>", "é", " ", "\n", "http://[::", "//", "\U0001f600",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(MARKUP | st.text(max_size=5), max_size=40))
def test_no_markup_makes_reading_fail(scraps):
    body = "".join(scraps).encode("utf-8", "surrogatepass")
    found = done(ReadJob(captured(body), "read", "all", "gossamer"))
    assert msgspec.msgpack.encode(found)


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "text/xml", "", "text/html; charset=utf-16"])
)
def test_no_bytes_make_reading_fail(body, content_type):
    assert done(ReadJob(captured(body, content_type), "read", "all", "gossamer")).record


def test_codings_in_several_header_fields_are_decoded_in_turn() -> None:
    twice = gzip.compress(gzip.compress(FACTS.encode()))
    headers = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("Content-Encoding", "gzip"))
    reading = read(Capture(URL, 1, 200, "OK", headers, twice))
    assert reading.page.title == "Ada"
