"""Anchors with a very common word: how many of them are read."""

from pathlib import Path

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.words.anchors import FEW, FIRST, targets_of
from gossamer.views.words.dictionary import Form
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

SITES = 2 * FEW


def found_by_anchors(folder: Path, targets: list[str]) -> list[str]:
    """Which of the targets are found, when site n calls the nth one `quay`; all of them are pages of the index."""
    pages = [Page(Url(target), "text/html", "utf-8", title="One", content="one") for target in set(targets)]
    for number, target in enumerate(targets):
        own = Url(f"http://s{number}.test/")
        pages.append(Page(own, "text/html", "utf-8", content="word", links=(Link(Url(target), "quay"),)))
    writer = IndexWriter(folder, DiskFiles(), silent)
    writer.open()
    writer.replace([Reading(number, number, page) for number, page in enumerate(pages)])
    writer.commit()
    writer.close()
    searcher = Searcher(folder)
    searcher.open()
    found = targets_of(searcher.snapshot, [[Form("quay", SITES)]])
    return [target for target in targets if Url(target).id in found]


def test_when_the_first_anchors_all_have_different_targets_the_rest_are_not_read(tmp_path: Path) -> None:
    assert len(found_by_anchors(tmp_path / "index", [f"http://t{number}.test/" for number in range(SITES)])) == FIRST


def test_when_anchors_have_the_same_target_all_are_read(tmp_path: Path) -> None:
    assert len(found_by_anchors(tmp_path / "index", ["http://harbour.test/"] * SITES)) == SITES


def test_a_few_anchors_are_all_read(tmp_path: Path) -> None:
    assert len(found_by_anchors(tmp_path / "index", [f"http://t{number}.test/" for number in range(FEW)])) == FEW
