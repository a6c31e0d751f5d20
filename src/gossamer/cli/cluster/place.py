"""The scratch folder of a command on a cluster: one for each address, in the user's cache folder."""

import os
from hashlib import sha256
from pathlib import Path

from gossamer.base.files import DiskFiles
from gossamer.store.directory import Directory
from gossamer.store.state import enter_cluster


def folder_of(address: str) -> Path:
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = given if given.is_absolute() else Path.home() / ".cache"
    folder = home / "gossamer" / "clusters" / sha256(address.encode()).hexdigest()[:16]
    enter_cluster(Directory(folder), address, DiskFiles())
    return folder
