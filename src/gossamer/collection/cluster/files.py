"""The small files of a cluster that users write: rules, vocabulary, contexts, plug-ins."""

from contextlib import closing
from pathlib import Path

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
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
from gossamer.store.state import open_database, open_state

NAMES = f"those are {RULES}, {VOCABULARY}, {FOLDER}/NAME, and plug-ins NAME.py"


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
