"""Sitemaps for a folder of files.

Which files are listed, how often each seems to change, and the files written.
"""

import gzip
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

from gossamer.base.clock import DAY_S, SECOND, Instant, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.parse.sitemaps import LARGEST, MOST_ENTRIES, parse_sitemap
from gossamer.rules.robots import judge, parse
from gossamer.values.outcome import Denied
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url, url_of

_KINDS = "html htm xhtml shtml pdf txt text md rtf doc docx odt ppt pptx odp xls xlsx ods epub ps"
KINDS = frozenset(f".{kind}" for kind in _KINDS.split())
"""File extensions of documents for people."""
INDEXES = ("index.html", "index.htm", "index.xhtml", "index.shtml", "default.html", "default.htm")
"""Files that a server sends for their folder; the first one present counts."""
BACKUPS = (".bak", ".old", ".orig", ".tmp", ".swp", ".save", ".rej")
NOT_PAGES = ("robots.txt", "humans.txt", "ads.txt", "security.txt", "sitemap.txt")
FREQUENCIES = ((DAY_S / 4, "hourly"), (4 * DAY_S, "daily"), (17 * DAY_S, "weekly"), (200 * DAY_S, "monthly"))
"""The longest interval for each word; above them all, "yearly". "always" and "never" are not used."""
LEAST_SPREAD_S = 60.0
"""Files all written within this time were copied here: their dates say nothing."""


class FoundFile(NamedTuple):
    """A file to list."""

    path: str
    """Below the folder, with slashes."""
    changed_at: Instant


class SitemapPage(NamedTuple):
    url: Url
    changed_at: Instant
    changefreq: str = ""


class SitemapChoice(NamedTuple):
    pages: tuple[SitemapPage, ...]
    """In the order of their URLs."""
    left_out: Mapping[str, int]
    """How many files were not listed, by reason."""


