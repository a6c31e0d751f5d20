"""Sitemaps as files (sitemaps.org 0.9): split where one would be too long, with an index over the parts."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.lab.sitemap_files import SitemapPage
from gossamer.parse.sitemaps import LARGEST, MOST_ENTRIES
from gossamer.values.url import Url

SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<{{root}} xmlns="{SPACE}">\n'
_QUOTES = {'"': "&quot;", "'": "&apos;"}


@dataclass(frozen=True, slots=True)
class Made:
    name: str
    body: bytes
    entries: int


def files_of(
    pages: Sequence[SitemapPage], name: str, home: Url, most_entries: int = MOST_ENTRIES, largest: int = LARGEST
) -> list[Made]:
    """One file called `name`; or, when it would be too long, numbered parts and an index of that name, which comes last
    so that nobody finds it before its parts. A name ending in `.gz` is packed. The same pages give the same bytes."""
    parts = list(_parts([_page(page) for page in pages], most_entries, largest))
    if len(parts) == 1:
        return [Made(name, packed(name, _file("urlset", parts[0])), len(parts[0]))]
    made, lines, at = [], [], 0
    for number, part in enumerate(parts, 1):
        newest = max(page.changed_at for page in pages[at : at + len(part)])
        at += len(part)
        numbered = _numbered(name, number)
        made.append(Made(numbered, packed(numbered, _file("urlset", part)), len(part)))
        lines.append(_map(home.text + numbered, newest))
    return [*made, Made(name, packed(name, _file("sitemapindex", lines)), len(lines))]


def packed(name: str, body: bytes) -> bytes:
    return gzip.compress(body, mtime=0) if name.endswith(".gz") else body


def _parts(lines: Sequence[bytes], most_entries: int, largest: int) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    room = size = largest - len(_file("urlset", []))
    for line in lines:
        if part and (len(part) == most_entries or len(line) > size):
            yield part
            part, size = [], room
        part.append(line)
        size -= len(line)
    yield part


def _numbered(name: str, number: int) -> str:
    stem, dot, endings = name.partition(".")
    return f"{stem}-{number}{dot}{endings}"


def _file(root: str, lines: Sequence[bytes]) -> bytes:
    return _HEAD.format(root=root).encode() + b"".join(lines) + f"</{root}>\n".encode()


def _page(page: SitemapPage) -> bytes:
    frequency = f"<changefreq>{page.changefreq}</changefreq>" if page.changefreq else ""
    return f"<url><loc>{_escaped(page.url.text)}</loc>{_lastmod(page.changed_at)}{frequency}</url>\n".encode()


def _map(address: str, newest: Instant) -> bytes:
    return f"<sitemap><loc>{_escaped(address)}</loc>{_lastmod(newest)}</sitemap>\n".encode()


def _lastmod(at: Instant) -> str:
    """W3C Datetime, to the second."""
    return f"<lastmod>{in_words(at // SECOND * SECOND)[:19]}Z</lastmod>"


def _escaped(text: str) -> str:
    return escape(text, _QUOTES)
