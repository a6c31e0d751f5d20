"""Plug-ins named in the settings: readers of formats, and protocols.

    crawl.readers = ["text/csv=tables.py:read"]     a function in a file, relative to the data directory
    crawl.readers = ["text/csv"]                    an entry point of that name in the group `gossamer.readers`
    crawl.protocols = ["gemini=gemini.py:Gemini"]   a class in a file; or "gemini", in `gossamer.protocols`

What the user has not allowed (`gossamer trust`) is refused. Readers run only in the reader processes, within their
sandbox and limits.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import msgspec

from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.fetch.protocols import OtherProtocol
from gossamer.plugins.code import NAME, READERS, is_there, kept_in, loaded
from gossamer.values.document import OF_EXTRA
from gossamer.values.messages import NOTHING, Plugged
from gossamer.values.url import admit

PROTOCOLS = "gossamer.protocols"


def absent_formats() -> frozenset[str]:
    """Formats of documents that nothing here can read: the extra `documents` is not installed."""
    return frozenset([kind for kind, package in OF_EXTRA.items() if find_spec(package) is None])


def plugged_in(
    readers: Sequence[str], protocols: Mapping[str, OtherProtocol], folder: Path, archives: bool = False
) -> Plugged:
    """`archives`: whether their members are read. Raises ConfigError, saying what to do, for a reader that does not
    exist; its code is not run here."""
    found = []
    for given in readers:
        media_type, name = split(given)
        media_type = media_type.lower()
        if media_type.count("/") != 1:
            raise ConfigError(f"the reader {given}: write a media type first, such as text/csv=tables.py:read")
        is_there("reader", READERS, name, folder)
        file, colon, function = name.rpartition(":")
        found.append((media_type, f"{(folder / file).resolve()}:{function}" if colon else name))
    schemes = tuple([(scheme, one.port) for scheme, one in protocols.items()])
    return Plugged(tuple(found), schemes, archives=archives)


def protocols_of(names: Sequence[str], folder: Path) -> dict[str, OtherProtocol]:
    """Load them, and admit their schemes. Raises ConfigError, saying what to do, if one cannot be loaded."""
    found: dict[str, OtherProtocol] = {}
    for given in names:
        scheme, name = split(given)
        made = loaded("protocol", PROTOCOLS, name, folder)
        protocol = made() if isinstance(made, type) else made
        port = getattr(protocol, "port", None)
        if not isinstance(port, int) or not all(
            hasattr(protocol, each) for each in ("fetch", "with_tls", "has_robots")
        ):
            raise ConfigError(f"the protocol {given} lacks one of: port, with_tls, has_robots, fetch")
        if scheme in ("http", "https"):
            raise ConfigError(f"the protocol {given}: {scheme} is built in")
        try:
            admit(scheme, port)
        except ValueError as trouble:
            raise ConfigError(f"a protocol: {trouble}") from trouble
        found[scheme] = cast(OtherProtocol, protocol)
    return found


def split(given: str) -> tuple[str, str]:
    """The format or scheme of a plug-in, and its name; an entry point has the same name as its format."""
    what, equals, name = given.partition("=")
    return what.strip(), name.strip() if equals else what.strip()


def write(plugged: Plugged, folder: Path, files: Files, *, is_shared: bool = False) -> None:
    """Writes only a change: most collections have no plug-ins, and no such file. `is_shared`: other machines have the
    files of the folder in another one."""
    if plugged == kept_in(folder, files):
        return
    if plugged == NOTHING:
        files.remove(folder / NAME)
    else:
        if is_shared:
            names = [(kind, name.removeprefix(f"{folder.resolve()}/")) for kind, name in plugged.readers]
            plugged = msgspec.structs.replace(plugged, readers=tuple(names))
        files.write(folder / NAME, msgspec.json.format(msgspec.json.encode(plugged)) + b"\n")
