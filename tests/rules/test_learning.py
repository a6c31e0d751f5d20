"""Void parameters, endless domains and mirrors: what pages teach about URLs that were not fetched yet."""

import random

import pytest

from gossamer.parse.content import exact, near
from gossamer.rules.learned.aliases import (
    AGREED,
    ENOUGH,
    FIRST,
    MOST_PARTS,
    TRIED,
    Evidence,
    Mirror,
    Mirrors,
    UrlPart,
    VoidParameters,
    WildcardDomains,
    _Host,
    _original,
    parts_of,
)
from gossamer.rules.learned.signs import SAMPLES, marks_of
from gossamer.values.messages import Marks
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.robots import RobotsRule
from gossamer.values.url import Url


def text(number: int, words: int = 120) -> str:
    chance = random.Random(number)
    return " ".join("".join(chance.choices("aeioulmnrst", k=6)) for _ in range(words))


def marks(content: str) -> Marks:
    return marks_of(content, near(content))


def code(number: int) -> str:
    return f"{random.Random(number).getrandbits(64):016x}"


def test_a_parameter_that_changes_nothing_is_void_and_later_urls_are_copies() -> None:
    voids = VoidParameters()
    for number in range(AGREED + 1):
        voids.learn(Url(f"http://h.org/about?zed={code(number)}"), marks(text(1)))
    voids.learn(Url(f"http://h.org/notes?zed={code(50)}"), marks(text(2)))
    fresh = [Url(f"http://h.org/notes?zed={code(number)}") for number in range(100, 400)]
    copies = [url for url in fresh if voids.copy_of(url)]
    assert len(fresh) * (1 - 3 / TRIED) < len(copies) < len(fresh)  # one in sixty-four is tried nevertheless
    assert "'zed' has no effect" in (voids.copy_of(copies[0]) or "")
    assert voids.copy_of(Url(f"http://h.org/other?zed={code(7)}")) is None
    assert voids.copy_of(Url(f"http://elsewhere.org/about?zed={code(7)}")) is None


def test_a_parameter_that_chooses_pages_is_never_void() -> None:
    voids = VoidParameters()
    for number in range(200):
        voids.learn(Url(f"http://h.org/thread?t={number}"), marks(text(number if number % 3 else 0)))
    assert voids.copy_of(Url("http://h.org/thread?t=1001")) is None


def test_a_void_parameter_that_starts_to_select_content_is_no_longer_void() -> None:
    voids = VoidParameters()
    for number in range(AGREED + 1):
        voids.learn(Url(f"http://h.org/about?zed={code(number)}"), marks(text(1)))
    for number in range(10, 13):
        voids.learn(Url(f"http://h.org/about?zed={code(number)}"), marks(text(number)))
    assert all(voids.copy_of(Url(f"http://h.org/about?zed={code(number)}")) is None for number in range(99))


def test_void_codes_in_paths_and_pairs_of_void_parameters_are_recognised() -> None:
    for shape in ("http://h.org/s/{}/about", "http://h.org/about?a={0}&b={1}"):
        voids = VoidParameters()
        for number in range(AGREED + 1):
            voids.learn(Url(shape.format(code(number), code(-number - 1))), marks(text(1)))
        known = [voids.copy_of(Url(shape.format(code(n), code(-n)))) for n in range(500, 520)]
        assert sum(found is not None for found in known) > 15


def test_the_parts_of_a_url_are_its_parameters_its_codes_and_all_codes_together() -> None:
    one, two, three = code(1), code(2), code(3)
    assert list(parts_of(Url(f"http://h.org/s/{one}/about?a={two}&page=5&b={three}"))) == [
        UrlPart("the parameter 'a'", two, f"/s/{one}/about?page=5&b={three}"),
        UrlPart("the parameter 'page'", "5", f"/s/{one}/about?a={two}&b={three}"),
        UrlPart("the parameter 'b'", three, f"/s/{one}/about?a={two}&page=5"),
        UrlPart("part 2 of the path", one, f"/s/about?a={two}&page=5&b={three}"),
        UrlPart("the parameters 'a' and 'b' together", f"['a={two}', 'b={three}']", f"/s/{one}/about?page=5"),
    ]
    assert list(parts_of(Url("http://h.org/a?x=1"))) == [UrlPart("the parameter 'x'", "1", "/a")]
    assert list(parts_of(Url("http://h.org/2f3/a"))) == [], "a code of fewer than six characters may be a word"
    assert list(parts_of(Url("http://h.org/2f3a9b/a"))) == [UrlPart("part 1 of the path", "2f3a9b", "/a")]


