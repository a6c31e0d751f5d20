"""What is asked of a node from outside: to drain, or, once it is gone, to be forgotten."""

import asyncio

from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tell import silent
from gossamer.crawler.commands import idle_frontier
from gossamer.monitor.nodes import NodeRegistry
from gossamer.store.directory import Directory
from gossamer.store.options import config_of
from gossamer.store.state import open_database

UNKNOWN = "there is no node {!r} in this cluster: `gossamer cluster nodes ADDRESS` lists them"


async def drain_node(registry: NodeRegistry, name: str) -> str:
    """The result, in words."""
    found = next((one for one in await asyncio.to_thread(registry.nodes) if one.name == name), None)
    if found is None:
        raise GossamerError(UNKNOWN.format(name))
    if found.life == "ended":
        return f"{name} has left already"
    if found.life == "silent":
        raise GossamerError(f"{name} is silent: it cannot finish anything. Remove it, if it is gone")
    await asyncio.to_thread(registry.drain, name)
    return f"{name} drains: it finishes what is in progress, and leaves"


async def remove_node(registry: NodeRegistry, name: str, directory: Directory, outside: Outside) -> str:
    """Forget a node that is gone, and return its leases to the others. The result, in words."""
    found = next((one for one in await asyncio.to_thread(registry.nodes) if one.name == name), None)
    if found is None:
        raise GossamerError(UNKNOWN.format(name))
    if found.life in ("fresh", "late"):
        raise GossamerError(f"{name} is alive: drain it first, and it leaves by itself")
    await asyncio.to_thread(registry.drop, name)
    settings = (await asyncio.to_thread(config_of, directory.root)).settings
    # Who enters under the name of a crawler takes its place: all that it had leased returns to the queues.
    async with (
        open_database(directory, outside.clock, silent, member=name) as database,
        idle_frontier(database, settings, outside),
    ):
        pass
    return f"{name} is removed; what it had leased is free"
