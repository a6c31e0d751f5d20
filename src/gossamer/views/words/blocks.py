"""How large the pieces are in which the index keeps what it stores.

A page that is shown is unpacked with its whole block. With tantivy's 16 KiB that is four or so pages for every one;
with blocks of about a page each, reading one takes half the time, the files of stored texts are 8 % larger, and writing
costs the same. tantivy takes the size from its `meta.json`, and offers no other way to choose it from Python.
"""

import msgspec

META = "meta.json"
BLOCK_BYTES = 4_096


def with_small_blocks(meta: bytes) -> bytes | None:
    """The same settings with our size of block; None when they have it. What is written already stays as it is: each
    block says itself how long it is."""
    told = msgspec.json.decode(meta)
    settings = told.get("index_settings") if isinstance(told, dict) else None
    if not isinstance(settings, dict) or settings.get("docstore_blocksize") == BLOCK_BYTES:
        return None
    settings["docstore_blocksize"] = BLOCK_BYTES
    return msgspec.json.format(msgspec.json.encode(told), indent=2)
