"""JSON-LD contexts of the user's own, by URL. Contexts are never fetched, so what is not held here is unknown."""

from collections.abc import Mapping

import msgspec

from gossamer.base.errors import ConfigError

MOST = 100
LARGEST = 1 << 20
"""Contexts, and bytes of one."""

Contexts = Mapping[str, bytes]
"""The documents, by `key_of` their URL."""

HELD: dict[str, bytes] = {}
"""Those of this process; `hold` fills it when a reader process starts."""


def key_of(url: str) -> str:
    """http and https are one, and so is a URL with or without a fragment or a final slash: pages write all of them."""
    plain = url.strip().partition("#")[0].rstrip("/")
    return plain.removeprefix("https:").removeprefix("http:")


def checked(documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contexts that can be used. Raises ConfigError, which names the one that cannot."""
    if len(documents) > MOST:
        raise ConfigError(f"there are {len(documents):,} contexts; at most {MOST} are held")
    for url, document in documents.items():
        if len(document) > LARGEST:
            raise ConfigError(f"the context for {url} is longer than {LARGEST:,} bytes")
        try:
            found = msgspec.json.decode(document)
        except (msgspec.DecodeError, RecursionError) as trouble:
            raise ConfigError(f"the context for {url} is not JSON: {trouble}") from None
        if not isinstance(found, dict) or "@context" not in found:
            raise ConfigError(f"the context for {url} is a JSON document without @context at its top")
    return {key_of(url): document for url, document in documents.items()}


def hold(contexts: Contexts) -> None:
    """From now on this process knows them. For the start of a reader process."""
    HELD.update(contexts)
