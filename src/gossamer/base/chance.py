"""The only place that draws lots. Everything that needs chance is handed a `Chance`."""

import random
import secrets
from typing import Protocol


class Chance(Protocol):
    """Real ones: `system_chance()` in the program, `seeded(n)` in simulations and tests."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


def system_chance() -> Chance:
    """Seeded by the system. Used to spread retries, never for secrets."""
    return random.Random()


def seeded(seed: int) -> Chance:
    return random.Random(seed)


def random_token(octets: int = 32) -> str:
    """A secret of that many random bytes, fit for an address. Not a Chance: it must never be seeded."""
    return secrets.token_urlsafe(octets)
