"""Facts that came and went, whatever their things without names are called."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse

from gossamer.archive import versions
from gossamer.archive.versions import MOST_GUESSES, fact_changes, paired, triples_of

P = "<http://schema.org/{}>"


def facts(*lines: str) -> bytes:
    return "".join([f"{line} .\n" for line in lines]).encode()


def said(subject: str, name: str, thing: str) -> str:
    return f"{subject} {P.format(name)} {thing}"


def same(one: bytes, other: bytes) -> bool:
    """By the canonical form of another's making."""
    both = [Dataset(parse(each, RdfFormat.N_TRIPLES)) for each in (one, other)]
    for dataset in both:
        dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return both[0] == both[1]


def product(price: str, a: str = "_:a", b: str = "_:b", c: str = "_:c") -> bytes:
    return facts(
        said(a, "name", '"Kettle"'),
        said(a, "offers", b),
        said(b, "price", f'"{price}"'),
        said(b, "currency", '"EUR"'),
        said(b, "seller", c),
        said(c, "name", '"Pots"'),
    )


def test_other_labels_and_another_order_are_no_change() -> None:
    shuffled = b"\n".join(reversed(product("20", "_:x", "_:y", "_:z").splitlines())) + b"\n"
    found = fact_changes(product("20"), shuffled)
    assert (found.added, found.removed, found.kept) == ([], [], 6)


def test_only_the_price_of_a_thing_without_a_name_is_told() -> None:
    found = fact_changes(product("20"), product("18", "_:c", "_:a", "_:b"))
    price = P.format("price")
    assert found.removed == [f'_:b1 {price} "20" .'] and found.added == [f'_:b1 {price} "18" .'] and found.kept == 5


def test_a_thing_of_which_all_was_changed_is_told_by_what_points_to_it() -> None:
    price = P.format("price")
    for owner in ("<http://a.test/>", "_:owner"):
        before, after = [
            facts(said(owner, "offers", "_:a"), said("_:a", "price", f'"{amount}"')) for amount in (20, 18)
        ]
        found = fact_changes(before, after)
        assert [line.partition(" ")[2] for line in found.removed] == [f'{price} "20" .'], owner
        assert [line.partition(" ")[2] for line in found.added] == [f'{price} "18" .'], owner
        assert found.kept == 1, owner
    before = facts(said("_:p", "name", '"Pot"'), said("_:p", "offers", "_:o"), said("_:o", "price", '"20"'))
    after = facts(said("_:x", "name", '"Kettle"'), said("_:x", "offers", "_:y"), said("_:y", "price", '"18"'))
    found = fact_changes(before, after)
    assert (len(found.removed), len(found.added), found.kept) == (2, 2, 1)


def test_things_that_look_the_same_are_told_apart_by_their_neighbours() -> None:
    ring = [said(f"_:r{one}", "next", f"_:r{(one + 1) % 5}") for one in range(5)]
    turned = [said(f"_:s{(3 * one) % 5}", "next", f"_:s{(3 * (one + 1)) % 5}") for one in (4, 2, 0, 1, 3)]
    found = fact_changes(facts(*ring), facts(*turned))
    assert not found.added and not found.removed


def test_one_more_of_many_that_are_the_same_is_one_that_came() -> None:
    before = [said(f"_:x{one}", "name", '"same"') for one in range(40)]
    found = fact_changes(facts(*before), facts(*before, said("_:new", "name", '"same"')))
    assert len(found.added) == 1 and not found.removed and found.kept == 40


def test_literals_with_spaces_and_full_stops_stay_whole() -> None:
    one, other = said("<http://a.test/>", "text", '"a . b _:c ."'), said("<http://a.test/>", "text", '"a . b"@en')
    found = fact_changes(facts(one), facts(one, other))
    assert found.added == [f"{other} ."] and found.kept == 1


TERMS = some.sampled_from(["_:a", "_:b", "_:c", "_:d", "<http://x.test/1>", "<http://x.test/2>"])
VALUES = TERMS | some.sampled_from(['"one"', '"two . words"'])
GRAPHS = some.lists(some.builds(said, TERMS, some.sampled_from(["p", "q"]), VALUES), max_size=10, unique=True)


@settings(max_examples=150, deadline=None)
@given(GRAPHS, GRAPHS)
def test_what_went_and_what_came_lead_from_the_old_facts_to_the_new(old: list[str], new: list[str]) -> None:
    found = fact_changes(facts(*old), facts(*new))
    back = fact_changes(facts(*old), b"")  # the names that things of the old facts have in what is told
    then = dict.fromkeys([*back.removed])
    assert set(found.removed) <= set(then)
    led = [line for line in then if line not in found.removed] + found.added
    assert same("".join([f"{line}\n" for line in led]).encode(), facts(*new))
    assert found.kept == len(old) - len(found.removed) == len(new) - len(found.added)


@settings(max_examples=100, deadline=None)
@given(GRAPHS, some.permutations(["_:w", "_:x", "_:y", "_:z"]), some.randoms())
def test_the_same_facts_with_other_labels_never_differ(graph: list[str], labels: list[str], chance: object) -> None:
    renamed = [
        " ".join(
            dict(zip(("_:a", "_:b", "_:c", "_:d"), labels, strict=True)).get(term, term) for term in line.split(" ")
        )
        for line in graph
    ]
    chance.shuffle(renamed)  # type: ignore[attr-defined]
    found = fact_changes(facts(*graph), facts(*renamed))
    assert not found.added and not found.removed


def test_things_that_all_look_the_same_are_told_apart_in_a_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    by_look = versions._by_look

    def counted(*given: Any) -> Any:
        nonlocal looks
        looks += 1
        return by_look(*given)

    monkeypatch.setattr(versions, "_by_look", counted)
    triples = [(f"_:x{number}", "<p>", '"same"') for number in range(200)]
    assert paired(triples, triples) == {f"_:x{number}": f"_:x{number}" for number in range(200)}
    assert looks <= 4 * (MOST_GUESSES + 3)


def test_lines_that_are_no_facts_are_passed_over() -> None:
    found = triples_of(b'<a> <b> "c d ." .\n\nbroken\n<a> <b> <c> .')
    assert found == [("<a>", "<b>", '"c d ."'), ("<a>", "<b>", "<c>")]


def test_facts_that_are_the_same_are_counted_and_new_things_have_names_of_their_own() -> None:
    before = b'<a> <p> "1" .\n<a> <q> _:x .\n_:x <r> "2" .\n<a> <p> "1" .\n'
    after = b'<a> <p> "1" .\n<a> <q> _:y .\n_:y <r> "3" .\n<b> <q> _:z .\n_:z <r> "9" .\n'
    found = fact_changes(before, after)
    assert sorted(found.added) == ["<b> <q> _:b1 .", '_:b0 <r> "3" .', '_:b1 <r> "9" .']
    assert found.removed == ['_:b0 <r> "2" .'] and found.kept == 2
