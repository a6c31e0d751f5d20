"""Loads the settings from defaults, `gossamer.toml`, a collection's own options, `GOSSAMER_*` variables and flags.

It records where each value came from.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from gossamer.base.errors import ConfigError
from gossamer.config.settings import Settings
from gossamer.config.slices import retain_of

FILE_NAME = "gossamer.toml"
VARIABLE_PREFIX = "GOSSAMER_"
# Variables for tests and tools, not settings.
NOT_SETTINGS = {"GOSSAMER_CONFORMANCE", "GOSSAMER_CRASH_AT", "GOSSAMER_PLAN"}
FLAGS = {"fetch.allow_addresses": "--allow-address"}
GUARDED = frozenset(
    (
        "fetch.allow_addresses", "fetch.tls", "fetch.tls_authorities", "frontier.database", "web.host", "web.names",
        "web.public",
    )
)  # fmt: skip
"""Settings with a security impact unless at their default: what may be dialled, who is trusted, who may connect."""

_PASSWORD = re.compile(r"(\w://[^/@:\s]*:|\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^@&\s]+)", re.IGNORECASE)
"""In a connection string of either form, or among the parameters of a URL."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its dotted name, description, default and bounds."""

    name: str
    says: str
    default: object
    kind: Any
    least: float
    most: float | None
    example: object

    @property
    def variable(self) -> str:
        return VARIABLE_PREFIX + self.name.replace(".", "_").upper()


@dataclass(frozen=True, slots=True)
class Withheld:
    """A value that the files of a collection set, but the user of this machine has not allowed."""

    name: str
    value: object
    origin: str

    @property
    def shown(self) -> str:
        value = tuple(self.value) if isinstance(self.value, list) else without_password(self.value)
        return f"{self.name} = {in_toml(value)}"


@dataclass(frozen=True, slots=True)
class Config:
    settings: Settings
    origins: Mapping[str, str]
    """By dotted name: "default", "gossamer.toml", "this collection, given on 2026-11-16", "GOSSAMER_CONTACT" or
    "--delay"."""
    withheld: tuple[Withheld, ...] = ()

    def value(self, name: str) -> object:
        found: object = self.settings
        for part in name.split("."):
            found = getattr(found, part)
        return found


def keys() -> list[Key]:
    return list(_keys(Settings, ""))


def _keys(kind: type, prefix: str) -> Iterator[Key]:
    for setting in fields(kind):
        if isinstance(setting.type, type) and is_dataclass(setting.type):
            yield from _keys(setting.type, f"{setting.name}.")
        else:
            yield Key(prefix + setting.name, default=setting.default, kind=setting.type, **setting.metadata)


def load(
    file: Path | None,
    variables: Mapping[str, str],
    flags: Mapping[str, object],
    *,
    stored: Mapping[str, tuple[object, str]] = MappingProxyType({}),
    allows: Callable[[str, object], bool] = lambda _name, _value: True,
    is_own_file: bool = False,
) -> Config:
    """Later sources win: defaults, file (if it exists), the collection's options, variables, flags that are not None.

    A file that the user named must exist: see `named_file`. `allows` decides whether a guarded value counts that comes
    from the collection, or from a file that is not the user's own.
    """
    in_file = _from_file(file) if file is not None and file.is_file() else {}
    files = {name: (value, file.name if file is not None else "") for name, value in in_file.items()}
    withheld = [] if is_own_file else _withheld(files, allows)
    withheld += _withheld(stored, allows)
    kept_out = {(one.name, one.origin) for one in withheld}
    given: dict[str, tuple[object, str]] = {}
    for source in (files, stored):
        given |= {name: one for name, one in source.items() if (name, one[1]) not in kept_out}
    given |= {name: (value, variable) for name, value, variable in _from_variables(variables)}
    given |= {name: (value, _flag(name)) for name, value in flags.items() if value is not None}
    known = {key.name: key for key in keys()}
    for name, (_, origin) in given.items():
        if name not in known:
            raise ConfigError(_unknown(name, origin, list(known)))
    settings = _settings({name: value for name, (value, _) in given.items()}, given)
    origins = {name: given[name][1] if name in given else "default" for name in known}
    return Config(settings, origins, tuple(withheld))


