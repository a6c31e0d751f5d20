"""Both forms of the links answer alike on a random web, also when a cluster writes it twice and in disorder."""

import random
from collections.abc import Iterator

import msgspec
import pytest
from tests.views.links.forms import both_sides, reading

from gossamer.values.page import Directives, Reading
from gossamer.values.url import Url

HOUR = 3_600_000_000
TEXTS = ["", "home", "a  fine page", "ü b", "日本", "x" * 200, '(.*) \\ "quoted" #@&<>~', "line\nbreak", "home"]


def web(chance: random.Random, pages: int, captures: int) -> list[Reading]:
    """Captures of a few pages with changing links, oldest first. Clocks are an hour apart."""
    addresses = [f"http://s{n % 7}.test/{n}" for n in range(pages)]
    found = []
    for version in range(1, captures + 1):
        wanted = [(chance.choice(addresses), chance.choice(TEXTS)) for _ in range(chance.choice([0, 3, 12]))]
        directives = Directives(may_follow=chance.random() > 0.05)
        at = 10 * HOUR + version + chance.choice([0, HOUR])
        one = reading(chance.choice(addresses), wanted, at=at, directives=directives)
        found.append(msgspec.structs.replace(one, version=version))
    return found


def by_clock(captures: list[Reading]) -> Iterator[Reading]:
    """As one machine has them: its clock is right."""
    for one in captures:
        yield msgspec.structs.replace(one, fetched_at=one.order, version=None)


@pytest.mark.parametrize("seed", range(3))
def test_the_answers_are_the_same_after_changes_replays_and_disorder(tmp_path, seed):
    chance = random.Random(seed)
    captures = web(chance, pages=60, captures=240)
    urls = [*{one.page.url: None for one in captures}, Url("http://unknown.test/")]
    disorder = [*captures, *chance.choices(captures, k=80)]
    chance.shuffle(disorder)
    with (
        both_sides("merged at once", tmp_path) as (plain_writer, plain),
        both_sides("opensearch", tmp_path) as (writer, links),
    ):
        plain_writer.replace(list(by_clock(captures)))
        plain_writer.commit()
        for start in range(0, len(disorder), 50):
            writer.replace(disorder[start : start + 50])
            writer.commit()
        assert links.about_all(urls) == plain.about_all(urls)
        assert links.counts_and_anchors(urls) == plain.counts_and_anchors(urls)
        assert [links.outgoing(url) for url in urls] == [plain.outgoing(url) for url in urls]
        assert links.held(urls).keys() == plain.held(urls).keys()
        assert sum(count for count, _ in links.counts_and_anchors(urls)) > 200, "otherwise this tests nothing"


def test_every_link_is_exported_once(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.views.links.opensearch.AT_ONCE", 3)
    captures = {f"http://s{n}.test/": reading(f"http://s{n}.test/", [("http://t.test/", str(n))]) for n in range(8)}
    with both_sides("opensearch", tmp_path) as (writer, links):
        writer.replace([*captures.values(), reading("http://none.test/", [])])
        writer.commit()
        assert dict(links.every_link()) == {url: one.page.links for url, one in captures.items()}