def test_a_url_of_too_many_parts_is_not_split() -> None:
    eight = "&".join(f"p{number}=1" for number in range(MOST_PARTS))
    assert len(list(parts_of(Url(f"http://h.org/?{eight}")))) == MOST_PARTS
    assert not list(parts_of(Url(f"http://h.org/?{eight}&q=1")))
    deep = "/x" * (2 * MOST_PARTS - 1)
    assert len(list(parts_of(Url(f"http://h.org{deep}?q=1")))) == 1
    assert not list(parts_of(Url(f"http://h.org{deep}/x?q=1")))


def test_void_parameters_are_remembered_after_a_restart() -> None:
    before, after = VoidParameters(), VoidParameters()
    for number in range(AGREED + 1):
        before.learn(Url(f"http://h.org/about?zed={code(number)}"), marks(text(1)))
    for part in before.kept():
        after.recall(part)
    fresh = [Url(f"http://h.org/about?zed={code(number)}") for number in range(100, 140)]
    assert [after.copy_of(url) for url in fresh] == [before.copy_of(url) for url in fresh]
    assert any(after.copy_of(url) for url in fresh)
    assert list(after.kept()) == list(before.kept())


def test_a_parameter_is_void_after_six_equal_pages_and_one_in_ten_may_differ() -> None:
    def is_void(agreeing: int, differing: int) -> bool:
        voids = VoidParameters()
        for number in range(agreeing + 1):
            voids.learn(Url(f"http://h.org/about?zed={code(number)}"), marks(text(1)))
        for number in range(differing):
            voids.learn(Url(f"http://h.org/about?zed={code(-1 - number)}"), marks(text(2 + number)))
        return any(voids.copy_of(Url(f"http://h.org/about?zed={code(number)}")) for number in range(100, 110))

    assert not is_void(AGREED - 1, 0) and is_void(AGREED, 0)
    assert not is_void(AGREED, 1) and not is_void(9, 1) and is_void(10, 1)


def test_a_page_without_text_teaches_nothing_about_parameters() -> None:
    voids = VoidParameters()
    for number in range(50):
        voids.learn(Url(f"http://h.org/about?zed={code(number)}"), Marks())
    assert not list(voids.kept())


def test_F_U6_endless_hosts_under_one_domain_are_refused_and_good_ones_are_not() -> None:
    farms = WildcardDomains()
    for number in range(20):
        farms.learn(Url(f"http://real{number}.farm.org/"), marks(text(number)))
    fetched = 0
    while isinstance(farms.judge(Url(f"http://x{fetched}.farm.org/")), Allowed) and fetched < 1000:
        farms.learn(Url(f"http://x{fetched}.farm.org/"), marks(text(999)))
        fetched += 1
    assert fetched <= 80
    verdict = farms.judge(Url("http://another.farm.org/"))
    assert isinstance(verdict, Denied) and "under farm.org" in verdict.rule
    assert farms.judge(Url("http://real7.farm.org/page")) == Allowed()
    assert farms.judge(Url("http://farm.org/")) == Allowed()
    assert farms.judge(Url("http://elsewhere.org/")) == Allowed()


def test_a_host_that_the_user_named_is_never_refused() -> None:
    farms = WildcardDomains()
    farms.learn(Url("http://mine.farm.org/"), marks(text(999)), is_seed=True)
    for number in range(100):
        farms.learn(Url(f"http://x{number}.farm.org/"), marks(text(999)))
    assert farms.judge(Url("http://mine.farm.org/")) == Allowed()


def test_words_of_a_domain_are_kept_in_a_table_instead_of_a_set() -> None:
    farms = WildcardDomains()
    farms.learn(Url("http://a.farm.org/"), marks(text(1)))
    ((_, sketch, hosts, good, run),) = [row for part in farms.kept() for row in part.rows]
    assert sketch.are_words_folded and sketch.are_phrases_folded, "thousands of domains are remembered"
    assert (hosts, good, run.fetched) == (("a.farm.org",), ("a.farm.org",), 1)


def test_M_E9_a_mirror_is_recognised_by_its_first_pages_and_only_one_of_two_is_retired() -> None:
    mirrors, verdicts = Mirrors(), []
    for number in range(60):
        for host in ("one.org", "two.org"):
            if not any(host in verdict for verdict in verdicts):
                found = mirrors.learn(Url(f"http://{host}/page/{number}"), exact(text(number)))
                verdicts += [(found.host, found.of)] if found else []
    assert verdicts == [("two.org", "one.org")]


