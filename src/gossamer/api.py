"""A collection opened from Python.

Words, facts, links and explanations, read-only, also while a crawl runs.

>>> with gossamer.open("gossamer-data") as collection:
...     for hit in collection.search("harbour", types="Place", limit=3).hits:
...         print(hit.url, hit.title)
"""

import os

from gossamer.collection.collection import Collection
from gossamer.store.address import folder_named


def open(path: str | os.PathLike[str]) -> Collection:
    """The collection in a data directory, or on the cluster with this address ("postgresql://..."). Raises
    DirectoryUnusable if there is none.

    Use it in a `with`, or `close` it. Reading writes nothing, and a crawl may run meanwhile: each call answers from the
    present state.
    """
    return Collection.open(folder_named(os.fspath(path)))
