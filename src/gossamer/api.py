"""A collection opened from Python: words, facts, links and reasons, read only, also while a crawl runs.

>>> with gossamer.open("gossamer-data") as collection:
...     for hit in collection.search("harbour", types="Place", limit=3).hits:
...         print(hit.url, hit.title)
"""

import os
from pathlib import Path

from gossamer.collection.collection import Collection


def open(path: str | os.PathLike[str]) -> Collection:
    """The collection in a data directory. Raises DirectoryUnusable when there is none.

    Use it in a `with`, or `close` it. Nothing is written there, and a crawl may go on meanwhile: each question is
    answered from what is there by then.
    """
    return Collection.open(Path(path))
