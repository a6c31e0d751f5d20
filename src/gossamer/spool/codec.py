"""Readings as bytes: msgpack, and deflate where it pays. Called inside the readers and by the indexer."""

import msgspec

from gossamer.spool.deflate import Broken, deflated, inflated
from gossamer.values.page import Reading

PLAIN = b"\x02"
DEFLATED = b"\x03"
"""0 and 1 were readings whose names were not canonical: such a one is made again from the archive."""
WORTH_DEFLATING = 32 * 1024
"""Bytes. A usual reading (16 kB) would halve, for seven times the cost of packing it; and a spool is soon gone."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Reading)


def encode(reading: Reading) -> bytes:
    """The first byte says how the rest is packed."""
    packed = _encoder.encode(reading)
    return PLAIN + packed if len(packed) < WORTH_DEFLATING else DEFLATED + deflated(packed)


def decode(given: bytes) -> Reading:
    """The inverse of `encode`. Raises ValueError on anything else."""
    kind, packed = given[:1], given[1:]
    try:
        if kind == DEFLATED:
            packed = inflated(packed)
        elif kind != PLAIN:
            raise ValueError(f"a reading packed in a way we do not know ({kind!r})")
        return _decoder.decode(packed)
    except Broken as error:
        raise ValueError(f"not a reading: {error}") from error
    except msgspec.DecodeError as error:
        raise ValueError(f"not a reading: {error}") from error
