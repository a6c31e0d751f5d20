"""What a page asks of robots: meta robots and X-Robots-Tag.

Directives for everybody and directives for us add up; the stricter one wins.
"""

import re
from collections.abc import Iterable

from gossamer.values.page import Directives

_NOINDEX = frozenset(("noindex", "none"))
_NOFOLLOW = frozenset(("nofollow", "none"))
_NOCACHE = frozenset(("noarchive", "nocache"))
# Directives that carry a value after a colon; any other word before a colon is the name of a robot.
_VALUED = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
_NAMED = re.compile(r"\s*([A-Za-z0-9_.*-]+)\s*:(.*)", re.DOTALL)
EVERYBODY = "robots"
FREE = Directives()


def directives_of(metas: Iterable[tuple[str, str]], fields: Iterable[str], agent: str) -> Directives:
    """`metas` are (name, content) of the page's meta elements, `fields` the values of its X-Robots-Tag fields.

    `agent` is our product name: directives given to another robot by name do not concern us.
    """
    ours = agent.lower()
    words: set[str] = set()
    for name, content in metas:
        if name.strip().lower() in (EVERYBODY, ours):
            words |= _words(content)
    for value in fields:
        words |= _addressed(value, ours)
    if not words:
        return FREE
    return Directives(
        may_index=words.isdisjoint(_NOINDEX),
        may_follow=words.isdisjoint(_NOFOLLOW),
        may_cache=words.isdisjoint(_NOCACHE),
    )


def _words(text: str) -> set[str]:
    return {word.strip().lower() for word in text.split(",")}


def _addressed(field: str, ours: str) -> set[str]:
    """The directives of one field that are meant for us. A name holds until the next name."""
    for_us, found = True, set[str]()
    for part in field.split(","):
        named = _NAMED.fullmatch(part)
        if named is not None and named[1].lower() not in _VALUED:
            for_us = named[1].lower() in (ours, EVERYBODY, "*")
            part = named[2]
        if for_us:
            found.add(part.strip().lower())
    return found
