"""How a cluster is made: its tables, its id, and the settings that say where everything is."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from gossamer.base.environment import Outside, random_token
from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.tell import silent
from gossamer.collection.cluster.services import ServiceChecked, checked_services
from gossamer.collection.cluster.settings import LOCAL, PLACES, checked
from gossamer.config.load import without_password
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.documents import IDENTITY, document, new_document, owners, server_version
from gossamer.store.options import put_options, stored_options
from gossamer.store.state import CLUSTER, open_database, shared_place
from gossamer.store.statements import State
from gossamer.views.facts.server.endpoint import update_address

OTHER = (
    "this cluster was made with {name} = {old}, and that cannot be changed: leave the flag as it was, or make another "
    "cluster in another database"
)
TAKEN = (
    "the database holds a crawl of data directories: a cluster needs a database, or a schema, of its own (createdb "
    'mycrawl; or "?options=-csearch_path%3Dmycrawl" at the end of the address)'
)
MEANWHILE = "another `gossamer cluster init` has made this cluster meanwhile; `gossamer cluster settings` shows it"


class ClusterMade(msgspec.Struct, frozen=True):
    is_new: bool
    checked: tuple[ServiceChecked, ...]
    """The database first."""


class _Before(NamedTuple):
    """What is in the database."""

    version: str
    identity: bytes | None
    places: dict[str, object]
    owners: set[str]
    known: int


async def create(directory: Directory, given: Mapping[str, object], outside: Outside) -> ClusterMade:
    """Make a cluster with these values of PLACES, once its four services were tried.

    Raises ConfigError and DirectoryUnusable, saying what to do; then nothing but empty tables was made.
    """
    for setting in ("views.words", "views.facts"):
        if not given.get(setting):
            raise ConfigError(f"--{setting.partition('.')[2]} is missing: {LOCAL.format(setting)}")
    update_address(str(given["views.facts"]), str(given.get("views.facts_update") or ""))
    settings = checked(given).settings
    place = shared_place(directory)
    assert place is not None, directory.root
    now = outside.clock.now()
    async with open_database(directory, outside.clock, silent) as database:
        before = await database.read(_found)
        refuse_others(before, given)
        identity = (before.identity or random_token(12).encode()).decode()
        services = await checked_services(settings, identity, outside.clock)
        made = await database.run(partial(_write, identity=identity, given=given, now=now))
        if not made and before.identity is None:
            raise DirectoryUnusable(MEANWHILE)
        after = await database.read(_found)
    if after.places != dict(given):
        raise DirectoryUnusable("the database does not return the settings that were written to it")
    name = f"PostgreSQL {before.version}, UTF8; made the tables, wrote and read the settings"
    return ClusterMade(before.identity is None, (ServiceChecked("database", name), *services))


def _found(state: State) -> _Before:
    options = {name: one.value for name, one in stored_options(state).items() if name in PLACES}
    version = server_version(state)
    return _Before(version, document(state, IDENTITY), options, owners(state), tallies.counts(state).known)


def _write(state: State, identity: str, given: Mapping[str, object], now: int) -> bool:
    """False if another process has made a cluster since. Credentials may be other ones than before."""
    is_new = new_document(state, IDENTITY, identity.encode(), now)
    if not is_new and document(state, IDENTITY) != identity.encode():
        return False
    put_options(state, given, now)
    return is_new


def refuse_others(before: _Before, given: Mapping[str, object]) -> None:
    """Raises ConfigError if the database has something else, or a cluster with other values."""
    if before.identity is None:
        if before.owners - {CLUSTER} or before.known:
            raise ConfigError(TAKEN)
        return
    for name in sorted(before.places.keys() | given.keys()):
        old, new = before.places.get(name), given.get(name)
        if without_password(old) != without_password(new):
            raise ConfigError(OTHER.format(name=name, old=without_password(old) or "unset"))
