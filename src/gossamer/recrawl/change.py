"""Whether and how a page has changed, and what that means for the pages around it.

Also hints from elsewhere.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.recrawl.policies import is_due_by_links, moved_threshold
from gossamer.values.history import COUNTS, Change, History, LinkCheck, Past, Prints
from gossamer.values.page import Reading
from gossamer.values.url import Url

DIGEST_BYTES = 16
_WEEKDAY = r"(?:[^\W\d_]{2,12},?\s+)?"
_OF = r"(?:de\s+|of\s+)?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_MONTH = r"[^\W\d_]{3,12}\.?,?"
_CLOCK = r"(?:,?\s*(?:[^\W\d_]{1,6}\s+)?\d{1,2}:\d\d(?::\d\d)?(?:\s*[AaPp]\.?[Mm]\b\.?)?)?"
_DATE = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}[-/.]\d\d[-/.]\d\d)[Tt]?|(?P<plain>\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}})"
    rf"|{_WEEKDAY}(?P<day>{_DAY})\s+{_OF}{_MONTH}\s+{_OF}(?P<year>\d{{4}})"
    rf"|{_WEEKDAY}{_MONTH}\s+(?P<day2>{_DAY}),?\s+(?P<year2>\d{{4}})){_CLOCK}"
)
_SECONDS = re.compile(r"(?<!\d)\d{1,2}:\d\d:\d\d(?!\d)")
_MAYBE_SECONDS = re.compile(r":\d\d:")
_NUMBER = re.compile(r"\d+")
_STAMPS = (b"dateModified>", b"/modified>", b"modified_time>", b"updated_time>", b"#updated>")
"""Ends of properties with the date of the last change: a hint, not a change."""
_ROUNDS = 3
_BEFORE, _AFTER = 48, 24
"""Characters around a year where the rest of its date may be."""


def compared(before: Prints, after: Prints) -> Change:
    """What differs. What was unknown before does not count as changed."""
    change = Change.NONE
    for kind, old, new in (
        (Change.BYTES, before.body, after.body),
        (Change.TEXT, before.text, after.text),
        (Change.FACTS, before.facts, after.facts),
    ):
        if old and new and old != new:
            change |= kind
    return change


def counts(change: Change, wanted: Change = COUNTS) -> bool:
    return bool(change & wanted)


def prints_of(reading: Reading, body: bytes) -> Prints:
    """`body`: the bytes that were read."""
    page = reading.page
    words = "\n".join((page.title, page.description, page.content))
    return Prints(
        _digest(body),
        _digest(without_today(words, reading.fetched_at).encode("utf-8", "replace")),
        facts_print(reading.facts),
    )


def without_today(text: str, fetched_at: Instant) -> str:
    """The text without what a clock writes into it: the date of the visit (plus or minus a day) with the time next to
    it, in the spelling of most languages, and any time of day with seconds."""
    today = datetime.fromtimestamp(fetched_at // SECOND, UTC)
    days = [(day.year, day.month, day.day) for day in (today + timedelta(off) for off in (-1, 0, 1))]

    def is_now(found: re.Match[str]) -> bool:
        numeric = found["iso"] or found["plain"]
        if numeric:
            numbers = sorted(map(int, _NUMBER.findall(numeric)))
            return any(numbers == sorted(day) for day in days)
        day = int("".join(_NUMBER.findall(found["day"] or found["day2"])))
        year = int(found["year"] or found["year2"])
        return any((year, day) == (one[0], one[2]) for one in days)

    pieces, done = [], 0
    for start, end in _around(text, {day[0] for day in days}):
        masked = _DATE.sub(lambda found: "" if is_now(found) else found[0], text[start:end])
        pieces += [text[done:start], masked]
        done = end
    rest = "".join([*pieces, text[done:]])
    return _SECONDS.sub("", rest) if _MAYBE_SECONDS.search(rest) else rest


def _around(text: str, years: set[int]) -> list[tuple[int, int]]:
    """Non-overlapping surroundings of these years: dates are searched for nowhere else."""
    places = []
    for year in map(str, years):
        at = text.find(year)
        while at >= 0:
            places.append(at)
            at = text.find(year, at + 4)
    found: list[tuple[int, int]] = []
    for at in sorted(places):
        start, end = max(0, at - _BEFORE), at + 4 + _AFTER
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def links_print(links: Iterable[str], host: str) -> bytes:
    """Equal for the same links within the host, in any order. Links elsewhere are often advertising."""
    own = (f"https://{host}/", f"http://{host}/")
    return _digest("\n".join(sorted({link for link in links if link.startswith(own)})).encode("utf-8", "replace"))[:8]


def facts_print(facts: bytes) -> bytes:
    """Equal for the same facts, in any order and with any blank node labels.

    Labels differ between captures. A blank node is identified by what is stated about it and about its neighbours, up
    to some steps away.
    """
    lines = [line.split(b" ", 2) for line in facts.splitlines() if line]
    triples = [line for line in lines if len(line) == 3 and not line[1].endswith(_STAMPS)]
    names = {term: b"_" for line in triples for term in (line[0], line[2][:-2]) if term.startswith(b"_:")}
    for _ in range(_ROUNDS if names else 0):
        said: dict[bytes, list[bytes]] = {name: [] for name in names}
        for subject, predicate, rest in triples:
            obj = rest[:-2]
            if subject in said:
                said[subject].append(b"> " + predicate + b" " + names.get(obj, obj))
            if obj in said:
                said[obj].append(b"< " + predicate + b" " + names.get(subject, subject))
        names = {name: _digest(names[name] + b"\n".join(sorted(parts))) for name, parts in said.items()}
    whole = [b" ".join((names.get(s, s), p, names.get(rest[:-2], rest[:-2]))) for s, p, rest in triples]
    return _digest(b"\n".join(sorted(whole)))


def _digest(octets: bytes) -> bytes:
    return hashlib.blake2b(octets, digest_size=DIGEST_BYTES).digest()


TRUST = 0.5
"""A hint counts as half a change seen: two visits outweigh it."""
LEAST_EVERY_S, MOST_EVERY_S = DAY_S / 24.0, 2.0 * 365.0 * DAY_S
"""`always` means hourly, `never` every two years."""
OLDEST_DAYS = 10.0 * 365.0
LEAST_IMPORTANCE, MOST_IMPORTANCE = 0.25, 4.0
FARTHEST = 12
MOST_MOVED = 4
MOST_NUDGE = 8
PUBLISHED_SHARE = 0.25
PUBLISHED_DAYS = 120.0
"""A feed item counts as if it had been seen unchanged for this long."""


class Hints(msgspec.Struct, frozen=True):
    every_s: float | None = None
    """A sitemap's changefreq, or a feed's usual interval between items, in seconds."""
    changed_at: Instant | None = None
    """A sitemap's lastmod, Last-Modified, schema:dateModified: when it last changed."""


