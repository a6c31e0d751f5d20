"""`gossamer hosts`: the state of each host, and retiring and reinstating one."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.site import gossamer
from tests.crawler.fakes import SEED, Story, make

from gossamer.base.clock import SECOND
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import GossamerError
from gossamer.cli.output import note
from gossamer.collection.changes import change_host
from gossamer.collection.state import HostShown, host_shown, sorted_hosts
from gossamer.collection.why.waits import host_state_of
from gossamer.config.settings import Settings
from gossamer.config.slices import politeness
from gossamer.crawler.commands import change_hosts
from gossamer.frontier.reports import host_state, hosts, robots_of
from gossamer.monitor.control import Command
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.rules.learned.traps import template_of
from gossamer.rules.scope import Reach
from gossamer.store.directory import Directory, hold
from gossamer.store.sqlite.database import read_only
from gossamer.values.outcome import Reason
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url

PATTERN = template_of(Url("https://a.test/cal/2002"))
STARTS = (SEED, Url("https://b.test/"), Url("https://c.test/"))


async def three_hosts(story: Story) -> None:
    """One host without a readable robots.txt, one with pages waiting, one done."""
    first = await story.robots(RobotsState.UNREACHABLE, 3600, failures=1)
    second = await story.robots()
    assert first.url.host != second.url.host
    await story.robots()
    await story.page()


def listed(root: Path, script: object = three_hosts) -> dict[str, HostShown]:
    directory, clock = make(root, script, starts=STARTS, reach=Reach.HOST)  # type: ignore[arg-type]
    with closing(read_only(directory.state)) as state:
        found = [host_shown(one, politeness(Settings()), clock.now()) for one in hosts(state)]
    return {one.host: one for one in sorted_hosts(found)}


def test_every_host_has_a_state_and_busy_ones_are_listed_first(tmp_path: Path) -> None:
    found = listed(tmp_path)
    assert set(found) == {"a.test", "b.test", "c.test"}
    assert "done" in {one.state for one in found.values()} and list(found.values())[-1].state == "done"
    assert all(one.visits >= 1 for one in found.values())


def test_a_host_that_fails_is_backing_off_and_says_until_when(tmp_path: Path) -> None:
    async def failing(story: Story) -> None:
        for _ in STARTS:
            await story.robots()
        await story.page(Reason.SERVER_ERROR, due_at=story.clock.now())

    found = [one for one in listed(tmp_path, failing).values() if one.state == "backing-off"]
    assert len(found) == 1 and found[0].says.startswith("until ") and found[0].troubles == 1


def test_a_host_whose_robots_txt_fails_waits_and_says_why_and_until_when(tmp_path: Path) -> None:
    async def failing(story: Story) -> None:
        for _ in STARTS:
            await story.robots(RobotsState.UNREACHABLE, 3600, failures=3, trouble="server-error: status 500")
        story.clock.advance(300)
        assert await story.frontier.take(5) == []

    directory, clock = make(tmp_path, failing, starts=STARTS, reach=Reach.HOST)
    with closing(read_only(directory.state)) as state:
        found = [(one, robots_of(state, one.name)) for one in hosts(state)]
    states = [host_state_of(host, politeness(Settings()), clock.now(), True, robots) for host, robots in found]
    assert [kind for kind, _ in states] == ["waiting"] * 3
    for _, says in states:
        assert says.startswith("until ")
        assert says.endswith("the robots.txt could not be read, 3 times in a row (server-error: status 500)")


def test_a_host_is_retired_and_reinstated_directly_when_no_crawl_runs(tmp_path: Path) -> None:
    directory, _ = make(tmp_path, three_hosts, starts=STARTS)
    assert "is retired" in asyncio.run(change_host(directory, real_outside(), "retire", "b.test", "its owner asked"))
    with closing(read_only(directory.state)) as state:
        found = host_state(state, "b.test")
    assert found is not None and found.retired_why == "its owner asked"
    with pytest.raises(GossamerError, match="already retired"):
        asyncio.run(change_host(directory, real_outside(), "retire", "b.test", "again"))
    assert "crawled again" in asyncio.run(change_host(directory, real_outside(), "reinstate", "b.test", ""))
    with pytest.raises(GossamerError, match="not known"):
        asyncio.run(change_host(directory, real_outside(), "reinstate", "nowhere.test", ""))


def test_a_running_crawl_retires_a_host_on_request(tmp_path: Path) -> None:
    outside = real_outside()

    async def crawling(story: Story) -> None:
        await three_hosts(story)
        lock = hold(outside.files, tmp_path, "the crawl")
        try:
            request = asyncio.ensure_future(change_host(Directory(tmp_path), outside, "retire", "c.test", "asked"))
            await handle_commands(story, outside, tmp_path)
            assert await request == "c.test is retired now"
        finally:
            lock.release()

    directory, _ = make(tmp_path, crawling, starts=STARTS)
    with closing(read_only(directory.state)) as state:
        found = host_state(state, "c.test")
    assert found is not None and found.retired_at is not None and found.retired_why == "asked"


async def handle_commands(story: Story, outside: Outside, root: Path) -> None:
    """Handle commands as the crawler does with every heartbeat."""
    with SqliteControl(Directory(root).control, outside.clock) as desk:
        for _ in range(5_000):
            done = await change_hosts(desk.pending("crawler"), story.frontier)
            for number in done:
                desk.done(number)
            if done:
                return
            await asyncio.sleep(0.02)
    raise AssertionError("no command arrived")


def test_waiting_for_a_busy_crawl_is_reported_once_and_limited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, clock = make(tmp_path, three_hosts, starts=STARTS, reach=Reach.HOST)
    outside = replace(real_outside(), clock=clock)
    lock = hold(outside.files, tmp_path, "a crawl that never answers")
    try:
        with pytest.raises(GossamerError, match="has not responded in 30 s"):
            asyncio.run(change_host(directory, outside, "retire", "a.test", "too loud", note))
    finally:
        lock.release()
    assert capsys.readouterr().err == "the running crawl is busy: waiting for it, up to 30 s\n"


def test_quarantined_urls_are_released(tmp_path: Path) -> None:
    async def trapped(story: Story) -> None:
        await story.robots()
        await story.page(links=tuple(f"https://a.test/cal/{n}" for n in range(2000, 2004)))
        await story.page()
        assert await story.frontier.quarantine("a.test", PATTERN) == 3

    directory, _ = make(tmp_path, trapped)
    assert "is released" in asyncio.run(change_host(directory, real_outside(), "release", "a.test", PATTERN))
    with closing(read_only(directory.state)) as state:
        found = host_state(state, "a.test")
    assert found is not None and (found.queued, found.held) == (3, 0)
    with pytest.raises(GossamerError, match="nothing is quarantined"):
        asyncio.run(change_host(directory, real_outside(), "release", "a.test", PATTERN))


def test_commands_other_than_those_on_hosts_are_ignored(tmp_path: Path) -> None:
    async def commanded(story: Story) -> None:
        pause = Command(1, "pause", {}, 0)
        retire = Command(2, "retire", {"host": "a.test", "why": "x"}, 0)
        assert await change_hosts([pause, retire], story.frontier) == [2]

    make(tmp_path, commanded)


def test_the_command_lists_retires_and_reinstates(tmp_path: Path) -> None:
    make(tmp_path, three_hosts, starts=STARTS)
    assert gossamer("hosts", "retire", "a.test", "--why", "asked", "--dir", tmp_path).returncode == 0
    done = gossamer("hosts", "--dir", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    states = {one["host"]: one["state"] for one in json.loads(done.stdout)}
    assert states["a.test"] == "retired"
    only = gossamer("hosts", "--state", "retired", "--dir", tmp_path)
    assert "a.test" in only.stdout and "b.test" not in only.stdout and "1 retired" in only.stdout
    assert gossamer("hosts", "reinstate", "a.test", "--dir", tmp_path).returncode == 0
    assert gossamer("hosts", "retire", "--dir", tmp_path).returncode == 2
    assert gossamer("hosts", "retire", "nowhere.test", "--dir", tmp_path).returncode == 1


def test_the_time_until_the_next_fetch_from_a_host_is_shown(tmp_path: Path) -> None:
    async def fetched(story: Story) -> None:
        await story.robots(crawl_delay_s=20.0)

    directory, clock = make(tmp_path, fetched)
    with closing(read_only(directory.state)) as state:
        (host,) = hosts(state)
    found = host_shown(host, politeness(Settings()), clock.now())
    assert found.state == "waiting" and found.next_at == clock.now() + 20 * SECOND
    assert "its robots.txt asks for 20 s" in found.says
