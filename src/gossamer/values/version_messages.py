"""What a worker is asked about captures of the past, and what it answers. Reading them is `history_job`'s, and loaded
there alone."""

from typing import Literal

import msgspec

from gossamer.archive.versions import Difference
from gossamer.base.clock import Instant
from gossamer.plugins.record import NOTHING, Plugged
from gossamer.values.capture import Capture
from gossamer.values.history import Prints

JOB = "gossamer.reader.versions:job"
_FACTORY = "gossamer.reader.versions:with_own"


class Said(msgspec.Struct, frozen=True):
    """What a capture says and states."""

    url: str
    fetched_at: Instant
    status: int
    prints: Prints
    title: str = ""
    description: str = ""
    text: str = ""
    language: str = ""
    facts: bytes = b""
    """N-Triples; none when the page asks not to be indexed."""
    fact_count: int = 0
    sources: bytes = b""
    is_readable: bool = True
    may_index: bool = True
    may_cache: bool = True

    @property
    def words(self) -> str:
        return "\n".join([part for part in (self.title, self.description, self.text) if part])


class HistoryJob(msgspec.Struct, frozen=True):
    task: Literal["read", "body", "compare"]
    capture: Capture | None = None
    agent: str = ""
    before: Said | None = None
    after: Said | None = None


class HistoryDone(msgspec.Struct, frozen=True):
    said: Said | None = None
    body: bytes | None = None
    """Without its content coding; None when that could not be undone."""
    difference: Difference | None = None


def job_with(plugged: Plugged) -> str:
    """What a worker is to run for a collection."""
    return JOB if plugged == NOTHING else f"{_FACTORY} {msgspec.json.encode(plugged).decode()}"


jobs = msgspec.msgpack.Encoder()
answer = msgspec.msgpack.Decoder(HistoryDone)
