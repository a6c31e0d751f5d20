"""`gossamer why`: the story of a URL, or why nothing is being fetched from a host."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import console
from gossamer.collection.state import CollectionState
from gossamer.collection.why.trail import HostTrail, Trail, host_sections, sections_of
from gossamer.store.directory import DEFAULT
from gossamer.values.format import as_json

HEADINGS = {"address": "URL", "found": "discovery", "visits": "fetches", "next": "next step", "why": "waiting for"}


def why(
    url: Annotated[str | None, Parameter(help="The URL. Without https:// or http://, https is assumed.")] = None,
    *,
    host: Annotated[str | None, Parameter(help="Instead of a URL: why is nothing fetched from this host?")] = None,
    dir: Dir = DEFAULT,
    config: Annotated[
        Path | None, Parameter(help="Settings file; gossamer.toml in the directory if not given.")
    ] = None,
    json: Json = False,
) -> int:
    if (url is None) == (host is None):
        raise ConfigError(
            "give one URL, or one host: gossamer why https://example.org/a, gossamer why --host example.org"
        )
    collection = CollectionState.open(dir, config)
    found: Trail | HostTrail
    if url is not None:
        found = collection.why(url)
        sections, is_known = sections_of(found), found.is_known
    else:
        found = collection.why_host(host or "")
        sections, is_known = host_sections(found), found.host.is_known
    if json:
        print(as_json(found))
        return 0 if is_known else 1
    out = console()
    for heading, lines in sections:
        out.print(HEADINGS.get(heading, heading), style="bold")
        out.print(*(f"  {line}" for line in lines), sep="\n", soft_wrap=True)
    return 0 if is_known else 1
