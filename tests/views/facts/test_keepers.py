"""What every keeper of facts promises, in the embedded store and on a SPARQL server."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.views.facts.forms import FORMS, Keeper, keeper
from tests.views.facts.pages import START, entity_page, page, url

from gossamer.base.clock import SECOND
from gossamer.values.messages import PageFacts

A, B = "http://a.test/x", "http://b.test/"
Events = list[dict[str, object]]


@pytest.fixture(params=FORMS)
def facts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Keeper]:
    with keeper(request.param, tmp_path) as found:
        yield found


@pytest.fixture(params=FORMS)
def telling(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Keeper, Events]]:
    """A keeper, and the pages that it has skipped."""
    skipped: Events = []

    def tell(event: str, /, **facts: object) -> None:
        if event == "graph.page-skipped":
            skipped.append(facts)

    with keeper(request.param, tmp_path, tell) as found:
        yield found, skipped


def lines(one: PageFacts) -> list[str]:
    return sorted(f"{line.removesuffix(' .')} <{one.url.text}> ." for line in one.facts.decode().splitlines())


def test_a_page_has_only_the_facts_of_its_newest_capture(facts: Keeper) -> None:
    first = page(A, '<http://s> <http://p> "1"', '<http://s> <http://p> "2"', "_:n <http://p> <http://s>")
    other = page(B, "<http://s> <http://p> _:n")
    facts.replace(first, other)
    assert facts.facts() == sorted(lines(first) + lines(other))
    again = page(A, '<http://s> <http://p> "2"', "_:n <http://p> _:m", at=START + SECOND)
    facts.replace(again)
    assert facts.facts(url(A)) == lines(again), "with the labels of the capture"
    assert facts.facts(url(B)) == lines(other)
    assert facts.fetched_at(url(A)) == START + SECOND
    facts.replace(page(A, at=START + 2 * SECOND))
    assert facts.facts(url(A)) == [] and facts.fetched_at(url(A)) == START + 2 * SECOND


@pytest.mark.parametrize("microseconds", [0, 1, 999_999])
def test_an_older_capture_never_replaces_a_newer_one(facts: Keeper, microseconds: int) -> None:
    old = page(A, '<http://s> <http://p> "old"', at=START + microseconds)
    new = page(A, '<http://s> <http://p> "new"', at=START + microseconds + 1)
    facts.replace(old)
    facts.replace(new, old)
    facts.replace(old)
    assert facts.facts() == lines(new) and facts.fetched_at(url(A)) == START + microseconds + 1


def test_a_removed_page_leaves_nothing(facts: Keeper) -> None:
    facts.replace(entity_page(1), entity_page(2))
    facts.remove(entity_page(1).url)
    facts.remove(url("http://host1.test/never"))
    assert facts.fetched_at(entity_page(1).url) is None
    assert facts.facts() == lines(entity_page(2))


def test_replays_in_any_order_give_the_newest_capture_of_each_page(facts: Keeper) -> None:
    captures = [entity_page(number, 3 + version, START + version) for number in range(3) for version in range(4)]
    newest = sorted(line for number in range(3) for line in lines(entity_page(number, 6, START + 3)))

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.randoms(use_true_random=False), st.integers(1, 8))
    def replay(chance: random.Random, at_once: int) -> None:
        for number in range(3):
            facts.remove(entity_page(number).url)
        sent = [*captures, *captures]
        chance.shuffle(sent)
        for start in range(0, len(sent), at_once):
            facts.replace(*sent[start : start + at_once])
        assert facts.facts() == newest

    replay()


HOSTILE = [
    r'<http://s> <http://p> "} } ; DROP ALL ; INSERT DATA { <a> <b> \"" .',
    r'<http://s> <http://p> "\\u0022 } ; CLEAR ALL #" .',
    r'<http://s> <http://p> "\\\\u0022 } ; CLEAR ALL #" .',
    r'<http://s> <http://p> "\\\\\\U00000022 } ; CLEAR ALL #"@en .',
    r'<http://s> <http://p> "\u0001\u0008\t\n\r\u000C\u007F\u2028\U0001F30D" .',
    r'<http://s> <http://p> "ends in a backslash\\" .',
    r"<http://s> <http://p> <urn:gossamer:blank:forged> .",
    r"<urn:gossamer:quoted:urn:gossamer:blank:x> <urn:gossamer:blank:p> <urn:gossamer:writers> .",
    r'<http://s/%22%7D;DROP%20ALL> <http://p> "x"^^<http://p/}> .'.replace("}", "%7D"),
    r'<http://s> <http://p> "?x $y GRAPH ?g { } <http://x> # comment" .',
    r"<http://s> <http://p> <http://a.test/x> .",
    r'<http://s> <http://www.w3.org/ns/prov#generatedAtTime> "2999-01-01T00:00:00Z"^^'
    "<http://www.w3.org/2001/XMLSchema#dateTime> .",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_F_G7_hostile_terms_are_stored_as_they_are(facts: Keeper, hostile: str) -> None:
    facts.replace(entity_page(1), PageFacts(url(A), f"{hostile}\n".encode(), 7, START))
    found = facts.facts(url(A))
    expected = Keeper.canonical_of(f"{hostile[:-1]}<{A}> .")
    assert Keeper.canonical_of("\n".join(found)) == expected
    assert facts.facts(entity_page(1).url) == lines(entity_page(1))
    facts.replace(page(A, '<http://s> <http://p> "new"', at=START + 1))
    assert len(facts.facts(url(A))) == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"no facts at all\n",
        b'<http://s> <http://p> "o" <http://host1.test/page/1> .\n',
        b'<http://a b> <http://p> "o" .\n',
        b'<http://a> <http://p> "o" . } ; DROP ALL ; #\n',
        b'<http://s> <http://p> "o" .\n<http://s> <http://p>',
        b'<http://s> <http://p> "\xff" .\n',
    ],
)
def test_F_G7_a_page_with_unreadable_facts_is_skipped_and_reported(telling: tuple[Keeper, Events], bad: bytes) -> None:
    facts, skipped = telling
    facts.replace(entity_page(1), PageFacts(url(A), bad, 7, START), entity_page(2))
    assert facts.facts() == sorted(lines(entity_page(1)) + lines(entity_page(2)))
    assert [one["url"] for one in skipped] == [A]


def test_numbers_and_dates_are_spelled_alike_in_both_forms(tmp_path: Path) -> None:
    kinds = {
        "integer": "+007", "decimal": "01.50", "double": "1.0E1", "boolean": "1", "date": "2001-02-03", "float": "1e0",
        "dateTime": "2001-02-03T04:05:06.700Z", "gYear": "2001", "time": "04:05:06", "duration": "P1Y", "byte": "012",
        "anyURI": "http://x", "string": "s", "nonNegativeInteger": "0012",
    }  # fmt: skip
    about = [f'<http://s> <http://p> "{it}"^^<http://www.w3.org/2001/XMLSchema#{kind}>' for kind, it in kinds.items()]
    about += ['<http://s> <http://p> "x"@EN-gb', '<http://s> <http://p> "x"@zh-hant-tw', "_:a <http://p> _:b"]
    one = page(A, *about)
    seen = []
    for form in FORMS:
        with keeper(form, tmp_path / form) as facts:
            facts.replace(one, entity_page(1))
            seen.append(facts.canonical())
    assert seen[0] == seen[1] and len(seen[0]) >= len(about) + 19
