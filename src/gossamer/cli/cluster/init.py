"""`gossamer cluster init`: tries the four services of a cluster, and makes it."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer import __version__
from gossamer.base.environment import real_outside
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.cluster.wheels import store_wheels, wheels_in
from gossamer.collection.cluster.creation import ClusterMade, create
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import NodeRegistry
from gossamer.store.address import shown
from gossamer.store.directory import Directory
from gossamer.values.format import as_json


def init(
    address: ClusterAddress,
    *,
    archive: Annotated[
        tuple[str, ...],
        Parameter(
            help="Where fetched pages are stored: the URL of an object storage, such as "
            "s3://bucket/mycrawl?region=eu-central-1, or directories that every node mounts."
        ),
    ],
    copies: Annotated[int | None, Parameter(help="With directories: how many of them have each page.")] = None,
    words: Annotated[str, Parameter(help="The URL of OpenSearch; its path is how the names of indexes begin.")] = "",
    facts: Annotated[str, Parameter(help="The query endpoint of a SPARQL 1.1 server.")] = "",
    facts_update: Annotated[
        str, Parameter(help="Its update endpoint, if it is not the same with /update at its end.")
    ] = "",
    wheels: Annotated[
        Path | None, Parameter(help="A folder with wheels for nodes to install, as of gossamer cluster upgrade.")
    ] = None,
    json: Json = False,
) -> int:
    outside, directory = real_outside(), Directory(address)
    if wheels is not None:
        wheels_in(wheels, __version__, outside.files)  # a folder without them is refused before anything is made
    given = places(archive, copies) | {
        name: value
        for name, value in (("views.words", words), ("views.facts", facts), ("views.facts_update", facts_update))
        if value
    }
    made = asyncio.run(create(directory, given, outside))
    if wheels is not None:
        with closing(line_of(directory, outside.clock)) as line:
            store_wheels(NodeRegistry(line, outside.clock), directory, wheels, __version__, outside)
            NodeRegistry(line, outside.clock).upgrade(__version__)
    print(as_json(made) if json else in_words(made, shown(address)))
    return 0


def places(archive: tuple[str, ...], copies: int | None) -> dict[str, object]:
    """The settings of the archive."""
    if len(archive) == 1 and "://" in archive[0]:
        return {"archive.storage": archive[0]} | ({} if copies is None else {"archive.copies": copies})
    return {"archive.directories": list(archive), "archive.copies": copies or 1}


def in_words(made: ClusterMade, address: str) -> str:
    return "\n".join(
        [
            *(f"{one.setting:<20} {one.says}" for one in made.checked),
            "",
            "The cluster is made." if made.is_new else "This cluster existed already, with these settings.",
            "On each machine that is to take part:",
            f"  gossamer node {address}",
            "And from anywhere:",
            f"  gossamer crawl https://example.org/ --dir {address} --contact you@example.org",
        ]
    )
