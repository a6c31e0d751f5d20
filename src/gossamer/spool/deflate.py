"""Compression for what passes through in bulk: ISA-L where its wheel exists, zlib elsewhere; both make plain deflate.

A 30 kB page costs about 60 us with ISA-L and about 350 us with zlib at the same level.
"""

import zlib
from types import ModuleType
from typing import Protocol, cast

GZIP = 31
RAW = -15
FAST = 1
LIGHT = FAST
"""For what need not be small."""

engine: ModuleType = zlib
try:
    from isal import isal_zlib
except ImportError:  # no wheel for this machine: any reader reads either's bytes, ours are just made more slowly
    pass
else:
    engine = isal_zlib
    LIGHT = 0  # a third of the work for a quarter more bytes; zlib would not compress at all

Broken: tuple[type[Exception], ...] = (zlib.error, cast(type[Exception], engine.error))
"""What reading damaged deflate or gzip bytes raises."""


class Inflater(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, given: bytes, /) -> bytes: ...


def gzip_member(plain: bytes) -> bytes:
    """One whole gzip member without name or time, so the same bytes always make the same member."""
    return cast(bytes, engine.compress(plain, level=FAST, wbits=GZIP))


def gzip_inflater() -> Inflater:
    """Reads exactly one member, checks its CRC and length, and leaves what follows in `unused_data`."""
    return cast(Inflater, engine.decompressobj(wbits=GZIP))


def deflated(plain: bytes) -> bytes:
    return cast(bytes, engine.compress(plain, level=LIGHT, wbits=RAW))


def inflated(packed: bytes) -> bytes:
    return cast(bytes, engine.decompress(packed, wbits=RAW))
