"""Spans and instants for people, and values as JSON for programs; `why`, `hosts` and `politeness` speak alike."""

from typing import Any

import msgspec

from gossamer.clock import SECOND, Instant, in_words

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


def counted(number: int, name: str) -> str:
    if number == 1:
        return f"1 {name}"
    return f"{number:,} {name}es" if name.endswith("s") else f"{number:,} {name}s"


def as_json(value: object) -> str:
    """With instants as RFC 3339 text: fields whose name ends in `_at`."""
    return msgspec.json.format(msgspec.json.encode(_told(msgspec.to_builtins(value)))).decode()


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _instant(one) if name.endswith("_at") else _told(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_told(one) for one in value]
    return value


def _instant(value: Any) -> Any:
    return in_words(value) if isinstance(value, int) else _told(value)
