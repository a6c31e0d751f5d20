"""Which mutants are tried: an equal share of each room, chosen at random.

Mutants are ordered by a digest of the seed and their name. So a change in one function does not change the rest of the
sample, a smaller sample is the beginning of a larger one, and an interrupted run has tried a fair sample too.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from tests.mutants.mutation import Mutant


def drawn(rooms: Mapping[str, Sequence[Mutant]], count: int, seed: int) -> dict[str, list[Mutant]]:
    """`count` mutants in all, those of each room in random order."""
    return {
        room: sorted(mutants, key=lambda one: _order(one, seed))[: count // len(rooms) + (place < count % len(rooms))]
        for place, (room, mutants) in enumerate(rooms.items())
    }


def in_turn(sample: Mapping[str, Sequence[Mutant]]) -> Iterator[tuple[str, Mutant]]:
    """One of each room, then the next of each."""
    for row in zip_longest(*sample.values()):
        yield from ((room, mutant) for room, mutant in zip(sample, row, strict=True) if mutant is not None)


def _order(mutant: Mutant, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()
