"""Content codings (RFC 9110, 8.4.1), decoded incrementally and within limits.

A body of 203 bytes can expand to 256 MiB, so a decoder is never asked for all it has: every call has a bound, and every
layer a total.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from enum import StrEnum
from types import ModuleType
from typing import Protocol

import brotli
import msgspec

fast_zlib: ModuleType
try:
    from isal import isal_zlib as fast_zlib  # twice as fast as zlib, but not available on every platform
except ImportError:
    fast_zlib = zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STEP = 256 * 1024
"""The most bytes that one step of a layer returns; brotli may round it up to twice that."""
MOST_LAYERS = 2
ZSTD_WINDOW_LOG = 23
"""8 MiB: the largest window that the `zstd` content coding may ask for (RFC 9659, 3)."""
FOREIGN: tuple[type[Exception], ...] = (zlib.error, fast_zlib.error, zstd.ZstdError)


class CodingProblem(StrEnum):
    """Why a body cannot be decoded, or not completely."""

    UNKNOWN = "unknown-coding"
    TOO_DEEP = "too-many-codings"
    BROKEN = "broken-coding"
    CUT = "coding-ends-early"


class Decoded(msgspec.Struct, frozen=True):
    body: bytes
    """All of it, or what was decoded before the limit or the problem."""
    truncated: bool = False
    """The limit was reached."""
    problem: CodingProblem | None = None
    trailing: bool = False
    """Bytes after the coded content were ignored."""


class _Broken(Exception):
    """Internal: a layer found bytes that are not of its coding."""


class _Layer(Protocol):
    """One coding being decoded. Real ones: `_Members`, `_Deflate`, `_Brotli`."""

    has_trailing: bool

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What `chunk` decodes to, at most `STEP` bytes at a time; a piece may be empty. Raises `_Broken`."""

    def is_whole(self) -> bool:
        """Whether the input so far is complete."""


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Members:
    """gzip or zstd: one or more members (frames); anything else that follows is trailing."""

    def __init__(self, make: Callable[[], _Inflater], starts: Callable[[bytes], bool]) -> None:
        self._make, self._starts = make, starts
        self._inflater = make()
        self._head = b""
        self._members = 0
        self.has_trailing = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while (chunk or self._head) and not self.has_trailing:
            if self._inflater.eof and not (chunk := self._next_member(chunk)):
                return
            yield from _bounded(self._inflater, chunk)
            chunk = b""
            if self._inflater.eof:
                self._members += 1
                chunk = self._inflater.unused_data

    def _next_member(self, chunk: bytes) -> bytes:
        """The bytes of the next member, once there are enough to recognise one; empty if it is none."""
        head = self._head + chunk
        if len(head) < 4:
            self._head = head
            return b""
        self._head = b""
        if not self._starts(head):
            self.has_trailing = True
            return b""
        self._inflater = self._make()
        return head

    def is_whole(self) -> bool:
        self.has_trailing = self.has_trailing or bool(self._head)
        return self._inflater.eof


class _Deflate:
    """`deflate` means zlib (RFC 9110, 8.4.1.2), but some servers send the bare stream: the first two bytes decide."""

    def __init__(self) -> None:
        self._inflater: _Inflater | None = None
        self._head = b""
        self.has_trailing = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            self._head += chunk
            if len(self._head) < 2:
                return
            has_header = self._head[0] & 0x0F == 8 and int.from_bytes(self._head[:2], "big") % 31 == 0
            self._inflater = fast_zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
            chunk = self._head
        if not self._inflater.eof:
            yield from _bounded(self._inflater, chunk)
            self.has_trailing = bool(self._inflater.unused_data)
        elif chunk:
            self.has_trailing = True

    def is_whole(self) -> bool:
        return self._inflater is not None and self._inflater.eof


class _Brotli:
    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self.has_trailing = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        if self._decompressor.is_finished():
            self.has_trailing = self.has_trailing or bool(chunk)
            return
        try:
            piece = self._decompressor.process(chunk, output_buffer_limit=STEP)
            yield piece
            while piece and not self._decompressor.is_finished():  # output may remain after all input was taken
                piece = self._decompressor.process(b"", output_buffer_limit=STEP)
                yield piece
        except brotli.error as trouble:
            raise _Broken from trouble

    def is_whole(self) -> bool:
        return bool(self._decompressor.is_finished())


