"""The limits at which domains count as endless and parameters as void."""

import pytest

from gossamer.rules.learned.aliases import TRIED, VoidParameters, WildcardDomains
from gossamer.rules.learned.signs import MOST_IN_A_PART, batches
from gossamer.values.messages import Marks
from gossamer.values.outcome import ALLOWED, Denied
from gossamer.values.url import Url


def page(*words: int) -> Marks:
    return Marks(99, words, tuple(word + 1000 for word in words))


def barren(farms: WildcardDomains, count: int) -> None:
    for host in range(count):
        farms.learn(Url(f"http://h{host}.farm.org/"), page(1, 2, 3))


def test_hosts_under_a_domain_are_refused_after_sixty_four_with_nothing_new() -> None:
    farms = WildcardDomains()
    barren(farms, 64)
    assert farms.judge(Url("http://x.farm.org/")) == ALLOWED, "the first host was new"
    farms.learn(Url("http://h64.farm.org/"), page(1, 2, 3))
    assert farms.judge(Url("http://x.farm.org/")) == Denied(
        "hosts under farm.org are endless: 1 of 65 brought anything new"
    )
    for allowed in ("http://farm.org/", "http://h0.farm.org/", "http://other.org/"):
        assert farms.judge(Url(allowed)) == ALLOWED, allowed
    farms.learn(Url("http://seed.farm.org/"), page(1, 2, 3), is_seed=True)
    assert farms.judge(Url("http://seed.farm.org/")) == ALLOWED
    again = WildcardDomains()
    for part in farms.kept():
        again.recall(part)
    assert list(again.kept()) == list(farms.kept())
    assert [again.judge(Url(f"http://{name}.farm.org/")) == ALLOWED for name in ("x", "seed", "h0")] == [
        False, True, True,
    ]  # fmt: skip


def test_only_the_first_page_of_a_host_counts_for_its_domain() -> None:
    farms = WildcardDomains()
    for _ in range(100):
        farms.learn(Url("http://one.farm.org/"), page(1, 2, 3))
        farms.learn(Url("http://two.farm.org/"), page(1, 2, 3))
    ((_, _, hosts, good, run),) = next(farms.kept()).rows
    assert (hosts, good, run.fetched, run.new) == (("one.farm.org", "two.farm.org"), ("one.farm.org",), 2, 1)


def test_parts_are_cut_to_size() -> None:
    rows = list(range(2 * MOST_IN_A_PART + 1))
    assert [len(batch) for batch in batches(rows)] == [MOST_IN_A_PART, MOST_IN_A_PART, 1]
    assert [list(batch) for batch in batches(range(4), 2)] == [[0, 1], [2, 3]] and list(batches([])) == []


def test_one_url_in_sixty_four_is_tried_although_its_parameter_is_void() -> None:
    voids = VoidParameters()
    for value in range(7):
        voids.learn(Url(f"http://h.org/a?zed={value:016x}"), Marks(99, (), (1, 2, 3, 4)))
    fresh = [Url(f"http://h.org/a?zed={value:016x}") for value in range(100, 1000)]
    tried = [url for url in fresh if voids.copy_of(url) is None]
    assert tried and tried == [url for url in fresh if url.id % TRIED == 0]
    reason = next(found for url in fresh if (found := voids.copy_of(url)))
    assert reason == "a copy: the parameter 'zed' has no effect on this host, and /a was fetched with another value"


@pytest.mark.parametrize(("equal", "agrees", "differs"), [(4, True, False), (3, True, False), (2, False, False),
                                                          (1, False, True), (0, False, True)])  # fmt: skip
def test_texts_that_share_three_of_four_marks_are_the_same(equal: int, agrees: bool, differs: bool) -> None:
    voids = VoidParameters()
    voids.learn(Url("http://h.org/a?zed=one"), Marks(99, (), (1, 2, 3, 4)))
    voids.learn(Url("http://h.org/a?zed=two"), Marks(99, (), tuple(range(1, equal + 1)) + (9, 9, 9, 9)[equal:]))
    (_, evidence) = voids.kept()
    assert [row[1] for row in evidence.rows] == [(int(agrees), int(differs))]
    voids.learn(Url("http://h.org/a?zed=one"), Marks(99, (), (7, 7, 7, 7)))
    assert [row[1] for row in list(voids.kept())[1].rows] == [(int(agrees), int(differs))], (
        "the same value proves nothing"
    )
