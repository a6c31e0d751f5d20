"""Room for large bodies: all of it, in order, and never more than there is."""

import asyncio
from dataclasses import replace

import pytest

from gossamer.clock import SystemClock
from gossamer.fetch.budget import FREE, Budget
from gossamer.fetch.client import Client
from gossamer.fetch.plan import AddressPlan
from gossamer.fetch.settings import Fetch
from gossamer.values.outcome import Failed, Fetched, Outcome, Reason
from gossamer.values.tell import silent
from gossamer.values.url import url_of

MIB = 1024 * 1024


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_room_is_granted_in_the_order_asked_for_and_never_beyond_the_whole():
    async def ask() -> list[str]:
        budget, granted = Budget(10), []

        async def take(name: str, size: int) -> None:
            assert await budget.take(size) == size
            granted.append(name)

        async with asyncio.TaskGroup() as crew:
            for name, size in (("a", 6), ("b", 6), ("c", 1), ("d", 4)):
                crew.create_task(take(name, size))
            await turns()
            assert granted == ["a"] and budget.taken == 6, "a small one does not pass a large one that waits"
            budget.give_back(6)
            await turns()
            assert granted == ["a", "b", "c"] and budget.taken == 7
            budget.give_back(1)
            await turns()
        assert budget.taken == 10
        return granted

    assert asyncio.run(ask()) == ["a", "b", "c", "d"]


def test_who_wants_more_than_there_is_gets_all_of_it():
    async def ask() -> int:
        return await Budget(10).take(64)

    assert asyncio.run(ask()) == 10


@pytest.mark.parametrize("is_granted", [True, False])
def test_one_who_gives_up_takes_no_room_with_him(is_granted):
    async def ask() -> int:
        budget = Budget(10)
        await budget.take(8)
        waiting, behind = asyncio.ensure_future(budget.take(5)), asyncio.ensure_future(budget.take(2))
        await turns()
        if is_granted:
            budget.give_back(8)  # the turn has come, but he has not woken up yet
        waiting.cancel()
        await turns()
        assert await behind == 2
        return budget.taken

    assert asyncio.run(ask()) == (2 if is_granted else 10)


class Library:
    """Serves large bodies piece by piece; `/slow` stops in the middle."""

    def __init__(self, size: int, says_length: bool) -> None:
        self._size, self._says_length = size, says_length

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            question = await read.readuntil(b"\r\n\r\n")
            length = b"Content-Length: %d\r\n" % self._size if self._says_length else b""
            write.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n" + length + b"\r\n")
            for start in range(0, self._size, 65536):
                write.write(b"x" * min(65536, self._size - start))
                await write.drain()
                if start > FREE and b"/slow" in question:
                    await read.read()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        write.close()


class Watched(Budget):
    """Writes down what was asked for, and how much was out at most."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.asked: list[int] = []
        self.most_taken = 0

    async def take(self, wanted: int) -> int:
        self.asked.append(wanted)
        granted = await super().take(wanted)
        self.most_taken = max(self.most_taken, self.taken)
        return granted


def fetched(library: Library, settings: Fetch, paths: list[str]) -> tuple[list[Outcome], Watched]:
    async def run() -> tuple[list[Outcome], Watched]:
        budget = Watched(settings.bodies_limit)
        async with await asyncio.start_server(library.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            plan = AddressPlan({f"h{number}.test": {80: port} for number in range(len(paths))})
            async with Client(settings, plan, plan, SystemClock(), silent) as client:
                client._budget = budget
                urls = [url_of(f"http://h{number}.test{path}") for number, path in enumerate(paths)]
                return await asyncio.gather(*[client.fetch(url) for url in urls if url is not None]), budget

    outcomes, budget = asyncio.run(run())
    assert budget.taken == 0, "all of it has been given back"
    return outcomes, budget


SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, body_limit=MIB, bodies_limit=3 * MIB)


@pytest.mark.parametrize("says_length", [True, False])
def test_large_bodies_wait_for_room_and_all_come_whole(says_length):
    outcomes, budget = fetched(Library(MIB, says_length), SETTINGS, ["/"] * 12)
    assert all(isinstance(one, Fetched) and len(one.capture.body) == MIB for one in outcomes)
    assert budget.asked == [MIB] * 12
    assert MIB <= budget.most_taken <= 3 * MIB


@pytest.mark.parametrize(("says_length", "asked"), [(True, FREE + 1000), (False, MIB)])
def test_a_said_length_is_all_that_is_asked_for(says_length, asked):
    outcomes, budget = fetched(Library(FREE + 1000, says_length), SETTINGS, ["/"] * 5)
    assert all(isinstance(one, Fetched) and len(one.capture.body) == FREE + 1000 for one in outcomes)
    assert budget.asked == [asked] * 5


def test_small_bodies_need_no_room():
    outcomes, budget = fetched(Library(FREE, True), replace(SETTINGS, bodies_limit=1), ["/"] * 5)
    assert all(isinstance(one, Fetched) and one.capture.truncated is None for one in outcomes)
    assert budget.asked == []


def test_the_time_spent_waiting_for_room_is_not_the_servers():
    settings = replace(SETTINGS, bodies_limit=MIB, timeout_s=1.5)
    outcomes, _ = fetched(Library(MIB, True), settings, ["/slow", "/slow", "/", "/"])
    assert all(isinstance(one, Failed) and one.reason is Reason.TIMEOUT for one in outcomes[:2])
    for outcome in outcomes[2:]:  # they waited longer than a visit may take
        assert isinstance(outcome, Fetched) and outcome.capture.took_s < 1.5