def _bounded(inflater: _Inflater, chunk: bytes) -> Iterator[bytes]:
    """zlib returns the input it did not read; zstd keeps it and is fed nothing."""
    try:
        while True:
            piece = inflater.decompress(chunk, STEP)
            yield piece
            if inflater.eof:
                return
            chunk = getattr(inflater, "unconsumed_tail", b"")
            if not chunk and len(piece) < STEP:
                return
    except FOREIGN as trouble:
        raise _Broken from trouble


def _gzip() -> _Layer:
    return _Members(lambda: fast_zlib.decompressobj(16 + zlib.MAX_WBITS), lambda head: head[:2] == b"\x1f\x8b")


def _zstd() -> _Layer:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}
    return _Members(  # a frame, or a skippable one (RFC 8878, 3.1)
        lambda: zstd.ZstdDecompressor(options=options),
        lambda head: head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50),
    )


LAYERS: dict[str, Callable[[], _Layer]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _zstd,
}
WINDOWS = {"br": 1 << 24, "zstd": 1 << ZSTD_WINDOW_LOG}
"""The largest possible windows; those of gzip and deflate (32 KiB) do not count."""


def content_codings(content_encoding: str | None) -> tuple[str, ...]:
    """The codings that a Content-Encoding names, in order of application. Several fields are joined by commas."""
    if not content_encoding:
        return ()
    words = (word.strip(" \t").lower() for word in content_encoding.split(","))
    return tuple(word for word in words if word not in ("", "identity"))


class Decoder:
    """Decodes a stream. Returns at most `limit` bytes, and limits the output of every layer to it.

    After a problem, or at the limit, it returns nothing more; earlier output stays valid.
    """

    def __init__(self, codings: tuple[str, ...], limit: int) -> None:
        self.problem: CodingProblem | None = None
        self.is_full = False
        self.size = 0
        """Bytes returned so far."""
        self._limit = limit
        self._layers: list[_Layer] = []
        if len(codings) > MOST_LAYERS:
            self.problem = CodingProblem.TOO_DEEP
        elif any(coding not in LAYERS for coding in codings):
            self.problem = CodingProblem.UNKNOWN
        else:
            self._layers = [LAYERS[coding]() for coding in reversed(codings)]
        self._between = 0
        self.window = sum(WINDOWS.get(coding, 0) for coding in codings)
        """Bytes that the decoders may hold at a time, apart from input and output."""

    @property
    def has_trailing(self) -> bool:
        return any(layer.has_trailing for layer in self._layers)

    def steps(self, chunk: bytes) -> Iterator[bytes]:
        """The decoded `chunk`, in pieces of at most `STEP`, so that other work can be done in between.

        A piece may be empty. REQUIRES: each iterator is exhausted before the next chunk is given.
        """
        try:
            for piece in self._through(chunk, 0):
                if self.is_full or self.problem is not None:
                    return
                left = self._limit - self.size
                if len(piece) > left:
                    self.is_full, piece = True, piece[:left]
                self.size += len(piece)
                yield piece
        except _Broken:
            self.problem = CodingProblem.BROKEN

    def feed(self, chunk: bytes) -> bytes:
        return b"".join(self.steps(chunk))

    def end(self) -> None:
        """End of input: an incomplete coding is a problem. An empty body needs no coding."""
        if self.problem is None and not self.is_full and not all(layer.is_whole() for layer in self._layers):
            self.problem = CodingProblem.CUT

    def _through(self, chunk: bytes, depth: int) -> Iterator[bytes]:
        if depth == len(self._layers):
            yield chunk
            return
        is_last = depth == len(self._layers) - 1
        for piece in self._layers[depth].pieces(chunk):
            if is_last:
                yield piece
                continue
            self._between += len(piece)
            if self._between > self._limit:
                self.is_full = True
                return
            yield from self._through(piece, depth + 1)


def decode(body: bytes, content_encoding: str | None, limit: int) -> Decoded:
    """A whole body without its content codings, at most `limit` bytes."""
    codings = content_codings(content_encoding)
    if not codings or not body:
        return Decoded(body[:limit], truncated=len(body) > limit)
    decoder = Decoder(codings, limit)
    if decoder.problem is not None:
        return Decoded(b"", problem=decoder.problem)
    decoded = decoder.feed(body)
    decoder.end()
    return Decoded(decoded, decoder.is_full, decoder.problem, decoder.has_trailing)
