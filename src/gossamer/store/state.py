"""The state of a collection, in SQLite or in PostgreSQL: the only place that chooses and opens it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import ModuleType
from typing import NamedTuple, cast

from gossamer.base.clock import Clock
from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError, DirectoryUnusable, GossamerError
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.config.load import without_password
from gossamer.store.directory import Directory, refuse_lost_state
from gossamer.store.sqlite.database import Database, read_only
from gossamer.store.statements import State, Statement, StateWriter
from gossamer.store.trust import allow_options, are_allowed

SNAPSHOT = Statement("BEGIN")
SNAPSHOT.postgres = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
SETTING = "frontier.database"
CLUSTER = "cluster"
"""The owner of what all nodes of a cluster share: its archive, and everything else."""
NO_DRIVER = "a frontier on PostgreSQL needs psycopg, which is not installed: pip install gossamer[postgres]"


class SharedPlace(NamedTuple):
    """What `state.url` says."""

    url: str
    owner: str
    """The name of this directory there: its archive volumes are found under it."""
    member: str = ""
    """On a cluster: the name under which this directory's crawler leases hosts; empty: each command takes another."""


def open_state(directory: Directory, is_any_version: bool = False) -> State:
    """A reader's connection, from any process, while a crawl writes. Each statement sees what is committed so far.

    `is_any_version`: the shared database may have tables of another version, for those that never change."""
    if (place := shared_place(directory)) is None:
        return read_only(directory.state)
    return cast(State, postgres().open_reader(place.url, place.owner, is_any_version))


def prepare_cluster(directory: Directory) -> None:
    """Bring the tables of a cluster up to date. REQUIRES: no other version works on them.

    Raises DatabaseLost, and DirectoryUnusable if they are those of a newer version."""
    postgres().prepare(_cluster_place(directory).url)


def refuse_newer(directory: Directory) -> None:
    """Raises DirectoryUnusable if the database of a cluster is that of a newer version, or has no tables."""
    postgres().refuse_newer_tables(_cluster_place(directory).url)


def _cluster_place(directory: Directory) -> SharedPlace:
    place = shared_place(directory)
    assert place is not None, directory.root
    return place


def open_snapshot(directory: Directory) -> State:
    """The same; all statements see one consistent state."""
    state = open_state(directory)
    state.execute(SNAPSHOT)
    return state


def open_database(
    directory: Directory,
    clock: Clock,
    tell: Tell,
    is_stopping: Callable[[], bool] | None = None,
    member: str = "",
) -> AbstractAsyncContextManager[StateWriter]:
    """The writer's side. With `is_stopping`, calls wait for a server that is away until that says so. `member`: on a
    cluster, the name under which a frontier leases hosts; empty: one of its own each time.

    REQUIRES: the directory's lock is held.
    """
    if (place := shared_place(directory)) is None:
        return Database(directory.state, clock, tell)
    state = postgres().PostgresState(place.url, place.owner, clock, tell, is_stopping)
    state.is_passing = place.owner == CLUSTER and not member
    state.member = random_token(12) if state.is_passing else member or place.owner
    return cast(AbstractAsyncContextManager[StateWriter], state)


def postgres() -> ModuleType:
    """`store.postgres.state`, whose driver is an optional dependency."""
    try:
        from gossamer.store.postgres import state
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    return state


def shared_place(directory: Directory) -> SharedPlace | None:
    """None: the state is in the directory. Raises ConfigError if the user has not allowed that database: a collection
    may come from another person."""
    place = written_place(directory)
    if place is not None and not are_allowed(directory.root, {SETTING: place.url}):
        raise ConfigError(
            f"{directory.database} names a database that you have not allowed for this directory. If you know where "
            f"this collection comes from: gossamer trust --dir {directory.root} --allow"
        )
    return place


def choose_database(directory: Directory, url: str, files: Files) -> None:
    """Keep the state of this directory in the database at `url` (empty: where it is, or in SQLite).

    Raises ConfigError if it already is elsewhere. REQUIRES: the directory's lock is held.
    """
    place = written_place(directory)
    if not url:
        return
    if place is not None and without_password(place.url) != without_password(url):
        raise ConfigError(
            f"the state of {directory.root} is in another database than {SETTING} names, and cannot move: set it to "
            f"what {directory.database.name} says, or crawl into another directory with --dir"
        )
    if place is None and directory.state.exists():
        raise ConfigError(
            f"the state of {directory.root} is in {directory.state.name} and cannot move to the database that "
            f"{SETTING} names: unset that, or crawl into another directory with --dir"
        )
    postgres().name_of(url)  # raises for an invalid connection string
    if place is None:
        refuse_lost_state(directory)
    if place is None or place.url != url:  # a new password, too
        postgres().prepare(url)  # a wrong one is not kept
        files.write(directory.database, f"{url}\n{place.owner if place else random_token(12)}\n".encode())
    allow_options(directory.root, {SETTING: url})


def refuse_shared_state(directory: Directory, command: str, instead: str) -> None:
    """Raises DirectoryUnusable for a command that needs the state in `state.db`. `instead`: what the user can do."""
    if written_place(directory) is not None:
        raise DirectoryUnusable(
            f"the state of {directory.root} is in a PostgreSQL database, and `gossamer {command}` needs it "
            f"in {directory.state.name}: {instead}"
        )


def refuse_on_cluster(directory: Directory, command: str, instead: str) -> None:
    """Raises DirectoryUnusable for a command that does not work on a cluster. `instead`: what the user can do."""
    if is_cluster(directory):
        raise DirectoryUnusable(f"`gossamer {command}` does not work on a cluster: {instead}")


def written_place(directory: Directory) -> SharedPlace | None:
    """The same, allowed or not."""
    try:
        url, owner, *member = directory.database.read_text("utf-8").splitlines()
        return SharedPlace(url, owner, *member)
    except (FileNotFoundError, NotADirectoryError):  # the latter is reported when the directory is locked
        return None
    except (TypeError, ValueError):
        raise ConfigError(
            f"{directory.database} is damaged: it needs two lines, a connection string and a name"
        ) from None


def member_of(directory: Directory) -> str:
    """The name of the node whose scratch folder this is, under which its crawler leases hosts; empty: no node."""
    place = written_place(directory)
    return place.member if place is not None and place.owner == CLUSTER else ""


def is_cluster(directory: Directory) -> bool:
    """Whether this is the scratch folder of a process on a cluster: everything lasting is in services (decision 31)."""
    place = written_place(directory)
    return place is not None and place.owner == CLUSTER


def is_node(directory: Directory) -> bool:
    """Whether it is that of a node, whose crawler leases hosts."""
    place = written_place(directory)
    return place is not None and place.owner == CLUSTER and place.member != ""


def enter_cluster(directory: Directory, url: str, files: Files, member: str = "") -> None:
    """Make the directory the scratch folder of a process on the cluster with this address. `member`: for a crawler.

    Raises ConfigError if there is another collection.
    """
    postgres().name_of(url)  # raises for an invalid connection string
    place = written_place(directory)
    if directory.state.exists() or (place is not None and place.owner != CLUSTER):
        raise ConfigError(f"{directory.root} holds a collection of its own: choose another folder for the cluster")
    files.make_folder(directory.root)
    if place != (wanted := SharedPlace(url, CLUSTER, member)):
        files.write(directory.database, f"{wanted.url}\n{wanted.owner}\n{member}\n".encode())
    allow_options(directory.root, {SETTING: url})
