"""Whether a page has anything new, and how much memory it takes to decide that."""

import random
from collections.abc import Iterator

import pytest

from gossamer.parse.content import near
from gossamer.rules.learned.model import WATCHED_FROM, HostsKept, LinksKept, Novelty, YoungKept
from gossamer.rules.learned.signs import marks_of, names_of, words_of
from gossamer.rules.learned.traps import STANDING, TRAP
from gossamer.values.messages import Marks
from gossamer.values.page import Triple
from gossamer.values.url import Url
from gossamer.values.visit import Yield

STOCK = [
    f"{a}{b}{c}"
    for a in ("ka", "lo", "mi", "ne", "ru")
    for b in ("sta", "pel", "dor", "vin")
    for c in ("", "n", "s", "ra")
]


def marks(text: str, *values: str) -> Marks:
    return marks_of(text, near(text), [Triple("<it>", "<p>", f'"{value}"') for value in values])


def prose(number: int, words: int = 150) -> str:
    """A text like the others, with a few words of its own."""
    chance = random.Random(number)
    chosen = [chance.choice(STOCK) for _ in range(words)]
    chosen[::12] = ["".join(chance.choices("aeioulmnrstkp", k=7)) for _ in chosen[::12]]
    return " ".join(chosen)


def at(target: str) -> Url:
    return Url(f"http://example.org{target}")


def watched() -> Novelty:
    """A `Novelty` that has seen enough of the host to watch it."""
    novelty = Novelty(1 << 20, 1 << 10)
    for number in range(WATCHED_FROM):
        novelty.assess(at("/"), marks(prose(-number - 1)))
    return novelty


def fruitful(novelty: Novelty, pages: Iterator[tuple[Url, Marks]]) -> float:
    results = [novelty.assess(url, page).is_fruitful for url, page in pages]
    return sum(results) / len(results)


def test_distinct_texts_are_new_however_many_there_are() -> None:
    assert fruitful(watched(), ((at(f"/p/{n}"), marks(prose(n))) for n in range(3000))) > 0.9


def test_the_same_text_is_new_once() -> None:
    assert fruitful(watched(), ((at(f"/p/{n}"), marks(prose(1))) for n in range(100))) == 0.01


def test_a_text_that_differs_by_a_date_or_a_number_is_not_new() -> None:
    pages = (
        (at(f"/d/{n}"), marks(f"Events on {n} May: there are none on this day, choose another")) for n in range(99)
    )
    assert fruitful(watched(), pages) < 0.05


def test_an_echo_of_the_url_is_not_new() -> None:
    chance = random.Random(1)
    chosen = ["".join(chance.choices("abcdefghijk", k=9)) for _ in range(200)]
    echoes = ((at(f"/{word}"), marks(f"Welcome to {word}, the place where all the good offers are")) for word in chosen)
    assert fruitful(watched(), echoes) < 0.1


def test_pages_of_the_same_words_in_another_order_are_not_new() -> None:
    chance = random.Random(1)
    babble = ((at(f"/b/{n}"), marks(" ".join(chance.choices(STOCK, k=200)))) for n in range(400))
    assert fruitful(watched(), babble) < 0.05


def test_random_letters_are_not_new_once_the_host_is_known() -> None:
    chance = random.Random(1)
    noise = (" ".join("".join(chance.choices("abcdefghijklmnop", k=8)) for _ in range(100)) for _ in range(400))
    assert fruitful(watched(), ((at(f"/n/{n}"), marks(text)) for n, text in enumerate(noise))) < 0.2


def test_facts_not_seen_before_are_new_for_any_text() -> None:
    pages = ((at(f"/p/{n}"), marks("The same", f"{prose(n, 3)}", f"by {prose(-n, 3)}")) for n in range(500))
    assert fruitful(watched(), pages) > 0.9


def test_a_page_whose_facts_only_name_it_states_nothing_new() -> None:
    pages = ((at(f"/p/{n}"), marks("The same", f"Page {n}", "article", "The site")) for n in range(100))
    assert fruitful(watched(), pages) < 0.05


