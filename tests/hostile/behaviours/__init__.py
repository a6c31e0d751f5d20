"""Every behaviour of the hostile web, by subject; importing this registers them all."""

from tests.hostile.behaviours import (
    addresses,
    codings,
    connections,
    facts,
    framing,
    heads,
    lists,
    load,
    markup,
    redirects,
    robots,
    tls,
    traps,
)

__all__ = [
    "addresses",
    "codings",
    "connections",
    "facts",
    "framing",
    "heads",
    "lists",
    "load",
    "markup",
    "redirects",
    "robots",
    "tls",
    "traps",
]
