"""Readings as bytes: msgpack, and deflate where it pays; and gzip members for the archive."""

import zlib
from types import ModuleType
from typing import Protocol, cast

import msgspec

from gossamer.values.page import Reading

PLAIN = b"\x02"
DEFLATED = b"\x03"
"""0 and 1 were readings whose names were not canonical: those are made again from the archive."""
WORTH_DEFLATING = 32 * 1024
"""Bytes. A typical reading (16 kB) would shrink by half, for seven times the work; and a spool is short-lived."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Reading)


def encode(reading: Reading) -> bytes:
    """The first byte says how the rest is packed."""
    packed = _encoder.encode(reading)
    return PLAIN + packed if len(packed) < WORTH_DEFLATING else DEFLATED + deflated(packed)


def decode(given: bytes) -> Reading:
    """The inverse of `encode`. Raises ValueError on anything else."""
    kind, packed = given[:1], given[1:]
    if kind not in (PLAIN, DEFLATED):
        raise ValueError(f"the reading is in an unknown format ({kind!r})")
    try:
        return _decoder.decode(packed if kind == PLAIN else inflated(packed))
    except (*Broken, msgspec.DecodeError) as error:  # type: ignore[misc]
        raise ValueError(f"not a reading: {error}") from error


GZIP, RAW = 31, -15
FAST = 1
LIGHT = FAST
"""For data that need not be small."""

engine: ModuleType = zlib
try:
    from isal import isal_zlib
except ImportError:  # no wheel for this machine: the format is the same, only slower to write
    pass
else:
    engine = isal_zlib
    LIGHT = 0  # a third of the work for a quarter more bytes; zlib would not compress at this level

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
    """Reads one member, checks its CRC and length, and leaves what follows in `unused_data`."""
    return cast(Inflater, engine.decompressobj(wbits=GZIP))


def deflated(plain: bytes) -> bytes:
    return cast(bytes, engine.compress(plain, level=LIGHT, wbits=RAW))


def inflated(packed: bytes) -> bytes:
    return cast(bytes, engine.decompress(packed, wbits=RAW))
