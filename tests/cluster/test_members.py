"""Nodes that are gone, and commands on nodes: with the program itself."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.grounds import Grounds, grounds, until
from tests.frontier.postgres_crawler import POLITE

from gossamer.base.clock import SystemClock
from gossamer.base.errors import GossamerError
from gossamer.base.tell import silent
from gossamer.cluster.members import drain_node, remove_node
from gossamer.frontier.api import FrontierRules
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import SILENT_S, NodeRegistry
from gossamer.values.link import How, Offer
from gossamer.values.url import Url

__all__ = ["grounds"]


async def leave_a_lease(grounds: Grounds, name: str) -> None:
    """As a crawler does that is killed while it fetches."""
    from gossamer.frontier.postgres.frontier import PostgresFrontier
    from gossamer.frontier.postgres.presence import Stay
    from gossamer.store.postgres.database import SharedDatabase

    clock = SystemClock()
    async with SharedDatabase(grounds.conninfo, clock, silent) as database:
        frontier = PostgresFrontier(database, FrontierRules(POLITE, lambda _: True), clock, silent, Stay(name))
        await frontier.open()
        await frontier.offer([Offer(Url("http://h.test/"), How.SEED)])
        assert len(await frontier.take(1)) == 1


def test_a_node_that_is_gone_is_removed_and_its_leases_are_free_at_once(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running("gone"):
            await until(lambda: grounds.node("gone"))
            registry = NodeRegistry(line_of(grounds.directory, grounds.outside.clock), grounds.outside.clock)
            with pytest.raises(GossamerError, match="is alive: drain it first"):
                await remove_node(registry, "gone", grounds.directory, grounds.outside)
        await leave_a_lease(grounds, "gone")
        grounds.run(f"UPDATE nodes SET state = '', beat_at = beat_at - {round(2 * SILENT_S * 1e6)}")
        found = grounds.node("gone")
        assert found is not None and (found.life, found.leases) == ("silent", 1)
        with pytest.raises(GossamerError, match="is silent"):
            await drain_node(registry, "gone")
        says = await remove_node(registry, "gone", grounds.directory, grounds.outside)
        assert says == "gone is removed; what it had leased is free"
        import psycopg

        with psycopg.connect(grounds.conninfo) as connection:
            (leased,) = connection.execute("SELECT count(*) FROM hosts WHERE is_leased").fetchone() or (None,)
        assert leased == 0 and grounds.node("gone") is None and grounds.events()[-1] == "node.removed"
        for ask in (drain_node(registry, "x"), remove_node(registry, "x", grounds.directory, grounds.outside)):
            with pytest.raises(GossamerError, match="there is no node 'x'"):
                await ask
        registry.line.close()

    asyncio.run(scenario())


def gossamer(grounds: Grounds, *words: str) -> "subprocess.CompletedProcess[str]":
    variables = os.environ | {"XDG_CACHE_HOME": str(grounds.folder / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "gossamer", *words], env=variables, text=True, capture_output=True, timeout=60
    )


def is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_program_joins_shows_itself_and_a_killed_node_takes_its_roles_with_it(grounds: Grounds) -> None:
    variables = os.environ | {"XDG_CACHE_HOME": str(grounds.folder / "cache")}
    flags = ("--roles", "serve", "--port", "0", "--name", "pages", "--label", "eu")
    node = subprocess.Popen([sys.executable, "-m", "gossamer", "node", grounds.conninfo, *flags], env=variables)

    def status() -> dict[str, object]:
        return dict(json.loads(gossamer(grounds, "cluster", "status", grounds.conninfo, "--json").stdout))

    def web() -> dict[str, object] | None:
        every = status()["processes"]
        assert isinstance(every, list)
        return next((one for one in every if one["name"] == "web" and one["life"] == "fresh"), None)

    async def scenario() -> None:
        await until(web)
        process = web()
        assert process is not None and process["node"] == "pages"
        shown = gossamer(grounds, "cluster", "status", grounds.conninfo)
        assert shown.returncode == 1 and "pages" in shown.stdout and "primary" in shown.stdout
        assert "suspended: no answer since" in " ".join(shown.stdout.split()), "of the services that are away"
        listed = gossamer(grounds, "cluster", "nodes", grounds.conninfo)
        assert listed.returncode == 0 and "serve" in listed.stdout and "eu" in listed.stdout
        os.kill(node.pid, signal.SIGKILL)
        node.wait(10)
        await until(lambda: not is_alive(int(str(process["pid"]))))
        await until(lambda: "no heartbeat since" in gossamer(grounds, "cluster", "nodes", grounds.conninfo).stdout)
        log = gossamer(grounds, "cluster", "log", grounds.conninfo)
        assert "pages joined on" in log.stdout
        removed = gossamer(grounds, "cluster", "remove", grounds.conninfo, "pages")
        assert removed.returncode == 0 and grounds.node("pages") is None

    try:
        asyncio.run(scenario())
    finally:
        node.kill()
        node.wait()


def test_wrong_words_are_refused(grounds: Grounds) -> None:
    for flags, words in (
        (("--roles", "cook"), "there is no role 'cook'"),
        (("--roles", ""), "there is no role ''"),
        (("--name", "a b"), "--name 'a b'"),
        (("--label", "ü"), "--label"),
    ):
        done = gossamer(grounds, "node", grounds.conninfo, *flags)
        assert done.returncode == 2 and words in done.stderr, done.stderr
