"""Fingerprints of a text: equal for copies, alike for near copies."""

import hashlib

from rensa import RMinHash

PERMUTATIONS = 64
_SEED = 20
_WORDS = 100
"""Words that are looked at, at each end of the text: what is alike at both ends is worth a closer comparison."""
_LONGEST_WORD = 30


def exact(text: str) -> bytes:
    """SHA-256 of the text. REQUIRES: white space folded."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def near(text: str) -> tuple[int, ...]:
    """MinHash over shingles of three words; the share of equal numbers estimates the texts' resemblance.

    Empty for an empty text. Texts written without spaces are cut into characters instead.
    """
    words = text.split(None, _WORDS)
    if not words:
        return ()
    if len(words) > _WORDS:
        words[_WORDS:] = words[_WORDS].rsplit(None, _WORDS)[-_WORDS:]
    elif len(text) > _LONGEST_WORD * len(words):
        words = list(text[: _WORDS * 2])
    shingles = list(map("".join, zip(words, words[1:], words[2:], strict=False))) if len(words) > 2 else words
    sketch = RMinHash(PERMUTATIONS, _SEED)  # its class methods would start a pool of threads
    sketch.update(shingles)
    return tuple(sketch.digest())


def resemblance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The estimated share of shingles that two texts have in common (0 to 1)."""
    if not one or len(one) != len(other):
        return 0.0
    return sum(map(int.__eq__, one, other)) / len(one)