def test_tables_of_numbers_are_facts_too() -> None:
    chance = random.Random(1)
    rows = ((at(f"/p/{n}"), marks("The same", *(str(chance.random()) for _ in range(6)))) for n in range(200))
    assert fruitful(watched(), rows) > 0.9


def test_only_a_list_that_links_to_new_good_pages_is_fruitful() -> None:
    novelty = watched()
    for number in range(20):
        novelty.assess(at(f"/item/{number}"), marks(prose(number)))
    novelty.assess(at("/list/1"), marks("A list"))
    assert novelty.assess(at("/list/2"), marks("A list"), [at("/item/77").text]).has_new_links
    assert not novelty.assess(at("/list/3"), marks("A list"), [at("/item/77").text]).is_fruitful
    assert not novelty.assess(at("/list/4"), marks("A list"), [at("/list/5").text]).is_fruitful


def test_a_trap_is_recognised_from_recent_pages_or_from_totals() -> None:
    novelty = watched()
    for number in range(200):
        novelty.assess(at(f"/p/{number}"), marks(prose(number)))
    assert not novelty.is_trap("example.org", "/p/{n}", 200, 200)
    for number in range(200, 270):
        novelty.assess(at(f"/p/{number}"), marks("Nothing here"))
    assert novelty.is_trap("example.org", "/p/{n}", 270, 200)
    assert not novelty.is_trap("elsewhere.org", "/p/{n}", 270, 200)


def test_memory_is_bounded_and_of_too_many_hosts_as_many_as_fit_are_watched() -> None:
    novelty = Novelty(200_000, 1 << 10)
    hosts = [f"h{n}.org" for n in range(200)]
    for turn in range(WATCHED_FROM + 80):
        for name in hosts:
            novelty.assess(Url(f"http://{name}/p/{turn}"), marks("The same words as ever"))
            assert novelty.held_bytes <= 200_000
    caught = sum(novelty.is_trap(name, "/p/{n}", 60, 30) for name in hosts)
    assert caught > 80


def test_text_without_spaces_is_split_into_pairs() -> None:
    words = words_of("港のそばの古い灯台では毎年夏に小さな音楽会が開かれ町の人々が集まって夜おそくまで歌をうたう")
    assert "灯台" in words and all(len(word) == 2 for word in words)


def test_an_empty_page_has_no_marks() -> None:
    assert marks_of("", ()) == Marks()


def test_new_facts_alone_keep_a_template_out_of_quarantine() -> None:
    novelty, plain = watched(), watched()
    for number in range(200):
        novelty.assess(at(f"/p/{number}"), marks("The same", f"{prose(number, 3)}", f"by {prose(-number - 1, 3)}"))
        plain.assess(at(f"/p/{number}"), marks("The same"))
    assert plain.is_trap("example.org", "/p/{n}", 200, 0)
    assert not novelty.is_trap("example.org", "/p/{n}", 200, 200)


def test_punctuation_is_not_part_of_a_word_and_accents_are() -> None:
    assert names_of("das «haus» am hafen") == names_of("das haus am hafen") - names_of("haus")
    assert len(names_of("käse für größe")) == 3, "letters beyond ASCII are letters"
    assert names_of("KÄSE FÜR") == names_of("käse für")


def test_a_host_is_watched_from_its_fifth_page_on() -> None:
    novelty = Novelty(1 << 20, 1 << 10)
    for number in range(WATCHED_FROM):
        assert novelty.assess(at(f"/p/{number}"), marks(prose(1))) == Yield("/p/{n}", True, False)
        assert novelty.held_bytes == 0, "nothing is stored about it yet"
    assert novelty.assess(at("/p/9"), marks(prose(1))) == Yield("/p/{n}", True, False) and novelty.held_bytes > 0
    assert novelty.assess(at("/p/10"), marks(prose(1))) == Yield("/p/{n}", False, False)
    fresh = Novelty(1 << 20, 1 << 10)
    assert fresh.assess(at("/x"), marks("Not found"), is_error=True) == Yield("/{word}", False, False)


