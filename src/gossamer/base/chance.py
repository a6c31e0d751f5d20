"""Randomness: the only source of it. Code that needs random numbers is given a `Chance`."""

import random
import secrets
from typing import Protocol


class Chance(Protocol):
    """Real ones: `system_chance()` in the program, `seeded(n)` in simulations and tests."""

    def random(self) -> float:
        """A number in [0, 1)."""


def system_chance() -> Chance:
    """Seeded by the system. Spreads retries and the like; never used for secrets."""
    return random.Random()


def seeded(seed: int) -> Chance:
    return random.Random(seed)


def random_token(octets: int = 32) -> str:
    """A secret of that many random bytes as URL-safe text. Not a Chance: it must never be seeded."""
    return secrets.token_urlsafe(octets)
