"""The settings of a cluster and its small files, in its database: the same for every node."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.config.load import Config, has_clear_secret, load, read_value, without_password
from gossamer.crawler.rules_file import FILE_NAME as RULES
from gossamer.extract.vocabularies import with_own
from gossamer.plugins.code import FOLDER
from gossamer.rules.user.rulebook import Problems, load_rules
from gossamer.store.directory import VOCABULARY, Directory
from gossamer.store.documents import (
    COPIED,
    LARGEST,
    DocumentEntry,
    document,
    documents,
    drop_document,
    put_document,
)
from gossamer.store.options import drop_option, put_options, stored_in
from gossamer.store.state import SETTING, open_database, open_state

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
NAMES = f"those are {RULES}, {VOCABULARY}, {FOLDER}/NAME, and plug-ins NAME.py"


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


# Files: rules, vocabulary, JSON-LD contexts, code of plug-ins.


def list_files(directory: Directory) -> list[DocumentEntry]:
    with closing(open_state(directory)) as state:
        return [one for one in documents(state) if _is_users(one.name)]


def get_file(directory: Directory, name: str) -> bytes:
    """Raises ConfigError if there is none."""
    with closing(open_state(directory)) as state:
        found = document(state, name) if _is_users(name) else None
    if found is None:
        raise ConfigError(f"this cluster has no file {name[:100]!r}: gossamer cluster files ADDRESS lists them")
    return found


async def put_file(directory: Directory, file: Path, name: str | None, outside: Outside) -> str:
    """The name under which it is stored. Raises ConfigError for a name that is not read, and for an invalid file."""
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    if (outside.files.size(file) or 0) > LARGEST:
        raise ConfigError(f"{file} has more than {LARGEST:,} bytes")
    content, kept = outside.files.read(file), name or _name_of(file)
    if not _is_users(kept):
        raise ConfigError(f"{kept[:100]!r} is no name of a file of a cluster; {NAMES}: give it with --name")
    refuse_invalid(kept, content)
    now = outside.clock.now()
    async with open_database(directory, outside.clock, silent) as database:
        await database.run(lambda state: put_document(state, kept, content, now))
    return kept


async def remove_file(directory: Directory, name: str, outside: Outside) -> None:
    """Raises ConfigError if there is none."""
    get_file(directory, name)
    async with open_database(directory, outside.clock, silent) as database:
        await database.run(lambda state: drop_document(state, name))


def refuse_invalid(name: str, content: bytes) -> None:
    """Raises ConfigError that says what is wrong with it."""
    if name == VOCABULARY:
        with_own(content)
    if name == RULES:
        try:
            found = load_rules(content.decode())
        except UnicodeDecodeError:
            raise ConfigError(f"{RULES} is not UTF-8") from None
        if isinstance(found, Problems):
            raise ConfigError(found.in_words)


def _name_of(file: Path) -> str:
    return f"{FOLDER}/{file.name}" if file.parent.name == FOLDER else file.name


def _is_users(name: str) -> bool:
    """Not the tokens, nor what the program writes for itself."""
    return name == RULES or COPIED.fullmatch(name) is not None