def copied(
    copier_links: int,
    misses: int,
    seeds: tuple[str, ...] = (),
    order: tuple[str, str] = ("thief", "victim"),
    own: int = 0,
) -> tuple[list[tuple[str, str]], str]:
    """The verdicts on a host of 300 pages and one with 22 of them and `own` others, which is crawled first."""
    mirrors, verdicts = Mirrors(), list[Mirror]()
    for host in order:
        pages, known = (22 + own, copier_links) if host == "thief" else (300, 300)
        links = [f"http://{host}.org/page/{number}" for number in range(known)]
        for number in range(pages):
            url = Url(f"http://{host}.org/page/{number}")
            content = text(number if host == "victim" or number < 22 else 1000 + number)
            found = mirrors.learn(url, exact(content), links if number == 0 else (), Evidence(host in seeds))
            verdicts += [found] if found else []
        for number in range(misses if host == "thief" else 0):
            mirrors.missed(Url(f"http://{host}.org/page/{pages + number}"))
    return [(one.host, one.of) for one in verdicts], verdicts[0].in_words() if verdicts else ""


def test_F_X9_a_host_is_not_retired_as_a_mirror_of_one_that_copied_some_of_its_pages() -> None:
    retired = [("thief.org", "victim.org")]
    assert copied(22, 0)[0] == retired
    assert copied(300, 278)[0] == retired
    assert copied(300, 0, ("victim",))[0] == retired
    assert copied(22, 0, order=("victim", "thief"))[0] == retired
    assert copied(300, 0, own=278)[0] == [], "both have many pages of their own"
    assert "links to far fewer pages" in copied(22, 0)[1] and "22 pages compared" in copied(22, 0)[1]
    assert "does not have" in copied(300, 278)[1] and "seed" in copied(300, 0, ("victim",))[1]


def verdict_on(**evidence: Evidence) -> Mirror | None:
    """The verdict on two hosts with the same pages, given other evidence about each; the copier is seen first."""
    mirrors, verdicts = Mirrors(), list[Mirror]()
    for number in range(ENOUGH):
        for host, known in evidence.items():
            found = mirrors.learn(Url(f"http://{host}.org/page/{number}"), exact(text(number)), (), known)
            verdicts += [found] if found else []
    return verdicts[0] if verdicts else None


def test_F_X9_the_host_whose_pages_name_the_other_as_canonical_is_the_mirror() -> None:
    copier = Evidence(canonical="victim.org")
    found = verdict_on(thief=copier, victim=Evidence(canonical="victim.org"))
    assert found is not None and (found.host, found.of) == ("thief.org", "victim.org")
    assert "canonical" in found.in_words()
    found = verdict_on(thief=copier, victim=Evidence(is_seed=True, canonical="thief.org"))
    assert found is not None and found.host == "thief.org", "a seed is kept"


def test_F_X9_hosts_with_different_robots_txt_rules_are_two_sites() -> None:
    private, open_to_all = (RobotsRule(False, "/private", 2),), ()
    assert verdict_on(thief=Evidence(robots=open_to_all), victim=Evidence(robots=private)) is None
    assert verdict_on(thief=Evidence(robots=private), victim=Evidence(robots=private)) is not None
    named = verdict_on(thief=Evidence(canonical="victim.org", robots=open_to_all), victim=Evidence(robots=private))
    assert named is not None and named.host == "thief.org"


def test_hosts_that_share_only_some_pages_are_not_mirrors() -> None:
    mirrors = Mirrors()
    found = []
    for number in range(64):
        for salt, host in enumerate(("one.org", "two.org")):
            content = text(number) if number % 3 == 0 else text(1000 * (salt + 1) + number)
            found.append(mirrors.learn(Url(f"http://{host}/page/{number}"), exact(content)))
    assert not any(found)


def test_hosts_with_the_same_texts_at_other_paths_are_not_mirrors() -> None:
    mirrors = Mirrors()
    for number in range(ENOUGH * 2):
        assert mirrors.learn(Url(f"http://one.org/a/{number}"), exact(text(number))) is None
        assert mirrors.learn(Url(f"http://two.org/b/{number}"), exact(text(number))) is None


@pytest.mark.parametrize(
    ("pages", "misses", "is_original"),
    [(ENOUGH, 8, True), (ENOUGH, 9, False), (40, 13, True), (40, 14, False)],
)
def test_a_host_has_gaps_when_more_than_eight_and_a_quarter_of_its_fetches_find_no_page(
    pages: int, misses: int, is_original: bool
) -> None:
    mirrors = Mirrors()
    for number in range(pages):
        assert mirrors.learn(Url(f"http://old.org/{number}"), exact(text(number))) is None
    for number in range(misses):
        mirrors.missed(Url(f"http://old.org/missing/{number}"))
    verdicts = [mirrors.learn(Url(f"http://new.org/{number}"), exact(text(number))) for number in range(pages)]
    (found,) = [verdict for verdict in verdicts if verdict is not None]
    if is_original:
        assert (found.host, found.of, found.why) == ("new.org", "old.org", "it was seen later")
    else:
        assert (found.host, found.of) == ("old.org", "new.org") and "does not have" in found.why


