"""What a reader of one's own makes of a body: see docs/extending.md."""

from collections.abc import Callable

import msgspec


class Text(msgspec.Struct, frozen=True):
    """What it says to a person. Long texts and many links are cut as those of any page."""

    content: str
    title: str = ""
    headings: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Where it leads; relative ones are relative to its address."""
    language: str = ""
    """BCP 47; empty: guessed from the content."""


OwnReader = Callable[[bytes, str, str], Text | None]
"""From a body (content coding removed), its address and its media type to its text; None: it could not be read."""
