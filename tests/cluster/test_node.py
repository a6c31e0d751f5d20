"""A node and its roles, with a real database and real processes."""

import asyncio
import os
import shutil
import signal
import tempfile
from pathlib import Path

from tests.cluster.grounds import Grounds, grounds, until
from tests.postgres_server import Server, server

from gossamer.monitor.nodes import SILENT_S, NodeRegistry

__all__ = ["grounds"]


def test_a_role_that_dies_is_started_again(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(roles=("crawl", "serve")) as node:
            await until(lambda: node.starts("crawl") == 1 and node.starts("serve") == 1)
            os.kill(node.pid("crawl"), signal.SIGKILL)
            await until(lambda: node.starts("crawl") == 2)
            await until(lambda: "role.died" in grounds.events())
            assert any("crawl was killed (signal 9)" in line for line in node.said)
            (node.folder / "crawl.dies").touch()
            os.kill(node.pid("crawl"), signal.SIGKILL)
            await until(lambda: node.starts("crawl") >= 5)
            assert any(
                "crawl ended with exit code 7; it is started again in 1 s: nothing works" in one for one in node.said
            )
            assert node.starts("serve") == 1, "the other role does not notice"

    asyncio.run(scenario())


def test_a_node_is_seen_with_its_roles_and_stops_cleanly(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(roles=("crawl", "serve")) as node:
            await until(lambda: node.starts("crawl") and node.starts("serve"))
            found = grounds.node("a")
            assert found is not None and found.life == "fresh"
            assert (found.roles, found.labels, found.version) == (("crawl", "serve"), ("eu",), "1")
            node.stop.set()
            assert await node.ended() == 130
            assert node.log("crawl")[-1].startswith("stopped") and node.log("serve")[-1].startswith("stopped")
            left = grounds.node("a")
            assert left is not None and left.life == "ended"
            assert grounds.events() == ["node.joined", "node.left"]

    asyncio.run(scenario())


def test_a_node_that_drains_stops_its_roles_and_ends_with_success(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(roles=("crawl", "index", "serve")) as node:
            await until(lambda: all(node.starts(role) for role in ("crawl", "index", "serve")))
            assert grounds.asked(lambda registry: registry.drain("a"))
            assert await node.ended() == 0
            assert all(node.log(role)[-1].startswith("stopped") for role in ("crawl", "index", "serve"))
            assert "drained" in node.said[-1]
        async with grounds.running(roles=("crawl",), folder="again") as node:
            await until(lambda: node.starts("crawl"))
            assert not node.task.done(), "the order was for the one before"

    asyncio.run(scenario())


def test_a_node_of_the_same_name_takes_the_place_of_the_first(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(folder="one") as first:
            await until(lambda: first.starts("crawl"))
            async with grounds.running(folder="two") as second:
                assert await first.ended() == 3
                assert "another node has this name now" in first.said[-1]
                assert first.log("crawl")[-1].startswith("stopped")
                await until(lambda: second.starts("crawl"))
                found = grounds.node("a")
                assert found is not None and found.life == "fresh" and not second.task.done()

    asyncio.run(scenario())


def test_in_the_same_folder_the_second_waits_until_the_first_has_stopped_its_roles(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(folder="one") as first:
            await until(lambda: first.starts("crawl"))
            async with grounds.running(folder="one") as second:
                assert await first.ended() == 3
                await until(lambda: second.starts("crawl") == 2)
                words = [line.split()[0] for line in second.log("crawl")]
                assert words == ["started", "stopped", "started"]

    asyncio.run(scenario())


def test_a_changed_setting_restarts_the_roles_that_read_it_once(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(roles=("crawl", "serve")) as node:
            await until(lambda: node.starts("crawl") and node.starts("serve"))
            grounds.run("INSERT INTO options (name, value, given_at) VALUES ('politeness.delay_s', '3', 1)")
            await until(lambda: node.starts("crawl") == 2)
            await until(lambda: "role.restarted" in grounds.events())
            grounds.run("UPDATE options SET given_at = 2")  # the same value: no reason
            grounds.run("INSERT INTO options (name, value, given_at) VALUES ('web.port', '0', 1)")
            await until(lambda: node.starts("serve") == 2)
            await asyncio.sleep(1.0)
            assert (node.starts("crawl"), node.starts("serve")) == (2, 2)
            assert "crawl was restarted: settings changed (politeness.delay_s)" in node.said

    asyncio.run(scenario())


def test_a_node_of_another_version_refuses_to_join_and_one_that_runs_stops(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running(version="1") as first:
            await until(lambda: first.starts("crawl"))
            async with grounds.running("b", version="2") as second:
                assert await second.ended() == 3
                assert "agreed on gossamer 1, and this is 2" in second.said[0] and not second.starts("crawl")
            grounds.asked(lambda registry: registry.upgrade("2"))
            assert await first.ended() == 3 and "another version" in first.said[-1]
        async with grounds.running("b", version="2") as second:
            await until(lambda: second.starts("crawl"))

    asyncio.run(scenario())


def test_the_first_node_of_a_version_brings_the_tables_up_to_date_when_the_others_have_stopped(
    grounds: Grounds,
) -> None:
    grounds.asked(lambda registry: registry.upgrade("2"))
    grounds.run("DROP TABLE wheels")
    grounds.run("UPDATE meta SET number = 13 WHERE name = 'version'")
    grounds.run(
        "INSERT INTO nodes (name, host, roles, labels, version, joined_at, beat_at)"
        " VALUES ('old', 'there', '{}', '{}', '1', 1, micros_now() + 60000000)"
    )

    async def scenario() -> None:
        async with grounds.running("new", version="2") as node:
            await until(lambda: node.said == ["waiting for nodes of another version to stop: old"])
            assert grounds.node("new") is None
            grounds.run("UPDATE nodes SET state = 'left' WHERE name = 'old'")
            await until(lambda: node.starts("crawl"))
            grounds.run("SELECT * FROM wheels")

    asyncio.run(scenario())


def test_while_the_database_is_away_nobody_exits_and_all_come_back() -> None:
    own = Server(Path(tempfile.mkdtemp(prefix="gossamer-pg-")), server().programs)
    own.make()
    own.start()
    folder = Path(tempfile.mkdtemp())
    grounds = Grounds(folder, own.conninfo("s"))
    grounds.prepare()

    async def scenario() -> None:
        async with grounds.running("a") as one, grounds.running("b") as two:
            await until(lambda: one.starts("crawl") and two.starts("crawl"))
            own.stop()
            await until(
                lambda: all(any("suspended: the database" in line for line in each.said) for each in (one, two))
            )
            os.kill(one.pid("crawl"), signal.SIGKILL)
            await until(lambda: one.has_said("crawl was killed"))
            async with grounds.running("late") as late:
                await until(lambda: late.has_said("suspended"))
                own.start()
                for each in (one, two, late):
                    await until(lambda each=each: each.has_said("answers again"))  # type: ignore[misc]
                await until(lambda: one.starts("crawl") == 2 and late.starts("crawl") == 1)
                await until(lambda: all(node.life == "fresh" for node in grounds.asked(NodeRegistry.nodes)))
                assert two.starts("crawl") == 1 and not any(each.task.done() for each in (one, two, late))
                await until(lambda: "role.died" in grounds.events())

    try:
        asyncio.run(scenario())
    finally:
        own.stop()
        for path in (own.folder, folder):
            shutil.rmtree(path, ignore_errors=True)


def test_a_silent_node_is_noticed_once_by_the_others(grounds: Grounds) -> None:
    async def scenario() -> None:
        async with grounds.running("gone"):
            await until(lambda: grounds.node("gone"))
        back = round(2 * SILENT_S * 1e6)
        grounds.run(f"UPDATE nodes SET state = '', beat_at = beat_at - {back}")
        async with grounds.running("a"), grounds.running("b"):
            await until(lambda: "node.silent" in grounds.events())
            await asyncio.sleep(2.5)
            assert grounds.events().count("node.silent") == 1
            found = grounds.node("gone")
            assert found is not None and found.life == "silent"

    asyncio.run(scenario())
