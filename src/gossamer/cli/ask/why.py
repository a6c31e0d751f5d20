"""`gossamer why URL`: the whole trail of a URL in words, and for a host: why is nothing being fetched?"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from gossamer.base.errors import ConfigError
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.state import CollectionState
from gossamer.collection.why.trail import HostTrail, Section, Trail, told, told_host
from gossamer.store.directory import DEFAULT
from gossamer.store.options import config_of
from gossamer.values.format import as_json


def why(
    url: Annotated[str | None, Parameter(help="The URL. Without https:// or http://, https is assumed.")] = None,
    *,
    host: Annotated[str | None, Parameter(help="Instead of a URL: why is nothing fetched from this host?")] = None,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    config: Annotated[
        Path | None, Parameter(help="Settings file; gossamer.toml in the directory if not given.")
    ] = None,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    if (url is None) == (host is None):
        raise ConfigError(
            "give one URL, or one host: gossamer why https://example.org/a, gossamer why --host example.org"
        )
    directory = existing(dir)
    collection = CollectionState(directory, outside_of(directory), config_of(dir, config).settings)
    found: Trail | HostTrail
    if url is not None:
        found = collection.why(url)
        sections, is_known = told(found), found.is_known
    else:
        assert host is not None
        found = collection.why_host(host)
        sections, is_known = told_host(found), found.host.is_known
    print(as_json(found)) if json else show(sections, Console())
    return 0 if is_known else 1


HEADINGS = {"address": "URL", "found": "discovery", "visits": "fetches", "next": "next step", "why": "waiting for"}


def show(sections: Iterable[Section], console: Console) -> None:
    for heading, lines in sections:
        console.print(Text(HEADINGS.get(heading, heading), style="bold"))
        for line in lines:
            console.print(Text(f"  {line}"), soft_wrap=True)
