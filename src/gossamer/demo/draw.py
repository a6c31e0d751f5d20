"""Choices that depend on nothing but the names they are drawn for, so any page can be written alone."""

from collections.abc import Sequence
from typing import TypeVar

from gossamer.base.chance import seeded
from gossamer.values.url import id_of

T = TypeVar("T")


class Draw:
    """A stream of choices; the same names give the same stream on every machine."""

    __slots__ = ("_next",)

    def __init__(self, *names: object) -> None:
        self._next = seeded(id_of(" ".join(map(str, names))) & (1 << 63) - 1).random

    def below(self, limit: int) -> int:
        """REQUIRES: limit >= 1."""
        return int(self._next() * limit)

    def between(self, least: int, most: int) -> int:
        return least + int(self._next() * (most - least + 1))

    def one(self, of: Sequence[T]) -> T:
        return of[int(self._next() * len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """`count` distinct places of `of` (all of them when it is shorter), in the order drawn."""
        places: dict[int, None] = {}
        wanted = min(count, len(of))
        while len(places) < wanted:
            places[int(self._next() * len(of))] = None
        return [of[place] for place in places]

    def happens(self, share: float) -> bool:
        return self._next() < share
