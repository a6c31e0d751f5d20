"""Which of the URLs that were visited or refused before are meant, and how they ended."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url


class Selection(msgspec.Struct, frozen=True):
    """What is left empty does not narrow it: an empty selection means every URL that has an end."""

    reasons: frozenset[Reason] = frozenset()
    host: str = ""
    urls: tuple[Url, ...] = ()
    hows: frozenset[How] = frozenset()
    """How they were found."""


class EndedGroup(msgspec.Struct, frozen=True):
    """URLs of a selection whose last visit ended alike."""

    reason: Reason
    urls: int
    examples: tuple[str, ...] = ()
    details: tuple[tuple[str, int], ...] = ()
    """What was stored with these ends, and how often: the most frequent."""


class Failure(msgspec.Struct, frozen=True):
    """An earlier failed visit to a URL."""

    at: Instant
    reason: Reason
    detail: str = ""