def _withheld(source: Mapping[str, tuple[object, str]], allows: Callable[[str, object], bool]) -> list[Withheld]:
    defaults = {key.name: key.default for key in keys()}
    return [
        Withheld(name, value, origin)
        for name, (value, origin) in source.items()
        if name in GUARDED
        and (tuple(value) if isinstance(value, list) else value) != defaults[name]
        and not allows(name, value)
    ]


def _from_file(file: Path) -> dict[str, object]:
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{file.name} is not valid TOML: {trouble}") from None
    return dict(_flat(tree, ""))


def _flat(tree: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _from_variables(variables: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    by_variable = {key.variable: key for key in keys()}
    for variable, text in variables.items():
        if not variable.startswith(VARIABLE_PREFIX) or variable in NOT_SETTINGS:
            continue
        key = by_variable.get(variable)
        if key is None:
            near = difflib.get_close_matches(variable, by_variable, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ConfigError(f"there is no setting for the variable {variable}.{hint}")
        is_list = isinstance(key.default, tuple)
        yield key.name, [part for part in text.split(",") if part] if is_list else text, variable


def named_file(given: Path | None, directory: Path) -> Path:
    """The settings file: the one the user named, which must exist, or that of the data directory."""
    if given is not None and not given.is_file():
        raise ConfigError(f"there is no settings file {given}; `gossamer config show --sample` prints one")
    return given or directory / FILE_NAME


def _flag(name: str) -> str:
    return FLAGS.get(name, "--" + name.rpartition(".")[2].removesuffix("_s").replace("_", "-"))


def _unknown(name: str, origin: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f" Did you mean {near[0]!r}?" if near else " `gossamer config show` lists them all."
    return f"{origin}: there is no setting {name!r}.{hint}"


def _settings(given: Mapping[str, object], origins: Mapping[str, tuple[object, str]]) -> Settings:
    tree: dict[str, Any] = {}
    for name, value in given.items():
        group, _, last = name.rpartition(".")
        (tree.setdefault(group, {}) if group else tree)[last] = value
    for name, value in given.items():
        _check(name, value, origins[name][1])
    settings = msgspec.convert(tree, Settings, strict=False)
    if settings.retry.base_s > settings.retry.cap_s:
        raise ConfigError("retry.cap_s must be at least retry.base_s")
    try:
        retain_of(settings.archive.retain)
    except ValueError as trouble:
        raise ConfigError(f"archive.retain: {trouble}") from None
    return settings


def _check(name: str, value: object, origin: str) -> None:
    key = next(key for key in keys() if key.name == name)
    try:
        found = msgspec.convert(value, key.kind, strict=False)
    except msgspec.ValidationError as trouble:
        raise ConfigError(f"{origin}: {name} cannot be {value!r} ({str(trouble).lower()})") from None
    if not isinstance(found, int | float):
        return
    if not math.isfinite(found) or found < key.least:
        raise ConfigError(f"{origin}: {name} cannot be {value}; the minimum is {key.least:g}")
    if key.most is not None and found > key.most:
        raise ConfigError(f"{origin}: {name} cannot be {value}; the maximum is {key.most:g}")


def without_password(value: object) -> object:
    """A setting as it may be shown."""
    return _PASSWORD.sub(r"\1***", value) if isinstance(value, str) else value


def sample() -> str:
    """A commented gossamer.toml with every setting at its default, or with an example if it has none."""
    lines = ["# Gossamer settings. Lines show defaults; those marked e.g. have none. Uncomment what you change.", ""]
    group = ""
    for key in keys():
        head, _, last = key.name.rpartition(".")
        if head != group:
            lines += ["", f"[{head}]"]
            group = head
        value = f"{in_toml(key.example)}  # e.g." if key.default is None else in_toml(key.default)
        lines += [f"# {key.says}", f"# {last} = {value}"]
    return "\n".join(lines) + "\n"


def in_toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{one}"' for one in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
