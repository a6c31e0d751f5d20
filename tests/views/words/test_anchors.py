"""What other sites call a page, where very many use the word: how long one listens."""

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


def heard_of(folder: Path, targets: list[str]) -> list[str]:
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


def test_where_no_two_of_the_first_sites_mean_one_page_the_others_are_not_heard(tmp_path: Path) -> None:
    assert len(heard_of(tmp_path / "index", [f"http://t{number}.test/" for number in range(SITES)])) == FIRST


def test_where_sites_agree_all_of_them_are_heard(tmp_path: Path) -> None:
    assert len(heard_of(tmp_path / "index", ["http://harbour.test/"] * SITES)) == SITES


def test_a_few_sites_are_all_heard_whatever_they_mean(tmp_path: Path) -> None:
    assert len(heard_of(tmp_path / "index", [f"http://t{number}.test/" for number in range(FEW)])) == FEW
