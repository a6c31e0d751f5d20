"""H6 and H7: bodies that expand when they are decoded, and content codings with a wrong label."""

import asyncio
import functools
import gzip
import zlib
from collections.abc import Callable

import brotli
from backports import zstd
from tests.hostile.behaviour import MIB, Act, Behaviour, Request, Write, add, sends, whole

# H6: bombs


def _zeros_gzip() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()


def _zeros_zlib() -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()


def _zeros_brotli() -> bytes:
    packer = brotli.Compressor(quality=6, lgwin=24)
    return b"".join(packer.process(bytes(MIB)) for _ in range(256)) + packer.finish()


def _zeros_zstd() -> bytes:
    packer = zstd.ZstdCompressor()
    return b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()


ZSTD_HUGE_WINDOW = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x4b\x00\x00x" + bytes(64)
"""A frame that asks for a window of 2 GiB (RFC 8878, 3.1.1.1.2), then one run-length block."""

BOMBS: dict[str, tuple[bytes, Callable[[], bytes]]] = {
    "H6-gzip": (b"gzip", _zeros_gzip),
    "H6-deflate": (b"deflate", _zeros_zlib),
    "H6-br": (b"br", _zeros_brotli),
    "H6-zstd": (b"zstd", _zeros_zstd),
    "H6-gzip-gzip": (b"gzip, gzip", lambda: gzip.compress(_zeros_gzip())),
    "H6-zstd-window": (b"zstd", lambda: ZSTD_HUGE_WINDOW),
}


@functools.cache
def bomb(name: str) -> bytes:
    """The response, made once: it takes a while, so it is not made on the event loop that is measured."""
    coding, make = BOMBS[name]
    return whole(make(), b"Content-Encoding: %s\r\n" % coding)


def _bomb(name: str) -> Act:
    async def explode(write: Write, request: Request) -> None:
        write.write(await asyncio.to_thread(bomb, name))
        await write.drain()

    explode.__doc__ = "64 or 256 MiB in a few bytes"
    return explode


for _name in BOMBS:
    add(Behaviour(_name, _bomb(_name)))

# H7: content codings with a wrong label

PAGE = b"<html><body>" + b"hello world " * 100
sends(
    "H7-six-layers",
    whole(PAGE, b"Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\n"),
    says="six layers announced",
)
sends("H7-unknown", whole(PAGE, b"Content-Encoding: x-made-up\r\n"), says="an unknown coding")
sends("H7-false-label", whole(PAGE, b"Content-Encoding: gzip\r\n"), says="plain text labelled gzip")
sends(
    "H7-corrupt",
    whole(gzip.compress(PAGE)[:20] + b"\xff" * 20 + gzip.compress(PAGE)[40:], b"Content-Encoding: gzip\r\n"),
    says="gzip with wrong bytes in the middle",
)
sends("H7-cut", whole(gzip.compress(PAGE)[:-12], b"Content-Encoding: gzip\r\n"), says="gzip without its end")
sends("H7-trailing", whole(gzip.compress(PAGE) + b"junk!", b"Content-Encoding: gzip\r\n"), says="gzip and more bytes")
sends(
    "H7-two-layers",
    whole(gzip.compress(gzip.compress(PAGE)), b"Content-Encoding: gzip, gzip\r\n"),
    says="two layers, which the crawler accepts",
)
