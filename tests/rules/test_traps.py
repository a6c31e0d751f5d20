"""Traps recognised by the shape of a URL, and by how much new a series of pages had."""

import random

import pytest

from gossamer.rules.learned.traps import (
    LONGEST,
    MOST_OF_ONE,
    MOST_PARAMETERS,
    MOST_SEGMENTS,
    TemplateRun,
    after,
    is_barren,
    is_trap,
    judge_shape,
    repeated_in,
)
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import Url


def judge(target: str) -> Allowed | Denied:
    return judge_shape(Url(f"http://example.org{target}"))


@pytest.mark.parametrize(
    "target",
    [
        "/a/a/a/",
        "/a/b/a/b/a/b",
        "/x/a/b/c/a/b/c/a/b/c/y",
        "/news/list/news/item/news/list/news/",
        "/" + "/".join(f"s{n}" for n in range(MOST_SEGMENTS + 1)),
        "/x?" + "&".join(f"p{n}=1" for n in range(17)),
        "/x?page=1&page=2&page=3&page=4",
        "/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252F",
        "/" + "x" * 2100,
    ],
)
def test_F_U7_urls_shaped_like_traps_are_refused_with_the_rule_in_words(target: str) -> None:
    verdict = judge(target)
    assert isinstance(verdict, Denied) and verdict.rule


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/a/a/",
        "/a/b/a/b/",
        "/2012/12/12/12/",
        "/tiles/0/0/0.png",
        "/de/de/produkte/de/",
        "/x?colour[]=red&colour[]=blue&colour[]=green&colour[]=grey",
        "/x?a=1&a=2&a=3",
        "/" + "/".join(f"s{n}" for n in range(MOST_SEGMENTS)),
        "/search?q=100%25",
    ],
)
def test_urls_shaped_like_real_pages_are_accepted(target: str) -> None:
    assert judge(target) == Allowed()


def test_a_path_that_grows_by_its_own_links_is_refused_at_the_third_repeat() -> None:
    target, grown = "/hall/", 0
    while isinstance(judge(target), Allowed):
        target, grown = target + "hall/", grown + 1
    assert grown == 2


def through(pages: list[bool]) -> TemplateRun:
    run = TemplateRun()
    for is_new in pages:
        run = after(run, is_new)
        if is_trap(run):
            break
    return run


def test_sixty_four_pages_in_a_row_without_anything_new_are_a_trap() -> None:
    run = through([False] * 1000)
    assert run.fetched == 64 and is_trap(run)


def test_a_good_series_that_turns_barren_is_cut_soon_after() -> None:
    assert through([True] * 5000 + [False] * 1000).fetched == 5064


@pytest.mark.parametrize("seed", range(20))
def test_a_catalogue_in_which_one_page_in_four_is_new_is_never_cut(seed: int) -> None:
    chance = random.Random(seed)
    assert not is_trap(through([chance.random() < 0.25 for _ in range(20_000)]))


@pytest.mark.parametrize("seed", range(20))
def test_a_series_in_which_one_page_in_thirty_is_new_is_cut(seed: int) -> None:
    chance = random.Random(seed)
    assert through([chance.random() < 1 / 30 for _ in range(5_000)]).fetched < 500


def test_list_pages_reduce_their_debt_but_do_not_make_a_template_productive() -> None:
    run = TemplateRun(new=9)
    for _ in range(100):
        run = after(run, is_new=False, is_list=True)
    assert run.debt == 0 and not run.is_productive


def test_totals_alone_identify_a_barren_template_after_a_restart() -> None:
    assert is_barren(70, 3) and not is_barren(70, 9) and not is_barren(20, 0)


def test_a_repeated_name_and_number_is_a_repeat() -> None:
    assert isinstance(judge("/" + "page/7/" * 3), Denied)
    assert isinstance(judge("/7/7/7/"), Allowed), "numbers alone may be a date or a version"


