"""Has it changed, and how? Fingerprints of what a capture says, made to pass over what changes by itself."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from gossamer.base.clock import SECOND, Instant
from gossamer.values.history import COUNTS, Change, Prints
from gossamer.values.page import Reading

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
"""Ends of properties that say when a page was changed: a hint of when, not a change."""
_ROUNDS = 3
_BEFORE, _AFTER = 48, 24
"""Characters around a year in which the rest of its date can be."""


def compared(before: Prints, after: Prints) -> Change:
    """What differs. Of what was not known before nothing is said to have changed."""
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
    """`body`: the bytes as they were read."""
    page = reading.page
    words = "\n".join((page.title, page.description, page.content))
    return Prints(
        _digest(body),
        _digest(without_today(words, reading.fetched_at).encode("utf-8", "replace")),
        facts_print(reading.facts),
    )


def without_today(text: str, fetched_at: Instant) -> str:
    """The text without what a clock writes into it: the date of the visit (a day more or less, as zones differ) with
    the time beside it, in most languages' spelling, and any time of day that is told to the second."""
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
    """The neighbourhoods of these years, apart from each other: dates are looked for nowhere else."""
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
    """Equal for the same ways within the host, in whatever order. Links elsewhere are often advertisements."""
    own = (f"https://{host}/", f"http://{host}/")
    return _digest("\n".join(sorted({link for link in links if link.startswith(own)})).encode("utf-8", "replace"))[:8]


def facts_print(facts: bytes) -> bytes:
    """Equal for the same facts, in whatever order and with whatever labels for things without a name.

    Labels differ from capture to capture. A thing is known instead by what is said of it, and by what is said of the
    things beside it, some steps far.
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
