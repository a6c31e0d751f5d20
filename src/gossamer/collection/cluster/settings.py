"""The settings of a cluster, in its database: the same for every node."""

from collections.abc import Mapping

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.config.load import Config, has_clear_secret, load, read_value, without_password
from gossamer.store.directory import Directory
from gossamer.store.options import drop_option, put_options, stored_in
from gossamer.store.state import SETTING, open_database

PLACES = frozenset(
    ("archive.storage", "archive.directories", "archive.copies", "views.words", "views.facts", "views.facts_update")
)
"""Where a cluster keeps what it has. They are given once, by `gossamer cluster init`."""
ORIGIN = "the value given"
CLEAR = (
    "{}: a password or key in clear would be stored in the database of the cluster. Write ${{NAME}} instead, with the "
    "secret in the variable NAME of every node, or ${{file:/path}}, with the secret in a file of every node"
)
LOCAL = "every node has files of its own, so {} must be in a service: a cluster has nothing on a local disk"


def checked(given: Mapping[str, object]) -> Config:
    """The settings that these values make. Raises ConfigError for an invalid one, also of two that contradict."""
    for name, value in given.items():
        if has_clear_secret(value):
            raise ConfigError(CLEAR.format(name))
    return load(None, {}, {}, stored={name: (value, name) for name, value in given.items()})


async def set_setting(directory: Directory, name: str, text: str, outside: Outside) -> object:
    """The value, as it is stored. Raises ConfigError, saying what to do."""
    value = read_value(name, text, ORIGIN)
    known = {given: option.value for given, option in stored_in(directory.root).items()}
    if name == SETTING:
        raise ConfigError(f"{SETTING} is the address of the cluster itself, and no setting of it")
    if name in PLACES and without_password(value) != without_password(known.get(name)):
        raise ConfigError(
            f"{name} cannot be changed after `gossamer cluster init`: what is stored would stay behind. Only its "
            "password may be another one"
        )
    checked(known | {name: value})
    now = outside.clock.now()
    async with open_database(directory, outside.clock, silent) as database:
        await database.run(lambda state: put_options(state, {name: value}, now))
    return value


async def unset_setting(directory: Directory, name: str, outside: Outside) -> None:
    """Raises ConfigError for a setting that was not given, or that a cluster cannot be without."""
    if name in PLACES:
        raise ConfigError(f"{name} cannot be unset: the cluster keeps what it has there")
    known = {given: option.value for given, option in stored_in(directory.root).items()}
    if name not in known:
        given = ", ".join(sorted(known.keys() - PLACES)) or "none"
        raise ConfigError(f"this cluster was not given {name}; it was given: {given}")
    del known[name]
    checked(known)
    async with open_database(directory, outside.clock, silent) as database:
        await database.run(lambda state: drop_option(state, name))