def hinted(history: History, hints: Hints, now: Instant) -> History:
    """The history of a page that was visited at most once, including the hints.

    Looking back from a visit, the time since the last change is distributed like the time between changes: a date tells
    as much as a change with a known time. Dates in the future, or older than the web, are ignored.
    """
    quiet, dated = history.quiet_days, history.dated
    if hints.every_s is not None and hints.every_s >= 0.0:
        dated += TRUST
        quiet += TRUST * min(max(hints.every_s, LEAST_EVERY_S), MOST_EVERY_S) / DAY_S
    if hints.changed_at is not None:
        days = (now - hints.changed_at) / SECOND / DAY_S
        if 0.0 < days < OLDEST_DAYS:
            dated += TRUST
            quiet += TRUST * days
    return msgspec.structs.replace(history, quiet_days=quiet, dated=dated)


def published(history: History) -> History:
    """The history of a page published in a feed: such pages hardly ever change, and are rarely revisited (C8), until
    one does."""
    return msgspec.structs.replace(history, quiet_days=history.quiet_days + PUBLISHED_DAYS)


def importance_of(
    depth: int, moved: int = 0, new_pages: float = 0.0, nudge: int = 0, is_published: bool = False
) -> float:
    """How much a page's age matters, relative to a page four steps from its seed of which nothing else is known.

    It halves with every four steps. `moved` is how far links from other sites (negative) and a sitemap's priority
    within its site (either way) have moved its place in the queue; `new_pages` is how many new pages its last visits
    have led to. What a feed has published counts a quarter. All that is bounded; `nudge`, the user's own rules, counts
    on top: a factor of four either way at most. REQUIRES: depth >= 0, new_pages >= 0.
    """
    steps = 4.0 - min(depth, FARTHEST) - max(-MOST_MOVED, min(MOST_MOVED, moved))
    weight = math.pow(2.0, steps / 4.0) * math.sqrt(1.0 + new_pages / 2.0)
    weight *= PUBLISHED_SHARE if is_published else 1.0
    wish = math.pow(2.0, -max(-MOST_NUDGE, min(MOST_NUDGE, nudge)) / 4.0)
    return min(max(weight, LEAST_IMPORTANCE), MOST_IMPORTANCE) * wish


# When a page says it last changed: schema:dateModified, article:modified_time, dcterms:modified. A hint.