@pytest.mark.parametrize(
    ("segments", "found"),
    [
        (["a", "a", "a"], ["a"]),
        (["x", "a", "b", "a", "b", "a", "b"], ["a", "b"]),
        (["a", "x", "a", "x", "a"], None),
        (["a", "x", "a", "y", "a", "z", "a"], ["a"]),
        (["a", "x", "a", "y", "a", "z"], None),
        (["1", "x", "1", "y", "1", "z", "1"], None),
        ([], None),
    ],
)
def test_three_in_a_row_or_four_anywhere_is_a_repeat(segments: list[str], found: list[str] | None) -> None:
    assert repeated_in(segments) == found


def test_a_parameter_may_occur_three_times_and_a_list_parameter_sixteen_times() -> None:
    assert isinstance(judge("/x?" + "&".join(["p=1"] * MOST_OF_ONE)), Allowed)
    assert isinstance(judge("/x?" + "&".join(["p=1"] * (MOST_OF_ONE + 1))), Denied)
    assert isinstance(judge("/x?" + "&".join(["p[]=1"] * MOST_PARAMETERS)), Allowed)
    assert isinstance(judge("/x?" + "&".join(["p=1"] * (MOST_PARAMETERS + 1))), Denied)


def test_a_url_may_have_two_thousand_characters_and_thirty_two_segments() -> None:
    for target in ("/", "/?", "/a/b/?"):
        rest = LONGEST - len(f"http://example.org{target}")
        assert judge(target + "x" * rest) == Allowed()
        assert judge(target + "x" * (rest + 1)) == Denied("a URL of 2001 characters; the limit is 2000")
    deep = "".join(f"/s{number}" for number in range(MOST_SEGMENTS))
    assert judge(deep) == Allowed()
    assert judge(f"{deep}/x") == Denied("a path of 33 segments; the limit is 32")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("/a/%2525", ""),
        ("/a/b/%2525", "a URL nested twice in a URL"),
        ("/?a=%2525", "a URL nested twice in a URL"),
        ("/a/b/c/%2525/", "a URL nested twice in a URL"),
        ("/x/a/a/a", "/a occurs 3 times in the path"),
        ("/a/b/a/b/a/b/", "/a/b occurs 3 times in the path"),
        ("/a/a/b/a/c/d/a?x", "/a occurs 3 times in the path"),
        ("/?" + "&".join(f"p{n}=1" for n in range(17)), "17 parameters; the limit is 16"),
        ("/?p=1&p=2&q=1&p=3&p", "the parameter 'p' 4 times; the limit is 3"),
        ("/?a/a/a/a", ""),
        ("/?a=1&b=2&b=3&b=4", ""),
        ("/?" + "&".join(f"p{n}=1" for n in range(16)), ""),
        ("/?" + "&".join(["p[]=1"] * 4), ""),
        ("/?" + "&".join(["p%5B%5D=1"] * 4), ""),
        ("/a/b/a/b/a", ""),
        ("/a/a//a/", ""),
        ("//////", ""),
        ("/a/1/a/1/a/2", ""),
    ],
)
def test_the_refused_shape_is_named(target: str, words: str) -> None:
    assert judge(target) == (Denied(words) if words else Allowed())


def test_a_debt_grows_by_one_with_each_barren_page_and_shrinks_by_nine_with_each_fruitful_one() -> None:
    run = TemplateRun()
    for is_new, is_list, expected in [
        (False, False, TemplateRun(1, 0, 1, 1)),
        (False, True, TemplateRun(2, 0, 0, 2)),
        (True, False, TemplateRun(3, 1, 0, 0)),
        *[(False, False, TemplateRun(3 + n, 1, n, n)) for n in range(1, 11)],
        (True, True, TemplateRun(14, 2, 1, 1)),
        (False, True, TemplateRun(15, 2, 0, 2)),
    ]:
        run = after(run, is_new, is_list)
        assert run == expected


def test_productive_barren_and_trap_are_exact_at_their_limits() -> None:
    assert [TemplateRun(99, new, 0, debt).is_productive for new, debt in ((3, 15), (2, 15), (3, 16))] == [
        True,
        False,
        False,
    ]
    assert [is_trap(TemplateRun(99, 0, debt)) for debt in (63, 64, 65)] == [False, True, True]
    assert [is_barren(*totals) for totals in ((64, 6), (63, 0), (64, 7), (70, 7), (71, 7))] == [
        True, False, False, False, True,
    ]  # fmt: skip
