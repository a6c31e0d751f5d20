"""The file `learned`: what a crawl has learned of hosts, for the next crawl.

It is saved at intervals.

    learned     a line that names the format, 16 bytes of xxh3 over the rest, and the rest: a zlib stream of parts, each
                four bytes of length and a `rules.learned.model.Part` as msgpack

It can be lost: when the file is missing, torn, of an older version or from elsewhere, the crawl learns again, at the
cost of some fetches.
"""

import asyncio
import struct
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.environment import Outside
from gossamer.base.files import Files, sealed, unsealed
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.rules.learned.model import LearnedHosts, Part

NAME = "learned"
EVERY_S = 60.0
SHARE = 50
"""At most one part in so many of the time is spent on writing it: a very large one is written less often."""
LARGEST = 512 << 20
_LENGTH = struct.Struct("<I")
_STEP = 1 << 20
_FORMAT = b"gossamer learned 2 %s\n" % sys.byteorder.encode()
"""Tables are written as they are in memory, so the byte order belongs to the format."""
_PART = msgspec.msgpack.Decoder(Part)
_ENCODER = msgspec.msgpack.Encoder()
_KEY_BITS = 32


def packed(learning: LearnedHosts) -> bytes:
    """The whole file. Reads `learning` in small steps: another thread may change it meanwhile."""
    press = zlib.compressobj(1)
    pieces = []
    for part in learning.kept():
        coded = _ENCODER.encode(part)
        pieces.append(press.compress(_LENGTH.pack(len(coded)) + coded))
    pieces.append(press.flush())
    return sealed(_FORMAT, b"".join(pieces))


def unpacked(content: bytes, key: int) -> LearnedHosts:
    """Raises ValueError for anything that `packed` has not made. `key` is for tables that are not in it."""
    learning = LearnedHosts(key=key)
    try:
        for coded in _frames(unsealed(_FORMAT, content)):
            learning.recall(_PART.decode(coded))
    except (zlib.error, msgspec.MsgspecError) as trouble:
        raise ValueError(f"it cannot be read: {trouble}") from trouble
    return learning


def _frames(body: bytes) -> Iterator[bytes]:
    opened, waiting = zlib.decompressobj(), b""
    for at in range(0, len(body), _STEP):
        waiting += opened.decompress(body[at : at + _STEP])
        place = 0
        while len(waiting) >= place + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(waiting, place)
            end = place + _LENGTH.size + length
            if end > len(waiting):
                break
            yield waiting[place + _LENGTH.size : end]
            place = end
        waiting = waiting[place:]
    if waiting or not opened.eof:
        raise ValueError("it ends too early")


def load_learned(folder: Path, outside: Outside, tell: Tell) -> LearnedHosts:
    """What the last crawl has learned, if the file can be read."""
    path, key = folder / NAME, int(outside.chance.random() * (1 << _KEY_BITS))
    try:
        size = outside.files.size(path)
        if size is None:
            return LearnedHosts(key=key)
        if size > LARGEST:
            raise ValueError("it is too large")
        learning = unpacked(outside.files.read(path), key)
    except (OSError, ValueError) as trouble:
        tell("learned.unreadable", why=str(trouble))
        return LearnedHosts(key=key)
    tell("learned.recalled", bytes=size)
    return learning


def save_learned(learning: LearnedHosts, folder: Path, files: Files, tell: Tell) -> None:
    """A full disk costs what was learned recently, and nothing else."""
    content = packed(learning)
    try:
        files.write(folder / NAME, content)
    except OSError as trouble:
        tell("learned.unkept", why=str(trouble))
        return
    tell("learned.kept", bytes=len(content))


@asynccontextmanager
async def saving_learned(learning: LearnedHosts, folder: Path, outside: Outside, tell: Tell) -> AsyncIterator[None]:
    """While it is open, `learning` is saved at intervals, and at the end."""
    turn = threading.Lock()

    def save_now() -> None:
        with turn:  # a thread whose task was cancelled still writes
            save_learned(learning, folder, outside.files, tell)

    try:
        async with background(_save_at_intervals(save_now, learning, outside.clock)):
            yield
    finally:
        await asyncio.to_thread(save_now)


async def _save_at_intervals(save_now: Callable[[], None], learning: LearnedHosts, clock: Clock) -> None:
    rest_s, kept = EVERY_S, 0
    while True:
        await clock.sleep(rest_s)
        if learning.pages == kept:
            continue
        begun_s, kept = clock.elapsed_s(), learning.pages
        await asyncio.to_thread(save_now)
        rest_s = max(EVERY_S, SHARE * (clock.elapsed_s() - begun_s))
