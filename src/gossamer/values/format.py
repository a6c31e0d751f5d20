"""Spans and instants for people, and values as JSON for programs; `why`, `hosts` and `politeness` speak alike."""

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.values.json_form import json_bytes

_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")
UNITS = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0))


def lasting(seconds: float) -> str:
    """A span in the unit people would use: "0.25 s", "90 s", "3.5 hours"."""
    for unit, length in UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:,.3g} {unit}s"
    return f"{seconds:,.3g} s"


def moment(at: Instant, now: Instant) -> str:
    """An instant to the second, and how far away it is."""
    away_s = (at - now) / SECOND
    text = in_words(at)[:19].replace("T", " ")
    if abs(away_s) < 1:
        return f"{text} (now)"
    return f"{text} (in {lasting(away_s)})" if away_s > 0 else f"{text} ({lasting(-away_s)} ago)"


def harmless(text: str) -> str:
    """Without what would command a terminal: a page may say anything."""
    return text.translate(_CONTROLS)


STATES = {"at rest": "idle", "under-way": "in progress", "waits for disk": "waiting for disk space"}


def state_in_words(state: str) -> str:
    """The state of a crawl or host as people read it; JSON has the code itself."""
    return STATES.get(state, state.replace("-", " "))


ONE_OF = {"pages": "page", "hosts": "host", "URLs": "URL", "fetches": "fetch", "captures": "capture"}


def fitted(label: str, number: float) -> str:
    """A label of a figure, in the singular where the figure is 1."""
    return " ".join([ONE_OF.get(word, word) for word in label.split(" ")]) if number == 1 else label


def counted(number: int, name: str) -> str:
    if number == 1:
        return f"1 {name}"
    return f"{number:,} {name}es" if name.endswith(("s", "ch")) else f"{number:,} {name}s"


def as_json(value: object) -> str:
    """For programs, and laid out for people; instants as RFC 3339 text."""
    return msgspec.json.format(json_bytes(value)).decode()


def error_in_words(trouble: BaseException) -> str:
    """What went wrong, in one line for a person; of a file that may not be opened also what to do."""
    if isinstance(trouble, OSError) and trouble.strerror:
        where = f": {trouble.filename}" if trouble.filename else ""
        mend = ": check its owner and mode" if isinstance(trouble, PermissionError) else ""
        return f"{trouble.strerror.lower()}{where}{mend}"
    return str(trouble) or type(trouble).__name__
