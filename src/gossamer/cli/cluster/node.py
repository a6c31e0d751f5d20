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
        refuse_no_cluster(Directory(address), shown(address))
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
    )
    return asyncio.run(until_ended(running))


async def until_ended(running: ClusterNode) -> int:
    """The first signal requests a clean stop; the second ends everything at once, which loses nothing acknowledged."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop_or_exit() -> None:
        if stop.is_set():
            running.kill()
            os._exit(STOPPED)
        stop.set()
        say("stopping: finishing what is in progress (Ctrl-C again to stop immediately)")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_or_exit)
    return await running.run(stop)


def say(words: str) -> None:
    clock = real_outside().clock
    print(f"{in_words(clock.now())[:19]}Z  {words}", file=sys.stderr, flush=True)
