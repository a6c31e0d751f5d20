"""`gossamer node`: joins a cluster and does the work of its roles, until stopped or drained."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer import __version__
from gossamer.base.clock import in_words
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, DatabaseLost
from gossamer.cli.flags import ClusterAddress
from gossamer.cluster.adoption import Adoption, environments_folder
from gossamer.cluster.node import ClusterNode
from gossamer.cluster.roles import READ, programs_of, roles_named
from gossamer.cluster.scratch import checked_labels, enter_as_node, name_of_node, node_folder
from gossamer.config.settings import Settings
from gossamer.monitor.nodes import NodeCard
from gossamer.store.address import shown
from gossamer.store.directory import Directory, keep_private
from gossamer.store.documents import refuse_no_cluster
from gossamer.store.options import config_of
from gossamer.store.state import shared_place

STOPPED = 130
READS = "pages are read by the crawlers of a cluster, as their links are settled with them: read is part of crawl"


def node(
    address: ClusterAddress,
    *,
    roles: Annotated[str, Parameter(help="What it does, with commas between: crawl, index, serve.")] = "crawl,index",
    label: Annotated[tuple[str, ...], Parameter(help="A label, such as eu; may be repeated.")] = (),
    name: Annotated[str, Parameter(help="Its name; by default the host name with a suffix.")] = "",
    dir: Annotated[Path | None, Parameter(help="Its scratch folder; by default one in the cache folder.")] = None,
    port: Annotated[int | None, Parameter(help="The port of its web site, with the role serve.")] = None,
    adopt_version: Annotated[
        bool, Parameter(help="If the cluster has another version of gossamer, install its stored wheels and continue.")
    ] = False,
) -> int:
    keep_private()
    wanted, labels = roles_named([roles]), checked_labels(label)
    if not wanted:
        raise ConfigError("--roles names none")
    if READ in roles.split(","):
        say(READS)
    outside, folder = real_outside(), node_folder(address, name, dir)
    own_name = name_of_node(name, folder)
    place = shared_place(Directory(address))
    if place is None:
        raise ConfigError(f"{address} is no address of a cluster; that begins with postgresql://")
    with suppress(DatabaseLost):  # it is waited for
        refuse_no_cluster(Directory(address), shown(address), is_any_version=True)
    directory = enter_as_node(folder, place.url, own_name, outside)
    card = NodeCard(own_name, os.uname().nodename, wanted, labels, __version__)

    def settings() -> Settings:
        return config_of(folder).settings

    running = ClusterNode(
        card,
        directory,
        lambda: programs_of(wanted, folder, settings().agent, port),
        settings,
        outside,
        say,
        adopts=adopt_version,
    )
    adoption = Adoption(own_name, directory, environments_folder(address), outside, say) if adopt_version else None
    code, python = asyncio.run(until_ended(running, adoption))
    if python is not None:
        flags = [part for one in labels for part in ("--label", one)] + ([] if port is None else ["--port", str(port)])
        # The address as it is stored: a password that it had in clear is in a variable, which is inherited.
        words = ["node", place.url, "--roles", roles, "--name", own_name, "--dir", str(folder.absolute()), *flags]
        outside.processes.become(python, "gossamer", [*words, "--adopt-version"])
    return code


async def until_ended(running: ClusterNode, adoption: Adoption | None) -> tuple[int, str | None]:
    """The exit code; and the interpreter to continue with, if the cluster has another version.

    The first signal requests a clean stop; the second ends everything at once, which loses nothing acknowledged."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop_or_exit() -> None:
        if stop.is_set():
            running.kill()
            os._exit(STOPPED)
        stop.set()
        say("stopping: finishing what is in progress (Ctrl-C again to stop immediately)")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_or_exit)
    code = await running.run(stop)
    if adoption is None or not running.is_outdated:
        return code, None
    python = await adoption.python(stop)
    return (STOPPED, None) if stop.is_set() else (code, python)


def say(words: str) -> None:
    clock = real_outside().clock
    print(f"{in_words(clock.now())[:19]}Z  {words}", file=sys.stderr, flush=True)
