"""What a collection was crawled with, in `plugged.json` in its directory: whoever reads it does so in the same way."""

import sys
from pathlib import Path

import msgspec

from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.plugins.contexts import folder_of
from gossamer.store.trust import Code, is_allowed, refusal
from gossamer.values.messages import NOTHING, Plugged
from gossamer.values.url import admit

NAME = "plugged.json"
READERS = "gossamer.readers"
"""The group of entry points that readers of formats are looked for in."""
DECODER = msgspec.json.Decoder(Plugged)


def kept_in(folder: Path, files: Files) -> Plugged:
    """What this collection was last crawled with. Its readers may be anybody's code."""
    if files.size(folder / NAME) is None:
        return NOTHING
    try:
        return DECODER.decode(files.read(folder / NAME))
    except msgspec.MsgspecError as trouble:
        raise ConfigError(
            f"{folder / NAME} cannot be read ({trouble}); `gossamer crawl --dir {folder}` writes it anew"
        ) from trouble


def recalled(folder: Path, files: Files) -> Plugged:
    """The same without the readers that the user has not allowed; those are named on the terminal."""
    plugged = kept_in(folder, files)
    codes = [(one, Code(READERS, one[1], folder)) for one in plugged.readers]
    usable = [one for one, code in codes if is_allowed(code)]
    for one, code in codes:
        if one not in usable:
            print(f"{one[0]} is read without its plug-in: {refusal('reader', code)}.", file=sys.stderr, flush=True)
    return Plugged(tuple(usable), plugged.schemes, folder_of(folder))


def reopened(folder: Path, files: Files) -> Plugged:
    """The same for a process that reads the collection: the schemes are addresses to it too."""
    admit_schemes(folder, files)
    return recalled(folder, files)


def admit_schemes(folder: Path, files: Files) -> None:
    for scheme, port in kept_in(folder, files).schemes:
        try:
            admit(scheme, port)
        except ValueError as trouble:
            raise ConfigError(
                f"{folder / NAME}: {trouble}; `gossamer crawl --dir {folder}` writes it anew"
            ) from trouble
