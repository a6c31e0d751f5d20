"""The tokens of a collection's web site: made when it is first served, kept beside it, readable by their owner only."""

from collections.abc import Callable
from pathlib import Path

from gossamer.base.chance import random_token
from gossamer.base.files import Files
from gossamer.store.directory import Directory
from gossamer.web.access.tokens import AccessTokens

ADMIN, READER = "token", "reader-token"
SHORTEST = 16
"""A shorter one was not made by us, and could be guessed."""


def keys_of(
    directory: Directory, files: Files, *, are_new: bool = False, draw: Callable[[], str] = random_token
) -> AccessTokens:
    """Those in the data directory; made now where there are none, and with `are_new` in any case."""
    return AccessTokens(
        admin=_token(directory.root / ADMIN, files, are_new, draw),
        reader=_token(directory.root / READER, files, are_new, draw),
    )


def kept_keys(directory: Directory, files: Files) -> AccessTokens:
    """Those in the data directory now. A file that is missing or too short gives an empty token, which opens nothing;
    one that cannot be read, such as half of one that is being written, does so too."""
    return AccessTokens(admin=_kept(directory.root / ADMIN, files), reader=_kept(directory.root / READER, files))


def _token(path: Path, files: Files, is_new: bool, draw: Callable[[], str]) -> str:
    if not is_new and (kept := _kept(path, files)):
        return kept
    token = draw()
    files.write(path, f"{token}\n".encode())
    return token


def _kept(path: Path, files: Files) -> str:
    try:
        kept = files.read(path, length=200).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return kept if len(kept) >= SHORTEST and kept.isprintable() else ""
