"""What one snapshot passes on to the next must not hide newer pages."""

import pytest

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.search.query import parse
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.words import query as asking
from gossamer.views.words import schema as snapshot
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter


def reading(number: int, content: str, title: str = "") -> Reading:
    page = Page(Url(f"http://a.test/{number}"), "text/html", "utf-8", title=title, content=content)
    return Reading(number, number, page)


@pytest.mark.parametrize("least", [2, 1_000], ids=["a frequent word", "a rare word"])
def test_a_page_is_found_by_a_word_in_a_field_where_no_page_had_it_before(tmp_path, monkeypatch, least):
    monkeypatch.setattr(asking, "FREQUENT", least)
    monkeypatch.setattr(snapshot, "LARGE", 2)
    monkeypatch.setattr(snapshot, "MOST_GROWTH", 1.0)
    index = IndexWriter(tmp_path / "index", DiskFiles(), silent)
    index.open()
    index.replace([reading(number, "a harbour and its ships") for number in range(4)])
    index.commit()
    searcher = Searcher(tmp_path / "index")
    searcher.open()
    before = searcher.snapshot
    assert searcher.find(parse("harbour")).total == 4
    index.replace([reading(9, "nothing of the kind", title="Harbour")])
    index.commit()
    searcher.reload()
    assert searcher.snapshot is not before and searcher.snapshot.lasting is before.lasting
    assert bool(searcher.snapshot.lasting.recall_parts.entries) == (least == 2)
    found = searcher.find(parse("harbour"))
    assert found.total == 5 and "http://a.test/9" in {one.card.url.text for one in found.found}
    index.close()
