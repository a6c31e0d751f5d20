"""The byte budget: shares, pools in order, and no fetch that waits forever."""

import asyncio

import pytest

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.budget import MEDIUM, MIB, Budget
from gossamer.fetch.client import Client, ResponseBody
from gossamer.fetch.pool import Connections
from gossamer.values.outcome import Failed, Fetched, Outcome, Reason
from gossamer.values.url import url_of

SMALL = 4 * MIB
"""A budget: shares of 64 KiB for 8 fetches, medium bodies up to 128 KiB, pools of 512 KiB, 1.5 MiB and 1 MiB."""
LARGE = MIB


async def turns(count: int = 4) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_F_X2_room_is_granted_in_order_and_never_beyond_the_pool():
    async def ask() -> list[str]:
        budget, granted = Budget(SMALL, 8), []

        async def take(host: str, size: int) -> None:
            await budget.body(host, size)
            granted.append(host)

        async with asyncio.TaskGroup() as crew:
            for host in "abc":
                crew.create_task(take(host, LARGE))
            await turns()
            assert granted == ["a"] and budget.taken == LARGE and budget.waiting == 2
            budget.release("a")
            await turns()
            assert granted == ["a", "b"]
            budget.release("b")
        return granted

    assert asyncio.run(ask()) == ["a", "b", "c"]


def test_F_X2_small_and_medium_bodies_never_wait_for_large_ones():
    async def ask() -> None:
        budget = Budget(SMALL, 8)
        await budget.body("large", LARGE)
        waiting = asyncio.ensure_future(budget.body("larger", LARGE))
        await turns()
        async with asyncio.timeout(60):
            await budget.body("medium", budget.medium)
            for number in range(100):
                await budget.body(f"small{number}", budget.share)
        assert not waiting.done()
        budget.release("large")
        await waiting

    asyncio.run(ask())


@pytest.mark.parametrize("size", [16 * MIB, 50 * MIB, 64 * MIB])
def test_F_X2_one_body_of_the_largest_size_is_always_possible(size):
    async def ask() -> None:
        budget = Budget(SMALL, 8)
        await budget.body("a", size)
        await budget.answer("a", size)
        behind = asyncio.ensure_future(budget.body("b", LARGE))
        await turns()
        assert not behind.done(), "the largest body is alone"
        budget.release("a")
        await behind
        budget.release("b")
        assert budget.taken == 0

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_F_X2_fetches_that_hold_room_and_need_more_never_deadlock():
    """Sixteen fetches go through all pools at once, where one alone would fill any of them."""

    async def ask() -> int:
        budget, done = Budget(SMALL, 8), 0

        async def use_all_pools(host: str) -> None:
            nonlocal done
            for size in (budget.medium, 2 * LARGE):
                await budget.body(host, size)
                await asyncio.sleep(0)
            await budget.answer(host, 2 * LARGE)
            budget.body_done(host)
            await asyncio.sleep(0)
            budget.release(host)
            done += 1

        async with asyncio.TaskGroup() as crew:
            for number in range(16):
                crew.create_task(use_all_pools(f"h{number}"))
        assert budget.taken == 0 and budget.waiting == 0
        return done

    assert asyncio.run(asyncio.wait_for(ask(), 60)) == 16


@pytest.mark.parametrize("is_granted", [True, False])
def test_a_cancelled_fetch_returns_its_room(is_granted):
    async def ask() -> int:
        budget = Budget(SMALL, 8)
        await budget.body("a", LARGE)
        waiting, behind = (asyncio.ensure_future(budget.body(host, LARGE)) for host in "bc")
        await turns()
        if is_granted:
            budget.release("a")  # granted, but it has not woken up yet
        waiting.cancel()
        await turns()
        budget.release("a")
        await behind
        return budget.taken

    assert asyncio.run(ask()) == LARGE


def test_F_X2_room_freed_just_as_a_fetch_is_cancelled_ends_only_that_fetch():
    """It was a ValueError that ended the whole crawl; `make attack` found it."""

    async def ask() -> int:
        budget = Budget(SMALL, 8)
        await budget.body("a", LARGE)
        cancelled = asyncio.ensure_future(budget.body("b", LARGE))
        await turns()
        cancelled.cancel()
        budget.release("a")  # before the cancelled fetch has noticed
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        return budget.taken

    assert asyncio.run(ask()) == 0


def test_the_shares_of_all_fetches_are_a_quarter_at_most():
    for at_once in (1, 8, 128, 1000):
        budget = Budget(256 * MIB, at_once)
        assert 2 * at_once * budget.share <= 64 * MIB and budget.medium == MEDIUM


