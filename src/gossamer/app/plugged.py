"""What a collection was crawled with, in `plugged.json` in its directory: whoever reads it does so in the same way."""

from pathlib import Path

import msgspec

from gossamer.errors import ConfigError
from gossamer.files import Files
from gossamer.read_job import JOB
from gossamer.values.url import admit

NAME = "plugged.json"
READERS = "gossamer.readers"
"""The group of entry points that readers of formats are looked for in."""
_FACTORY = "gossamer.app.plugged_reader:reader"


class Plugged(msgspec.Struct, frozen=True):
    """What is plugged into a collection, in words that another process can make the same of."""

    readers: tuple[tuple[str, str], ...] = ()
    """Media type and name: a file and a function in it, or an entry point."""
    schemes: tuple[tuple[str, int], ...] = ()
    """Scheme and usual port."""


NOTHING = Plugged()
DECODER = msgspec.json.Decoder(Plugged)


def recalled(folder: Path, files: Files) -> Plugged:
    """What this collection was last crawled with."""
    if files.size(folder / NAME) is None:
        return NOTHING
    try:
        return DECODER.decode(files.read(folder / NAME))
    except msgspec.MsgspecError as trouble:
        raise ConfigError(f"{folder / NAME} cannot be read ({trouble}); the next crawl writes it anew") from trouble


def reopened(folder: Path, files: Files) -> Plugged:
    """The same for a process that reads the collection: the schemes are addresses to it too."""
    plugged = recalled(folder, files)
    for scheme, port in plugged.schemes:
        try:
            admit(scheme, port)
        except ValueError as trouble:
            raise ConfigError(f"{folder / NAME}: {trouble}; the next crawl writes it anew") from trouble
    return plugged


def job_for(plugged: Plugged) -> str:
    """What a reader process is to run. Here, since who starts readers need not load what protocols stand on."""
    return JOB if plugged == NOTHING else f"{_FACTORY} {msgspec.json.encode(plugged).decode()}"