_STATED = re.compile(rb"^\S+ <[^>\s]*(?:dateModified|modified_time|terms/modified)> \"([^\"\\]{8,40})\"", re.MULTILINE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def modified_at(facts: bytes, fetched_at: Instant) -> Instant | None:
    """The latest instant stated in its facts (N-Triples) that is not in the future."""
    if b"odified" not in facts:
        return None
    stated = [at for found in _STATED.finditer(facts) if (at := _moment(found[1])) is not None]
    return max([at for at in stated if 0 < at <= fetched_at], default=None)


def _moment(written: bytes) -> Instant | None:
    """ISO 8601; UTC if there is no zone."""
    try:
        said = datetime.fromisoformat(written.decode("ascii").strip())
        said = said if said.tzinfo is not None else said.replace(tzinfo=UTC)
        return round((said - _EPOCH).total_seconds()) * SECOND
    except (ValueError, OverflowError):
        return None


# What a change of a page means for pages linked with it (MISSION B3), decided from memory without any request.

CRAWL = round(DAY_S * SECOND)
"""The length of one crawl. In each, a page's threshold moves once, however often its links are checked."""
SOON = 600 * SECOND
"""A page that is due within this time is not rescheduled."""


class Judged(msgspec.Struct, frozen=True):
    is_called: bool
    link_check: LinkCheck | None = None
    """To be noted if the page is rescheduled or its threshold moves."""
    threshold: int | None = None
    """From now on; None: as before."""


def judged(page: Past, linked: Sequence[Past], now: Instant) -> Judged:
    """Whether a page is due earlier because enough of the pages it links to have changed since its last visit.

    `linked`: what is remembered of the pages of its own host that it links to; others are unknown.
    """
    if page.gone or not page.is_page or page.due_at <= now + SOON:
        return Judged(False)
    links = [one for one in linked if not one.gone]
    changed = sum(one.changed_at > page.visited_at for one in links)
    threshold = page.known.threshold
    is_called = is_due_by_links(threshold, changed, len(links))
    is_new_crawl = page.link_check is None or now - page.link_check.at >= CRAWL
    if not links or not (is_called or is_new_crawl):
        return Judged(False)
    check = LinkCheck(now, changed, len(links), threshold)
    return Judged(is_called, check, moved_threshold(threshold, changed, len(links)) if is_new_crawl else None)


def is_older(page: Past, changed_at: Instant, now: Instant) -> bool:
    """Whether a page is due earlier because a list says that it changed, unless the list already said so by the last
    visit. A date without a time means any time of that day."""
    if page.gone or page.due_at <= now + SOON or changed_at <= page.said_at:
        return False
    return page.visited_at < (changed_at + CRAWL if changed_at % CRAWL == 0 else changed_at)


def is_to_be_looked_at(page: Past, now: Instant) -> bool:
    """`tree`: whether a page below a changed one is visited now; not if this crawl has already visited it."""
    return not page.gone and page.due_at > now + SOON and now - page.visited_at >= CRAWL // 2


# Findings of visits that concern other pages: kept in memory, and bounded.

MOST_CHANGED = 20_000
MOST_BELOW = 50_000
MOST_LISTED = 50_000


class NeighbourNews(msgspec.Struct, frozen=True):
    changed: tuple[Url, ...] = ()
    """Changed pages, in the order found."""
    below: tuple[Url, ...] = ()
    """Pages of the same host that changed pages link to, to be visited themselves (`tree`)."""
    listed: tuple[tuple[Url, Instant], ...] = ()
    """Pages that have changed according to a sitemap or feed of their site, and when."""


class Novelties:
    """Written by the planning thread and read by the sweeping one, one at a time. What exceeds the limits is dropped:
    those pages keep their due times."""

    def __init__(self) -> None:
        self._changed: dict[Url, None] = {}
        self._below: dict[Url, None] = {}
        self._listed: dict[Url, Instant] = {}

    def found(self, url: Url, links: Iterable[str] = ()) -> None:
        """A page has changed; `links`: its links, if those pages are to be visited."""
        if len(self._changed) < MOST_CHANGED:
            self._changed[url] = None
        own = (f"https://{url.host.name}/", f"http://{url.host.name}/")
        for link in links:
            if link.startswith(own) and len(self._below) < MOST_BELOW:
                self._below[Url(link)] = None

    def add_listed(self, dates: Iterable[tuple[Url, Instant]]) -> None:
        """A list of their own host says that these pages changed at these times."""
        for url, changed_at in dates:
            if len(self._listed) < MOST_LISTED:
                self._listed[url] = changed_at

    def taken(self) -> NeighbourNews:
        changed, self._changed = self._changed, {}
        below, self._below = self._below, {}
        listed, self._listed = self._listed, {}
        return NeighbourNews(tuple(changed), tuple(below), tuple(listed.items()))
