"""Values as JSON for programs: every instant is RFC 3339 text in UTC, whatever holds it.

Inside the program an instant is an integer of microseconds (`gossamer.base.clock`). A field says so in its type,
`Instant`, and that is what this goes by; its name means nothing.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from gossamer.base.clock import Instant, in_words

_INSTANT = get_args(Instant)[1]


def json_bytes(value: object) -> bytes:
    return msgspec.json.encode(json_value(value))


def json_value(value: object) -> Any:
    """Structs as dicts (or lists, where they are `array_like`), instants as text; all else as it is."""
    if isinstance(value, msgspec.Struct):
        return _of_struct(value)
    if isinstance(value, Mapping):
        return {name: json_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    return value


def _of_struct(value: msgspec.Struct) -> Any:
    kind = type(value)
    told = [
        (name, _as_text(held) if has_instants else json_value(held))
        for field, name, has_instants in _fields(kind)
        for held in (getattr(value, field),)
    ]
    config = kind.__struct_config__
    if config.array_like:
        return [one for _, one in told]
    tag = {config.tag_field: config.tag} if config.tag_field is not None else {}
    return {**tag, **dict(told)}


def _as_text(held: object) -> Any:
    """What a field of instants holds: one, none, or several."""
    if isinstance(held, int) and not isinstance(held, bool):
        return in_words(held)
    if isinstance(held, Mapping):
        return {name: _as_text(one) for name, one in held.items()}
    return [_as_text(one) for one in held] if isinstance(held, list | tuple) else json_value(held)


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, bool], ...]:
    """Each field, its name in JSON, and whether it holds instants."""
    hints = get_type_hints(kind, include_extras=True)
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return tuple((field, name, _holds_instants(hints[field])) for field, name in names)


def _holds_instants(hint: Any) -> bool:
    return hint is _INSTANT or any(map(_holds_instants, get_args(hint)))
