"""Which mutants are tried: an equal share of each room, spread over the room's text, fixed by the seed."""

import itertools
import random
from collections.abc import Mapping, Sequence

from tests.mutants.mutation import Mutant


def drawn(rooms: Mapping[str, Sequence[Mutant]], count: int, seed: int) -> dict[str, list[Mutant]]:
    """`count` mutants in all. Each room's mutants, in the order of its text, are cut into stretches of equal length,
    and one is drawn from each: no module is left out for long, and long modules get more."""
    return {
        room: _spread(mutants, count // len(rooms) + (place < count % len(rooms)), random.Random(f"{seed} {room}"))
        for place, (room, mutants) in enumerate(rooms.items())
    }


def _spread(mutants: Sequence[Mutant], count: int, chance: random.Random) -> list[Mutant]:
    if count >= len(mutants):
        return list(mutants)
    bounds = [round(place * len(mutants) / count) for place in range(count + 1)]
    return [mutants[chance.randrange(first, last)] for first, last in itertools.pairwise(bounds)]
