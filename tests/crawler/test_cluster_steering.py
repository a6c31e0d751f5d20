"""Several crawlers of one cluster follow the same pause, seeds, rules and commands."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tests.cluster.grounds import Grounds, grounds
from tests.monitor.desks import Desk, cluster_desk

from gossamer.base.environment import Outside, real_outside
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.crawler.admission import open_admission
from gossamer.crawler.commands import Steering, idle_frontier
from gossamer.crawler.seeds import store_seeds
from gossamer.monitor.cluster_control import LOOK_S
from gossamer.rules.scope import Reach
from gossamer.store.state import open_database
from gossamer.values.link import How, Offer
from gossamer.values.url import Url

__all__ = ["grounds"]
OTHER = Url("http://other.test/")
LINK = Offer(Url("http://other.test/page"), How.LINK, 0, 1)


@asynccontextmanager
async def steering(grounds: Grounds, desk: Desk, name: str) -> AsyncIterator[Steering]:
    """Of a crawler that has started."""
    outside: Outside = real_outside()
    directory = grounds.directory
    async with open_database(directory, outside.clock, silent, member=name) as database:
        ruling = await open_admission(directory, Settings(), [], database, outside, silent)
        async with idle_frontier(database, Settings(), outside) as frontier:
            with desk.open(name) as control:
                yield Steering(frontier, control, ruling, asyncio.Event(), partial(store_seeds, database))


def test_a_pause_reaches_all_crawlers_and_one_that_starts_later(grounds: Grounds) -> None:
    async def scenario() -> None:
        desk = cluster_desk(grounds.folder)
        async with steering(grounds, desk, "one") as one, steering(grounds, desk, "two") as two:
            for each in (one, two):
                await each.run_commands()
                assert not each.is_paused()
            with desk.open("web") as web:
                web.ask("pause")
                desk.advance(LOOK_S + 0.1)
                async with steering(grounds, desk, "late") as late:
                    for each in (one, two, late):
                        await each.run_commands()
                        assert each.is_paused() and not each.stop.is_set()
                    web.ask("resume")
                    desk.advance(LOOK_S + 0.1)
                    for each in (one, two, late):
                        await each.run_commands()
                        assert not each.is_paused()

    asyncio.run(scenario())


def test_a_new_seed_and_an_edited_rule_reach_every_running_crawler(grounds: Grounds, tmp_path: Path) -> None:
    async def scenario() -> None:
        desk = cluster_desk(grounds.folder)
        rejudged = []
        async with steering(grounds, desk, "one") as one, steering(grounds, desk, "two") as two:
            two.rejudge = lambda: rejudged.append(True)
            for each in (one, two):
                await each.run_commands()
                assert not each.ruling.may_enter(LINK)
            with desk.open("web") as web:
                number = web.ask("seed", urls=[OTHER.text], reach=Reach.HOST)
                desk.advance(LOOK_S + 0.1)
                await one.run_commands()
                assert web.is_done(number)
            desk.advance(LOOK_S + 0.1)
            await two.run_commands()
            assert one.ruling.may_enter(LINK) and two.ruling.may_enter(LINK) and rejudged == [True]
            one.ruling.rules_file.save('exclude host = "other.test"\n')
            grounds.run("INSERT INTO documents (name, content, changed_at) VALUES ('rules.txt', '', 1)")
            desk.advance(LOOK_S + 0.1)
            for each in (one, two):
                await each.run_commands()
                assert not each.ruling.may_enter(LINK)
            assert rejudged == [True, True]

    asyncio.run(scenario())


def test_a_command_on_a_host_is_carried_out_by_one_crawler(grounds: Grounds) -> None:
    async def scenario() -> None:
        desk = cluster_desk(grounds.folder)
        async with steering(grounds, desk, "one") as one, steering(grounds, desk, "two") as two:
            await one.frontier.offer([Offer(OTHER, How.SEED)])
            with desk.open("web") as web:
                for verb in ("retire", "reinstate", "retire"):
                    number = web.ask(verb, host="other.test")
                    desk.advance(LOOK_S + 0.1)
                    await two.run_commands()
                    await one.run_commands()
                    assert web.is_done(number)
            assert await one.frontier.reinstate("other.test"), "the last command was to retire it"

    asyncio.run(scenario())