def test_an_error_page_is_never_fruitful_however_new_its_words_and_links() -> None:
    novelty = watched()
    for number in range(3):
        novelty.assess(at(f"/item/{number}"), marks(prose(number)))
    links = ["http://example.org/item/77"]
    assert novelty.assess(at("/list/1"), marks("Same"), links).is_fruitful
    for number in range(TRAP):
        error = novelty.assess(at(f"/gone/{number}"), marks(prose(100 + number), "a b", "c d"), links, is_error=True)
        assert error == Yield("/gone/{n}", False, False, False)
    assert novelty.is_trap("example.org", "/gone/{n}", 0, 0)


@pytest.mark.parametrize(
    ("link", "is_list"),
    [
        ("http://example.org/item/99", True),
        ("https://example.org/item/99", False),
        ("http://www.example.org/item/99", False),
        ("http://example.org/list/99", False),
        ("http://example.org/other/99", False),
    ],
)
def test_a_list_has_new_links_if_they_lead_to_another_productive_template(link: str, is_list: bool) -> None:
    novelty = watched()
    for number in range(STANDING):
        novelty.assess(at(f"/item/{number}"), marks(prose(number)))
        novelty.assess(at(f"/list/{number}"), marks(prose(1000 + number)))
    assert novelty.assess(at("/list/8"), marks(prose(0)), [link]) == Yield("/list/{n}", False, False, is_list)
    assert not novelty.assess(at("/list/9"), marks(prose(0)), [link]).is_fruitful, "a link is new only once"


def test_a_template_is_a_trap_by_its_run_or_once_in_debt_by_its_totals() -> None:
    novelty = watched()
    assert not novelty.is_trap("example.org", "/d/{n}", 100, 0), "it has no debt"
    novelty.assess(at("/d/1"), marks(prose(5)))
    novelty.assess(at("/d/2"), marks(prose(5)))
    assert novelty.is_trap("example.org", "/d/{n}", 100, 0)
    assert not novelty.is_trap("example.org", "/d/{n}", 100, 50) and not novelty.is_trap("other.org", "/d/{n}", 100, 0)
    for number in range(TRAP):
        novelty.assess(at(f"/d/{number}"), marks(prose(5)))
    assert novelty.is_trap("example.org", "/d/{n}", 100, 50)


def test_knowledge_about_hosts_is_saved_in_parts_and_restored() -> None:
    before, after = Novelty(1 << 20, 1 << 10, key=7), Novelty(1 << 20, 1 << 10, key=9)
    for number in range(30):
        for name in ("a.org", "b.org"):
            url = Url(f"http://{name}/p/{number}")
            before.assess(url, marks(prose(number)), [f"http://{name}/q/{number}"])
    parts = list(before.kept())
    assert [type(part) for part in parts] == [LinksKept, YoungKept, HostsKept]
    for part in parts:
        after.recall(part)
    assert list(after.kept()) == parts and after.held_bytes == before.held_bytes > 0
    for name in ("a.org", "b.org", "c.org"):
        url, links = Url(f"http://{name}/p/99"), [f"http://{name}/q/5", f"http://{name}/q/{99}"]
        assert after.assess(url, marks(prose(3)), links) == before.assess(url, marks(prose(3)), links)
    small = Novelty(1000, 1 << 9)
    for part in parts:
        small.recall(part)
    assert small.held_bytes <= 1000
    (links_kept, *_) = small.kept()
    assert isinstance(links_kept, LinksKept) and links_kept.slots == bytes(4 << 9), "another size is not restored"


def test_only_the_latest_templates_of_a_host_are_kept() -> None:
    novelty = watched()
    words = [f"{a}{b}{c}" for c in "uv" for b in "klmnopqrst" for a in "abcdefghij"]
    for word in words:
        novelty.assess(at(f"/{word}/7"), Marks())
    (_, _, hosts) = novelty.kept()
    assert isinstance(hosts, HostsKept)
    ((_, seen, _, runs),) = hosts.rows
    assert len(runs) == 128 and runs[-1][0] == "/jtv/{n}" and seen == WATCHED_FROM + 200
