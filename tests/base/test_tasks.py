"""No background task's exception is lost, and no task outlives its owner."""

import asyncio

import pytest

from gossamer.base.tasks import Tasks, background


async def fails() -> None:
    raise KeyError("lost")


async def goes_on(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("ended")


def test_what_a_task_beside_a_block_raised_is_raised_when_the_block_is_left() -> None:
    async def story() -> None:
        async with background(fails()) as task:
            await asyncio.wait([task])

    with pytest.raises(KeyError, match="lost"):
        asyncio.run(story())


def test_a_block_that_fails_raises_its_own_and_notes_the_other() -> None:
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
        async with background(goes_on(ended)):
            await asyncio.sleep(0)
        return ended

    assert asyncio.run(story()) == ["ended"]


def test_tasks_of_an_owner_end_with_it_and_what_they_raise_is_told() -> None:
    async def story() -> tuple[list[str], list[object]]:
        ended, told = list[str](), list[object]()
        tasks = Tasks(lambda event, **facts: told.append((event, facts["why"])))
        tasks.begin(fails())
        tasks.begin(goes_on(ended))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await tasks.close()
        await tasks.close()
        return ended, told

    assert asyncio.run(story()) == (["ended"], [("task.failed", "KeyError('lost')")])
