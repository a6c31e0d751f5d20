"""Added and removed facts, independent of blank node labels."""

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


def triple(subject: str, name: str, value: str) -> str:
    return f"{subject} {P.format(name)} {value}"


def same(one: bytes, other: bytes) -> bool:
    """Compares the canonical forms that another library makes."""
    both = [Dataset(parse(each, RdfFormat.N_TRIPLES)) for each in (one, other)]
    for dataset in both:
        dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return both[0] == both[1]


def product(price: str, a: str = "_:a", b: str = "_:b", c: str = "_:c") -> bytes:
    return facts(
        triple(a, "name", '"Kettle"'),
        triple(a, "offers", b),
        triple(b, "price", f'"{price}"'),
        triple(b, "currency", '"EUR"'),
        triple(b, "seller", c),
        triple(c, "name", '"Pots"'),
    )


def test_other_labels_and_another_order_are_no_change() -> None:
    shuffled = b"\n".join(reversed(product("20", "_:x", "_:y", "_:z").splitlines())) + b"\n"
    found = fact_changes(product("20"), shuffled)
    assert (found.added, found.removed, found.kept) == ([], [], 6)


def test_only_the_price_of_a_blank_node_is_reported() -> None:
    found = fact_changes(product("20"), product("18", "_:c", "_:a", "_:b"))
    price = P.format("price")
    assert found.removed == [f'_:b1 {price} "20" .'] and found.added == [f'_:b1 {price} "18" .'] and found.kept == 5


def test_a_blank_node_with_all_facts_changed_is_identified_by_the_facts_that_point_to_it() -> None:
    price = P.format("price")
    for owner in ("<http://a.test/>", "_:owner"):
        before, after = [
            facts(triple(owner, "offers", "_:a"), triple("_:a", "price", f'"{amount}"')) for amount in (20, 18)
        ]
        found = fact_changes(before, after)
        assert [line.partition(" ")[2] for line in found.removed] == [f'{price} "20" .'], owner
        assert [line.partition(" ")[2] for line in found.added] == [f'{price} "18" .'], owner
        assert found.kept == 1, owner
    before = facts(triple("_:p", "name", '"Pot"'), triple("_:p", "offers", "_:o"), triple("_:o", "price", '"20"'))
    after = facts(triple("_:x", "name", '"Kettle"'), triple("_:x", "offers", "_:y"), triple("_:y", "price", '"18"'))
    found = fact_changes(before, after)
    assert (len(found.removed), len(found.added), found.kept) == (2, 2, 1)


def test_blank_nodes_that_look_the_same_are_distinguished_by_their_neighbours() -> None:
    ring = [triple(f"_:r{one}", "next", f"_:r{(one + 1) % 5}") for one in range(5)]
    turned = [triple(f"_:s{(3 * one) % 5}", "next", f"_:s{(3 * (one + 1)) % 5}") for one in (4, 2, 0, 1, 3)]
    found = fact_changes(facts(*ring), facts(*turned))
    assert not found.added and not found.removed


def test_one_more_of_many_equal_entities_is_one_added_fact() -> None:
    before = [triple(f"_:x{one}", "name", '"same"') for one in range(40)]
    found = fact_changes(facts(*before), facts(*before, triple("_:new", "name", '"same"')))
    assert len(found.added) == 1 and not found.removed and found.kept == 40


def test_literals_with_spaces_and_full_stops_stay_whole() -> None:
    one, other = triple("<http://a.test/>", "text", '"a . b _:c ."'), triple("<http://a.test/>", "text", '"a . b"@en')
    found = fact_changes(facts(one), facts(one, other))
    assert found.added == [f"{other} ."] and found.kept == 1


TERMS = some.sampled_from(["_:a", "_:b", "_:c", "_:d", "<http://x.test/1>", "<http://x.test/2>"])
VALUES = TERMS | some.sampled_from(['"one"', '"two . words"'])
GRAPHS = some.lists(some.builds(triple, TERMS, some.sampled_from(["p", "q"]), VALUES), max_size=10, unique=True)


@settings(max_examples=150, deadline=None)
@given(GRAPHS, GRAPHS)
def test_the_removed_and_added_facts_turn_the_old_facts_into_the_new(old: list[str], new: list[str]) -> None:
    found = fact_changes(facts(*old), facts(*new))
    back = fact_changes(facts(*old), b"")  # the labels of the old facts' blank nodes in a report
    then = dict.fromkeys([*back.removed])
    assert set(found.removed) <= set(then)
    result = [line for line in then if line not in found.removed] + found.added
    assert same("".join([f"{line}\n" for line in result]).encode(), facts(*new))
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


def test_entities_that_all_look_the_same_are_paired_in_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    original = versions._by_look

    def counted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(*given)

    monkeypatch.setattr(versions, "_by_look", counted)
    triples = [(f"_:x{number}", "<p>", '"same"') for number in range(200)]
    assert paired(triples, triples) == {f"_:x{number}": f"_:x{number}" for number in range(200)}
    assert calls <= 4 * (MOST_GUESSES + 3)


def test_lines_that_are_no_facts_are_skipped() -> None:
    found = triples_of(b'<a> <b> "c d ." .\n\nbroken\n<a> <b> <c> .')
    assert found == [("<a>", "<b>", '"c d ."'), ("<a>", "<b>", "<c>")]


def test_equal_facts_are_counted_and_new_blank_nodes_get_their_own_labels() -> None:
    before = b'<a> <p> "1" .\n<a> <q> _:x .\n_:x <r> "2" .\n<a> <p> "1" .\n'
    after = b'<a> <p> "1" .\n<a> <q> _:y .\n_:y <r> "3" .\n<b> <q> _:z .\n_:z <r> "9" .\n'
    found = fact_changes(before, after)
    assert sorted(found.added) == ["<b> <q> _:b1 .", '_:b0 <r> "3" .', '_:b1 <r> "9" .']
    assert found.removed == ['_:b0 <r> "2" .'] and found.kept == 2
