"""Readings are encoded to bytes and decoded again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.spool import codec as deflate
from gossamer.spool.codec import DEFLATED, PLAIN, decode, encode
from gossamer.values.link import Link
from gossamer.values.page import Directives, Page, Reading
from gossamer.values.url import Url


def reading(content: str, facts: bytes = b"") -> Reading:
    page = Page(
        url=Url("https://example.org/"),
        media_type="text/html",
        charset="utf-8",
        title="Tïtle",
        headings=("one", "two"),
        content=content,
        language="en",
        links=(Link(Url("https://example.org/a"), "a"), Link(Url("https://example.org/b"), "", False)),
        canonical=Url("https://example.org/c"),
        directives=Directives(may_cache=False),
        exact=b"\x00\xff" * 16,
        near=(1, 2**63, 2**64 - 1),
    )
    return Reading(-(2**63), 1_700_000_000_000_000, page, facts, 3, ("https://schema.org/Thing",), ("rdfa",), ("odd",))


@given(st.text(max_size=3000), st.binary(max_size=3000))
def test_a_reading_is_decoded_as_it_was_encoded(content, facts):
    written = reading(content, facts)
    assert decode(encode(written)) == written


def test_a_large_reading_is_compressed_and_a_small_one_is_not():
    assert encode(reading("short"))[:1] == PLAIN
    packed = encode(reading("many words " * 4000))
    assert packed[:1] == DEFLATED
    assert len(packed) < 5000
    assert decode(packed) == reading("many words " * 4000)


@pytest.mark.parametrize("invalid", [b"", b"\x00", b"\x01", b"\x02abc", b"\x01garbage", b"\x00\xc1", b"\x00\x90"])
def test_invalid_bytes_raise_a_value_error(invalid):
    with pytest.raises(ValueError):
        decode(invalid)


def test_each_deflate_library_reads_the_output_of_the_other():
    plain = b"the same bytes " * 1000
    packed = deflate.zlib.compress(plain, 1, wbits=deflate.RAW)
    assert deflate.inflated(packed) == plain
    assert deflate.zlib.decompress(deflate.deflated(plain), wbits=deflate.RAW) == plain
