"""`gossamer cluster files`: rules, vocabulary, JSON-LD contexts and plug-ins of a cluster."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.base.clock import in_words
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.cli.output import console, table
from gossamer.collection.cluster.files import get_file, list_files, put_file, remove_file
from gossamer.collection.directory import existing
from gossamer.values.format import as_json


def files(
    address: ClusterAddress,
    action: Annotated[
        Literal["list", "put", "get", "remove"], Parameter(help="The action; list if not given.")
    ] = "list",
    file: Annotated[
        str | None, Parameter(help="put: a file of this machine; get and remove: a name in the list.")
    ] = None,
    *,
    name: Annotated[str | None, Parameter(help="put: the name in the cluster; that of the file if not given.")] = None,
    json: Json = False,
) -> int:
    directory, outside = existing(address), real_outside()
    if action == "list":
        found = list_files(directory)
        if json:
            print(as_json(found))
            return 0
        listed = table("file", ">bytes", "changed")
        for one in found:
            listed.add_row(one.name, f"{one.size:,}", in_words(one.changed_at)[:19] + "Z")
        console().print(listed)
        return 0
    if file is None:
        raise ConfigError(f"name the file: gossamer cluster files ADDRESS {action} vocabulary.ttl")
    match action:
        case "put":
            kept = asyncio.run(put_file(directory, Path(file), name, outside))
            print(as_json({"put": kept}) if json else f"{kept} is stored; nodes follow within seconds")
        case "get":
            sys.stdout.buffer.write(get_file(directory, file))
            sys.stdout.buffer.flush()
        case "remove":
            asyncio.run(remove_file(directory, file, outside))
            print(as_json({"removed": file}) if json else f"{file} is removed")
    return 0
