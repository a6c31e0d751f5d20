"""JSON for programs, and numbers, times and errors in words for people."""

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache
from io import StringIO
from typing import Any, get_args, get_type_hints

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words

_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")
UNITS = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0))


def lasting(seconds: float) -> str:
    """A duration in the unit people would use: "0.25 s", "90 s", "3.5 hours"."""
    for unit, length in UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:,.3g} {unit}s"
    return f"{seconds:,.3g} s"


def duration(seconds: float) -> str:
    """In whole units: "90 s", "4 hours"."""
    for unit_s, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def moment(at: Instant, now: Instant) -> str:
    """An instant to the second, and how far away it is: "2026-11-15 08:30:00 (in 3.5 hours)"."""
    away_s = (at - now) / SECOND
    text = in_words(at)[:19].replace("T", " ")
    if abs(away_s) < 1:
        return f"{text} (now)"
    return f"{text} (in {lasting(away_s)})" if away_s > 0 else f"{text} ({lasting(-away_s)} ago)"


def harmless(text: str) -> str:
    """Replace terminal control characters: a page may contain anything."""
    return text.translate(_CONTROLS)


def state_in_words(state: str) -> str:
    """The state of a crawl or host for people; JSON has the code itself."""
    return state.replace("-", " ")


ONE_OF = {"pages": "page", "hosts": "host", "URLs": "URL", "fetches": "fetch", "captures": "capture", "facts": "fact"}


def fitted(label: str, number: float) -> str:
    """A figure's label, in the singular if the figure is 1."""
    return " ".join([ONE_OF.get(word, word) for word in label.split(" ")]) if number == 1 else label


def counted(number: int, name: str) -> str:
    if number == 1:
        return f"1 {name}"
    if name.endswith("copy"):
        return f"{number:,} {name[:-1]}ies"
    return f"{number:,} {name}es" if name.endswith(("s", "ch")) else f"{number:,} {name}s"


def as_json(value: object) -> str:
    """Indented JSON; instants as RFC 3339 text."""
    return msgspec.json.format(json_bytes(value)).decode()


def error_in_words(trouble: BaseException) -> str:
    """An error in one line for a person; if a file may not be opened, also what to do."""
    if isinstance(trouble, OSError) and trouble.strerror:
        where = f": {trouble.filename}" if trouble.filename else ""
        fix = ": check its owner and mode" if isinstance(trouble, PermissionError) else ""
        return f"{trouble.strerror.lower()}{where}{fix}"
    return str(trouble) or type(trouble).__name__


_INSTANT = get_args(Instant)[1]


def json_bytes(value: object) -> bytes:
    return msgspec.json.encode(json_value(value))


def json_value(value: object, *, has_instants: bool = False) -> Any:
    """Structs as dicts (or lists, if `array_like`), instants as RFC 3339 text, all else unchanged.

    An instant is an integer; `has_instants` says that integers in `value` are instants. The type of a struct's field,
    `Instant`, decides that, never its name.
    """
    if isinstance(value, msgspec.Struct):
        return _of_struct(value)
    if isinstance(value, Mapping):
        return {name: json_value(one, has_instants=has_instants) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one, has_instants=has_instants) for one in value]
    return in_words(value) if has_instants and isinstance(value, int) and not isinstance(value, bool) else value


def _of_struct(value: msgspec.Struct) -> Any:
    kind = type(value)
    fields = {name: json_value(getattr(value, field), has_instants=has) for field, name, has in _fields(kind)}
    config = kind.__struct_config__
    if config.array_like:
        return list(fields.values())
    return fields if config.tag_field is None else {config.tag_field: config.tag, **fields}


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, bool], ...]:
    """Each field, its name in JSON, and whether it holds instants."""
    hints = get_type_hints(kind, include_extras=True)
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return tuple((field, name, _holds_instants(hints[field])) for field, name in names)


def _holds_instants(hint: Any) -> bool:
    return hint is _INSTANT or any(map(_holds_instants, get_args(hint)))


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a spreadsheet formula begins (OWASP, CSV injection); the last four are full-width forms."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?INF", re.ASCII)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would calculate it. A signed number is no formula: -5 stays -5."""
    return text.startswith(FORMULA_STARTS) and _NUMBER.fullmatch(text) is None


def csv_safe(text: str) -> str:
    """A formula gets an apostrophe in front, which spreadsheets do not show (FAULTS W17, X15). NUL is removed."""
    plain = text.replace("\0", "")
    return f"'{plain}" if is_formula(plain) else plain


def csv_line(cells: Iterable[object]) -> bytes:
    """One line of CSV. Texts come from the web and are made safe; numbers stay."""
    line = StringIO()
    csv.writer(line).writerow([csv_safe(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode("utf-8", "replace")
