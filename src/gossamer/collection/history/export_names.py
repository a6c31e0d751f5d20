"""Names of files and folders for pages, safe on any disk: no way out of the folder, nothing too long, no two the same.

    https://example.org/tea/pots/?colour=blue   ->  example.org/tea/pots/index!3Fcolour=blue.html
    https://example.org/tea/pots                ->  example.org/tea/pots/page.html

A page's path is its folder, so a page may have pages below it. `!` and two hexadecimal digits stand for a character
that a file name should not hold; `!~` begins what was added to tell two names apart.
"""

import hashlib
import re

from gossamer.base.clock import Instant, in_words
from gossamer.values.url import Url

LONGEST_NAME = 120
LONGEST_PATH = 800
MOST_FOLDERS = 40
SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "application/json": ".json",
    "application/ld+json": ".json",
    "image/svg+xml": ".svg",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._~%=&,;@$'()+-]")
_OURS = re.compile(r"(index|page)(?=[.!])", re.IGNORECASE)
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)


def file_of(url: Url, media_type: str) -> str:
    """Relative, with slashes between its parts."""
    path, _, query = url.target.partition("?")
    *folders, last = path.split("/")[1:]
    stem = "index"
    if last:
        folders, stem = [*folders, last], "page"
    if "?" in url.target:
        stem += _escaped("?" + query)
    name = _shortened(stem, LONGEST_NAME) + suffix_of(media_type)
    parts = [_shortened(_escaped(url.host.name), LONGEST_NAME), *map(_folder, folders)]
    whole = "/".join([*parts, name])
    if len(whole) <= LONGEST_PATH and len(parts) <= MOST_FOLDERS:
        return whole
    return "/".join([*parts[:2], f"!~{_digest(url.target)}", name])


def told_apart(name: str, count: int) -> str:
    """The name of the next that would be named like `count` before it."""
    if not count:
        return name
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}!~{count + 1}{dot}{suffix}"


def folder_at(at: Instant) -> str:
    """A folder named by date and time; colons are not allowed in names everywhere."""
    return in_words(at)[:19].replace(":", "-") + "Z"


def suffix_of(media_type: str) -> str:
    return SUFFIXES.get(media_type) or (".xml" if media_type.endswith(("/xml", "+xml")) else ".bin")


def _folder(segment: str) -> str:
    """One part of a path. None is empty, hidden, a way up, a device of some system, or called like a page's file."""
    text = _escaped(segment) or "!~"
    if text.startswith(".") or _OURS.match(text) or _DEVICE.match(text):
        text = f"!{ord(text[0]):02X}{text[1:]}"
    if text.endswith("."):
        text = text[:-1] + "!2E"
    return _shortened(text, LONGEST_NAME)


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda odd: "".join([f"!{octet:02X}" for octet in odd[0].encode()]), text)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 20]}!~{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
