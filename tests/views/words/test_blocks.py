"""The size of the blocks in which texts are stored."""

import json

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.search.query import parse
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.words.schema import BLOCK_BYTES, META, with_small_blocks
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter


def reading(number: int) -> Reading:
    page = Page(Url(f"http://a.test/{number}"), "text/html", "utf-8", content=f"harbour number {number} " * 100)
    return Reading(number, number, page)


def test_a_new_index_stores_its_texts_in_small_blocks(tmp_path):
    index = IndexWriter(tmp_path / "index", DiskFiles(), silent)
    index.open()
    index.replace([reading(number) for number in range(20)])
    index.commit()
    index.close()
    settings = json.loads((tmp_path / "index" / META).read_bytes())["index_settings"]
    assert settings["docstore_blocksize"] == BLOCK_BYTES
    searcher = Searcher(tmp_path / "index")
    searcher.open()
    assert searcher.find(parse("harbour")).total == 20
    stored = searcher.stored(Url("http://a.test/7"))
    assert stored is not None and stored.text.startswith("harbour number 7 ")


def test_all_other_settings_of_tantivy_are_kept():
    settings = {"index_settings": {"docstore_compression": "lz4", "docstore_blocksize": 16384}, "schema": [{"é": 1}]}
    chosen = with_small_blocks(json.dumps(settings).encode())
    settings["index_settings"]["docstore_blocksize"] = BLOCK_BYTES
    assert chosen is not None and json.loads(chosen) == settings
    assert with_small_blocks(chosen) is None


def test_settings_of_an_unknown_structure_are_not_changed():
    assert with_small_blocks(b"[]") is None and with_small_blocks(b'{"index_settings": 3}') is None
