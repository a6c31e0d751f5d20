"""JSON written by the program, converted back to values: instants are text in JSON, and integers in values."""

from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from gossamer.base.clock import Instant, from_words

T = TypeVar("T")


def decoded(body: bytes | str, kind: type[T]) -> T:
    return msgspec.convert(_with_instants(msgspec.json.decode(body), kind), kind)


def _with_instants(value: Any, hint: Any) -> Any:
    if hint is Instant:
        assert isinstance(value, str), f"{value!r} is not RFC 3339 text"
        return from_words(value)
    if value is None:
        return None
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        (one,) = [each for each in arguments if each is not type(None)]
        return _with_instants(value, one)
    if isinstance(value, dict) and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = get_type_hints(hint, include_extras=True)
        return {name: _with_instants(one, hints.get(name)) for name, one in value.items()}
    if isinstance(value, list) and arguments:
        return [_with_instants(one, arguments[0]) for one in value]
    return value
