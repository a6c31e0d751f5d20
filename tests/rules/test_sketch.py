"""The two forms of a sketch of a host: a set while there is enough memory, then a table."""

import random
from array import array

import pytest

from gossamer.rules.learned.model import WATCHED_FROM, Novelty
from gossamer.rules.learned.signs import (
    LARGEST,
    MOST_SPREAD,
    SMALLEST,
    New,
    Numbers,
    Sketch,
    add_all,
    grown,
    insert,
)
from gossamer.values.messages import Marks
from gossamer.values.url import Url


def batches(seed: int, many: int, each: int = 40) -> list[tuple[int, ...]]:
    """Batches of numbers, some of which were in earlier batches."""
    chance = random.Random(seed)
    return [tuple({chance.randrange(1, 1 << 30) % (50 * each * many) + 1 for _ in range(each)}) for _ in range(many)]


def test_both_forms_agree_and_a_table_with_room_forgets_almost_nothing() -> None:
    spread, folded, turned, truth = Numbers(), Numbers(is_folded=True), Numbers(), set[int]()
    for number, batch in enumerate(batches(1, 90)):
        if number == 30:
            turned.fold()
        new = len(set(batch) - truth)
        truth.update(batch)
        assert [spread.add(batch), folded.add(batch), turned.add(batch)] == [new] * 3
    assert spread.add(tuple(truth)) == 0
    assert max(folded.add(tuple(truth)), turned.add(tuple(truth))) < len(truth) / 200


def test_a_set_becomes_a_table_before_it_is_large_and_a_table_stops_growing() -> None:
    numbers = Numbers()
    for start in range(1, 40_000, 50):
        numbers.add(range(start, start + 50))
        assert numbers.size <= max(4 * LARGEST, 100 * MOST_SPREAD)
    assert numbers.size == 4 * LARGEST


@pytest.mark.parametrize("is_folded", [True, False])
def test_saved_sketches_are_restored(is_folded: bool) -> None:
    sketch = Sketch(is_folded)
    pages = [Marks(99, words, words[:16], words[:8], words[8:16]) for words in batches(2, 20)]
    for page in pages:
        sketch.add(page)
    again = Sketch.of(sketch.kept())
    assert again.kept() == sketch.kept()
    assert not any(any(again.add(page)) for page in pages)


def test_numbers_that_cannot_have_been_saved_are_refused() -> None:
    for content, is_folded in ((b"123", False), (bytes(4 * MOST_SPREAD + 4), False), (bytes(12), True)):
        with pytest.raises(ValueError):
            Numbers.of(content, 0, is_folded)


def test_hosts_become_tables_when_half_of_the_memory_is_used() -> None:
    novelty = Novelty(400_000, 1 << 10)
    for turn, words in enumerate(batches(3, WATCHED_FROM + 40)):
        for host in range(40):
            page = Marks(99, tuple(word + host for word in words), words[:16])
            novelty.assess(Url(f"http://h{host}.org/p/{turn}"), page)
    watched = [novelty.is_trap(f"h{host}.org", "/p/{n}", 100, 0) for host in range(40)]
    assert novelty.held_bytes <= 400_000 and not any(watched)


