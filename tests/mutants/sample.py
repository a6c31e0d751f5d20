"""Which mutants are tried: an equal share of each room, drawn by lot.

The lot of a mutant is a digest of the seed and its name. So a change in one function leaves the sample elsewhere as it
was, a smaller sample is the beginning of a larger one, and a run that is cut short has tried a fair sample too.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from tests.mutants.mutation import Mutant


def drawn(rooms: Mapping[str, Sequence[Mutant]], count: int, seed: int) -> dict[str, list[Mutant]]:
    """`count` mutants in all, those of each room in the order of their lots."""
    return {
        room: sorted(mutants, key=lambda one: _lot(one, seed))[: count // len(rooms) + (place < count % len(rooms))]
        for place, (room, mutants) in enumerate(rooms.items())
    }


def in_turn(sample: Mapping[str, Sequence[Mutant]]) -> Iterator[tuple[str, Mutant]]:
    """One of each room, then the next of each."""
    for row in zip_longest(*sample.values()):
        yield from ((room, mutant) for room, mutant in zip(sample, row, strict=True) if mutant is not None)


def _lot(mutant: Mutant, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()