def test_a_body_added_in_pieces_has_the_same_bytes():
    for pieces in ([], [b"a"], [b"a", b"b" * 100_000, b"c"]):
        body = ResponseBody()
        for piece in pieces:
            body.add(piece)
        assert body.whole() == b"".join(pieces)


class Library:
    """Serves large bodies piece by piece; `/slow` stops in the middle."""

    def __init__(self, size: int, has_length: bool) -> None:
        self._size, self._has_length = size, has_length

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            question = await read.readuntil(b"\r\n\r\n")
            length = b"Content-Length: %d\r\n" % self._size if self._has_length else b""
            write.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n" + length + b"\r\n")
            for start in range(0, self._size, 65536):
                write.write(b"x" * min(65536, self._size - start))
                await write.drain()
                if start > SMALL // 16 and b"/slow" in question:
                    await read.read()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        write.close()


class WatchedBudget(Budget):
    """Records the most bytes that were taken at once."""

    most_taken = 0

    async def body(self, host: str, size: int) -> None:
        await super().body(host, size)
        self.most_taken = max(self.most_taken, self.taken)


def fetch_all(library: Library, settings: Fetch, paths: list[str]) -> tuple[list[Outcome], WatchedBudget]:
    async def run() -> tuple[list[Outcome], WatchedBudget]:
        budget = WatchedBudget(SMALL, 8)
        async with await asyncio.start_server(library.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            plan = AddressPlan({f"h{number}.test": {80: port} for number in range(len(paths))})
            async with Client(
                Connections(settings, Network(plan, plan), SystemClock(), silent), budget=budget
            ) as client:

                async def visit(number: int, path: str) -> Outcome:
                    url = url_of(f"http://h{number}.test{path}")
                    assert url is not None
                    outcome = await client.fetch(url)
                    budget.release(url.host.name)
                    return outcome

                return await asyncio.gather(*[visit(number, path) for number, path in enumerate(paths)]), budget

    outcomes, budget = asyncio.run(run())
    assert budget.taken == 0, "all room has been returned"
    return outcomes, budget


SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, body_limit=LARGE, at_once=8)


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("size", [LARGE, SMALL // 32, SMALL // 64, SMALL // 64 + 1])
def test_F_X2_large_bodies_wait_for_room_and_all_arrive_in_full(has_length, size):
    outcomes, budget = fetch_all(Library(size, has_length), SETTINGS, ["/"] * 12)
    assert all(isinstance(one, Fetched) and len(one.capture.body) == size for one in outcomes)
    assert budget.most_taken <= SMALL // 8 + SMALL * 3 // 8
    assert (budget.most_taken == 0) == (size <= budget.share)


def test_a_body_gets_room_for_its_declared_length_or_else_for_the_limit():
    size = SMALL // 32 + 1  # more than a medium body
    assert fetch_all(Library(size, True), SETTINGS, ["/"])[1].most_taken == size
    assert fetch_all(Library(size, False), SETTINGS, ["/"])[1].most_taken == LARGE


def test_time_spent_waiting_for_room_does_not_count_for_the_server():
    settings = Fetch(contact="https://example.org/bot", timeout_s=1.5, body_limit=LARGE, at_once=8)
    outcomes, _ = fetch_all(Library(LARGE, True), settings, ["/slow", "/slow", "/", "/"])
    assert all(isinstance(one, Failed) and one.reason is Reason.UNFINISHED for one in outcomes[:2])
    for outcome in outcomes[2:]:  # they waited longer than a fetch may take
        assert isinstance(outcome, Fetched) and outcome.capture.took_s < 1.5


def test_a_response_takes_room_for_two_copies_unless_it_fits_the_share():
    async def story() -> None:
        budget = Budget(SMALL, 8)
        await budget.answer("a.test", budget.share)
        assert budget.taken == 0
        await budget.answer("a.test", budget.share + 1)
        assert budget.taken == 2 * (budget.share + 1)
        budget.body_done("a.test")
        assert budget.taken == 2 * (budget.share + 1), "the response outlives the body"
        budget.release("a.test")
        assert budget.taken == 0

    asyncio.run(story())


@pytest.mark.parametrize(("size", "fitting"), [(SMALL // 32, 4), (SMALL // 2, 1), (SMALL // 8 + 1, 2), (SMALL // 8, 3)])
def test_F_X2_an_eighth_is_for_medium_bodies_and_three_eighths_for_large_ones(size, fitting):
    async def story() -> None:
        budget = Budget(SMALL, 8)
        asking = [asyncio.create_task(budget.body(f"h{number}.test", size)) for number in range(9)]
        await turns()
        assert sum(task.done() for task in asking) == fitting
        assert budget.waiting == 9 - fitting and budget.taken == fitting * size
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    asyncio.run(story())
