"""No background task's exception is lost, and no task outlives its owner."""

import asyncio

import pytest

from gossamer.base.tasks import Tasks, background


async def fails() -> None:
    raise KeyError("lost")


async def waits(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("ended")


def test_the_exception_of_a_background_task_is_raised_at_the_end_of_its_block() -> None:
    async def story() -> None:
        async with background(fails()) as task:
            await asyncio.wait([task])

    with pytest.raises(KeyError, match="lost"):
        asyncio.run(story())


def test_a_block_that_fails_raises_its_own_exception_and_notes_the_other() -> None:
    async def story() -> None:
        async with background(fails()) as task:
            await asyncio.wait([task])
            raise ValueError("own")

    with pytest.raises(ValueError, match="own") as caught:
        asyncio.run(story())
    assert caught.value.__notes__ == ["a background task failed too: KeyError('lost')"]


def test_a_task_ends_with_its_block() -> None:
    async def story() -> list[str]:
        ended: list[str] = []
        async with background(waits(ended)):
            await asyncio.sleep(0)
        return ended

    assert asyncio.run(story()) == ["ended"]


def test_tasks_of_an_owner_end_with_it_and_their_exceptions_are_reported() -> None:
    async def story() -> tuple[list[str], list[object]]:
        ended, events = list[str](), list[object]()
        tasks = Tasks(lambda event, **facts: events.append((event, facts["why"])))
        tasks.begin(fails())
        tasks.begin(waits(ended))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await tasks.close()
        await tasks.close()
        return ended, events

    assert asyncio.run(story()) == (["ended"], [("task.failed", "KeyError('lost')")])
