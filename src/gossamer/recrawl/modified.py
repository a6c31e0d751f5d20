"""When a page says that it last changed: schema:dateModified, article:modified_time, dcterms:modified. A hint."""

import re
from datetime import UTC, datetime

from gossamer.base.clock import SECOND, Instant

_STATED = re.compile(rb"^\S+ <[^>\s]*(?:dateModified|modified_time|terms/modified)> \"([^\"\\]{8,40})\"", re.MULTILINE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def modified_at(facts: bytes, fetched_at: Instant) -> Instant | None:
    """The latest of the moments that its facts (N-Triples) name, but for those that are still to come."""
    if b"odified" not in facts:
        return None
    told = [at for found in _STATED.finditer(facts) if (at := _moment(found[1])) is not None]
    return max([at for at in told if 0 < at <= fetched_at], default=None)


def _moment(written: bytes) -> Instant | None:
    """ISO 8601; without a zone UTC is meant."""
    try:
        said = datetime.fromisoformat(written.decode("ascii").strip())
        said = said if said.tzinfo is not None else said.replace(tzinfo=UTC)
        return round((said - _EPOCH).total_seconds()) * SECOND
    except (ValueError, OverflowError):
        return None