def test_the_size_of_a_set_includes_its_numbers() -> None:
    few, many = Numbers(), Numbers()
    few.add(range(1, 11))
    many.add(range(1, 11))
    many.add(range(1000, 1000 + MOST_SPREAD // 2))
    assert many.size - few.size > 24 * (MOST_SPREAD // 2 - 10), "each number is a Python object of its own"


def test_a_few_new_phrases_do_not_make_a_long_page_new() -> None:
    sketch, words, shingles = Sketch(), tuple(range(1, 41)), tuple(range(101, 117))
    assert sketch.add(Marks(99, words, shingles)).text
    changed = (*shingles[:-1], 999)
    assert not sketch.add(Marks(99, (*words[:-2], 998, 997), changed)).text, "one phrase of sixteen is new"
    other = tuple(range(201, 217))
    assert sketch.add(Marks(99, (*words[:-2], 996, 995), other)).text, "all phrases are new"


def test_words_and_phrases_become_tables_together() -> None:
    sketch = Sketch()
    sketch.add(Marks(99, tuple(range(1, 41)), tuple(range(101, 117))))
    sketch.fold()
    assert sketch.kept().are_words_folded and sketch.kept().are_phrases_folded
    assert not any(sketch.add(Marks(99, tuple(range(1, 41)), tuple(range(101, 117)))))


@pytest.mark.parametrize(
    ("words", "new_words", "shingles", "new_shingles", "is_new"),
    [
        (65, 1, 16, 2, True), (64, 1, 16, 2, False), (64, 2, 16, 2, True), (65, 0, 16, 16, False),
        (99, 9, 16, 1, False), (99, 9, 8, 1, True), (99, 9, 9, 1, False), (99, 9, 0, 0, False), (10, 2, 1, 1, True),
    ],
)  # fmt: skip
def test_a_text_is_new_with_an_eighth_of_its_phrases_or_with_a_word_or_two_when_short(
    words: int, new_words: int, shingles: int, new_shingles: int, is_new: bool
) -> None:
    for is_folded in (False, True):
        sketch = Sketch(is_folded)
        sketch.add(Marks(99, tuple(range(1, 41)), tuple(range(101, 117))))
        page = Marks(
            words,
            (*range(1, 11), *range(200, 200 + new_words)),
            (*range(101, 101 + shingles - new_shingles), *range(300, 300 + new_shingles)),
        )
        assert sketch.add(page) == New(is_new, False)
        assert sketch.add(page) == New(False, False), "it is new only once"


@pytest.mark.parametrize(
    ("facts", "values", "is_new"), [(1, 0, False), (2, 0, True), (0, 3, False), (0, 4, True), (1, 3, False)]
)
def test_two_facts_or_four_values_are_new(facts: int, values: int, is_new: bool) -> None:
    sketch = Sketch()
    page = Marks(5, (), (), tuple(range(1, 1 + facts)), tuple(range(11, 11 + values)))
    assert sketch.add(page) == New(False, is_new) and sketch.add(page) == New(False, False)


@pytest.mark.parametrize(
    ("pages", "looked_at", "new", "is_new"),
    [(50, 20, 17, False), (49, 20, 17, True), (50, 20, 16, True), (50, 13, 11, False), (50, 12, 12, True)],
)
def test_once_a_host_is_known_a_text_with_four_unknown_words_in_five_is_not_new(
    pages: int, looked_at: int, new: int, is_new: bool
) -> None:
    sketch = Sketch()
    for _ in range(pages):
        sketch.add(Marks(99, tuple(range(1, 41)), (7,)))
    strange = Marks(99, (*range(1, 1 + looked_at - new), *range(500, 500 + new)), tuple(range(300, 316)))
    assert sketch.add(strange).text is is_new


def test_a_table_grows_before_it_is_half_full_without_forgetting() -> None:
    numbers = Numbers(is_folded=True)
    held = 0
    for start in range(1, 3000, 16):
        assert numbers.add(range(start, start + 16)) == 16
        held += 16
        slots = numbers.size // 4
        assert slots >= 2 * held and slots & (slots - 1) == 0
        assert numbers.add(range(1, start + 16)) == 0
    assert numbers.kept()[1:] == (held, True)


@pytest.mark.parametrize(("held", "most", "slots"), [(0, 10, 64), (0, 33, 128), (5, 10, 256), (5, 129, 512),
                                                     (0, 5000, LARGEST), (4000, 5000, LARGEST)])  # fmt: skip
def test_a_table_is_rebuilt_with_room_for_twice_as_many(held: int, most: int, slots: int) -> None:
    before = array("I", bytes(4 * SMALLEST))
    insert(before, range(1, held + 1) if held < 64 else [])
    larger = grown(before, held, most)
    assert len(larger) == slots and add_all(larger, range(1, min(held, 63) + 1)) == (0 if held < 64 else 63)


def test_up_to_sixteen_numbers_that_share_a_slot_are_stored_next_to_each_other() -> None:
    table = array("I", bytes(4 * SMALLEST))
    same = [1 + SMALLEST * number for number in range(17)]
    assert insert(table, same[:16]) == 16 == sum(map(bool, table))
    assert add_all(table, same[:16]) == 0 and list(table[1:17]) == same[:16]
    assert insert(table, same[16:]) == 1 and table[1] == same[16], "the new number takes the first slot"
    assert add_all(table, same[1:]) == 0 and add_all(table, same[:1]) == 1
    last = array("I", bytes(4 * SMALLEST))
    assert insert(last, [63, 127]) == 2 and last[63] == 63 and last[0] == 127, "slots wrap around"


@pytest.mark.parametrize(("size", "is_table"), [(4 * 64, True), (4 * 63, False), (4 * 96, False), (4 * 8192, True),
                                                (4 * 16384, False), (4 * 64 + 1, False), (4 * 128, True)])  # fmt: skip
def test_a_table_is_a_power_of_two_slots_between_the_smallest_and_the_largest(size: int, is_table: bool) -> None:
    if is_table:
        assert Numbers.of(bytes(size), 0, is_folded=True).size == size
    else:
        with pytest.raises(ValueError, match=f"a table of {size} bytes"):
            Numbers.of(bytes(size), 0, is_folded=True)


def test_a_set_of_any_allowed_size_is_restored() -> None:
    numbers = Numbers()
    numbers.add(range(1, MOST_SPREAD + 1))
    content, held, is_folded = numbers.kept()
    assert (held, is_folded, len(content)) == (MOST_SPREAD, False, 4 * MOST_SPREAD)
    again = Numbers.of(content, held, is_folded)
    assert again.kept() == numbers.kept() and again.add([1, MOST_SPREAD]) == 0
    assert numbers.add([MOST_SPREAD + 1]) == 1 and numbers.kept()[2], "one more makes it a table"
    with pytest.raises(ValueError, match="numbers in 6 bytes"):
        Numbers.of(bytes(6), 0, False)
