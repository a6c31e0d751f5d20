"""The server's own memory of who asked for what, and when: the witness that no crawler can talk to."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.files import Appender, Files


class Logged(msgspec.Struct, frozen=True):
    """One question and its answer."""

    host: str
    target: str
    status: int
    asked_at: Instant
    """When the question had arrived."""
    ended_at: Instant
    """When the last byte of the answer was handed over, or the asker went away."""
    size: int = 0
    """Bytes of body sent."""
    agent: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.target}"


class AccessLog:
    """In memory, and in a file when there is one: a line of JSON a hit, written before the next question is read."""

    def __init__(self, appender: Appender | None = None) -> None:
        self._appender = appender
        self._hits: list[Logged] = []

    @property
    def hits(self) -> list[Logged]:
        return list(self._hits)

    def add(self, hit: Logged) -> None:
        self._hits.append(hit)
        if self._appender is not None:
            self._appender.append(msgspec.json.encode(hit) + b"\n")


def read_log(files: Files, path: Path) -> list[Logged]:
    """The hits of a log file; a last line that is not whole is left out."""
    return hits_in(files.read(path).split(b"\n")[:-1])


def hits_in(lines: Iterable[bytes]) -> list[Logged]:
    decoder = msgspec.json.Decoder(Logged)
    return [decoder.decode(line) for line in lines]
