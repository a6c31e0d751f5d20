"""One writer a data directory. Readers need no lock."""

from pathlib import Path

from gossamer.base.errors import DirectoryBusy
from gossamer.base.files import Files, Lock

NAME = "writer.lock"


def hold(files: Files, folder: Path, words: str) -> Lock:
    """Take the writer's lock at once, or raise DirectoryBusy naming who has it.

    `words` tell the next one who we are: pid, command, since when. The lock ends with the process that holds it,
    however that ends, so there is no stale lock to clean up.
    """
    found = files.lock(folder / NAME, words)
    if isinstance(found, str):
        raise DirectoryBusy(f"{folder} is being written by {found}; wait for it, or stop it first")
    return found


def holder_in_words(pid: int, command: str, since: str) -> str:
    return f"pid {pid} ({command}, since {since})"
