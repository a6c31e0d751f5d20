"""Content codings. FAULTS H6 and H7."""

import gzip
import tracemalloc
import zlib

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.coding import STEP, CodingProblem, Decoded, Decoder, content_codings, decode

LIMIT = 1 << 20
TEXT = b"<p>The quick brown fox jumps over the lazy dog. " * 200


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(body) + packer.flush()


ENCODE = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: brotli.compress(body, quality=5),
    "zstd": zstd.compress,
}
CODINGS = sorted(ENCODE)


@pytest.mark.parametrize("coding", CODINGS)
def test_encoded_bodies_are_decoded(coding):
    assert decode(ENCODE[coding](TEXT), coding, LIMIT) == Decoded(TEXT)


def test_deflate_without_its_header_is_decoded():
    assert decode(raw_deflate(TEXT), "deflate", LIMIT) == Decoded(TEXT)


def test_a_body_without_coding_is_returned_unchanged():
    assert decode(TEXT, None, LIMIT) == Decoded(TEXT)
    assert decode(TEXT, "identity", LIMIT) == Decoded(TEXT)
    assert decode(TEXT, None, 10) == Decoded(TEXT[:10], truncated=True)
    assert decode(b"", "gzip", LIMIT) == Decoded(b"")


@pytest.mark.parametrize(
    ("header", "codings"),
    [
        (None, ()),
        ("", ()),
        ("identity", ()),
        ("GZip", ("gzip",)),
        ("deflate , gzip", ("deflate", "gzip")),
        (",br,,", ("br",)),
    ],
)
def test_the_header_is_read_leniently(header, codings):
    assert content_codings(header) == codings


@given(st.binary(max_size=2000), st.sampled_from(CODINGS), st.integers(1, 50))
def test_a_body_may_arrive_in_pieces_of_any_size(body, coding, size):
    coded = ENCODE[coding](body)
    decoder = Decoder((coding,), LIMIT)
    out = b"".join(decoder.feed(coded[at : at + size]) for at in range(0, len(coded), size))
    decoder.end()
    assert (out, decoder.problem, decoder.is_full) == (body, None, False)


@given(st.binary(max_size=200), st.sampled_from(CODINGS))
def test_no_bytes_make_the_decoder_fail(body, coding):
    assert isinstance(decode(body, coding, LIMIT), Decoded)


@given(st.binary(max_size=3000), st.sampled_from(CODINGS), st.integers(0, 4000))
def test_the_limit_is_exact(body, coding, limit):
    decoded = decode(ENCODE[coding](body), coding, limit)
    assert decoded.body == body[:limit]
    assert decoded.truncated is (len(body) > limit)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_consecutive_members_are_one_body(coding):
    coded = ENCODE[coding](TEXT)
    assert decode(coded + coded, coding, LIMIT) == Decoded(TEXT + TEXT)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_F_H6_a_bomb_is_cut_at_the_limit_and_takes_bounded_memory(coding):
    bomb = ENCODE[coding](bytes(64 << 20))
    tracemalloc.start()
    decoded = decode(bomb, coding, LIMIT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decoded == Decoded(bytes(LIMIT), truncated=True)
    assert peak < 8 << 20


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_F_H6_each_step_returns_a_bounded_piece(coding):
    decoder = Decoder((coding,), 1 << 30)
    assert max(map(len, decoder.steps(ENCODE[coding](bytes(8 << 20))))) <= 2 * STEP  # brotli rounds up
    assert decoder.size == 8 << 20


def test_F_H6_a_bomb_between_two_layers_is_cut_too():
    empty = gzip.compress(b"")
    inner = empty * ((2 << 20) // len(empty))  # members without content: no output, endless work
    decoded = decode(gzip.compress(inner), "gzip, gzip", LIMIT)
    assert decoded.truncated and decoded.body == b""


def test_F_H6_a_zstd_window_beyond_the_standard_is_refused():
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x4b\x00\x00x"
    assert decode(frame, "zstd", LIMIT).problem is CodingProblem.BROKEN


def test_F_H7_at_most_two_layers_are_decoded():
    twice = gzip.compress(brotli.compress(TEXT))
    assert decode(twice, "br, gzip", LIMIT) == Decoded(TEXT)
    assert decode(gzip.compress(twice), "br, gzip, gzip", LIMIT) == Decoded(b"", problem=CodingProblem.TOO_DEEP)


def test_F_H7_an_unknown_coding_is_a_problem():
    for header in ("compress", "gzip;q=1", "x-made-up", "gzip, sdch"):
        assert decode(TEXT, header, LIMIT) == Decoded(b"", problem=CodingProblem.UNKNOWN)


@pytest.mark.parametrize("coding", CODINGS)
def test_F_H7_a_false_label_is_a_problem(coding):
    decoded = decode(TEXT, coding, LIMIT)
    assert decoded.problem in (CodingProblem.BROKEN, CodingProblem.CUT) and not decoded.body.startswith(b"<p>")


@pytest.mark.parametrize("coding", CODINGS)
def test_F_H7_a_body_that_ends_early_is_a_problem_and_its_beginning_is_kept(coding):
    body = b"".join(b"%d " % (number * number) for number in range(50_000))
    coded = ENCODE[coding](body)
    decoded = decode(coded[: len(coded) // 2], coding, LIMIT)
    assert decoded.problem is CodingProblem.CUT
    assert decoded.body and body.startswith(decoded.body)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_F_H7_bytes_after_the_coding_are_dropped_and_reported(coding):
    coded = ENCODE[coding](TEXT)
    assert decode(coded + b"junk", coding, LIMIT) == Decoded(TEXT, trailing=True)
    decoder = Decoder((coding,), LIMIT)
    assert decoder.feed(coded) + decoder.feed(b"junk") == TEXT
    decoder.end()
    assert decoder.has_trailing and decoder.problem is None


def test_F_H7_corrupt_bytes_are_a_problem():
    coded = bytearray(gzip.compress(TEXT))
    coded[len(coded) // 2] ^= 0xFF
    assert decode(bytes(coded), "gzip", LIMIT).problem in (CodingProblem.BROKEN, CodingProblem.CUT)
    sum_is_wrong = gzip.compress(TEXT)[:-8] + bytes(8)
    assert decode(sum_is_wrong, "gzip", LIMIT).problem is CodingProblem.BROKEN
