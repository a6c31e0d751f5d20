"""The address of a cluster, and the scratch folder it leads to on this machine.

References to secrets (`${NAME}`, `${file:PATH}`) stay references. A password in clear is replaced by a reference to a
variable of this process and its children, so no file has it; in the command line, which every user of the machine can
read, it is overwritten. The scratch folder is in the user's cache folder (XDG Base Directory Specification) and may be
deleted at any time.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping, MutableMapping
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer.base.errors import ConfigError, DirectoryUnusable, GossamerError
from gossamer.base.files import DiskFiles, Files, make_private
from gossamer.base.processes import hide_in_command_line
from gossamer.base.secrets import REFERENCE
from gossamer.config.load import PASSWORD
from gossamer.store.directory import Directory
from gossamer.store.state import CLUSTER, NO_DRIVER, enter_cluster, written_place
from gossamer.store.trust import turn

SCHEMES = ("postgresql://", "postgres://")
KEYWORDS = ("host", "hostaddr", "port", "dbname", "user", "service", "options")
"""What a connection string in the form `name=value` begins with."""
WHAT = "the address of the cluster"
VARIABLE = "CLUSTER_PASSWORD_"
"""The variables for passwords that an address had in clear."""
MODE = 0o700
IN_CLEAR = (
    f"{WHAT} has a password that cannot be kept apart: write it as ${{NAME}}, with the password in the variable NAME, "
    "or as ${file:/path/to/a/file}"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PAIR = re.compile(r"\s*(\w+)\s*=")
_OURS = re.compile(r"\$\{" + VARIABLE + r"\w+\}")


def is_address(text: str) -> bool:
    """Whether a user means a cluster and not a folder. A folder of that name is a folder."""
    if text.startswith(SCHEMES):
        return True
    pair = _PAIR.match(text)
    return pair is not None and pair[1] in KEYWORDS and not Path(text).exists()


def folder_named(text: str) -> Path:
    """The folder that a user means: a data directory, or the scratch folder of the cluster at this address.

    Raises ConfigError for an address that is none."""
    if is_address(text):
        return enter(text, DiskFiles())
    if (other := _URL.match(text)) is not None and not Path(text).exists():
        raise ConfigError(
            f"{other[0]} is neither a data directory nor the address of a cluster; that begins with postgresql://"
        )
    if text.startswith(tuple(scheme.replace("//", "/") for scheme in SCHEMES)):  # what pathlib makes of an address
        raise ConfigError("the address of a cluster is a text, not a Path: pathlib makes one slash of two")
    return Path(text)


def enter(
    address: str,
    files: Files,
    variables: MutableMapping[str, str] = os.environ,
    hide: Callable[[str, str], None] = hide_in_command_line,
) -> Path:
    """The scratch folder for this address. Nothing is connected.

    Raises ConfigError if it is no address, and DirectoryUnusable if there can be no scratch folder.
    """
    digest = _digest(address)
    address = _without_password(address, digest, variables, hide)
    folder = cache_folder(variables) / digest
    try:
        files.make_folder(folder)
        if folder.stat().st_uid != os.geteuid() or folder.is_symlink():
            raise DirectoryUnusable(f"{folder} belongs to another user: set XDG_CACHE_HOME to a folder of your own")
        make_private(folder, MODE)
        with turn(files, folder / "state.url"):  # several processes may enter at once
            enter_cluster(Directory(folder), address, files)
    except OSError as trouble:
        raise DirectoryUnusable(
            f"the scratch folder {folder} cannot be used ({trouble.strerror or trouble}): set XDG_CACHE_HOME to a "
            "folder that can be written"
        ) from trouble
    return folder


def cache_folder(variables: Mapping[str, str]) -> Path:
    """Where scratch folders are, one for each address."""
    given = Path(variables.get("XDG_CACHE_HOME", ""))
    try:
        home = given if given.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        raise DirectoryUnusable("there is no home folder: set XDG_CACHE_HOME to a folder that can be written") from None
    return home / "gossamer" / "clusters"


def shown(root: Path) -> str:
    """How a user names this collection, in messages: its address, or its folder."""
    place = written_place(Directory(root))
    if place is None or place.owner != CLUSTER:
        return str(root)
    return shlex.quote(_OURS.sub("***", place.url))


def _digest(address: str) -> str:
    """The name of the scratch folder. It says nothing of a password in clear; another reference is another address."""
    given = _parameters(address)
    parts = given | {"password": "***"} if _is_clear(given.get("password", "")) else given
    return sha256(msgspec.json.encode(sorted(parts.items()))).hexdigest()[:16]


def _without_password(
    address: str, digest: str, variables: MutableMapping[str, str], hide: Callable[[str, str], None]
) -> str:
    """The address with a reference in place of a password in clear."""
    given = _parameters(address)
    if _is_clear(given.get("sslpassword", "")):
        raise ConfigError(IN_CLEAR)
    if not _is_clear(password := given.get("password", "")):
        return address
    for found in PASSWORD.finditer(address):
        hide(address, found[2])
    variables[VARIABLE + digest] = password
    reference = f"${{{VARIABLE}{digest}}}"
    hidden = PASSWORD.sub(lambda found: found[1] + reference, address)
    if _parameters(hidden) != given | {"password": reference}:
        raise ConfigError(IN_CLEAR)
    return hidden


def _parameters(address: str) -> dict[str, str]:
    try:
        from gossamer.store.postgres.database import parameters_of
    except ImportError as missing:
        raise GossamerError(NO_DRIVER) from missing
    return parameters_of(address, WHAT)


def _is_clear(secret: str) -> bool:
    return bool(secret) and not REFERENCE.fullmatch(secret)