def test_sixteen_phrases_of_a_page_are_kept() -> None:
    content = text(1)
    assert len(near(content)) > SAMPLES == len(marks(content).shingles)
    assert [number >> 2 for number in near(content)[:SAMPLES]] == list(marks(content).shingles)


def test_only_the_first_pages_of_a_host_are_compared_for_mirrors() -> None:
    mirrors = Mirrors()
    for number in range(FIRST + 20):
        url = Url(f"http://old.org/{number}")
        assert mirrors.learn(url, exact(text(number)), evidence=Evidence(is_seed=True)) is None
    later = range(FIRST, FIRST + 20)
    assert all(mirrors.learn(Url(f"http://new.org/{number}"), exact(text(number))) is None for number in later)


def test_the_number_of_linked_pages_is_estimated_well_from_a_few_ids() -> None:
    def estimated(name: str, pages: int) -> float:
        host = _Host()
        for start in range(0, pages, 50):
            links = [f"http://{name}/{name}-{number}" for number in range(start, start + 50)]
            host.note_links(f"http://{name}/", [*links, *links, "http://elsewhere.org/x", f"https://{name}/y"])
        return host.size()

    found = [estimated(f"h{number}.org", 500) for number in range(200)]
    assert 0.97 * 500 < sum(found) / len(found) < 1.03 * 500
    few = _Host()
    for count in range(1, 16):
        few.note_links("http://h.org/", [f"http://h.org/{number}" for number in range(count)])
        assert few.size() == count, "few enough to be counted exactly"
    few.note_links("http://h.org/", [])
    assert few.size() == 15


@pytest.mark.parametrize(
    ("one", "two", "is_one", "why"),
    [
        ({"is_seed": True}, {}, True, "the other host was named as a seed"),
        ({}, {"is_seed": True}, False, "the other host was named as a seed"),
        ({"named": 1}, {}, False, "its own pages name the other host as canonical"),
        ({"misses": 9}, {}, False, "it links to many pages that it does not have"),
        ({}, {"misses": 9}, True, "it links to many pages that it does not have"),
        ({"own_links": 15}, {"own_links": 0}, None, ""),
        ({"is_seed": True, "misses": 9}, {"is_seed": True}, False, "it links to many pages that it does not have"),
    ],
)
def test_the_original_of_two_hosts_is_decided_by_seeds_names_gaps_and_size(
    one: dict[str, int], two: dict[str, int], is_one: bool | None, why: str
) -> None:
    def host(is_seed: int = 0, named: int = 0, misses: int = 0, own_links: int = 0) -> _Host:
        return _Host(looked_at=16, misses=misses, is_seed=bool(is_seed), own_links=list(range(own_links)))

    is_named = (bool(two.get("named")), bool(one.get("named")))
    found = _original(host(**one), host(**two), is_named)
    assert found == (None if is_one is None else (is_one, why))


def test_a_host_that_links_to_twice_as_many_pages_and_sixteen_more_is_the_original() -> None:
    def host(size: int) -> _Host:
        return _Host(looked_at=20, own_links=[0] * 15 + [(15 << 64) // size] if size > 15 else list(range(size)))

    assert _original(host(56), host(20), (False, False)) == (True, "it links to far fewer pages of its own")
    assert _original(host(20), host(56), (False, False)) == (False, "it links to far fewer pages of its own")
    assert _original(host(55), host(20), (False, False)) is None is _original(host(20), host(55), (False, False))


def shared(first: int, common: int, own: int, **evidence: object) -> Mirror | None:
    """One host has `first` pages; the other has `common` of them and `own` others, and is seen later."""
    mirrors, found = Mirrors(), None
    for number in range(first):
        mirrors.learn(Url(f"http://one.org/{number}"), b"%d" % number)
    for number in range(own):
        mirrors.learn(Url(f"http://two.org/own/{number}"), b"own %d" % number)
    for number in range(common):
        found = found or mirrors.learn(Url(f"http://two.org/{number}"), b"%d" % number, evidence=Evidence(**evidence))
    return found


@pytest.mark.parametrize(
    ("first", "common", "own", "mirror"),
    [
        (16, 16, 0, "two.org"),
        (16, 15, 0, None),
        (16, 16, 6, None),
        (21, 16, 0, "two.org"),
        (22, 16, 0, None),
        (16, 16, 5, "two.org"),
        (22, 17, 0, "two.org"),
    ],
)
def test_a_mirror_has_sixteen_pages_in_common_and_three_quarters_on_both_sides(
    first: int, common: int, own: int, mirror: str | None
) -> None:
    found = shared(first, common, own)
    assert (found.host if found else None) == mirror
    if found:
        assert (found.of, found.common, found.looked_at) == ("one.org", common, common + own)
        assert found.in_words() == (
            f"a mirror of one.org: {common} of the {common + own} pages compared are the same, at the same paths; "
            "it was seen later"
        )