def files_in(folder: Path, left_out: Counter[str]) -> Iterator[FoundFile]:
    """Every file that may be listed, in order. Folders that are links are not entered, so there are no cycles."""
    home = folder.resolve()
    for here, folders, names in os.walk(folder):
        left_out["hidden"] += sum(name.startswith(".") for name in folders)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            why = reason_against(name)
            if not why and path.is_symlink():
                target = path.resolve()
                why = "" if target.is_relative_to(home) and target.is_file() else "link out of the folder"
            if why:
                left_out[why] += 1
            else:
                yield FoundFile(path.relative_to(folder).as_posix(), path.stat().st_mtime_ns // 1000)


def reason_against(name: str) -> str:
    """Why a file of that name is not listed; empty if it may be."""
    small = name.lower()
    if name.startswith("."):
        return "hidden"
    if small.endswith(("~", *BACKUPS)) or (small.startswith("#") and small.endswith("#")):
        return "backup"
    return "" if os.path.splitext(small)[1] in KINDS and small not in NOT_PAGES else "not a page"


def choose(
    files: Sequence[FoundFile],
    site: Url,
    now: Instant,
    left_out: Counter[str],
    robots: Robots | None = None,
    previous: Mapping[str, Instant | None] | None = None,
) -> SitemapChoice:
    """`previous`: when each URL had changed, according to an earlier sitemap."""
    found: dict[str, SitemapPage] = {}
    for _, group in groupby(sorted(files, key=_rank), lambda one: _rank(one)[0]):
        siblings = list(group)
        dates = [one.changed_at for one in siblings]
        for one in siblings:
            url = url_at(one.path, site)
            if url is None or url.text in found:
                left_out["no URL" if url is None else "second index"] += 1
            elif robots is not None and isinstance(judge(url, robots), Denied):
                left_out["robots.txt"] += 1
            else:
                changed_at = min(one.changed_at, now)
                interval_s = interval_of(url, changed_at, dates, now, previous or {})
                found[url.text] = SitemapPage(url, changed_at, frequency_of(interval_s))
    return SitemapChoice(
        tuple(found[text] for text in sorted(found)), {why: count for why, count in sorted(left_out.items()) if count}
    )


def _rank(one: FoundFile) -> tuple[str, int, str]:
    """Folder by folder, index files first."""
    folder, _, name = one.path.rpartition("/")
    return folder, (*INDEXES, name.lower()).index(name.lower()), one.path


def url_at(path: str, site: Url) -> Url | None:
    folder, _, name = path.rpartition("/")
    shown = (f"{folder}/" if folder else "") if name.lower() in INDEXES else path
    home = site.origin + site.path[: site.path.rindex("/") + 1]
    return url_of(home + quote(os.fsencode(shown), safe="/~!$&'()*+,;=:@"))


def interval_of(
    url: Url, changed_at: Instant, siblings: Sequence[Instant], now: Instant, previous: Mapping[str, Instant | None]
) -> float | None:
    """Estimated seconds between two changes of a page; None if unknown. `siblings`: the dates in its folder.

    Two versions of it tell most: the time between them, or, if the date is still that of the earlier sitemap, how long
    it has been unchanged. Otherwise dates alone: if changes are random, the time since the last one is on average as
    long as the time between two, and files in one folder change about equally often.
    """
    age_s = (now - changed_at) / SECOND
    before = previous.get(url.text)
    if before is not None:
        return (changed_at - before) / SECOND if changed_at - before > SECOND else age_s
    if len(siblings) > 1 and (max(siblings) - min(siblings)) / SECOND < LEAST_SPREAD_S:
        return None
    mean_s = sum(now - min(at, now) for at in siblings) / len(siblings) / SECOND
    return (age_s + mean_s) / 2


def frequency_of(interval_s: float | None) -> str:
    if interval_s is None:
        return ""
    return next((word for longest_s, word in FREQUENCIES if interval_s <= longest_s), "yearly")


SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_QUOTES = {'"': "&quot;", "'": "&apos;"}


class SitemapFile(NamedTuple):
    name: str
    body: bytes
    entries: int


def files_of(
    pages: Sequence[SitemapPage], name: str, home: Url, most_entries: int = MOST_ENTRIES, largest: int = LARGEST
) -> list[SitemapFile]:
    """One file called `name`; if that would be too large, numbered parts and an index of that name, which comes last so
    that no crawler finds it before its parts. A name ending in `.gz` is compressed. Equal pages give equal bytes."""
    parts = list(_parts([_entry("url", *page) for page in pages], most_entries, largest))
    if len(parts) == 1:
        return [_file(name, "urlset", parts[0])]
    files, entries, at = [], [], 0
    stem, dot, endings = name.partition(".")
    for number, part in enumerate(parts, 1):
        newest = max(page.changed_at for page in pages[at : at + len(part)])
        at += len(part)
        files.append(_file(f"{stem}-{number}{dot}{endings}", "urlset", part))
        entries.append(_entry("sitemap", home.text + files[-1].name, newest))
    return [*files, _file(name, "sitemapindex", entries)]


def _parts(lines: Sequence[bytes], most_entries: int, largest: int) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    empty = left = largest - len(_document("urlset", []))
    for line in lines:
        if part and (len(part) == most_entries or len(line) > left):
            yield part
            part, left = [], empty
        part.append(line)
        left -= len(line)
    yield part


def _file(name: str, root: str, lines: Sequence[bytes]) -> SitemapFile:
    body = _document(root, lines)
    return SitemapFile(name, gzip.compress(body, mtime=0) if name.endswith(".gz") else body, len(lines))


def _document(root: str, lines: Sequence[bytes]) -> bytes:
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{SPACE}">\n'
    return head.encode() + b"".join(lines) + f"</{root}>\n".encode()


def _entry(tag: str, url: object, changed_at: Instant, changefreq: str = "") -> bytes:
    """`lastmod` is a W3C Datetime, to the second."""
    lastmod = f"<lastmod>{in_words(changed_at)[:19]}Z</lastmod>"
    frequency = f"<changefreq>{changefreq}</changefreq>" if changefreq else ""
    return f"<{tag}><loc>{escape(str(url), _QUOTES)}</loc>{lastmod}{frequency}</{tag}>\n".encode()


def sitemap_of(folder: Path, home: Url, outside: Outside, previous: Mapping[str, Instant | None]) -> SitemapChoice:
    """The pages of a folder. Its robots.txt applies only if it is the root of a site (RFC 9309, 2.3)."""
    left_out: Counter[str] = Counter()
    files = list(files_in(folder, left_out))
    now, path, robots = outside.clock.now(), folder / "robots.txt", None
    if home.path == "/" and path.is_file():
        robots = Robots(home.origin, RobotsState.READ, now, now, parse(outside.files.read(path), "").rules)
    return choose(files, home, now, left_out, robots, previous)


def earlier(path: Path | None, home: Url) -> dict[str, Instant | None]:
    """When each page had changed according to an earlier sitemap and, if that is an index, its parts next to it."""
    if path is None:
        return {}
    if not path.is_file():
        raise ConfigError(f"--previous {path}: there is no such file")
    found = parse_sitemap(path.read_bytes(), home)
    if not found.kind:
        raise ConfigError(f"--previous {path}: not a sitemap")
    entries = list(found.entries)
    for part in found.maps:
        file = path.with_name(part.url.path.rpartition("/")[2])
        if file.is_file() and file != path:
            entries += parse_sitemap(file.read_bytes(), home).entries
    return {entry.url.text: entry.changed_at for entry in entries}
