"""Sitemaps for a folder of files: which are listed, how often each seems to change, and the files written."""

import gzip
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.parse.sitemaps import LARGEST, MOST_ENTRIES, parse_sitemap
from gossamer.rules.robots import judge, parse
from gossamer.values.outcome import Denied
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url, url_of

_KINDS = "html htm xhtml shtml pdf txt text md rtf doc docx odt ppt pptx odp xls xlsx ods epub ps"
KINDS = frozenset(f".{kind}" for kind in _KINDS.split())
"""Endings of files that people read."""
INDEXES = ("index.html", "index.htm", "index.xhtml", "index.shtml", "default.html", "default.htm")
"""Files that a server shows for their folder; the first that is there counts."""
BACKUPS = (".bak", ".old", ".orig", ".tmp", ".swp", ".save", ".rej")
NOT_PAGES = ("robots.txt", "humans.txt", "ads.txt", "security.txt", "sitemap.txt")
HOUR_S, DAY_S = 3600.0, 86_400.0
FREQUENCIES = ((6 * HOUR_S, "hourly"), (4 * DAY_S, "daily"), (17 * DAY_S, "weekly"), (200 * DAY_S, "monthly"))
"""The longest interval that each word stands for; beyond them, "yearly". Nobody is told "always" or "never"."""
LEAST_SPREAD_S = 60.0
"""Files that were all written within so short a time were copied here: their dates say nothing."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file worth listing."""

    path: str
    """Below the folder, with slashes."""
    changed_at: Instant


@dataclass(frozen=True, slots=True)
class SitemapPage:
    url: Url
    changed_at: Instant
    changefreq: str = ""


@dataclass(frozen=True, slots=True)
class SitemapChoice:
    pages: tuple[SitemapPage, ...]
    """In the order of their addresses."""
    left_out: Mapping[str, int]
    """How many files were not listed, by the reason."""


def files_in(folder: Path, left_out: Counter[str]) -> Iterator[FoundFile]:
    """Every file that may be listed, in order. Folders that are links are not entered, so there are no rounds."""
    home = folder.resolve()
    for here, folders, names in os.walk(folder):
        left_out["hidden"] += sum(name.startswith(".") for name in folders)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            why = reason_against(name) or _outside(path, home)
            if why:
                left_out[why] += 1
                continue
            changed_at = path.stat().st_mtime_ns // 1000
            yield FoundFile(path.relative_to(folder).as_posix(), changed_at)


def reason_against(name: str) -> str:
    """Why a file of that name is not listed; empty when it may be."""
    small = name.lower()
    if name.startswith("."):
        return "hidden"
    if small.endswith(("~", *BACKUPS)) or (small.startswith("#") and small.endswith("#")):
        return "backup"
    return "" if os.path.splitext(small)[1] in KINDS and small not in NOT_PAGES else "not a page"


def _outside(path: Path, home: Path) -> str:
    if not path.is_symlink():
        return ""
    target = path.resolve()
    return "" if target.is_relative_to(home) and target.is_file() else "link out of the folder"


def chosen_from(
    met: Sequence[FoundFile],
    site: Url,
    now: Instant,
    left_out: Counter[str],
    robots: Robots | None = None,
    previous: Mapping[str, Instant | None] | None = None,
) -> SitemapChoice:
    """`previous`: what an earlier sitemap said of when each address had changed."""
    groups: dict[str, list[FoundFile]] = {}
    for one in met:
        groups.setdefault(one.path.rpartition("/")[0], []).append(one)
    found: dict[str, SitemapPage] = {}
    for group in groups.values():
        for one in sorted(group, key=_rank):
            url = address_of(one.path, site)
            if url is None or url.text in found:
                left_out["no address" if url is None else "second index"] += 1
            elif robots is not None and isinstance(judge(url, robots), Denied):
                left_out["robots.txt"] += 1
            else:
                changed_at = min(one.changed_at, now)
                interval_s = interval_of(url, changed_at, [other.changed_at for other in group], now, previous or {})
                found[url.text] = SitemapPage(url, changed_at, frequency_of(interval_s))
    return SitemapChoice(
        tuple(found[text] for text in sorted(found)), {why: count for why, count in sorted(left_out.items()) if count}
    )


def _rank(one: FoundFile) -> tuple[int, str]:
    name = one.path.rpartition("/")[2].lower()
    return (INDEXES.index(name) if name in INDEXES else len(INDEXES), one.path)


def address_of(path: str, site: Url) -> Url | None:
    folder, _, name = path.rpartition("/")
    shown = (f"{folder}/" if folder else "") if name.lower() in INDEXES else path
    home = site.origin + site.path[: site.path.rindex("/") + 1]
    return url_of(home + quote(os.fsencode(shown), safe="/~!$&'()*+,;=:@"))


def interval_of(
    url: Url, changed_at: Instant, beside: Sequence[Instant], now: Instant, previous: Mapping[str, Instant | None]
) -> float | None:
    """Seconds between two changes of a page, as far as can be told; None when nothing can.

    Best from two versions of it: the time between them, or, when it is still the one of the earlier sitemap, how long
    it has stood unchanged. Else from dates alone: when changes come by chance, the time since the last one is on
    average as long as the time between two, and the files beside it have much the same habits.
    """
    age_s = (now - changed_at) / SECOND
    before = previous.get(url.text)
    if before is not None:
        return (changed_at - before) / SECOND if changed_at - before > SECOND else age_s
    if len(beside) > 1 and (max(beside) - min(beside)) / SECOND < LEAST_SPREAD_S:
        return None
    mean_s = sum(now - min(at, now) for at in beside) / len(beside) / SECOND
    return (age_s + mean_s) / 2


def frequency_of(interval_s: float | None) -> str:
    if interval_s is None:
        return ""
    return next((word for longest_s, word in FREQUENCIES if interval_s <= longest_s), "yearly")


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


def choose(directory: Path, home: Url, outside: Outside, previous: dict[str, Instant | None]) -> SitemapChoice:
    left_out: Counter[str] = Counter()
    met = list(files_in(directory, left_out))
    return chosen_from(met, home, outside.clock.now(), left_out, robots_in(directory, home, outside), previous)


def robots_in(directory: Path, home: Url, outside: Outside) -> Robots | None:
    """What the folder's own robots.txt says to everybody. It speaks only from the root of a site (RFC 9309, 2.3)."""
    path = directory / "robots.txt"
    if home.path != "/" or not path.is_file():
        return None
    parsed, now = parse(outside.files.read(path), ""), outside.clock.now()
    return Robots(home.origin, RobotsState.READ, now, now, parsed.rules)


def earlier(path: Path | None, home: Url) -> dict[str, Instant | None]:
    """When each page had changed, by an earlier sitemap and, if that is an index, the parts beside it."""
    if path is None:
        return {}
    if not path.is_file():
        raise ConfigError(f"--previous {path}: there is no such file")
    found = parse_sitemap(path.read_bytes(), home)
    if not found.kind:
        raise ConfigError(f"--previous {path}: not a sitemap")
    entries = list(found.entries)
    for part in found.maps:
        beside = path.with_name(part.url.path.rpartition("/")[2])
        if beside.is_file() and beside != path:
            entries += parse_sitemap(beside.read_bytes(), home).entries
    return {entry.url.text: entry.changed_at for entry in entries}
