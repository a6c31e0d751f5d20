"""Digests of a store of facts and of a file of links: equal for equal content, written in any order."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import xxhash
from pyoxigraph import Store

from gossamer.views.links.reader import Runs, target_states
from gossamer.views.links.store import links_in


def facts_digest(store: Store) -> str:
    """Of all facts, provenance included."""
    hashes = [xxhash.xxh3_128_intdigest(f"{quad} .\n".encode()) for quad in store.quads_for_pattern(None, None, None)]
    return f"{sum(hashes) % (1 << 128):032x}-{len(hashes)}"


def links_digest(path: Path) -> str:
    seen, targets = sha256(), set[int]()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for *page, packed in connection.execute("SELECT id, fetched_at, url, outgoing FROM sources ORDER BY id"):
            links = links_in(packed)
            targets |= {link.url.id for link in links}
            seen.update(repr((page, links)).encode("utf-8", "replace"))
        for target, state in sorted(target_states(connection, [*targets], Runs(), 0).items()):
            seen.update(repr((target, state)).encode("utf-8", "replace"))
    return seen.hexdigest()
