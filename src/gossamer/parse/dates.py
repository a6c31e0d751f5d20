"""Dates of feeds and sitemaps, in all the formats that occur on the web.

ISO 8601 and W3C-DTF, RFC 822 with its many variants, asctime, and the formats of Korean, Greek and Hungarian weblog
software. Anything else is None; a date without a zone is in UTC.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from gossamer.base.clock import SECOND, Instant

LONGEST = 100
_ISO = re.compile(
    r"([+-]?\d{4})(?:-?(\d{3})(?!\d)|-?(\d\d)(?:-?(\d\d))?|-(\d)-(\d\d?)|-(\d\d)-(\d))?"
    r"(?:(?:[Tt]|\s+|\s*[Tt]\s*)(\d\d?):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?\s*(.*))?"
)
_YEAR_FIRST = re.compile(r"(?:[A-Za-z]+,?\s+)?(\d{4})/(\d\d?)/(\d\d?)(?:\s+(\d\d?):(\d\d)(?::(\d\d))?\s*(.*))?")
_TIME = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AaPp]\.?[Mm]\b\.?)?")
_ZONE = re.compile(r"(?:(?:GMT|UTC|UT|Z)?\s*([+-])(\d\d?):?(\d\d)?|([A-Za-z]{1,5}))\b")
_KOREAN = re.compile(r"(\d{4})(?:년|-)\s*(\d\d?)(?:월|-)\s*(\d\d?)일?\s*(오전|오후)?\s*(\d\d?):(\d\d)(?::(\d\d))?")
_HUNGARIAN = re.compile(r"(\d{4})-(\w+)-(\d\d?)(T\d\d?:.*)?")
_WORD = re.compile(r"[^\W\d_]+|\d+")
KOREA_S = 9 * 3600

_MONTHS = (
    "jan gen januar január ιαν", "feb febr február φεβ", "mar mär mrz március μάρ μαρ", "apr ápr április απρ",
    "may mai máj május μάι μάϊ μαϊ μαι", "jun június ιούν ιον", "jul július ιούλ ιολ", "aug augusztus αύγ αυγ",
    "sep szept szeptember σεπ", "oct okt október οκτ", "nov november νοέ νοε", "dec dez dek december δεκ",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_HOURS = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "a": -1, "n": 1, "m": -12, "y": 12,
    "ast": -4, "adt": -3, "est": -5, "edt": -4, "et": -5, "cst": -6, "cdt": -5, "ct": -6, "mst": -7, "mdt": -6,
    "mt": -7, "pst": -8, "pdt": -7, "pt": -8, "akst": -9, "akdt": -8, "hst": -10,
    "bst": 1, "ist": 5.5, "cet": 1, "met": 1, "mez": 1, "cest": 2, "mest": 2, "mesz": 2, "eet": 2, "eest": 3,
    "msk": 3, "msd": 4, "jst": 9, "kst": 9, "sgt": 8, "hkt": 8, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip
"""The zones of RFC 822 and other common ones, in hours from UTC."""


def instant_of(text: str) -> Instant | None:
    """The instant that `text` names, or None."""
    return _instant_of(text[:LONGEST]) if text else None


@lru_cache(maxsize=1024)
def _instant_of(text: str) -> Instant | None:
    """Cached, because a sitemap repeats the same dates."""
    text = " ".join(text.split())
    if not any(char.isdigit() for char in text):
        return None
    for dialect in (_iso, _in_words, _year_first, _korean, _hungarian):
        if (found := dialect(text)) is not None:
            return found
    return None


def _iso(text: str) -> Instant | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, ordinal, month, day, *rest = found.groups()
    month, day = month or rest[0] or rest[2], day or rest[1] or rest[3]
    hour, minute, second, fraction, zone = rest[4:]
    offset_s = _zone_s(zone or "")
    if offset_s is None:
        return None
    if ordinal:
        start = _made(int(year), 1, 1, hour, minute, second, offset_s, fraction)
        return start + (int(ordinal) - 1) * 86_400 * SECOND if start is not None and 1 <= int(ordinal) <= 366 else None
    return _made(int(year), int(month or 1), int(day or 1), hour, minute, second, offset_s, fraction)


def _year_first(text: str) -> Instant | None:
    """`Fri, 2006/09/15 08:19:53 EDT`, and `2006/09/15`."""
    found = _YEAR_FIRST.fullmatch(text)
    if found is None or (offset_s := _zone_s(found[7] or "")) is None:
        return None
    return _made(int(found[1]), int(found[2]), int(found[3]), found[4], found[5], found[6], offset_s)


def _korean(text: str) -> Instant | None:
    found = _KOREAN.match(text)
    if found is None:
        return None
    hour = _clock_hour(int(found[5]), {"오전": "am", "오후": "pm"}.get(found[4] or "", ""))
    return _made(int(found[1]), int(found[2]), int(found[3]), str(hour), found[6], found[7], KOREA_S)


def _hungarian(text: str) -> Instant | None:
    """The month as a word in an ISO date: `2004-július-13T9:15-05:00`."""
    found = _HUNGARIAN.fullmatch(text)
    month = MONTHS.get(found[2].lower()) if found is not None else None
    return _iso(f"{found[1]}-{month:02d}-{int(found[3]):02d}{found[4] or ''}") if found is not None and month else None


def _in_words(text: str) -> Instant | None:
    """RFC 822, RFC 850, asctime and similar: the month is a word, the time has a colon."""
    hour, minute, second, zone, rest = None, None, None, "", text
    if (clock := _TIME.search(text)) is not None:
        hour = str(_clock_hour(int(clock[1]), (clock[4] or "").lower().replace(".", "")))
        minute, second, zone = clock[2], clock[3], text[clock.end() :]
        rest = text[: clock.start()]
    words = [word.lower() for word in _WORD.findall(rest)]
    named = (MONTHS.get(word) or MONTHS.get(word[:4]) or MONTHS.get(word[:3]) for word in words)
    month = next(filter(None, named), None)
    numbers = [word for word in words if word.isdecimal()]
    if clock is not None and len(numbers) == 1 and (year := re.search(r"\b\d{4}\b", zone)) is not None:
        numbers.append(year[0])  # asctime: the year comes last
        zone = zone[: year.start()] + zone[year.end() :]
    if month is None or len(numbers) != 2:
        return None
    day, year_text = numbers if len(numbers[0]) <= 2 else reversed(numbers)
    year_number = int(year_text)
    if len(year_text) <= 2:
        year_number += 1900 if year_number >= 70 else 2000
    return _made(year_number, month, int(day), hour, minute, second, _zone_s(zone) or 0)


def _clock_hour(hour: int, half: str) -> int:
    if half == "pm" and hour < 12:
        return hour + 12
    return 0 if half == "am" and hour == 12 else hour


def _zone_s(zone: str) -> int | None:
    """Seconds to the east. None for words that are not a zone; an unknown letter code counts as UTC."""
    zone = zone.strip(" ()")
    if not zone:
        return 0
    found = _ZONE.match(zone)
    if found is None:
        return None
    if found[4]:
        return round(_HOURS.get(found[4].lower(), 0) * 3600)
    away_s = int(found[2]) * 3600 + int(found[3] or 0) * 60
    return -away_s if found[1] == "-" else away_s


def _made(
    year: int, month: int, day: int, hour: str | None, minute: str | None, second: str | None, offset_s: int,
    fraction: str | None = None,
) -> Instant | None:  # fmt: skip
    hours, seconds = int(hour or 0), int(second or 0)
    try:
        moment = datetime(year, month, day, 0 if hours == 24 else hours, int(minute or 0), min(seconds, 59), tzinfo=UTC)
        moment += timedelta(days=hours == 24, seconds=-offset_s)
    except (ValueError, OverflowError):
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return round((moment - _EPOCH).total_seconds()) * SECOND + micros


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
