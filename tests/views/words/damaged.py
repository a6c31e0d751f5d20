"""An index with an unreadable entry."""

from pathlib import Path

import tantivy

from gossamer.values.url import Url
from gossamer.views.words.schema import ANALYZER, analyzer, schema


def damage_entry(folder: Path, url: Url) -> None:
    """Replaces the page's entry by one with words but no card. REQUIRES: no other process writes."""
    index = tantivy.Index(schema(), path=str(folder), reuse=True)
    index.register_tokenizer(ANALYZER, analyzer())
    writer = index.writer(64_000_000, 1)
    writer.delete_documents_by_term("url_id", url.id)
    entry = tantivy.Document(content=["the tropical fish"], names=["fish"], sites=[url.host.name])
    for field, value in (("url_id", url.id), ("fetched_at", 5), ("copy_id", 7), ("host_id", url.host.id)):
        entry.add_integer(field, value)
    writer.add_document(entry)
    writer.commit()
    writer.wait_merging_threads()
