"""Runs cached in memory give the same answers as those on disk."""

import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.links.reader import TARGET_BYTES, Anchor, LinksReader, Runs, marks_of
from gossamer.views.links.store import LinksWriter


def reading(address: str, links: list[tuple[str, str]], at: int = 1) -> Reading:
    found = tuple(Link(Url(target), text) for target, text in links)
    return Reading(at, at, Page(Url(address), "text/html", "utf-8", links=found))


@pytest.mark.parametrize("merge_at", [30, 1_000_000], ids=["merged sometimes", "never merged"])
def test_answers_are_the_same_with_and_without_room_for_the_runs(tmp_path, merge_at):
    path = tmp_path / "links.db"
    links = LinksWriter(path, DiskFiles(), silent, merge_at)
    links.open()
    readers = [LinksReader(path, Runs(most)) for most in (0, 300, 64_000_000)]
    for reader in readers:
        reader.open()
    draw, targets = random.Random(3), [Url(f"http://t.test/{n}") for n in range(20)]
    for at in range(1, 40):
        some = draw.sample(targets, 5)
        links.replace([reading(f"http://s{draw.randrange(9)}.test/", [(one.text, f"№ {at}") for one in some], at)])
        links.commit(b"%d" % at)
        without_room, with_little, with_enough = (reader.about_all(targets) for reader in readers)
        assert without_room == with_little == with_enough
    for reader in readers:
        reader.close()
    links.close()


def test_a_result_has_its_number_of_links_and_the_anchors_of_other_sites(tmp_path):
    links = LinksWriter(tmp_path / "links.db", DiskFiles(), silent)
    links.open()
    links.replace(
        [
            reading("http://a.test/1", [("http://t.test/", "a fine page")]),
            reading("http://t.test/own", [("http://t.test/", "Home")]),
        ]
    )
    links.commit()
    reader = LinksReader(tmp_path / "links.db")
    reader.open()
    assert reader.counts_and_anchors([Url("http://t.test/"), Url("http://unlinked.test/")]) == [
        (2, [Anchor("a fine page", "a.test", 1)]),
        (0, []),
    ]
    reader.close()
    links.close()


def test_a_merge_in_progress_keeps_the_runs_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.views.links.store.SLICE", 10)
    links = LinksWriter(tmp_path / "links.db", DiskFiles(), silent, merge_at=100)
    links.open()
    targets = [Url(f"http://t.test/{n}") for n in range(100)]
    for at in range(10):  # the last commit begins the merge, and completes a fifth of it
        links.replace([reading(f"http://a{at}.test/", [(one.text, "word") for one in targets[10 * at : 10 * at + 10]])])
        links.commit(b"a%d" % at)
    runs = Runs()
    reader = LinksReader(tmp_path / "links.db", runs)
    reader.open()
    seen = []
    for at in range(3):
        assert [incoming.count for incoming, _ in reader.about_all(targets)] == [1] * 100
        seen.append(next(run for key, run in runs._kept.items() if key[2] == 1))
        links.replace([reading(f"http://b{at}.test/", [("http://other.test/", "word")])])
        links.commit(b"b%d" % at)
    assert all(run is seen[0] for run in seen)
    reader.close()
    links.close()


def test_a_new_run_displaces_a_complete_run_and_is_not_read_for_every_query(tmp_path):
    links = LinksWriter(tmp_path / "links.db", DiskFiles(), silent)
    links.open()
    targets = [Url(f"http://t.test/{n}") for n in range(10)]

    def commit(at: int) -> None:
        links.replace([reading(f"http://s{at}.test/", [(one.text, "many words " * 9) for one in targets], at)])
        links.commit(b"%d" % at)

    commit(1)
    runs = Runs(TARGET_BYTES * 10 + 2_000)  # room for the complete first run, or for the targets of a dozen runs
    reader = LinksReader(tmp_path / "links.db", runs)
    reader.open()
    reader.counts_and_anchors(targets)
    assert [bool(run.columns) for run in runs._kept.values()] == [True]
    for at in range(2, 9):
        commit(at)
        assert [count for count, _ in reader.counts_and_anchors(targets)] == [at] * 10
    kept = dict(runs._kept)
    assert len(kept) == 8 and not any(run.columns for run in kept.values())
    reader.counts_and_anchors(targets)
    assert all(runs._kept[key] is run for key, run in kept.items()), "the next query reads none of them"
    reader.close()
    links.close()


@given(st.sets(st.integers(-(1 << 63), (1 << 63) - 1), max_size=60))
def test_the_filter_keeps_every_target_in_a_run_and_rules_out_most_others(targets):
    marks = marks_of(array("q", sorted(targets)))
    mask = len(marks) - 1
    assert all(marks[target & mask] for target in targets)
    assert sum(marks) <= len(targets) <= len(marks) / 4 + 1
