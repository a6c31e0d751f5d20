"""What is learned of hosts, as values that can be written down and read again: see `learning.Learning.kept`.

Each part is small, so that whoever writes them down is never long at one.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import msgspec

from gossamer.rules.learned.traps import TemplateRun

T = TypeVar("T")
MOST_IN_A_PART = 128


class SketchKept(msgspec.Struct, frozen=True, array_like=True):
    words: bytes
    phrases: bytes
    words_held: int
    phrases_held: int
    pages: int
    are_words_folded: bool = True
    are_phrases_folded: bool = True


HostRow = tuple[int, int, SketchKept, tuple[tuple[str, TemplateRun], ...]]
"""Host id, when it was last seen, what it said, and how its templates stand."""
DomainRow = tuple[str, SketchKept, tuple[str, ...], tuple[str, ...], TemplateRun]
"""Name, what its hosts said first, hosts met, hosts that are good, and how they stand."""


class LinksKept(msgspec.Struct, frozen=True, array_like=True, tag=0):
    key: int
    slots: bytes


class YoungKept(msgspec.Struct, frozen=True, array_like=True, tag=1):
    weighed: int
    young: bytes


class HostsKept(msgspec.Struct, frozen=True, array_like=True, tag=2):
    rows: tuple[HostRow, ...]


class ErrorsKept(msgspec.Struct, frozen=True, array_like=True, tag=3):
    rows: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...]


class StartsKept(msgspec.Struct, frozen=True, array_like=True, tag=4):
    rows: tuple[tuple[int, tuple[int, ...]], ...]


class TextsKept(msgspec.Struct, frozen=True, array_like=True, tag=5):
    rows: tuple[tuple[int, tuple[int, frozenset[int]]], ...]


class VoidPagesKept(msgspec.Struct, frozen=True, array_like=True, tag=6):
    rows: tuple[tuple[int, tuple[str, tuple[int, ...]]], ...]


class EvidenceKept(msgspec.Struct, frozen=True, array_like=True, tag=7):
    rows: tuple[tuple[tuple[int, str], tuple[int, int]], ...]


class DomainsKept(msgspec.Struct, frozen=True, array_like=True, tag=8):
    rows: tuple[DomainRow, ...]


Part = (
    LinksKept | YoungKept | HostsKept | ErrorsKept | StartsKept | TextsKept | VoidPagesKept | EvidenceKept | DomainsKept
)


def batches(rows: Iterable[T], most: int = MOST_IN_A_PART) -> Iterator[tuple[T, ...]]:
    """REQUIRES: nobody changes what `rows` goes through meanwhile: give it a list."""
    going = iter(rows)
    while batch := tuple(islice(going, most)):
        yield batch
