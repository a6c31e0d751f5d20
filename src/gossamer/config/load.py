"""Loads settings and says where each comes from.

From defaults, `gossamer.toml`, a collection's options, `GOSSAMER_*` variables and flags.

The origin of each value is recorded.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from gossamer.base.errors import ConfigError
from gossamer.base.secrets import REFERENCE
from gossamer.config.settings import Settings
from gossamer.config.slices import retain_of

FILE_NAME = "gossamer.toml"
VARIABLE_PREFIX = "GOSSAMER_"
# Variables for tests and tools, not settings.
NOT_SETTINGS = {
    "GOSSAMER_CONFORMANCE", "GOSSAMER_CORPUS", "GOSSAMER_CRASH_AT", "GOSSAMER_PLAN", "GOSSAMER_SERVICES",
    "GOSSAMER_SOAK_VISITS",
}  # fmt: skip
FLAGS = {"fetch.allow_addresses": "--allow-address"}
GUARDED = frozenset(
    (
        "archive.directories", "archive.storage", "fetch.allow_addresses", "fetch.tls", "fetch.tls_authorities",
        "frontier.database", "views.facts", "views.facts_update", "views.words", "web.host", "web.names", "web.public",
    )
)  # fmt: skip
"""Settings that affect security unless at their default: where files are written and data is sent, which addresses may
be dialled, who is trusted, who may connect."""

PASSWORD = re.compile(r"(\w://[^/@:\s]*:(?=[^@\s]*@)|\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^@&\s]+)", re.IGNORECASE)
"""A password in a connection string of either form, or in the parameters of a URL."""
_PARAMETER = re.compile(
    r"([?&][\w.-]*(?:secret|password|token|sas|sig|credential|account_key|access_key(?!_id))[\w.-]*=)([^&\s]+)",
    re.IGNORECASE,
)
"""A secret among the parameters of the URL of an object storage. An access key's id is none."""


@dataclass(frozen=True, slots=True)
class Key:
    """A setting: its dotted name, description, default and bounds."""

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
    """A value from the files of a collection that the user of this machine has not allowed."""

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


Given = tuple[object, str]
"""A value and its origin."""


def keys(group: type = Settings, prefix: str = "") -> list[Key]:
    found: list[Key] = []
    for setting in fields(group):
        if isinstance(setting.type, type) and is_dataclass(setting.type):
            found += keys(setting.type, f"{setting.name}.")
        else:
            found.append(Key(prefix + setting.name, default=setting.default, kind=setting.type, **setting.metadata))
    return found


def load(
    file: Path | None,
    variables: Mapping[str, str],
    flags: Mapping[str, object],
    *,
    stored: Mapping[str, Given] = MappingProxyType({}),
    allows: Callable[[str, object], bool] = lambda _name, _value: True,
    is_own_file: bool = False,
) -> Config:
    """Later sources win: defaults, file (if it exists), the collection's options, variables, flags that are not None.

    A file that the user named must exist: see `named_file`. `allows` decides whether a guarded value is applied if it
    comes from the collection, or from a file that is not the user's own.
    """
    known = {key.name: key for key in keys()}
    withheld: list[Withheld] = []
    given: dict[str, Given] = {}
    for source, is_trusted in ((_from_file(file), is_own_file), (stored, False)):
        for name, (value, origin) in source.items():
            plain = tuple(value) if isinstance(value, list) else value
            if is_trusted or name not in GUARDED or plain == known[name].default or allows(name, value):
                given[name] = value, origin
            else:
                withheld.append(Withheld(name, value, origin))
    given |= _from_variables(variables, list(known.values()))
    given |= {name: (value, _flag(name)) for name, value in flags.items() if value is not None}
    for name, (value, origin) in given.items():
        if name not in known:
            raise ConfigError(_unknown(name, origin, list(known)))
        _check(known[name], value, origin)
    origins = {name: given[name][1] if name in given else "default" for name in known}
    return Config(_settings({name: value for name, (value, _) in given.items()}), origins, tuple(withheld))


def _from_file(file: Path | None) -> dict[str, Given]:
    if file is None or not file.is_file():
        return {}
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{file.name} is not valid TOML: {trouble}") from None
    return {name: (value, file.name) for name, value in _flat(tree, "")}


def _flat(tree: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _from_variables(variables: Mapping[str, str], known: Sequence[Key]) -> dict[str, Given]:
    by_variable = {key.variable: key for key in known}
    found: dict[str, Given] = {}
    for variable, text in variables.items():
        if not variable.startswith(VARIABLE_PREFIX) or variable in NOT_SETTINGS:
            continue
        key = by_variable.get(variable)
        if key is None:
            near = difflib.get_close_matches(variable, by_variable, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{variable} matches no setting.{hint}")
        is_list = isinstance(key.default, tuple)
        found[key.name] = [part for part in text.split(",") if part] if is_list else text, variable
    return found


def read_value(name: str, text: str, origin: str) -> object:
    """The value of a setting that was typed, as it is stored; several values have commas between them.

    Raises ConfigError for an unknown setting, naming the nearest, and for a value that it cannot have."""
    known = {key.name: key for key in keys()}
    if name not in known:
        raise ConfigError(_unknown(name, origin, list(known)))
    key = known[name]
    value = [part.strip() for part in text.split(",") if part.strip()] if isinstance(key.default, tuple) else text
    _check(key, value, origin)
    found: object = msgspec.convert(value, key.kind, strict=False)
    return list(found) if isinstance(found, tuple) else found


def has_clear_secret(value: object) -> bool:
    """Whether the address of a service holds a secret in clear, not a reference to one. The id of a key is none."""
    if not isinstance(value, str):
        return False
    found = [*PASSWORD.finditer(value), *(one for one in _PARAMETER.finditer(value) if not one[1].endswith("_id="))]
    return any(not REFERENCE.fullmatch(one[2]) for one in found)


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


def _settings(given: Mapping[str, object]) -> Settings:
    tree: dict[str, Any] = {}
    for name, value in given.items():
        group, _, last = name.rpartition(".")
        (tree.setdefault(group, {}) if group else tree)[last] = value
    settings = msgspec.convert(tree, Settings, strict=False)
    if settings.retry.base_s > settings.retry.cap_s:
        raise ConfigError("retry.cap_s must be at least retry.base_s")
    try:
        retain_of(settings.archive.retain)
    except ValueError as trouble:
        raise ConfigError(f"archive.retain: {trouble}") from None
    return settings


def _check(key: Key, value: object, origin: str) -> None:
    try:
        found = msgspec.convert(value, key.kind, strict=False)
    except msgspec.ValidationError as trouble:
        raise ConfigError(f"{origin}: {key.name} cannot be {value!r} ({str(trouble).lower()})") from None
    if not isinstance(found, int | float):
        return
    if not math.isfinite(found) or found < key.least:
        raise ConfigError(f"{origin}: {key.name} cannot be {value}; the minimum is {key.least:g}")
    if key.most is not None and found > key.most:
        raise ConfigError(f"{origin}: {key.name} cannot be {value}; the maximum is {key.most:g}")


def without_password(value: object) -> object:
    """The value of a setting without its password, for display."""
    if not isinstance(value, str):
        return value
    return _PARAMETER.sub(r"\1***", PASSWORD.sub(r"\1***", value))


def sample() -> str:
    """A commented gossamer.toml with the default of every setting, or an example if it has none."""
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
