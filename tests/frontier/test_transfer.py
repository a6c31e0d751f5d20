"""What a frontier knows moves from `state.db` to PostgreSQL and back, and both say the same."""

import asyncio
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from tests import postgres_server
from tests.frontier.test_forgetting import SHOP, assert_counts_are_true, crawled, template

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier import transfer
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.maintenance import SharedIntake
from gossamer.frontier.postgres.presence import Stay
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.maintenance import FrontierIntake
from gossamer.rules.canonical import identity_of
from gossamer.store import tallies
from gossamer.store.postgres.state import PostgresState, open_reader
from gossamer.store.sqlite.database import Database, read_only
from gossamer.store.statements import State
from gossamer.testing import FakeClock
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

RULES = FrontierRules(Politeness(delay_s=1.0), lambda _: True, keys=UrlKeys(identity_of), template_of=template)
PARTS = {part.name: part.read for part in transfer.PARTS}


def known(state: State, without: tuple[str, ...] = ("sequence", "next_at")) -> dict[str, list[Any]]:
    """Everything, without places in the queue, which each store counts for itself."""
    found: dict[str, list[Any]] = {}
    for name, read in PARTS.items():
        rows = [one._asdict() for one in read(state)]
        found[name] = sorted([str({k: v for k, v in row.items() if k not in without}) for row in rows])
    return found


async def copied_to_postgres(source: Path, conninfo: str, clock: FakeClock) -> None:
    intake = SharedIntake(RULES)
    async with PostgresState(conninfo, "cluster", clock, silent) as target:
        with closing(read_only(source)) as state:
            for name, read in PARTS.items():
                write = getattr(intake, name)
                for some in transfer.some(read(state)):
                    await target.shared.run(lambda connection, _, write=write, some=some: write(connection, some))


async def copied_to_sqlite(conninfo: str, path: Path, clock: FakeClock) -> None:
    intake = FrontierIntake()
    async with Database(path, clock, silent) as target:
        with closing(open_reader(conninfo, "cluster")) as state:
            for name, read in PARTS.items():
                for some in transfer.some(read(state)):
                    await target.run(partial(getattr(intake, name), some=some))
                if name == "hosts":
                    await target.run(intake.read_ids)
        await target.run(partial(intake.finish, rest_until=clock.now()))


async def prepared(folder: Path, clock: FakeClock) -> Path:
    async with crawled(folder, clock):
        return folder / "state.db"


def test_everything_moves_to_postgresql_and_back(tmp_path: Path) -> None:
    clock, conninfo = FakeClock(), postgres_server.server().conninfo_for(tmp_path, waits_for_disk=False)
    source = asyncio.run(prepared(tmp_path, clock))
    asyncio.run(copied_to_postgres(source, conninfo, clock))
    with closing(open_reader(conninfo, "cluster")) as there, closing(read_only(source)) as here:
        assert known(there) == known(here)
        assert tallies.counts(there) == tallies.counts(here)
    asyncio.run(copied_to_sqlite(conninfo, tmp_path / "back.db", clock))
    with closing(read_only(tmp_path / "back.db")) as back, closing(read_only(source)) as here:
        assert known(back) == known(here)
        assert tallies.counts(back) == tallies.counts(here)
        assert_counts_are_true(back)
        sql = "SELECT name, lanes, queued, held, errands FROM hosts ORDER BY name"
        assert back.execute(sql).fetchall() == here.execute(sql).fetchall()
        order = "SELECT text FROM queue NATURAL JOIN addresses ORDER BY sequence"
        assert back.execute(order).fetchall() == here.execute(order).fetchall()


def test_writing_it_again_changes_nothing(tmp_path: Path) -> None:
    clock, conninfo = FakeClock(), postgres_server.server().conninfo_for(tmp_path, waits_for_disk=False)
    source = asyncio.run(prepared(tmp_path, clock))
    for _ in range(2):
        asyncio.run(copied_to_postgres(source, conninfo, clock))
    with closing(open_reader(conninfo, "cluster")) as there, closing(read_only(source)) as here:
        assert known(there) == known(here)
        assert tallies.counts(there) == tallies.counts(here)


def settled(visit: Visit, now: int) -> Settled:
    robots = Robots(visit.origin, RobotsState.READ, now, now + 10**15) if visit.kind is VisitKind.ROBOTS else None
    return Settled(visit, Reason.FETCHED, now, robots=robots)


async def continued(conninfo: str, clock: FakeClock) -> list[str]:
    """Crawl on there, until nothing waits; returns what was visited."""
    found: list[str] = []
    async with PostgresState(conninfo, "cluster", clock, silent) as state:
        frontier = PostgresFrontier(state.shared, RULES, clock, silent, Stay("a"), read_time=lambda _: clock.now())
        async with frontier:
            await frontier.reinstate("shop.test")
            await frontier.release("shop.test", template(f"{SHOP}/list/1"))
            while (at := await frontier.next_at()) is not None:
                clock.advance(max(0, at - clock.now()) / SECOND + 0.01)
                visits = await frontier.take(8)
                found += [visit.url.text for visit in visits if visit.kind is VisitKind.PAGE]
                await frontier.settle([settled(visit, clock.now()) for visit in visits])
    return found


def test_a_crawl_continues_there_and_a_later_copy_does_not_undo_it(tmp_path: Path) -> None:
    clock, conninfo = FakeClock(), postgres_server.server().conninfo_for(tmp_path, waits_for_disk=False)
    source = asyncio.run(prepared(tmp_path, clock))
    with closing(read_only(source)) as here:
        waiting = {row.id for row in transfer.queue_of(here)}
    asyncio.run(copied_to_postgres(source, conninfo, clock))
    visited = asyncio.run(continued(conninfo, clock))
    assert sorted(Url(text).id for text in visited) == sorted(waiting)
    asyncio.run(copied_to_postgres(source, conninfo, clock))
    with closing(open_reader(conninfo, "cluster")) as there:
        assert list(transfer.queue_of(there)) == []
        counts = tallies.counts(there)
        assert (counts.queued, counts.quarantined, counts.settled) == (0, 0, counts.known)
