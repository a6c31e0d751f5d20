"""What was learned of hosts outlives the crawl: a snapshot in the data directory, written now and then.

    learned     a line that names the format, 16 bytes of xxh3 over the rest, and the rest: a zlib stream of parts, each
                four bytes of length and a `rules.learned.model.Part` as msgpack

Nothing in it is truth. One that is missing, torn, older or somebody else's is as good as none: what it would have told
is learned again, at the price of some visits.
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
"""Of the time, one part in so many at most is spent on writing it: a very large one is written less often."""
LARGEST = 512 << 20
_LENGTH = struct.Struct("<I")
_STEP = 1 << 20
_FORMAT = b"gossamer learned 2 %s\n" % sys.byteorder.encode()
"""Tables are written as they lie in memory, so the order of bytes belongs to the format."""
_PART = msgspec.msgpack.Decoder(Part)
_ENCODER = msgspec.msgpack.Encoder()
_KEY_BITS = 32


def packed(learning: LearnedHosts) -> bytes:
    """The whole file. Only looks at `learning`, a little at a time: another thread may go on learning."""
    press = zlib.compressobj(1)
    pieces = []
    for part in learning.kept():
        coded = _ENCODER.encode(part)
        pieces.append(press.compress(_LENGTH.pack(len(coded)) + coded))
    pieces.append(press.flush())
    return sealed(_FORMAT, b"".join(pieces))


def unpacked(content: bytes, key: int) -> LearnedHosts:
    """Raises ValueError, saying why, for anything that `packed` has not made. `key` is for what was never kept."""
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


def recalled(folder: Path, outside: Outside, tell: Tell) -> LearnedHosts:
    """What was learned when the collection was last crawled, as far as it can be had."""
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


def keep(learning: LearnedHosts, folder: Path, files: Files, tell: Tell) -> None:
    """A disk without room costs what was learned lately, and nothing else."""
    content = packed(learning)
    try:
        files.write(folder / NAME, content)
    except OSError as trouble:
        tell("learned.unkept", why=str(trouble))
        return
    tell("learned.kept", bytes=len(content))


@asynccontextmanager
async def remembering(learning: LearnedHosts, folder: Path, outside: Outside, tell: Tell) -> AsyncIterator[None]:
    """While it is open, `learning` is kept now and then, and once more at the end."""
    turn = threading.Lock()

    def keep_now() -> None:
        with turn:  # a thread whose task was cancelled still writes
            keep(learning, folder, outside.files, tell)

    try:
        async with background(_now_and_then(keep_now, learning, outside.clock)):
            yield
    finally:
        await asyncio.to_thread(keep_now)


async def _now_and_then(keep_now: Callable[[], None], learning: LearnedHosts, clock: Clock) -> None:
    rest_s, kept = EVERY_S, 0
    while True:
        await clock.sleep(rest_s)
        if learning.pages == kept:
            continue
        begun_s, kept = clock.elapsed_s(), learning.pages
        await asyncio.to_thread(keep_now)
        rest_s = max(EVERY_S, SHARE * (clock.elapsed_s() - begun_s))
