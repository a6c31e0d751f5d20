"""What the page view asks for beside what every page is given."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from gossamer.values.capture import Kept
from gossamer.values.url import Url, id_of
from gossamer.views.words.searcher import WordCount

TargetState = Literal["captured", "waiting", "refused", "moved", "gone", "failed", "unknown"]


class WhySection(msgspec.Struct, frozen=True):
    heading: str
    lines: tuple[str, ...]


class WhyAnswer(msgspec.Struct, frozen=True):
    """The whole trail of an address: in sentences, and as `gossamer why --json` has it."""

    url: str
    is_known: bool
    state: TargetState
    sections: tuple[WhySection, ...]
    trail: dict[str, Any]


class Promise(msgspec.Struct, frozen=True):
    """What a host was promised, and what it got: seconds from the end of one visit to the start of the next."""

    visits: int
    promised_s: float
    """After the last visit; it may have been less before."""
    least_s: float | None
    mean_s: float | None
    broken: int


class HostWhy(msgspec.Struct, frozen=True):
    name: str
    is_known: bool
    sections: tuple[WhySection, ...]
    promise: Promise | None
    trail: dict[str, Any]


def nothing_kept(_kept: Kept) -> bytes | None:
    return None


async def no_copy(_prepared: bytes) -> bytes | None:
    return b""


def nobody_knows(_of: object) -> None:
    return None


def all_unknown(urls: Sequence[Url]) -> list[TargetState]:
    return ["unknown"] * len(urls)


def no_words(_url: Url) -> Sequence[WordCount]:
    return ()


@dataclass(frozen=True, slots=True)
class PageRooms:
    prepared: Callable[[Kept], bytes | None] = nothing_kept
    """A capture out of the archive, for `copy`; None when only its headers were kept."""
    copy: Callable[[bytes], Awaitable[bytes | None]] = no_copy
    """A kept page as HTML that can do nothing; empty when it is no text. Raises WorkerLost."""
    why: Callable[[Url], WhyAnswer | None] = nobody_knows
    host: Callable[[str], HostWhy | None] = nobody_knows
    states: Callable[[Sequence[Url]], list[TargetState]] = all_unknown
    words: Callable[[Url], Sequence[WordCount]] = no_words


def place_of(path: str) -> str:
    """A short name for an element of a page, the same on the list of facts and in the copy."""
    return f"{id_of(path) & (1 << 64) - 1:016x}" if path else ""


def anchor_in_copy(place: str) -> str:
    return f"gossamer-{place}"
