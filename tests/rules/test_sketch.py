"""The two forms of what a host has said: a set while there is memory, a table when there is not."""

import random

import pytest

from gossamer.rules.learned.novelty import WATCHED_FROM, Novelty
from gossamer.rules.learned.sketch import LARGEST, MOST_SPREAD, Numbers, Sketch
from gossamer.values.messages import Marks
from gossamer.values.url import Url


def batches(seed: int, many: int, each: int = 40) -> list[tuple[int, ...]]:
    """Some of the numbers of each were in those before it."""
    chance = random.Random(seed)
    return [tuple({chance.randrange(1, 1 << 30) % (50 * each * many) + 1 for _ in range(each)}) for _ in range(many)]


def test_both_forms_say_the_same_and_a_table_that_has_room_forgets_hardly_anything() -> None:
    spread, folded, turned, truth = Numbers(), Numbers(is_folded=True), Numbers(), set[int]()
    for number, batch in enumerate(batches(1, 90)):
        if number == 30:
            turned.fold()
        new = len(set(batch) - truth)
        truth.update(batch)
        assert [spread.unmet(batch), folded.unmet(batch), turned.unmet(batch)] == [new] * 3
    assert spread.unmet(tuple(truth)) == 0
    assert max(folded.unmet(tuple(truth)), turned.unmet(tuple(truth))) < len(truth) / 200


def test_a_set_is_folded_before_it_is_large_and_a_table_stops_growing() -> None:
    numbers = Numbers()
    for start in range(1, 40_000, 50):
        numbers.unmet(range(start, start + 50))
        assert numbers.size <= max(4 * LARGEST, 100 * MOST_SPREAD)
    assert numbers.size == 4 * LARGEST


@pytest.mark.parametrize("is_folded", [True, False])
def test_what_is_kept_is_recalled(is_folded: bool) -> None:
    sketch = Sketch(is_folded)
    pages = [Marks(99, words, words[:16], words[:8], words[8:16]) for words in batches(2, 20)]
    for page in pages:
        sketch.met(page)
    again = Sketch.of(sketch.kept())
    assert again.kept() == sketch.kept()
    assert not any(any(again.met(page)) for page in pages)


def test_numbers_that_cannot_have_been_kept_are_refused() -> None:
    for content, is_folded in ((b"123", False), (bytes(4 * MOST_SPREAD + 4), False), (bytes(12), True)):
        with pytest.raises(ValueError):
            Numbers.of(content, 0, is_folded)


def test_hosts_are_folded_when_half_of_the_memory_is_used() -> None:
    novelty = Novelty(400_000, 1 << 10)
    for turn, words in enumerate(batches(3, WATCHED_FROM + 40)):
        for host in range(40):
            page = Marks(99, tuple(word + host for word in words), words[:16])
            novelty.weigh(Url(f"http://h{host}.org/p/{turn}"), page)
    watched = [novelty.is_trap(f"h{host}.org", "/p/{n}", 100, 0) for host in range(40)]
    assert novelty.held_bytes <= 400_000 and not any(watched)


def test_a_set_counts_what_its_numbers_take() -> None:
    few, many = Numbers(), Numbers()
    few.unmet(range(1, 11))
    many.unmet(range(1, 11))
    many.unmet(range(1000, 1000 + MOST_SPREAD // 2))
    assert many.size - few.size > 24 * (MOST_SPREAD // 2 - 10), "each number is a Python object of its own"


def test_a_few_new_phrases_in_a_long_page_make_it_no_new_page() -> None:
    sketch, words, shingles = Sketch(), tuple(range(1, 41)), tuple(range(101, 117))
    assert sketch.met(Marks(99, words, shingles)).text
    changed = (*shingles[:-1], 999)
    assert not sketch.met(Marks(99, (*words[:-2], 998, 997), changed)).text, "one phrase of sixteen is new"
    other = tuple(range(201, 217))
    assert sketch.met(Marks(99, (*words[:-2], 996, 995), other)).text, "all of them are"


def test_words_and_phrases_are_folded_together() -> None:
    sketch = Sketch()
    sketch.met(Marks(99, tuple(range(1, 41)), tuple(range(101, 117))))
    sketch.fold()
    assert sketch.kept().are_words_folded and sketch.kept().are_phrases_folded
    assert not any(sketch.met(Marks(99, tuple(range(1, 41)), tuple(range(101, 117)))))
